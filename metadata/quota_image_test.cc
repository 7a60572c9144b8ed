#include <gtest/gtest.h>

#include <cmath>

#include "metadata/image_writer.h"
#include "metadata/metadata_test_support.h"
#include "metadata/replayer.h"

namespace barnabas::metadata::testing {
namespace {

protocol::ClientQuotaRecord quota(const QuotaEntity& entity, std::string_view key, double value) {
  protocol::ClientQuotaRecord record;
  for (const auto& [type, name] : entity) {
    auto& part = record.entity.emplace_back();
    part.entity_type = type;
    part.entity_name.reset();
    if (name) part.entity_name = protocol::String(*name);
  }
  record.key = key;
  record.value = value;
  return record;
}

protocol::ClientQuotaRecord removed(const QuotaEntity& entity, std::string_view key) {
  auto record = quota(entity, key, 0);
  record.remove = true;
  return record;
}

const QuotaImage* find(const MetadataImage& image, const QuotaEntity& entity) {
  const auto* found = image.client_quotas.find(entity);
  return found ? found->get() : nullptr;
}

TEST(QuotaImage, values_are_set_changed_and_removed_by_entity) {
  const QuotaEntity alice = {{"user", "alice"}};
  const QuotaEntity both = {{"user", "alice"}, {"client-id", std::nullopt}};
  auto next =
      apply(MetadataImage{}, quota(alice, "producer_byte_rate", 1000), quota(both, "request_percentage", 2.5),
            quota(alice, "consumer_byte_rate", 5), quota(alice, "producer_byte_rate", 2000));
  EXPECT_EQ(next.changes.changed_quotas.size(), 4U);
  EXPECT_EQ(next.image->client_quotas.size(), 2U);
  ASSERT_NE(find(*next.image, alice), nullptr);
  EXPECT_EQ(find(*next.image, alice)->values.at("producer_byte_rate"), 2000);
  EXPECT_EQ(find(*next.image, both)->values.size(), 1U);
  const auto before = next.image;
  next = apply(*before, removed(alice, "producer_byte_rate"), removed(alice, "never there"));
  EXPECT_EQ(find(*next.image, alice)->values.size(), 1U);
  EXPECT_EQ(find(*before, alice)->values.size(), 2U) << "images do not change";
  next = apply(*next.image, removed(alice, "consumer_byte_rate"),
               removed({{"ip", "::1"}}, "connection_creation_rate"));
  EXPECT_EQ(find(*next.image, alice), nullptr);
  EXPECT_EQ(next.image->client_quotas.size(), 1U);
}

TEST(QuotaImage, default_empty_name_and_no_name_are_different) {
  const auto image =
      apply(MetadataImage{}, quota({{"user", std::nullopt}}, "a", 1), quota({{"user", ""}}, "a", 2),
            quota({{"user", "u"}, {"client-id", "c"}}, "a", 3), quota({{"client-id", "u"}}, "a", 4))
          .image;
  EXPECT_EQ(image->client_quotas.size(), 4U);
  EXPECT_EQ(find(*image, {{"user", std::nullopt}})->values.at("a"), 1);
}

TEST(QuotaImage, order_of_an_entitys_parts_does_not_matter) {
  auto record = quota({{"client-id", "c"}, {"user", "u"}}, "a", 1);
  std::swap(record.entity[0], record.entity[1]);
  const auto image = apply(MetadataImage{}, quota({{"client-id", "c"}, {"user", "u"}}, "a", 7), record).image;
  ASSERT_EQ(image->client_quotas.size(), 1U);
  EXPECT_EQ((*image->client_quotas.begin())->values.at("a"), 1);
}

TEST(QuotaImage, snapshots_hold_all_of_it) {
  const auto image =
      apply(MetadataImage{}, quota({{"user", std::nullopt}}, "a", 1.5), quota({{"ip", ""}}, "b", -2),
            quota({{"user", "u"}, {"client-id", "c"}}, "a", 3), quota({{"user", "u"}}, "x", 4))
          .image;
  MetadataDelta delta(MetadataImage{});
  const RecordList records = records_of(*image);
  for (std::size_t i = 0; i < records.size(); ++i) ASSERT_TRUE(delta.replay(records[i]));
  const auto again = std::move(delta).finish({});
  ASSERT_TRUE(again);
  ASSERT_EQ(again->image->client_quotas.size(), image->client_quotas.size());
  for (const auto& quotas : image->client_quotas) {
    ASSERT_NE(find(*again->image, quotas->entity), nullptr);
    EXPECT_EQ(find(*again->image, quotas->entity)->values, quotas->values);
  }
}

}  // namespace
}  // namespace barnabas::metadata::testing
