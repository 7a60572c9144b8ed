#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace barnabas {

/// For hash maps with std::string keys that are looked up by std::string_view, with std::equal_to<>.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};

}  // namespace barnabas
