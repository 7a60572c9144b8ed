#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <set>

#include "client/action.h"
#include "client/commands/assignments.h"
#include "client/commands/commands.h"
#include "client/interrupt.h"
#include "client/librdkafka.h"
#include "client/offsets.h"
#include "client/record_format.h"
#include "client/record_source.h"
#include "client/start_place.h"

namespace barnabas::client {
namespace {

using Clock = std::chrono::steady_clock;

/// What librdkafka tells of its connections.
class Trouble final : public HandleEvents {
 public:
  void on_error(const std::string& words, bool fatal) override {
    last = words;
    if (fatal && hopeless.empty()) hopeless = words;
  }
  std::string last;  ///< since something came
  std::string hopeless;
};

/// A fetch that has failed.
std::string words_of(const Librdkafka& api, const rd_kafka_message_t& message) {
  std::string text = words_of(api, message.err);
  if (message.payload != nullptr)
    text += " (" + std::string(static_cast<const char*>(message.payload), message.len) + ")";
  if (message.err == RD_KAFKA_RESP_ERR__BAD_MSG)
    text +=
        "; the broker has it damaged: stop it and look with barnabas check, or see what is left with -X "
        "check.crcs=false";
  return text;
}

Json json_of_record(const RecordView& record) {
  const auto text = [](const std::optional<std::string_view>& bytes) {
    return bytes ? Json(*bytes) : Json();
  };
  Json headers = Json::array();
  for (const auto& [name, value] : record.headers)
    headers.push_back({{"name", name}, {"value", text(value)}});
  return {{"topic", record.topic},        {"partition", record.partition},
          {"offset", record.offset},      {"timestamp", record.timestamp_ms},
          {"key", text(record.key)},      {"value", text(record.value)},
          {"headers", std::move(headers)}};
}

class Consume final : public command::Command {
 public:
  std::string name() const override { return "consume"; }
  std::string summary() const override { return "Read records, and print them"; }

  void declare(CLI::App& app) override {
    app.add_option("topic", topics_, "the topics")->required();
    app.add_option("-o,--offset", offset_,
                   "start, end, an offset, +N after the start, -N before the end, @TIME; end if "
                   "not said, with -e or -n start")
        ->type_name("WHERE");
    app.add_option("-p,--partition", partitions_, "only these; repeatable")->allow_extra_args(false);
    app.add_option("-n,--count", count_, "stop after so many")->check(command::positive_number());
    app.add_flag("-e,--exit", exit_at_end_, "stop at the end, as it is when this begins");
    app.add_option(
           "-f,--format", format_,
           "%t topic, %p partition, %o offset, %T %d time, %k key, %v value, %K %V lengths, %h headers")
        ->type_name("FORMAT");
    app.add_option("--null", null_, "what is printed of a key or value that is null")->type_name("TEXT");
    app.add_option("--group", group_, "as a member of this group, which commits what was printed");
    app.add_flag("--read-committed", read_committed_, "of transactions only what is committed");
    options_.declare(app);
    app.footer(
        "Examples:\n  barnabas consume greetings -o start -e\n"
        "  barnabas consume orders -o -10 -f '%p:%o %k=%v\\n'\n"
        "  barnabas consume orders -o @-1h --output json | jq .value\n\n"
        "Without -n and -e it waits for more until Ctrl-C, or for --timeout SECONDS where that is given;\n"
        "what a group has printed is committed then. -n and -e not reached by that time are an error.");
  }

  int run(std::ostream& out, std::ostream& errors) override {
    catch_interrupts();
    begun_ = Clock::now();
    auto settings = options_.settings(ConnectionOptions::Use::records);
    auto format = settings ? RecordFormat::parse(format_.empty() ? "%v\\n" : format_)
                           : std::unexpected<Error>(settings.error());
    auto place =
        format ? parse_start_place(offset_.empty() ? (exit_at_end_ || count_ > 0 ? "start" : "end") : offset_,
                                   now_ms())
               : std::unexpected<Error>(format.error());
    if (place)
      if (auto fits = check_options(*place); !fits) place = std::unexpected<Error>(std::move(fits.error()));
    if (!place) {
      complain(errors, place.error().message);
      return 2;
    }
    auto done = consume(*settings, *format, *place, out);
    if (!done) {
      // What came is printed, whatever came then.
      out.flush();
      return complain(errors, done.error().message);
    }
    return finish_output(out, errors);
  }

 private:
  Result<void> check_options(const StartPlace& place) const {
    if (options_.format() == OutputFormat::json && !(format_.empty() && null_.empty()))
      return fail(ErrorKind::invalid,
                  "--output json has a form of its own; leave out -f and --null, or --output json");
    if (group_.empty()) return {};
    if (!partitions_.empty())
      return fail(ErrorKind::invalid,
                  "--group and -p together: members of groups are given their partitions");
    if (!offset_.empty() && place.number != 0)
      return fail(ErrorKind::invalid,
                  "--group goes on where it has committed; -o can be start or end, for what it has not read "
                  "yet. barnabas group seek moves a group");
    return {};
  }

