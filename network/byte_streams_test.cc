// The reader and the writer of a connection against a transport that moves as little or as much as a seed
// says.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/endian.h"
#include "base/random.h"
#include "io/fake_disk.h"
#include "network/reply_writer.h"
#include "network/request_reader.h"

namespace barnabas::network {
namespace {

/// Gives `input` and takes `output`, in portions of any size, with waits in between.
class ScriptedTransport final : public Transport {
 public:
  explicit ScriptedTransport(uint64_t seed) : random_(seed) {}

  IoOutcome read(std::span<const iovec> into) override {
    if (random_.one_in(4)) return {IoOutcome::Status::again};
    if (at_ == input.size()) return {IoOutcome::Status::end};
    const std::size_t portion = std::min(input.size() - at_, portion_size());
    std::size_t moved = 0;
    for (const iovec& piece : into) {
      const std::size_t length = std::min(piece.iov_len, portion - moved);
      std::memcpy(piece.iov_base, input.data() + at_ + moved, length);
      moved += length;
    }
    at_ += moved;
    return {IoOutcome::Status::done, moved};
  }

  IoOutcome write(std::span<const iovec> from, bool) override {
    if (random_.one_in(4)) return {IoOutcome::Status::again};
    const std::size_t portion = portion_size();
    std::size_t moved = 0;
    for (const iovec& piece : from) {
      const std::size_t length = std::min(piece.iov_len, portion - moved);
      output.append(static_cast<const char*>(piece.iov_base), length);
      moved += length;
    }
    return {IoOutcome::Status::done, moved};
  }

  bool peer_has_ended() override { return at_ == input.size(); }
  bool can_send_files() const override { return false; }
  IoOutcome send_file(int, uint64_t, std::size_t) override { return {IoOutcome::Status::error, 0, 38}; }

  std::string input;
  std::string output;

 private:
  std::size_t portion_size() { return 1 + random_.below(random_.one_in(2) ? 8 : 200'000); }

  SeededRandom random_;
  std::size_t at_ = 0;
};

std::string random_text(SeededRandom& random, std::size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random.next());
  return text;
}

std::string with_size(const std::string& text) {
  std::string bytes(4, '\0');
  store_big_endian(reinterpret_cast<std::byte*>(bytes.data()), static_cast<uint32_t>(text.size()));
  return bytes + text;
}

std::size_t some_size(SeededRandom& random) {
  return 1 + random.below(random.one_in(4) ? 300'000 : random.one_in(2) ? 5'000 : 30);
}

TEST(RequestReader, finds_the_same_requests_whatever_the_portions) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    ScriptedTransport transport(seed + 1'000'000);
    std::vector<std::string> sent;
    for (int i = 0; i < 20; ++i) {
      sent.push_back(random_text(random, some_size(random)));
      transport.input += with_size(sent.back());
    }
    transport.input += with_size("never complete").substr(0, random.below(18));

    MemoryBudget budget;
    FramePool pool(budget);
    RequestReader reader(pool, 1 << 20);
    std::vector<std::byte> scratch(random.one_in(2) ? 128 << 10 : 1000);
    std::vector<std::string> found;
    for (bool ended = false; !ended;) {
      RequestReader::State state;
      while ((state = reader.advance()) == RequestReader::State::complete) {
        found.emplace_back(as_text(reader.take().bytes()));
        if (random.one_in(3)) {
          reader.keep_rest();
          std::ranges::fill(scratch, std::byte{0xee});
        }
      }
      ASSERT_EQ(state, RequestReader::State::need_bytes);
      reader.keep_rest();
      bool filled = false;
      const auto ahead = random.one_in(4) ? RequestReader::Ahead::none : RequestReader::Ahead::allowed;
      ended = reader.read(transport, scratch, ahead, filled).status == IoOutcome::Status::end;
    }
    ASSERT_TRUE(found == sent);
    reader.drop();
    EXPECT_EQ(budget.used(), 0u);
  }
}

TEST(ReplyWriter, sends_the_same_bytes_whatever_the_portions) {
  io::FakeDisk disk;
  SeededRandom content(1);
  const std::string file_text = random_text(content, 600'000);
  disk.put_file("/file", file_text);
  const auto file = *disk.open("/file", io::OpenMode::read);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    ScriptedTransport transport(seed + 2'000'000);
    ReplyWriter writer;
    std::string expected;
    const auto push_one = [&] {
      OutgoingFrame frame;
      std::string text;
      for (uint64_t piece = random.below(6); piece > 0; --piece) {
        const std::size_t size = some_size(random);
        if (random.one_in(3)) {
          const std::size_t position = random.below(200'000);
          frame.add(io::FileSlice{file, position, size});
          text += file_text.substr(position, size);
        } else {
          const std::string bytes = random_text(random, size);
          const ByteView view = as_byte_view(bytes);
          frame.add(std::vector<std::byte>(view.begin(), view.end()));
          text += bytes;
        }
      }
      expected += with_size(text);
      writer.push(std::move(frame));
    };
    for (int left = 20; left > 0 || !writer.empty();) {
      if (left > 0 && random.one_in(2)) {
        push_one();
        --left;
      }
      const auto status = writer.flush(transport, 1 + random.below(100'000));
      ASSERT_NE(status, ReplyWriter::Status::failed);
      if (status != ReplyWriter::Status::cold) continue;
      const auto cold = writer.cold_piece(transport);
      ASSERT_TRUE(cold.wants_bytes);
      auto bytes = std::make_unique<std::byte[]>(cold.slice.length);
      ASSERT_EQ(*cold.slice.file->read_at({bytes.get(), cold.slice.length}, cold.slice.position),
                cold.slice.length);
      writer.supply(std::move(bytes), cold.slice.length);
    }
    EXPECT_EQ(writer.backlog(), 0u);
    ASSERT_TRUE(transport.output == expected);
  }
}

}  // namespace
}  // namespace barnabas::network
