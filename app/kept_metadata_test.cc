#include "app/kept_metadata.h"

#include <gtest/gtest.h>

namespace barnabas::app {
namespace {

void keep(metadata::MetadataImage& image, std::string key) {
  image.kept.put(std::make_shared<const metadata::KeptRecord>(std::move(key), std::vector<std::byte>{}));
}

TEST(KeptMetadata, says_what_is_not_acted_upon_and_how_much_of_it) {
  metadata::MetadataImage image;
  EXPECT_EQ(describe_kept(image), "");
  keep(image, "27/1");  // a controller's registration protects nothing
  EXPECT_EQ(describe_kept(image), "");
  keep(image, "18/one");
  keep(image, "18/two");
  EXPECT_EQ(describe_kept(image), "access control entries: 2");
}

}  // namespace
}  // namespace barnabas::app
