#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <iostream>
#include <utility>

#include "client/action.h"
#include "client/byte_input.h"
#include "client/commands/assignments.h"
#include "client/commands/commands.h"
#include "client/commands/produce_target.h"
#include "client/interrupt.h"
#include "client/librdkafka.h"
#include "client/record_format.h"

namespace barnabas::client {
namespace {

constexpr std::size_t record_bytes_max = 128 << 20;

using Clock = std::chrono::steady_clock;

/// Of one request, and so of a record: brokers take 100 MiB (socket.request.max.bytes), where nothing else is
/// set. What a topic takes is for the topic to say.
constexpr std::string_view request_bytes_max = "104000000";

/// What became of the records.
class Deliveries final : public HandleEvents {
 public:
  Deliveries(const Librdkafka& api, std::string topic, std::chrono::milliseconds patience, std::ostream* rows)
      : api_(api), topic_(std::move(topic)), patience_(patience), rows_(rows) {}

  void on_error(const std::string& words, bool fatal) override {
    if (!hopeless) trouble = words;
    hopeless |= fatal;
  }
  void on_delivery(const rd_kafka_message_t& message) override {
    last_report = Clock::now();
    if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      ++failed;
      note_failure(message.err);
      return;
    }
    ++delivered;
    trouble.clear();
    if (rows_ == nullptr) return;
    *rows_ << json_line({{"topic", api_.topic_name(message.rkt)},
                         {"partition", message.partition},
                         {"offset", message.offset}});
    new_rows_ = true;
  }
  /// Whoever waits at the other end of a pipe sees what there is.
  void show_rows() {
    if (std::exchange(new_rows_, false)) rows_->flush();
  }
  /// Nobody has answered for too long: what follows would wait in vain, too.
  void give_up() {
    if (failure.empty()) failure = "no broker has acknowledged them within " + seconds_text(patience_);
    hopeless = true;
  }

  uint64_t delivered = 0;
  uint64_t failed = 0;
  std::string failure;  ///< the last one
  std::string trouble;  ///< of the connection, since a record was delivered
  bool hopeless = false;
  Clock::time_point last_report = Clock::now();

 private:
  void note_failure(rd_kafka_resp_err_t error) {
    // What is thrown away after that is no cause.
    if (error == RD_KAFKA_RESP_ERR__PURGE_QUEUE || error == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT) return;
    if (error == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT) return give_up();
    failure = words_of(api_, error);
    if (error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
      failure += " barnabas config set topic " + topic_ + " max.message.bytes=N lets it take larger ones";
  }

  const Librdkafka& api_;
  const std::string topic_;
  const std::chrono::milliseconds patience_;
  std::ostream* rows_;
  bool new_rows_ = false;
};

class Produce final : public command::Command {
 public:
  std::string name() const override { return "produce"; }
  std::string summary() const override { return "Write records, one for each line of standard input"; }

  void declare(CLI::App& app) override {
    app.add_option("topic", topic_, "where to")->required();
    app.add_option("-f,--format", format_,
                   "how records stand in the input: %k, %v, %h and text; '%v\\n' if not said")
        ->type_name("FORMAT");
    app.add_option("-K,--key-delimiter", key_delimiter_,
                   "what stands before it is the key; short for -f '%kX%v\\n'")
        ->type_name("TEXT");
    app.add_option("-k,--key", key_, "the key of all of them");
    app.add_option("-H,--header", headers_, "a header of all of them; repeatable")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    app.add_option("-p,--partition", partition_, "where to; by the key if not said")
        ->check(CLI::NonNegativeNumber);
    app.add_option("-z,--compression", compression_, "none, gzip, snappy, lz4 or zstd")
        ->check(CLI::IsMember({"none", "gzip", "snappy", "lz4", "zstd"}));
    app.add_option("--acks", acks_, "who has to have them: all, 1 or 0; all if not said")
        ->check(CLI::IsMember({"all", "-1", "1", "0"}));
    app.add_flag("-Z,--tombstone", tombstone_,
                 "an empty value is none: it deletes the key in a compacted topic");
    options_.declare(app);
    app.footer(
        "Examples:\n  echo hello | barnabas produce greetings\n"
        "  barnabas produce orders -K : -z zstd < orders.txt\n"
        "  barnabas produce orders -f '%k\\t%h\\t%v\\n' < orders.tsv\n\n"
        "With --output json a line tells the partition and offset of each record.");
  }

  int run(std::ostream& out, std::ostream& errors) override {
    catch_interrupts();
    auto settings = options_.settings(ConnectionOptions::Use::records);
    auto reader = settings ? reader_of_options() : std::unexpected<Error>(settings.error());
    if (!reader) {
      complain(errors, reader.error().message);
      return 2;
    }
    auto done = produce(*settings, *reader, out);
    if (!done) return complain(errors, done.error().message);
    return finish_output(out, errors);
  }

