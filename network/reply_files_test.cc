#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "io/fake_disk.h"
#include "io/posix_disk.h"
#include "network/file_records.h"
#include "network/network_fixture.h"
#include "network/page_cache.h"

namespace barnabas::network {
namespace {

std::string pattern(std::size_t size, unsigned seed) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 2654435761u + seed) >> 13);
  return text;
}

/// A file of the operating system that is gone afterwards.
struct RealFile {
  explicit RealFile(const std::string& content) {
    char name[] = "/tmp/network_test_XXXXXX";
    ::close(::mkstemp(name));
    path = name;
    file = *disk.open(path, io::OpenMode::read_write);
    EXPECT_TRUE(file->write_at(as_byte_view(content), 0));
  }
  ~RealFile() { std::filesystem::remove(path); }
  /// Out of the page cache.
  void cool_down() const {
    EXPECT_TRUE(file->sync_data());
    ::posix_fadvise(file->descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  }

  io::PosixDisk disk;
  std::string path;
  std::shared_ptr<io::File> file;
};

/// Answers every request with what `make` makes.
TestServer::OnRequest answering(std::function<OutgoingFrame()> make) {
  return [make = std::move(make)](IncomingRequest request) { request.slot.reply(make()); };
}

void add_text(OutgoingFrame& frame, const std::string& text) {
  const ByteView bytes = as_byte_view(text);
  frame.add(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

TEST(ReplyFiles, parts_of_files_and_memory_are_sent_in_order) {
  const std::string content = pattern(3 << 20, 1);
  const RealFile file(content);
  TestServer server({}, answering([&] {
                      OutgoingFrame frame;
                      add_text(frame, "head");
                      frame.add(io::FileSlice{file.file, 5, 100});
                      frame.add(io::FileSlice{file.file, 1 << 20, 2 << 20});
                      add_text(frame, "middle");
                      frame.add(io::FileSlice{file.file, 7, 1});
                      frame.add(io::FileSlice{file.file, 0, 0});
                      add_text(frame, "tail");
                      return frame;
                    }));
  const std::string expected =
      "head" + content.substr(5, 100) + content.substr(1 << 20) + "middle" + content.substr(7, 1) + "tail";
  TestClient client = server.connect();
  for (int i = 0; i < 5; ++i) {
    client.send_raw(framed("one") + framed("two"));
    ASSERT_TRUE(client.receive() == expected);
    ASSERT_TRUE(client.receive() == expected);
  }
}

TEST(ReplyFiles, answer_arrives_whole_through_tiny_buffers) {
  const std::string content = pattern(300'000, 2);
  const RealFile file(content);
  TestServer server({.send_buffer_bytes = 4096}, answering([&] {
                      OutgoingFrame frame;
                      for (int i = 0; i < 200; ++i)
                        add_text(frame, content.substr(static_cast<std::size_t>(i), 777));
                      frame.add(io::FileSlice{file.file, 0, content.size()});
                      add_text(frame, content.substr(0, 50'000));
                      frame.add(io::FileSlice{file.file, 100, 1000});
                      return frame;
                    }));
  std::string expected;
  for (int i = 0; i < 200; ++i) expected += content.substr(static_cast<std::size_t>(i), 777);
  expected += content + content.substr(0, 50'000) + content.substr(100, 1000);
  TestClient client = server.connect(4096);
  client.send_raw(framed("one") + framed("two"));
  ASSERT_TRUE(client.receive() == expected);
  ASSERT_TRUE(client.receive() == expected);
}

TEST(ReplyFiles, cold_pages_are_read_elsewhere_and_then_sent) {
  const std::string content = pattern(5 << 20, 3);
  const RealFile file(content);
  TestServer server({}, answering([&] {
                      OutgoingFrame frame;
                      frame.add(io::FileSlice{file.file, 1000, content.size() - 1000});
                      add_text(frame, "tail");
                      return frame;
                    }),
                    1);
  TestClient client = server.connect();
  for (int i = 0; i < 3; ++i) {
    file.cool_down();
    client.send("one");
    ASSERT_TRUE(client.receive() == content.substr(1000) + "tail");
  }
}

TEST(ReplyFiles, page_cache_is_looked_at_without_waiting) {
  const std::string content = pattern(1 << 20, 4);
  const RealFile file(content);
  const int descriptor = file.file->descriptor();
  EXPECT_TRUE(in_page_cache(descriptor, 0, content.size()));
  file.cool_down();
  const bool can_cool = !in_page_cache(descriptor, 0, content.size());
  EXPECT_TRUE(read_into_page_cache({file.file, 10, content.size() - 10}));
  EXPECT_TRUE(in_page_cache(descriptor, 0, content.size()));
  EXPECT_FALSE(read_into_page_cache({file.file, 10, content.size()}));
  if (!can_cool) GTEST_SKIP() << "this file system keeps pages in memory";
}

TEST(ReplyFiles, files_without_descriptor_are_read_piece_by_piece) {
  io::FakeDisk disk;
  const std::string content = pattern(700'000, 5);
  disk.put_file("/data/file", content);
  const auto file = *disk.open("/data/file", io::OpenMode::read);
  ASSERT_EQ(file->descriptor(), -1);
  TestServer server({}, answering([&] {
                      OutgoingFrame frame;
                      add_text(frame, "head");
                      frame.add(io::FileSlice{file, 3, content.size() - 3});
                      add_text(frame, "tail");
                      return frame;
                    }));
  TestClient client = server.connect();
  client.send_raw(framed("one") + framed("two"));
  ASSERT_TRUE(client.receive() == "head" + content.substr(3) + "tail");
  ASSERT_TRUE(client.receive() == "head" + content.substr(3) + "tail");
}

TEST(ReplyFiles, file_that_cannot_be_read_closes_the_connection_only) {
  io::FakeDisk disk;
  disk.put_file("/data/file", pattern(700'000, 6));
  const auto file = *disk.open("/data/file", io::OpenMode::read);
  TestServer server({}, [&](IncomingRequest request) {
    if (text_of(request) == "echo") return echo(std::move(request));
    OutgoingFrame frame;
    frame.add(io::FileSlice{file, 0, 700'000});
    request.slot.reply(std::move(frame));
  });
  TestClient other = server.connect();
  TestClient client = server.connect();
  disk.add_fault({.call = io::DiskCall::read, .nth = 2});
  client.send("file");
  EXPECT_EQ(client.receive(), std::nullopt);
  other.send("echo");
  EXPECT_EQ(other.receive(), "echo");
}

TEST(ReplyFiles, file_shorter_than_promised_closes_the_connection) {
  const RealFile real(pattern(100'000, 7));
  io::FakeDisk disk;
  disk.put_file("/data/file", pattern(100'000, 7));
  const auto fake = *disk.open("/data/file", io::OpenMode::read);
  for (const std::shared_ptr<io::File>& file : {real.file, fake}) {
    TestServer server({}, answering([&] {
                        OutgoingFrame frame;
                        frame.add(io::FileSlice{file, 50'000, 50'001});
                        return frame;
                      }));
    TestClient client = server.connect();
    client.send("one");
    EXPECT_EQ(client.receive(), std::nullopt);
  }
}

TEST(ReplyFiles, peer_that_leaves_while_cold_pages_are_read_does_no_harm) {
  const std::string content = pattern(8 << 20, 8);
  const RealFile file(content);
  TestServer server({}, answering([&] {
                      OutgoingFrame frame;
                      frame.add(io::FileSlice{file.file, 0, content.size()});
                      return frame;
                    }));
  for (int i = 0; i < 20; ++i) {
    file.cool_down();
    TestClient client = server.connect();
    client.send("one");
    std::this_thread::sleep_for(std::chrono::microseconds(i * 300));
    client.reset();
  }
  EXPECT_TRUE(eventually([&] { return server.server->connection_count() == 0; }));
}

TEST(ReplyFiles, written_message_becomes_pieces) {
  const std::string content = pattern(1000, 9);
  const RealFile file(content);
  TestServer server({}, answering([&] {
                      protocol::Writer writer;
                      writer.int32(7);
                      writer.records(
                          protocol::Records(std::make_shared<FileRecords>(io::FileSlice{file.file, 10, 20})),
                          false, false, "records");
                      writer.int16(9);
                      return outgoing_frame(*writer.take());
                    }));
  TestClient client = server.connect();
  client.send("one");
  const std::string expected =
      std::string("\0\0\0\x07\0\0\0\x14", 8) + content.substr(10, 20) + std::string("\0\x09", 2);
  EXPECT_EQ(client.receive(), expected);
}

}  // namespace
}  // namespace barnabas::network
