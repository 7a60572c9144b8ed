#include <CLI/CLI.hpp>
#include <iostream>
#include <set>

#include "client/action.h"
#include "client/commands/assignments.h"
#include "client/commands/commands.h"
#include "client/interrupt.h"
#include "client/librdkafka.h"
#include "client/offsets.h"
#include "client/record_format.h"
#include "client/start_place.h"

namespace barnabas::client {
namespace {

class Trouble final : public HandleEvents {
 public:
  void on_error(const std::string& words, bool fatal) override {
    if (fatal && hopeless.empty()) hopeless = words;
  }
  std::string hopeless;
};

struct MessageDeleter {
  const Librdkafka* api;
  void operator()(rd_kafka_message_t* message) const { api->message_destroy(message); }
};
struct ListDeleter {
  const Librdkafka* api;
  void operator()(rd_kafka_topic_partition_list_t* list) const { api->list_destroy(list); }
};
using List = std::unique_ptr<rd_kafka_topic_partition_list_t, ListDeleter>;

std::string_view bytes_of(const void* data, std::size_t size) {
  return {static_cast<const char*>(data), size};
}

RecordView view_of(const Librdkafka& api, const rd_kafka_message_t& message) {
  RecordView record;
  record.topic = api.topic_name(message.rkt);
  record.partition = message.partition;
  record.offset = message.offset;
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  record.timestamp_ms = api.message_timestamp(&message, &type);
  if (message.key != nullptr) record.key = bytes_of(message.key, message.key_len);
  if (message.payload != nullptr) record.value = bytes_of(message.payload, message.len);
  rd_kafka_headers_t* headers = nullptr;
  if (api.message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return record;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; api.header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i)
    record.headers.emplace_back(name, value == nullptr ? std::nullopt : std::optional(bytes_of(value, size)));
  return record;
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
        "Ctrl-C ends it, with everything committed that a group has printed.");
  }

  int run(std::ostream& out, std::ostream& errors) override {
    catch_interrupts();
    auto settings = options_.settings(ConnectionOptions::Use::records);
    auto format = settings ? RecordFormat::parse(format_) : std::unexpected<Error>(settings.error());
    auto place =
        format ? parse_start_place(offset_.empty() ? (exit_at_end_ || count_ > 0 ? "start" : "end") : offset_,
                                   now_ms())
               : std::unexpected<Error>(format.error());
    if (place && !group_.empty()) {
      if (!partitions_.empty())
        place =
            fail(ErrorKind::invalid, "--group and -p together: members of groups are given their partitions");
      if (!offset_.empty() && place->number != 0)
        place = fail(ErrorKind::invalid,
                     "--group goes on where it has committed; -o can be start or end, for what it "
                     "has not read yet. barnabas group seek moves a group");
    }
    if (!place) {
      complain(errors, place.error().message);
      return 2;
    }
    auto done = consume(*settings, *format, *place, out);
    if (!done) return complain(errors, done.error().message);
    return finish_output(out, errors);
  }

 private:
  Result<void> consume(const ConnectionSettings& settings, const RecordFormat& format,
                       const StartPlace& place, std::ostream& out) {
    BARNABAS_ASSIGN(const auto cluster, Cluster::open(settings));
    BARNABAS_TRY(choose(*cluster, place));
    if (group_.empty() && exit_at_end_ && open_.empty()) return {};
    BARNABAS_ASSIGN(const Librdkafka* api, Librdkafka::load());
    Trouble trouble;
    BARNABAS_ASSIGN(const Handle handle,
                    make_handle(*api, RD_KAFKA_CONSUMER, settings, properties(settings, place), trouble));
    api->poll_set_consumer(handle.get());
    BARNABAS_TRY(begin(*api, handle.get()));
    auto read = read_all(*api, handle.get(), format, trouble, out);
    // Leaves the group, and commits what was stored.
    api->consumer_close(handle.get());
    return read;
  }

  std::map<std::string, std::string> properties(const ConnectionSettings& settings,
                                                const StartPlace& place) const {
    std::map<std::string, std::string> more{
        {"enable.partition.eof", "true"},
        {"enable.auto.offset.store", "false"},
        {"isolation.level", read_committed_ ? "read_committed" : "read_uncommitted"},
    };
    // An assignment needs a group's name in librdkafka, which asks no broker about it.
    more["group.id"] = group_.empty() ? "barnabas-consume" : group_;
    if (group_.empty()) more["enable.auto.commit"] = "false";
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
    std::map<TopicPartition, int64_t> times;
    if (place.kind == StartPlace::Kind::time) {
      BARNABAS_ASSIGN(times, offsets_at(cluster, partitions, place.number, read_committed_));
    }
    for (const TopicPartition& each : partitions) {
      const int64_t at_time = times.contains(each) ? times.at(each) : -1;
      begins_[each] = offset_of(place, starts.at(each), ends_.at(each), at_time);
      if (!group_.empty() || begins_.at(each) < ends_.at(each)) open_.insert(each);
    }
    return {};
  }

