// Produces real files to a topic with acks=all, and writes down what a consumer must find in each partition.
//
//   main_job_producer TOPIC PARTITIONS COMPRESSION FILE_LIST EXPECTED_DIR [NAME=VALUE]…
//
// A file is cut into lines, into paragraphs, or stays whole, in turn. EXPECTED_DIR/TOPIC-N gets 16 bytes for
// each record of partition N, in order: the beginning of the SHA-256 of the record's canonical form (digest()
// below; Consumer.java computes the same). Prints `acknowledged BYTES` about every MiB and once at the end,
// BYTES counting keys and values. Memory is bounded by one record and librdkafka's queue. NAME=VALUE are
// settings of librdkafka.
#include <openssl/evp.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "client.h"

namespace barnabas::compat {
namespace {

constexpr std::size_t record_bytes_max =
    900'000;  // below the default max.message.bytes, with key and headers
constexpr std::size_t digest_bytes = 16;
constexpr std::uint64_t report_every_bytes = 1 << 20;
constexpr int flush_timeout_ms = 120'000;

enum class Cut { lines, paragraphs, whole };

class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }

  void add_number(std::int64_t number, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
      const auto byte = static_cast<unsigned char>(number >> shift);
      EVP_DigestUpdate(context_.get(), &byte, 1);
    }
  }

  // Length and bytes; length -1 for null.
  void add_bytes(const std::optional<std::string>& bytes) {
    add_number(bytes ? static_cast<std::int64_t>(bytes->size()) : -1, 4);
    if (bytes) {
      EVP_DigestUpdate(context_.get(), bytes->data(), bytes->size());
    }
  }

  std::array<char, digest_bytes> finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> all{};
    EVP_DigestFinal_ex(context_.get(), all.data(), nullptr);
    std::array<char, digest_bytes> result{};
    std::copy_n(all.begin(), digest_bytes, result.begin());
    return result;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

std::array<char, digest_bytes> digest(const Record& record) {
  Digest digest;
  digest.add_number(record.timestamp_ms, 8);
  digest.add_bytes(record.key);
  digest.add_bytes(record.value);
  digest.add_number(static_cast<std::int64_t>(record.headers.size()), 4);
  for (const Header& header : record.headers) {
    digest.add_bytes(header.name);
    digest.add_bytes(header.value);
  }
  return digest.finish();
}

// Reads a file piece by piece; a piece never exceeds record_bytes_max.
class Pieces {
 public:
  Pieces(const std::string& path, Cut cut) : file_(path, std::ios::binary), cut_(cut) {}

  // False at the end of the file. Line ends belong to the pieces, so that all pieces together are the file.
  bool next(std::string& piece) {
    piece.clear();
    while (piece.size() < record_bytes_max) {
      const int c = file_.rdbuf()->sbumpc();
      if (c == std::char_traits<char>::eof()) {
        return !piece.empty();
      }
      piece.push_back(static_cast<char>(c));
      const bool line_ends = c == '\n';
      if (line_ends && (cut_ == Cut::lines || (cut_ == Cut::paragraphs && piece.ends_with("\n\n")))) {
        return true;
      }
    }
    return true;
  }

 private:
  std::ifstream file_;
  Cut cut_;
};

class Job : private RdKafka::DeliveryReportCb {
 public:
  Job(std::string topic, std::size_t partitions, const std::string& expected_dir, const Settings& settings)
      : topic_(std::move(topic)) {
    std::string problem;
    producer_.reset(RdKafka::Producer::create(configuration(settings, this).get(), problem));
    if (!producer_) {
      throw std::runtime_error(problem);
    }
    for (std::size_t i = 0; i < partitions; ++i) {
      expected_.emplace_back(expected_dir + "/" + topic_ + "-" + std::to_string(i), std::ios::binary);
    }
  }