  Result<void> consume(ConnectionSettings settings, const RecordFormat& format, const StartPlace& place,
                       std::ostream& out) {
    BARNABAS_ASSIGN(const auto cluster, Cluster::open(settings));
    BARNABAS_TRY(choose(*cluster, place));
    if (group_.empty() && exit_at_end_ && open_.empty()) return {};
    BARNABAS_ASSIGN(const Librdkafka* api, Librdkafka::load());
    Trouble trouble;
    if (group_.empty()) settings.librdkafka.erase("group.id");
    BARNABAS_ASSIGN(const Handle handle,
                    make_handle(*api, RD_KAFKA_CONSUMER, settings, properties(settings, place), trouble));
    BARNABAS_ASSIGN(const auto source, group_.empty() ? read_partitions(*api, handle.get(), begins_)
                                                      : read_as_member(*api, handle.get(), topics_));
    patience_ = settings.timeout;
    return read_all(*api, *source, format, trouble, out);
  }

  std::map<std::string, std::string> properties(const ConnectionSettings& settings,
                                                const StartPlace& place) const {
    std::map<std::string, std::string> more{
        {"enable.partition.eof", "true"},
        {"enable.auto.offset.store", "false"},
        {"isolation.level", read_committed_ ? "read_committed" : "read_uncommitted"},
    };
    if (!group_.empty()) more["group.id"] = group_;
    if (!settings.librdkafka.contains("check.crcs")) more["check.crcs"] = "true";
    if (!settings.librdkafka.contains("auto.offset.reset"))
      more["auto.offset.reset"] =
          place.kind == StartPlace::Kind::before_end && !group_.empty() ? "latest" : "earliest";
    if (!read_committed_ && settings.librdkafka.contains("isolation.level")) more.erase("isolation.level");
    return more;
  }

  /// Where each partition begins, and where it ends for -e.
  Result<void> choose(Cluster& cluster, const StartPlace& place) {
    BARNABAS_ASSIGN(auto partitions, partitions_of(cluster, topics_));
    for (const int32_t each : partitions_)
      if (std::ranges::none_of(partitions, [&](const auto& p) { return p.partition == each; }))
        return fail(ErrorKind::not_found, topics_.front() + " has no partition " + std::to_string(each));
    std::erase_if(partitions, [&](const TopicPartition& each) {
      return !partitions_.empty() && std::ranges::find(partitions_, each.partition) == partitions_.end();
    });
    BARNABAS_ASSIGN(const auto starts, offsets_at(cluster, partitions, earliest_offset));
    BARNABAS_ASSIGN(ends_, offsets_at(cluster, partitions, latest_offset, read_committed_));
    // Offsets may be said of records that are not committed yet.
    auto limits = ends_;
    if (read_committed_ && place.kind != StartPlace::Kind::before_end) {
      BARNABAS_ASSIGN(limits, offsets_at(cluster, partitions, latest_offset));
    }
    BARNABAS_TRY(check_range(place, starts, limits));
    std::map<TopicPartition, int64_t> times;
    if (place.kind == StartPlace::Kind::time) {
      BARNABAS_ASSIGN(times, offsets_at(cluster, partitions, place.number, read_committed_));
    }
    for (const TopicPartition& each : partitions) {
      const int64_t at_time = times.contains(each) ? times.at(each) : -1;
      begins_[each] = offset_of(place, starts.at(each), limits.at(each), at_time);
      if (!group_.empty() || begins_.at(each) < ends_.at(each)) open_.insert(each);
    }
    return {};
  }

  using Offsets = std::map<TopicPartition, int64_t>;

  /// An offset has to be within one partition at least; in shorter ones reading begins at their ends.
  Result<void> check_range(const StartPlace& place, const Offsets& starts, const Offsets& limits) const {
    const TopicPartition* longest = nullptr;
    for (const auto& [partition, limit] : limits) {
      if (!place.is_beyond(starts.at(partition), limit)) return {};
      if (longest == nullptr || limit > limits.at(*longest)) longest = &partition;
    }
    if (longest == nullptr) return {};
    const std::string end = std::to_string(limits.at(*longest));
    return fail(ErrorKind::invalid,
                "offset " + offset_ + " is out of range, " +
                    (limits.size() == 1 ? "the partition ends at " + end
                                        : "no partition reaches to it; the longest one, " +
                                              longest->to_string() + ", ends at " + end));
  }

