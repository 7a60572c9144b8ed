// Holds docs/formats/metadata-log.md and quorum-state.md against the code.

#include <gtest/gtest.h>

#include <sstream>

#include "cluster/quorum_state.h"
#include "metadata/metadata_test_support.h"

namespace barnabas::cluster {
namespace {

/// The fenced blocks of that kind on a page.
std::vector<std::string> blocks(const std::string& page, const std::string& kind) {
  std::istringstream text(
      metadata::testing::file_content(std::string(BARNABAS_SOURCE_DIR) + "/docs/formats/" + page));
  std::vector<std::string> found;
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      found.back() += line + "\n";
    } else if (line == "```" + kind) {
      inside = true;
      found.emplace_back();
    }
  }
  return found;
}

/// Hex at the beginning of each line, up to two blanks and a comment.
std::vector<std::byte> bytes_of(const std::string& block) {
  std::vector<std::byte> bytes;
  std::istringstream lines(block);
  for (std::string line; std::getline(lines, line);) {
    std::string digits;
    for (const char c : line.substr(0, line.find("  "))) {
      if (c != ' ') digits += c;
    }
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
      bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

TEST(FormatPage, the_metadata_log_in_hex_replays) {
  const auto log = bytes_of(blocks("metadata-log.md", "hex").at(0));
  metadata::Replayer replayer(std::make_shared<const metadata::MetadataImage>());
  protocol::BatchIterator batches(log);
  int count = 0;
  while (batches.next() == protocol::BatchIterator::Step::batch) {
    ++count;
    EXPECT_TRUE(batches.batch().verify_crc());
    const auto done = replayer.replay(batches.batch());
    ASSERT_TRUE(done) << done.error().message;
  }
  EXPECT_EQ(count, 2);
  EXPECT_EQ(batches.position(), log.size());
  ASSERT_TRUE(replayer.take());
  EXPECT_EQ(replayer.image()->metadata_version(), metadata::metadata_version_max);
  EXPECT_EQ(replayer.image()->features.size(), 6u);
  EXPECT_EQ(replayer.image()->controller, NodeId{1});
}

TEST(FormatPage, the_quorum_states_are_read_and_written_so) {
  const auto files = blocks("quorum-state.md", "file");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(format_quorum_state({NodeId{1}, LeaderEpoch{3}}, 1, NodeId{1}) + "\n", files[0]);
  EXPECT_EQ(format_quorum_state({NodeId{1}, LeaderEpoch{1}}, 0, NodeId{1}) + "\n", files[1]);
  for (const auto& file : files) EXPECT_TRUE(parse_quorum_state(file));
}

}  // namespace
}  // namespace barnabas::cluster
