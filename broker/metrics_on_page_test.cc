#include <gtest/gtest.h>

#include <string>

#include "broker/handlers/table_on_page.h"
#include "metrics/catalog.h"

namespace barnabas::broker {
namespace {

std::string metrics_from_the_code() {
  std::string table = "| name | type | labels | meaning |\n|---|---|---|---|\n";
  for (const metrics::Family& family : metrics::catalog()) {
    std::string labels;
    for (const std::string_view label : family.labels)
      labels += (labels.empty() ? "`" : ", `") + std::string(label) + "`";
    table += "| `" + std::string(family.name) + "` | " + std::string(metrics::to_string(family.type)) +
             " | " + labels + " | " + std::string(family.help) + " |\n";
  }
  return table;
}

TEST(Metrics, page_shows_the_catalog_of_the_code) {
  testing::expect_table_on_page("docs/metrics.md", "metrics", metrics_from_the_code());
}

}  // namespace
}  // namespace barnabas::broker
