#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "protocol/string.h"

namespace barnabas::protocol {

/// Record batches that are not in memory, such as a region of a segment file that the network room sends with
/// sendfile. The network room knows the concrete type.
struct ExternalRecords {
  virtual ~ExternalRecords() = default;
  /// Bytes that will be sent in their place.
  virtual uint64_t size() const = 0;
};

/// A field of type `records`: null, bytes in memory (owned or borrowed like Bytes), or external records.
class Records {
 public:
  Records() = default;  ///< null
  Records(std::nullptr_t) {}
  Records(Bytes bytes) : content_(std::move(bytes)) {}
  Records(std::shared_ptr<const ExternalRecords> external) : content_(std::move(external)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(content_); }
  /// The bytes in memory; empty when null or external.
  ByteView bytes() const {
    const auto* bytes = std::get_if<Bytes>(&content_);
    return bytes ? bytes->view() : ByteView();
  }
  /// Null unless the records are external.
  std::shared_ptr<const ExternalRecords> external() const {
    const auto* external = std::get_if<std::shared_ptr<const ExternalRecords>>(&content_);
    return external ? *external : nullptr;
  }
  bool is_external() const { return content_.index() == 2; }
  /// Bytes on the wire, without the length in front.
  uint64_t size() const {
    if (is_external()) return std::get<2>(content_)->size();
    return bytes().size();
  }

  /// External records are equal when they are the same object.
  bool operator==(const Records&) const = default;

 private:
  std::variant<std::monostate, Bytes, std::shared_ptr<const ExternalRecords>> content_;
};

}  // namespace barnabas::protocol
