#include "metadata/publisher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "metadata/metadata_test_support.h"

namespace barnabas::metadata {
namespace {

using namespace testing;

TEST(ImagePublisher, begins_with_an_empty_image) {
  ImagePublisher publisher;
  ASSERT_NE(publisher.current(), nullptr);
  EXPECT_TRUE(publisher.current()->topics_by_name.empty());
}

TEST(ImagePublisher, a_listener_gets_all_that_is_there_and_then_each_change_before_readers_do) {
  ImagePublisher publisher;
  auto next = apply(MetadataImage{}, topic("a", id(1)), partition(id(1), 0));
  publisher.publish(next.changes, next.image);
  std::vector<std::string> seen;
  publisher.subscribe([&](const MetadataChanges& changes, const MetadataImagePtr& image) {
    std::string line = changes.all ? "all" : "some";
    for (const auto& topic : changes.changed_topics) line += " " + topic->name;
    seen.push_back(line);
    if (!changes.all) {
      EXPECT_EQ(publisher.current()->topic("b"), nullptr);
      EXPECT_NE(image->topic("b"), nullptr);
    }
  });
  next = apply(*next.image, topic("b", id(2)), partition(id(2), 0));
  publisher.publish(next.changes, next.image);
  EXPECT_EQ(seen, (std::vector<std::string>{"all a", "some b"}));
  EXPECT_NE(publisher.current()->topic("b"), nullptr);
}

TEST(ImagePublisher, readers_on_other_threads_never_see_an_older_image) {
  ImagePublisher publisher;
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      Offset last = no_offset;
      while (!stop) {
        const Offset offset = publisher.current()->position.offset;
        EXPECT_GE(offset, last);
        last = offset;
      }
    });
  }
  for (int i = 0; i < 2000; ++i) {
    auto image = std::make_shared<MetadataImage>();
    image->position.offset = Offset{i};
    publisher.publish({}, image);
  }
  stop = true;
  for (auto& reader : readers) reader.join();
}

}  // namespace
}  // namespace barnabas::metadata