 private:
  Result<RecordReader> reader_of_options() {
    if (!key_delimiter_.empty() && !format_.empty())
      return fail(ErrorKind::invalid, "-K and -f together; put the delimiter into the format");
    std::string text = format_.empty() ? "%v\\n" : format_;
    if (!key_delimiter_.empty()) {
      std::string literal;
      for (const char c : key_delimiter_) literal += c == '%' ? "%%" : std::string(1, c);
      text = "%k" + literal + "%v\\n";
    }
    BARNABAS_ASSIGN(const RecordFormat format, RecordFormat::parse(text));
    for (const std::string& header : headers_) BARNABAS_TRY(parse_assignment(header));
    return RecordReader::create(format);
  }

  std::map<std::string, std::string> properties(const ConnectionSettings& settings) const {
    std::map<std::string, std::string> more;
    if (!acks_.empty()) more["acks"] = acks_;
    if (!compression_.empty()) more["compression.type"] = compression_;
    if (!settings.librdkafka.contains("message.timeout.ms"))
      more["message.timeout.ms"] = std::to_string(settings.timeout.count());
    if (!settings.librdkafka.contains("message.max.bytes")) more["message.max.bytes"] = request_bytes_max;
    return more;
  }

  /// One name for what goes by two, and what --timeout says before both.
  void settle_timeout(ConnectionSettings& settings) {
    auto& known = settings.librdkafka;
    if (const auto other = known.extract("delivery.timeout.ms")) known["message.timeout.ms"] = other.mapped();
    if (options_.asked_timeout()) known.erase("message.timeout.ms");
    const auto given = known.find("message.timeout.ms");
    if (given == known.end()) {
      patience_ = settings.timeout;
    } else {
      int64_t milliseconds = 0;
      std::from_chars(given->second.data(), given->second.data() + given->second.size(), milliseconds);
      patience_ = std::chrono::milliseconds(milliseconds);
    }
  }

  Result<void> produce(ConnectionSettings settings, const RecordReader& reader, std::ostream& out) {
    settle_timeout(settings);
    // A login or certificate that is no good, a topic that is not there and an address that leads nowhere are
    // told at once, and in plain words.
    BARNABAS_ASSIGN(const auto cluster, Cluster::open(settings));
    const auto allowed = settings.librdkafka.find("allow.auto.create.topics");
    BARNABAS_TRY(check_target(*cluster, topic_, partition_ < 0 ? std::nullopt : std::optional(partition_),
                              allowed == settings.librdkafka.end() || allowed->second == "true"));
    BARNABAS_ASSIGN(const Librdkafka* api, Librdkafka::load());
    Deliveries deliveries(*api, topic_, patience_, options_.format() == OutputFormat::json ? &out : nullptr);
    BARNABAS_ASSIGN(const Handle handle,
                    make_handle(*api, RD_KAFKA_PRODUCER, settings, properties(settings), deliveries));
    auto sent = send_all(*api, handle.get(), reader, deliveries);
    finish(*api, handle.get(), deliveries);
    if (shows_progress_) std::cerr << "\r\x1b[K" << std::flush;
    auto delivered = outcome_of(deliveries);
    if (sent || delivered) return sent ? delivered : sent;
    return fail(sent.error().message, std::move(delivered.error()));
  }

  static Result<void> outcome_of(const Deliveries& deliveries) {
    if (deliveries.failed == 0 && !deliveries.hopeless) return {};
    std::string why = deliveries.failure.empty() ? deliveries.trouble : deliveries.failure;
    if (!deliveries.failure.empty() && !deliveries.trouble.empty()) why += " (" + deliveries.trouble + ")";
    return fail(ErrorKind::io, std::to_string(deliveries.failed) + " of " +
                                   std::to_string(deliveries.failed + deliveries.delivered) +
                                   " records were not written: " + why);
  }

