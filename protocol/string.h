#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace barnabas::protocol {

namespace detail {

/// Sixteen bytes: where the content is, how long it is, and whether it is ours. See String and Bytes.
class ViewOrOwner {
 public:
  ViewOrOwner() = default;
  ViewOrOwner(const ViewOrOwner& other);
  ViewOrOwner(ViewOrOwner&& other) noexcept;
  ViewOrOwner& operator=(const ViewOrOwner& other);
  ViewOrOwner& operator=(ViewOrOwner&& other) noexcept;
  ~ViewOrOwner() {
    if (owner_) release();
  }

  static ViewOrOwner borrow(const char* data, std::size_t size);
  static ViewOrOwner copy(const char* data, std::size_t size);

  const char* data() const { return data_; }
  uint32_t size() const { return size_; }
  bool is_owner() const { return owner_; }

 private:
  void release() noexcept;

  const char* data_ = "";
  uint32_t size_ = 0;
  bool owner_ = false;
};

}  // namespace detail

/// Text of the wire. It either owns its characters or borrows somebody else's:
///  - made from a std::string, a view or a literal it owns a copy (the safe default);
///  - `view_of` borrows; so does a decoder, whose strings are valid while the frame lives;
///  - a copy of an owner owns, a copy of a borrower borrows the same characters. `owned()` always owns.
/// The bytes are passed through unchanged, also when they are not valid UTF-8. At most 2^32 - 1 bytes.
class String {
 public:
  String() = default;
  String(std::string_view text) : content_(detail::ViewOrOwner::copy(text.data(), text.size())) {}
  String(const std::string& text) : String(std::string_view(text)) {}
  String(const char* text) : String(std::string_view(text)) {}

  static String view_of(std::string_view text) {
    return String(detail::ViewOrOwner::borrow(text.data(), text.size()));
  }
  String owned() const { return String(view()); }
  bool is_owner() const { return content_.is_owner(); }

  std::string_view view() const { return {content_.data(), content_.size()}; }
  operator std::string_view() const { return view(); }
  std::string str() const { return std::string(view()); }

  const char* data() const { return content_.data(); }
  std::size_t size() const { return content_.size(); }
  bool empty() const { return content_.size() == 0; }

  friend bool operator==(const String& left, const String& right) { return left.view() == right.view(); }
  friend bool operator==(const String& left, std::string_view right) { return left.view() == right; }
  friend bool operator==(const String& left, const std::string& right) { return left.view() == right; }
  friend bool operator==(const String& left, const char* right) { return left.view() == right; }
  friend auto operator<=>(const String& left, const String& right) { return left.view() <=> right.view(); }

 private:
  explicit String(detail::ViewOrOwner content) : content_(std::move(content)) {}

  detail::ViewOrOwner content_;
};

/// Bytes of the wire, owned or borrowed by the same rules as String.
class Bytes {
 public:
  Bytes() = default;
  Bytes(ByteView bytes) : content_(detail::ViewOrOwner::copy(as_text(bytes).data(), bytes.size())) {}

  static Bytes view_of(ByteView bytes) {
    return Bytes(detail::ViewOrOwner::borrow(as_text(bytes).data(), bytes.size()));
  }
  /// A copy of the characters of `text`.
  static Bytes of_text(std::string_view text) { return Bytes(as_byte_view(text)); }
  Bytes owned() const { return Bytes(view()); }
  bool is_owner() const { return content_.is_owner(); }

  ByteView view() const { return as_byte_view({content_.data(), content_.size()}); }
  operator ByteView() const { return view(); }

  std::size_t size() const { return content_.size(); }
  bool empty() const { return content_.size() == 0; }

  friend bool operator==(const Bytes& left, const Bytes& right) { return as_text(left) == as_text(right); }

 private:
  explicit Bytes(detail::ViewOrOwner content) : content_(std::move(content)) {}

  detail::ViewOrOwner content_;
};

static_assert(sizeof(String) == 16 && sizeof(Bytes) == 16);

}  // namespace barnabas::protocol

template <>
struct std::hash<barnabas::protocol::String> {
  std::size_t operator()(const barnabas::protocol::String& text) const noexcept {
    return std::hash<std::string_view>{}(text.view());
  }
};