  Result<void> begin(const Librdkafka& api, rd_kafka_t* handle) const {
    const List list(api.list_new(static_cast<int>(begins_.size())), ListDeleter{&api});
    if (group_.empty()) {
      for (const auto& [partition, offset] : begins_)
        api.list_add(list.get(), partition.topic.c_str(), partition.partition)->offset = offset;
    } else {
      for (const std::string& topic : topics_) api.list_add(list.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
    }
    const auto error = group_.empty() ? api.assign(handle, list.get()) : api.subscribe(handle, list.get());
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(ErrorKind::invalid, api.err2str(error));
    return {};
  }

  Result<void> read_all(const Librdkafka& api, rd_kafka_t* handle, const RecordFormat& format,
                        const Trouble& trouble, std::ostream& out) {
    std::string line;
    uint64_t number = 0;
    while (!interrupted() && (count_ == 0 || number < count_) && !is_at_end(api, handle)) {
      const std::unique_ptr<rd_kafka_message_t, MessageDeleter> message(api.consumer_poll(handle, 100),
                                                                        MessageDeleter{&api});
      paused_ = !message || message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
      if (!message) {
        // Whoever waits at the other end of a pipe sees what there is.
        if (!out.flush()) return {};
        if (!trouble.hopeless.empty()) return fail(ErrorKind::io, trouble.hopeless);
        continue;
      }
      if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        note_position(api, *message, message->offset);
        if (!out.flush()) return {};
        continue;
      }
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        return fail(ErrorKind::io, message->payload != nullptr
                                       ? std::string(bytes_of(message->payload, message->len))
                                       : std::string(api.err2str(message->err)));
      // Of a partition that is read to the end already others may still bring something.
      const RecordView record = view_of(api, *message);
      if (exit_at_end_ && record.offset >= end_of(record)) {
        note_position(api, *message, record.offset);
        continue;
      }
      line.clear();
      if (options_.format() == OutputFormat::json) {
        line = json_line(json_of_record(record));
      } else {
        format.print(record, null_, line);
      }
      out.write(line.data(), static_cast<std::streamsize>(line.size()));
      if (!out) return {};
      ++number;
      if (!group_.empty()) store(api, handle, record);
      note_position(api, *message, record.offset + 1);
    }
    return {};
  }

  /// With -e: whether nothing that this reader is given is still to be read. The other members of its group
  /// have the rest.
  bool is_at_end(const Librdkafka& api, rd_kafka_t* handle) const {
    if (!exit_at_end_ || open_.empty()) return exit_at_end_;
    rd_kafka_topic_partition_list_t* assigned = nullptr;
    if (group_.empty() || !paused_ || api.assignment(handle, &assigned) != RD_KAFKA_RESP_ERR_NO_ERROR)
      return false;
    const List list(assigned, ListDeleter{&api});
    for (int i = 0; i < list->cnt; ++i)
      if (open_.contains({list->elems[i].topic, list->elems[i].partition})) return false;
    return list->cnt > 0;
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

  static void store(const Librdkafka& api, rd_kafka_t* handle, const RecordView& record) {
    const List list(api.list_new(1), ListDeleter{&api});
    const std::string topic(record.topic);
    api.list_add(list.get(), topic.c_str(), record.partition)->offset = record.offset + 1;
    // It fails only for a partition that was just taken away; its next owner reads the record again.
    api.offsets_store(handle, list.get());
  }

  ConnectionOptions options_;
  std::vector<std::string> topics_;
  std::string offset_;
  std::vector<int32_t> partitions_;
  uint64_t count_ = 0;
  bool exit_at_end_ = false;
  std::string format_ = "%v\\n";
  std::string null_;
  std::string group_;
  bool read_committed_ = false;

  std::map<TopicPartition, int64_t> begins_, ends_;
  std::set<TopicPartition> open_;  ///< with -e: not at the end yet
  bool paused_ = false;            ///< no record came last
};

}  // namespace

std::unique_ptr<command::Command> consume_command() {
  return std::make_unique<Consume>();
}

}  // namespace barnabas::client
