#include "base/utf8.h"

#include <algorithm>

namespace barnabas {
namespace {

unsigned char byte_of(char c) {
  return static_cast<unsigned char>(c);
}

std::size_t length_by(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 0;
}

/// Whether lead and second byte begin what a shorter form says, a surrogate, or more than there is.
bool is_out_of_range(unsigned char lead, unsigned char second) {
  return (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) ||
         (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second >= 0x90);
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const unsigned char lead = byte_of(text.front());
  const std::size_t length = length_by(lead);
  if (length < 2) return length;
  const std::string_view rest = text.substr(1, length - 1);
  const auto continues = [](char c) { return (byte_of(c) & 0xc0) == 0x80; };
  if (rest.size() != length - 1 || !std::ranges::all_of(rest, continues)) return 0;
  return is_out_of_range(lead, byte_of(rest.front())) ? 0 : length;
}

}  // namespace barnabas
