#pragma once

#include <string>

#include "base/result.h"

namespace barnabas {

/// A shared library that is loaded when something first needs it, so that a broker without that something
/// neither starts slower nor has to have it installed. Stays loaded until the program ends.
class DynamicLibrary {
 public:
  /// `name` as the linker has it ("libx.so.1"). ErrorKind::not_found names it, and `package`, Debian's that
  /// has it.
  static Result<DynamicLibrary> open(const char* name, const char* package);

  /// Sets `function` to the one of this name; false when there is none. The caller vouches for the type.
  template <class Function>
  bool find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(find_address(name));
    return function != nullptr;
  }

 private:
  explicit DynamicLibrary(void* handle) : handle_(handle) {}
  void* find_address(const char* name) const;

  void* handle_;
};

}  // namespace barnabas