  Result<void> read_all(const Librdkafka& api, RecordSource& source, const RecordFormat& format,
                        Trouble& trouble, std::ostream& out) {
    std::string line;
    last_heard_ = Clock::now();
    while (!interrupted() && (count_ == 0 || printed_ < count_) && !is_at_end(source)) {
      if (const auto asked = options_.asked_timeout(); asked && Clock::now() >= begun_ + *asked)
        return end_of_time(*asked, trouble);
      const Message message = source.next(wait_ms());
      paused_ = !message || message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
      // Whoever waits at the other end of a pipe sees what there is.
      if (paused_ && !out.flush()) return {};
      if (!message) {
        if (!trouble.hopeless.empty()) return fail(ErrorKind::io, trouble.hopeless);
        BARNABAS_TRY(check_patience(trouble));
        continue;
      }
      last_heard_ = Clock::now();
      trouble.last.clear();
      if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        note_position(api, *message, message->offset);
        continue;
      }
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(ErrorKind::io, words_of(api, *message));
      const RecordView record = view_of(api, *message);
      // Of a partition that is read to the end already others may still bring something.
      if (exit_at_end_ && record.offset >= end_of(record)) {
        note_position(api, *message, record.offset);
        continue;
      }
      print(record, format, line);
      out.write(line.data(), static_cast<std::streamsize>(line.size()));
      if (!out) return {};
      ++printed_;
      source.store(record);
      note_position(api, *message, record.offset + 1);
    }
    return {};
  }

  int wait_ms() const {
    constexpr std::chrono::milliseconds longest(100);
    const auto asked = options_.asked_timeout();
    if (!asked) return static_cast<int>(longest.count());
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(begun_ + *asked - Clock::now());
    return static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), longest).count());
  }

  /// --timeout ends a reader that has no other end in order; what else it was to do is not done.
  Result<void> end_of_time(std::chrono::milliseconds asked, const Trouble& trouble) const {
    const std::string why = trouble.last.empty() ? "" : " (" + trouble.last + ")";
    if (count_ > 0)
      return fail(ErrorKind::timed_out, "only " + std::to_string(printed_) + " of " + std::to_string(count_) +
                                            " records came within " + seconds_text(asked) + why);
    if (exit_at_end_)
      return fail(ErrorKind::timed_out,
                  std::to_string(open_.size()) + " partitions are not read to the end within " +
                      seconds_text(asked) + why + "; a longer wait is --timeout SECONDS");
    if (!trouble.last.empty()) return fail(ErrorKind::io, trouble.last);
    return {};
  }

  /// Between here and the end there are records: a broker that sends none of them does not answer.
  Result<void> check_patience(const Trouble& trouble) const {
    if (!exit_at_end_ || !group_.empty() || Clock::now() < last_heard_ + patience_) return {};
    return fail(ErrorKind::timed_out, "nothing came for " + seconds_text(patience_) + ", and " +
                                          std::to_string(open_.size()) +
                                          " partitions are not read to the end" +
                                          (trouble.last.empty() ? "" : " (" + trouble.last + ")"));
  }

  void print(const RecordView& record, const RecordFormat& format, std::string& line) const {
    line.clear();
    if (options_.format() == OutputFormat::json) {
      line = json_line(json_of_record(record));
    } else {
      format.print(record, null_, line);
    }
  }

  /// With -e: whether nothing that this reader is given is still to be read. The other members of its group
  /// have the rest.
  bool is_at_end(const RecordSource& source) const {
    return exit_at_end_ && (open_.empty() || (paused_ && source.others_have(open_)));
  }

  int64_t end_of(const RecordView& record) const {
    const auto end = ends_.find({std::string(record.topic), record.partition});
    return end == ends_.end() ? INT64_MAX : end->second;
  }

  void note_position(const Librdkafka& api, const rd_kafka_message_t& message, int64_t position) {
    if (!exit_at_end_) return;
    const TopicPartition partition{api.topic_name(message.rkt), message.partition};
    const auto end = ends_.find(partition);
    if (end == ends_.end() || position >= end->second) open_.erase(partition);
  }

  ConnectionOptions options_;
  std::vector<std::string> topics_;
  std::string offset_;
  std::vector<int32_t> partitions_;
  uint64_t count_ = 0;
  bool exit_at_end_ = false;
  std::string format_;
  std::string null_;
  std::string group_;
  bool read_committed_ = false;

  Offsets begins_, ends_;
  std::set<TopicPartition> open_;  ///< with -e: not at the end yet
  bool paused_ = false;            ///< no record came last
  uint64_t printed_ = 0;
  Clock::time_point begun_;
  Clock::time_point last_heard_;
  std::chrono::milliseconds patience_{0};
};

}  // namespace

std::unique_ptr<command::Command> consume_command() {
  return std::make_unique<Consume>();
}

}  // namespace barnabas::client
