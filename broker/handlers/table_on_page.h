#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace barnabas::broker::testing {

/// Expects `table` on a page of the tree, between `<!-- NAME -->` and `<!-- /NAME -->`; with
/// BARNABAS_UPDATE_README set it is written there instead.
inline void expect_table_on_page(const std::string& page, const std::string& name, const std::string& table) {
  const std::string table_begin = "<!-- " + name + " -->\n";
  const std::string table_end = "<!-- /" + name + " -->";
  const std::string path = std::string(BARNABAS_SOURCE_DIR) + "/" + page;
  std::ifstream in(path);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto begin = text.find(table_begin);
  const auto end = text.find(table_end);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos && begin < end);
  const auto from = begin + table_begin.size();
  if (std::getenv("BARNABAS_UPDATE_README") != nullptr) {
    text.replace(from, end - from, table);
    std::ofstream(path) << text;
    return;
  }
  EXPECT_EQ(text.substr(from, end - from), table);
}

}  // namespace barnabas::broker::testing