  void send_file(const std::string& path, std::size_t index) {
    const Cut cut = std::array{Cut::lines, Cut::paragraphs, Cut::whole}[index % 3];
    const std::int64_t time_ms = modification_time_ms(path);
    Pieces pieces(path, cut);
    std::string piece;
    std::int64_t number = 0;
    for (; pieces.next(piece); ++number) {
      Record record;
      record.value = std::move(piece);
      record.timestamp_ms = time_ms + number;
      if (cut == Cut::paragraphs) {  // no key, any partition
        record.headers = {{"path", path}, {"paragraph", std::to_string(number)}};
        send(record, next_partition_++ % expected_.size());
      } else {
        record.key = path;
        if (cut == Cut::whole) {
          record.headers = {{"path", path}, {"part", std::to_string(number)}, {"part", std::nullopt}};
        }
        send(record, partition_of(path));
      }
    }
    // The end of a file is a record without value, as for a deleted key.
    send({path, std::nullopt, {{"pieces", std::to_string(number)}}, time_ms + number}, partition_of(path));
  }

  // Throws unless everything sent was acknowledged.
  void finish() {
    if (producer_->flush(flush_timeout_ms) != RdKafka::ERR_NO_ERROR) {
      throw std::runtime_error(std::to_string(producer_->outq_len()) +
                               " records still wait for acknowledgement");
    }
    check();
    for (std::ofstream& file : expected_) {
      file.close();
      if (!file) {
        throw std::runtime_error("cannot write what is expected");
      }
    }
    std::cout << "acknowledged " << acknowledged_bytes_ << std::endl;
  }

 private:
  static std::int64_t modification_time_ms(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mtim.tv_sec * 1'000 : 0;
  }

  std::size_t partition_of(const std::string& path) const {
    return std::hash<std::string_view>{}(path) % expected_.size();
  }

  void send(const Record& record, std::size_t partition) {
    const std::array<char, digest_bytes> bytes = digest(record);
    expected_[partition].write(bytes.data(), bytes.size());
    const auto error = produce(*producer_, topic_, static_cast<std::int32_t>(partition), record, nullptr);
    if (error != RdKafka::ERR_NO_ERROR) {
      throw std::runtime_error(RdKafka::err2str(error));
    }
    check();
  }

  void check() const {
    if (error_ != RdKafka::ERR_NO_ERROR) {
      throw std::runtime_error("a record was not accepted: " + RdKafka::err2str(error_));
    }
  }

  void dr_cb(RdKafka::Message& message) override {
    if (message.err() != RdKafka::ERR_NO_ERROR) {
      error_ = message.err();
      return;
    }
    acknowledged_bytes_ += message.len() + message.key_len();
    if (acknowledged_bytes_ >= next_report_bytes_) {
      std::cout << "acknowledged " << acknowledged_bytes_ << std::endl;
      next_report_bytes_ = acknowledged_bytes_ + report_every_bytes;
    }
  }

  std::string topic_;
  std::unique_ptr<RdKafka::Producer> producer_;
  std::vector<std::ofstream> expected_;
  std::size_t next_partition_ = 0;
  std::uint64_t acknowledged_bytes_ = 0;
  std::uint64_t next_report_bytes_ = report_every_bytes;
  RdKafka::ErrorCode error_ = RdKafka::ERR_NO_ERROR;
};

Settings job_settings(const std::string& compression) {
  return {{"acks", "all"},
          {"compression.type", compression},
          {"linger.ms", "5"},
          {"queue.buffering.max.kbytes", "32768"},
          {"message.timeout.ms", "120000"}};
}

void run(const std::vector<std::string>& arguments) {
  const std::string& topic = arguments[0];
  const int partitions = std::stoi(arguments[1]);
  Settings settings = job_settings(arguments[2]);
  for (std::size_t i = 5; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    settings.emplace_back(arguments[i].substr(0, equals), arguments[i].substr(equals + 1));
  }
  create_topic(topic, partitions,
               {{"retention.ms", "-1"}});  // the files, and so the records, may be years old
  Job job(topic, static_cast<std::size_t>(partitions), arguments[4], settings);
  std::ifstream list(arguments[3]);
  std::string path;
  for (std::size_t index = 0; std::getline(list, path); ++index) {
    job.send_file(path, index);
  }
  job.finish();
}

}  // namespace
}  // namespace barnabas::compat

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 5) {
    std::cerr
        << "usage: main_job_producer TOPIC PARTITIONS COMPRESSION FILE_LIST EXPECTED_DIR [NAME=VALUE]…\n";
    return 2;
  }
  try {
    barnabas::compat::run(arguments);
  } catch (const std::exception& error) {
    std::cerr << "main_job_producer: " << error.what() << std::endl;
    return 1;
  }
}
