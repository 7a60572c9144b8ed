#include "app/kept_metadata.h"

#include <array>
#include <cstddef>

namespace barnabas::app {
namespace {

/// By the record's type, with which the key of a kept record begins.
struct Kind {
  std::string_view key_prefix;
  std::string_view name;
};
constexpr std::array kinds = {
    Kind{"18/", "access control entries"},
};

}  // namespace

std::string describe_kept(const metadata::MetadataImage& image) {
  std::array<std::size_t, kinds.size()> counts{};
  for (const auto& record : image.kept)
    for (std::size_t i = 0; i < kinds.size(); ++i)
      counts[i] += record->key.starts_with(kinds[i].key_prefix) ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (counts[i] == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(kinds[i].name) + ": " + std::to_string(counts[i]);
  }
  return text;
}

}  // namespace barnabas::app
