// What a produced batch costs on the hot path, for each codec. `record_batch_bench --benchmark_filter=…`

#include <benchmark/benchmark.h>

#include "base/crc32c.h"
#include "base/random.h"
#include "protocol/records/produce_validation.h"
#include "protocol/records/record_batch_builder.h"
#include "protocol/records/record_reader.h"

namespace barnabas::protocol {
namespace {

constexpr TimestampMs now{1'700'000'000'000};

/// Records whose values have `value_bytes` of text that compresses about as well as log lines do.
std::vector<std::byte> batch(size_t value_bytes, size_t batch_bytes, Codec codec) {
  SeededRandom random(1);
  RecordBatchBuilder builder({.compression = {codec}});
  for (size_t size = 0; size < batch_bytes; size += value_bytes + 10) {
    std::string value;
    while (value.size() < value_bytes) value += "field" + std::to_string(random.below(1000)) + "=";
    value.resize(value_bytes);
    builder.append(now + static_cast<int64_t>(size / 2000), std::nullopt, as_byte_view(value));
  }
  return builder.build();
}

void validate(benchmark::State& state, Codec codec) {
  auto bytes = batch(static_cast<size_t>(state.range(0)), static_cast<size_t>(state.range(1)), codec);
  ProduceRules rules;
  rules.now = now;
  rules.max_message_bytes = INT32_MAX;
  int64_t records = 0;
  for (auto _ : state) {
    const auto validated = validate_produced_records(MutableByteView(bytes), rules);
    if (!validated) state.SkipWithError("refused");
    records += validated->record_count;
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(bytes.size()));
  state.SetItemsProcessed(records);
  state.counters["ns/record"] = benchmark::Counter(static_cast<double>(records) / 1e9,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void checksum_only(benchmark::State& state) {
  const auto bytes = batch(1024, static_cast<size_t>(state.range(0)), Codec::none);
  for (auto _ : state) benchmark::DoNotOptimize(crc32c(bytes));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(bytes.size()));
}

void read_records(benchmark::State& state, Codec codec) {
  const auto bytes = batch(static_cast<size_t>(state.range(0)), static_cast<size_t>(state.range(1)), codec);
  int64_t records = 0;
  for (auto _ : state) {
    RecordReader reader(RecordBatchView::trusted(bytes));
    RecordView record;
    while (reader.next(record).value_or(false)) ++records;
  }
  state.SetItemsProcessed(records);
}

BENCHMARK(checksum_only)->Arg(16 << 10)->Arg(1 << 20);
BENCHMARK_CAPTURE(validate, plain, Codec::none)
    ->Args({100, 16 << 10})
    ->Args({100, 1 << 20})
    ->Args({1024, 16 << 10})
    ->Args({1024, 1 << 20});
BENCHMARK_CAPTURE(validate, gzip, Codec::gzip)->Args({100, 64 << 10})->Args({1024, 1 << 20});
BENCHMARK_CAPTURE(validate, snappy, Codec::snappy)->Args({100, 64 << 10})->Args({1024, 1 << 20});
BENCHMARK_CAPTURE(validate, lz4, Codec::lz4)->Args({100, 64 << 10})->Args({1024, 1 << 20});
BENCHMARK_CAPTURE(validate, zstd, Codec::zstd)->Args({100, 64 << 10})->Args({1024, 1 << 20});
BENCHMARK_CAPTURE(read_records, plain, Codec::none)->Args({100, 16 << 10});
BENCHMARK_CAPTURE(read_records, lz4, Codec::lz4)->Args({100, 64 << 10});

}  // namespace
}  // namespace barnabas::protocol

BENCHMARK_MAIN();
