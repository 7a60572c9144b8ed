// What one question to the authorizer costs among 10,000 rules, and what one rule more costs.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "security/authorizer.h"

namespace barnabas::security {
namespace {

using namespace metadata;

constexpr int rule_count = 10'000;
constexpr auto topic = AclResourceType::topic;

AclEntry entry_of(int number, std::string principal, std::string name, AclPatternType pattern) {
  AclEntry entry;
  entry.rule = {topic,
                std::move(name),
                pattern,
                std::move(principal),
                "*",
                number % 10 == 0 ? AclOperation::write : AclOperation::read,
                number % 50 == 1 ? AclPermission::deny : AclPermission::allow};
  for (std::size_t i = 0; i < 4; ++i) entry.id.bytes[i] = static_cast<std::byte>(number >> (8 * i) & 0xff);
  return entry;
}

enum class Shape : int64_t {
  topics,      ///< a rule for each of many topics
  prefixes,    ///< a prefix for each of many applications, of many lengths
  one_topic,   ///< many users of one topic
  everywhere,  ///< many users with a rule for "*"
};

MetadataImage image_of(Shape shape) {
  MetadataImage image;
  for (int i = 0; i < rule_count; ++i) {
    const std::string n = std::to_string(i);
    const std::string user = "User:application-" + std::to_string(i % 100);
    auto entry =
        shape == Shape::topics ? entry_of(i, user, "orders.region-" + n + ".v1", AclPatternType::literal)
        : shape == Shape::prefixes
            ? entry_of(i, user, "application-" + n + std::string(static_cast<std::size_t>(i % 40), '-'),
                       AclPatternType::prefixed)
        : shape == Shape::one_topic ? entry_of(i, "User:application-" + n, "orders", AclPatternType::literal)
                                    : entry_of(i, "User:application-" + n, "*", AclPatternType::literal);
    image.access_control.put(std::make_shared<const AclEntry>(std::move(entry)));
  }
  return image;
}

/// Another name, and another user, each time.
void check(benchmark::State& state) {
  const auto shape = static_cast<Shape>(state.range(0));
  Authorizer authorizer({});
  const auto image = image_of(shape);
  authorizer.apply(all_of(image), image);
  set_logger_level("kafka.authorizer.logger", LogLevel::off);
  std::vector<Requester> who;
  std::vector<std::string> names;
  for (int i = 0; i < 1'000; ++i) {
    const int n = i * 7919 % rule_count;
    const bool by_user = shape == Shape::one_topic || shape == Shape::everywhere;
    who.push_back({"User:application-" + std::to_string(by_user ? n : n % 100), "192.0.2.17", "Fetch"});
    names.push_back(shape == Shape::topics ? "orders.region-" + std::to_string(n) + ".v1"
                    : shape == Shape::prefixes
                        ? "application-" + std::to_string(n) + std::string(45, '-') + "store-changelog"
                    : shape == Shape::one_topic ? "orders"
                                                : "payments.by-customer.changelog");
  }
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(authorizer.authorize(who[i], AclOperation::read, topic, names[i]));
    i = (i + 1) % who.size();
  }
}
BENCHMARK(check)
    ->ArgName("shape")
    ->Arg(static_cast<int64_t>(Shape::topics))
    ->Arg(static_cast<int64_t>(Shape::prefixes))
    ->Arg(static_cast<int64_t>(Shape::one_topic))
    ->Arg(static_cast<int64_t>(Shape::everywhere))
    ->Threads(1)
    ->Threads(2);

/// A rule comes and goes; the next question of a thread sees it.
void change(benchmark::State& state) {
  Authorizer authorizer({});
  const auto image = image_of(static_cast<Shape>(state.range(0)));
  authorizer.apply(all_of(image), image);
  const auto added = std::make_shared<const AclEntry>(
      entry_of(rule_count + 1, "User:application-1", "orders", AclPatternType::literal));
  MetadataChanges comes;
  comes.access_control.push_back({nullptr, added});
  MetadataChanges goes;
  goes.access_control.push_back({added, nullptr});
  for (auto _ : state) {
    authorizer.apply(comes, image);
    authorizer.apply(goes, image);
  }
  state.SetItemsProcessed(2 * static_cast<int64_t>(state.iterations()));
}
BENCHMARK(change)
    ->ArgName("shape")
    ->Arg(static_cast<int64_t>(Shape::topics))
    ->Arg(static_cast<int64_t>(Shape::one_topic));

}  // namespace
}  // namespace barnabas::security

BENCHMARK_MAIN();
