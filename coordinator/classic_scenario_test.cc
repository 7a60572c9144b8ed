// Transcripts: every testdata/classic/NAME.txt is played, and what happens must be as in NAME.trace.
// BARNABAS_UPDATE_TRACES=1 writes those anew, to be read before they are believed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "coordinator/classic_scenario.h"

namespace barnabas::coordinator {
namespace {

const std::filesystem::path directory =
    std::filesystem::path(BARNABAS_SOURCE_DIR) / "coordinator/testdata/classic";

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> scenarios() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

class ClassicScenarios : public ::testing::TestWithParam<std::string> {};

TEST_P(ClassicScenarios, happen_as_written_down) {
  const std::filesystem::path expected = directory / (GetParam() + ".trace");
  const std::string trace = testing::ClassicScenario::trace_of(content(directory / (GetParam() + ".txt")));
  if (std::getenv("BARNABAS_UPDATE_TRACES") != nullptr) std::ofstream(expected) << trace;
  EXPECT_EQ(trace, content(expected));
}

INSTANTIATE_TEST_SUITE_P(All, ClassicScenarios, ::testing::ValuesIn(scenarios()),
                         [](const auto& scenario) { return scenario.param; });

}  // namespace
}  // namespace barnabas::coordinator
