#include "security/pem.h"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>

#include "security/openssl_support.h"

namespace barnabas::security {
namespace {

constexpr std::string_view begin_mark = "-----BEGIN ";
constexpr std::string_view end_mark = "-----END ";
constexpr std::string_view dashes = "-----";
constexpr std::size_t blocks_max = 10'000;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// Labels appear in errors, and nothing else of a store may.
bool is_label(std::string_view text) {
  return text.size() <= 64 && std::ranges::all_of(text, [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ' ';
         });
}

Result<std::string> decode(std::string_view body, const std::string& label) {
  std::string digits;
  std::ranges::copy_if(body, std::back_inserter(digits), [](char c) { return !is_blank(c); });
  const auto bad = [&] { return refuse_store("a " + label + " block of PEM that is not base64"); };
  if (digits.empty() || digits.size() % 4 != 0) return bad();
  std::string der(digits.size() / 4 * 3, '\0');
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(der.data()),
                      reinterpret_cast<const unsigned char*>(digits.data()), static_cast<int>(digits.size()));
  OPENSSL_cleanse(digits.data(), digits.size());
  if (size < 0) return bad();
  const std::size_t padding = body.find('=') == body.npos                   ? 0
                              : body.substr(body.find('=')).find("==") == 0 ? 2
                                                                            : 1;
  der.resize(static_cast<std::size_t>(size) - padding);
  return der;
}

}  // namespace

Result<std::vector<PemBlock>> parse_pem(std::string_view text) {
  std::vector<PemBlock> blocks;
  for (;;) {
    const auto begin = text.find(begin_mark);
    if (begin == text.npos) return blocks;
    if (blocks.size() == blocks_max)
      return refuse_store("more than " + std::to_string(blocks_max) + " blocks of PEM");
    text.remove_prefix(begin + begin_mark.size());
    const auto label_end = text.find(dashes);
    if (label_end == text.npos || !is_label(text.substr(0, label_end)))
      return refuse_store("a PEM header that is none");
    PemBlock block;
    block.label = text.substr(0, label_end);
    text.remove_prefix(label_end + dashes.size());
    const auto end = text.find(end_mark);
    if (end == text.npos ||
        !text.substr(end + end_mark.size()).starts_with(block.label + std::string(dashes)))
      return refuse_store("a PEM block (BEGIN " + block.label + ") without its end");
    const std::string_view body = text.substr(0, end);
    text.remove_prefix(end + end_mark.size());
    block.old_encryption = body.find("Proc-Type") != body.npos;
    if (!block.old_encryption) {
      BARNABAS_ASSIGN(block.der, decode(body, block.label));
    }
    blocks.push_back(std::move(block));
  }
}

}  // namespace barnabas::security
