#include "base/dynamic_library.h"

#include <dlfcn.h>

namespace barnabas {

Result<DynamicLibrary> DynamicLibrary::open(const char* name, const char* package) {
  void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return fail(ErrorKind::not_found,
                std::string(name) + " cannot be loaded; Debian's package " + package + " has it");
  return DynamicLibrary(handle);
}

void* DynamicLibrary::find_address(const char* name) const {
  return ::dlsym(handle_, name);
}

}  // namespace barnabas