  /// Waits for what is on its way, or throws it away when there is no hope for it.
  void finish(const Librdkafka& api, rd_kafka_t* handle, Deliveries& deliveries) {
    while (api.outq_len(handle) > 0 && !deliveries.hopeless) {
      api.flush(handle, 100);
      serve(api, handle, deliveries, 0);
    }
    if (deliveries.hopeless) api.purge(handle, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    api.poll(handle, 0);
  }

  /// Hears of deliveries, and counts the time without any: librdkafka itself notices only now and then what
  /// is too late.
  void serve(const Librdkafka& api, rd_kafka_t* handle, Deliveries& deliveries, int wait_ms) {
    constexpr std::chrono::milliseconds for_its_own_words(300);
    api.poll(handle, wait_ms);
    if (api.outq_len(handle) == 0) {
      deliveries.last_report = Clock::now();
      deliveries.show_rows();
    }
    if (patience_.count() > 0 && Clock::now() >= deliveries.last_report + patience_ + for_its_own_words)
      deliveries.give_up();
    show_progress(deliveries);
  }

  Result<void> send_all(const Librdkafka& api, rd_kafka_t* handle, const RecordReader& reader,
                        Deliveries& deliveries) {
    ByteInput input(STDIN_FILENO, reader.end(), record_bytes_max);
    uint64_t number = 0;
    while (!interrupted() && !deliveries.hopeless) {
      std::string_view piece;
      BARNABAS_ASSIGN(const auto state, input.next(piece, 100));
      if (state == ByteInput::State::end) break;
      if (state == ByteInput::State::piece) {
        ++number;
        auto record = reader.read(piece, !key_delimiter_.empty());
        if (!record) return fail("record " + std::to_string(number), std::move(record.error()));
        if (auto sent = send(api, handle, *record, deliveries); !sent)
          return fail("record " + std::to_string(number), std::move(sent.error()));
      }
      if (state == ByteInput::State::waiting || number % 256 == 0) serve(api, handle, deliveries, 0);
    }
    return {};
  }

  Result<void> send(const Librdkafka& api, rd_kafka_t* handle, const RecordReader::Input& record,
                    Deliveries& deliveries) {
    const std::optional<std::string> key = key_.empty() ? record.key : std::optional(key_);
    const bool no_value = tombstone_ && record.value.empty();
    // librdkafka takes no null pointer for empty.
    static char empty[1] = "";
    const auto pointer = [](const std::string& text) {
      return text.empty() ? static_cast<void*>(empty) : const_cast<char*>(text.data());
    };
    while (true) {
      rd_kafka_headers_t* headers = headers_of(api, record);
      rd_kafka_vu_t fields[7] = {};
      std::size_t count = 0;
      const auto field = [&](rd_kafka_vtype_t type) -> rd_kafka_vu_t& {
        fields[count].vtype = type;
        return fields[count++];
      };
      field(RD_KAFKA_VTYPE_TOPIC).u.cstr = topic_.c_str();
      field(RD_KAFKA_VTYPE_PARTITION).u.i32 = partition_ < 0 ? RD_KAFKA_PARTITION_UA : partition_;
      field(RD_KAFKA_VTYPE_MSGFLAGS).u.i = RD_KAFKA_MSG_F_COPY;
      auto& value = field(RD_KAFKA_VTYPE_VALUE).u.mem;
      value = {no_value ? nullptr : pointer(record.value), no_value ? 0 : record.value.size()};
      if (key) field(RD_KAFKA_VTYPE_KEY).u.mem = {pointer(*key), key->size()};
      if (headers != nullptr) field(RD_KAFKA_VTYPE_HEADERS).u.headers = headers;
      rd_kafka_error_t* error = api.produceva(handle, fields, count);
      if (error == nullptr) return {};
      const auto code = api.error_code(error);
      const std::string words = api.error_string(error);
      api.error_destroy(error);
      if (headers != nullptr) api.headers_destroy(headers);
      if (code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
        return fail(ErrorKind::too_large, "it has " + std::to_string(record.value.size()) +
                                              " bytes, more than a request may have; -X message.max.bytes=N "
                                              "lets this client send it, and brokers have "
                                              "socket.request.max.bytes");
      if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL || interrupted()) return fail(ErrorKind::invalid, words);
      serve(api, handle, deliveries, 100);
      if (deliveries.hopeless) return {};
    }
  }

  rd_kafka_headers_t* headers_of(const Librdkafka& api, const RecordReader::Input& record) const {
    if (headers_.empty() && record.headers.empty()) return nullptr;
    rd_kafka_headers_t* headers = api.headers_new(headers_.size() + record.headers.size());
    const auto add = [&](const std::string& name, const std::string& value) {
      api.header_add(headers, name.data(), static_cast<ssize_t>(name.size()), value.data(),
                     static_cast<ssize_t>(value.size()));
    };
    for (const std::string& text : headers_) {
      const auto equals = text.find('=');
      add(text.substr(0, equals), text.substr(equals + 1));
    }
    for (const auto& [name, value] : record.headers) add(name, value);
    return headers;
  }

  /// Only for somebody who watches, and only after a while.
  void show_progress(const Deliveries& deliveries) {
    const auto now = Clock::now();
    if (::isatty(STDERR_FILENO) != 1 || ::isatty(STDIN_FILENO) == 1 ||
        now < last_shown_ + std::chrono::seconds(1))
      return;
    last_shown_ = now;
    shows_progress_ = true;
    std::cerr << "\r\x1b[K" << deliveries.delivered << " records written" << std::flush;
  }

  ConnectionOptions options_;
  std::string topic_;
  std::string format_;
  std::string key_delimiter_;
  std::string key_;
  std::vector<std::string> headers_;
  int32_t partition_ = -1;
  std::string compression_;
  std::string acks_;
  bool tombstone_ = false;
  std::chrono::milliseconds patience_{0};  ///< for an acknowledgement; none: it may take for ever
  bool shows_progress_ = false;
  Clock::time_point last_shown_ = Clock::now();
};

}  // namespace

std::unique_ptr<command::Command> produce_command() {
  return std::make_unique<Produce>();
}

}  // namespace barnabas::client
