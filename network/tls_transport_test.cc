#include <fcntl.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "io/fake_disk.h"
#include "io/posix_disk.h"
#include "network/memory_budget.h"
#include "network/tls_fixture.h"

namespace barnabas::network {
namespace {

using security::ClientAuth;

std::string pattern(std::size_t size, unsigned seed) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 2654435761u + seed) >> 13);
  return text;
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const ByteView bytes = as_byte_view(text);
  return {bytes.begin(), bytes.end()};
}

/// A file of the operating system that is gone afterwards.
struct RealFile {
  explicit RealFile(const std::string& content) {
    std::string name = (std::filesystem::temp_directory_path() / "network_test_XXXXXX").string();
    ::close(::mkstemp(name.data()));
    path = name;
    file = *disk.open(path, io::OpenMode::read_write);
    EXPECT_TRUE(file->write_at(as_byte_view(content), 0));
  }
  ~RealFile() { std::filesystem::remove(path); }

  io::PosixDisk disk;
  std::string path;
  std::shared_ptr<io::File> file;
};

/// Text, all of the file, text.
OutgoingFrame sandwich(const std::shared_ptr<io::File>& file, std::size_t size) {
  OutgoingFrame frame;
  frame.add(bytes_of("head"));
  frame.add(io::FileSlice{file, 0, size});
  frame.add(bytes_of("tail"));
  return frame;
}

class TlsTransportTest : public testing::TestWithParam<int> {};

TEST_P(TlsTransportTest, requests_and_answers_of_every_size_pass) {
  const TlsTestServer server;
  TlsTestClient client(server.port(), {.version = GetParam()});
  ASSERT_TRUE(client.handshake()) << client.failure();
  for (const std::size_t size :
       {1UL, 2UL, 16'383UL, 16'384UL, 16'385UL, 65'532UL, 65'536UL, 131'072UL, 300'000UL, 5'000'000UL}) {
    const std::string text = pattern(size, 7);
    client.send(text);
    EXPECT_TRUE(client.receive() == text) << size;
  }
}

TEST_P(TlsTransportTest, requests_may_come_one_byte_at_a_time) {
  const TlsTestServer server;
  TlsTestClient client(server.port(), {.version = GetParam(), .portion = 1});
  ASSERT_TRUE(client.handshake()) << client.failure();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client.ask(numbered(i)), numbered(i));
}

TEST_P(TlsTransportTest, many_requests_in_one_write_are_answered_in_order) {
  const TlsTestServer server;
  TlsTestClient client(server.port(), {.version = GetParam()});
  ASSERT_TRUE(client.handshake()) << client.failure();
  std::string all;
  for (int i = 0; i < 2000; ++i) all += framed(numbered(i));
  client.send_raw(all);
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(client.receive(), numbered(i));
}

TEST_P(TlsTransportTest, files_and_memory_are_sent_in_order) {
  const std::string content = pattern(3 << 20, 1);
  const RealFile file(content);
  const TlsTestServer server(ClientAuth::none, [&](IncomingRequest request) {
    request.slot.reply(sandwich(file.file, content.size()));
  });
  TlsTestClient client(server.port(), {.version = GetParam()});
  ASSERT_TRUE(client.handshake()) << client.failure();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.ask("file") == "head" + content + "tail");
}

TEST_P(TlsTransportTest, a_file_that_has_to_be_read_first_is_sent_as_well) {
  const std::string content = pattern(3 << 20, 2);
  const RealFile file(content);
  EXPECT_TRUE(file.file->sync_data());
  ::posix_fadvise(file.file->descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  const TlsTestServer server(ClientAuth::none, [&](IncomingRequest request) {
    request.slot.reply(sandwich(file.file, content.size()));
  });
  TlsTestClient client(server.port(), {.version = GetParam()});
  ASSERT_TRUE(client.handshake()) << client.failure();
  EXPECT_TRUE(client.ask("file") == "head" + content + "tail");
}

TEST_P(TlsTransportTest, files_without_a_descriptor_are_sent_through_memory) {
  const std::string content = pattern(700'000, 3);
  io::FakeDisk disk;
  disk.put_file("/data/file", content);
  const std::shared_ptr<io::File> file = *disk.open("/data/file", io::OpenMode::read);
  const TlsTestServer server(
      ClientAuth::none, [&](IncomingRequest request) { request.slot.reply(sandwich(file, content.size())); });
  TlsTestClient client(server.port(), {.version = GetParam()});
  ASSERT_TRUE(client.handshake()) << client.failure();
  EXPECT_TRUE(client.ask("file") == "head" + content + "tail");
}

TEST_P(TlsTransportTest, a_reader_that_stops_now_and_then_gets_all_of_it) {
  const std::string content = pattern(8 << 20, 4);
  const RealFile file(content);
  ServerLimits limits;
  limits.send_buffer_bytes = 8 << 10;
  TlsTestServer server(
      ClientAuth::none,
      [&](IncomingRequest request) { request.slot.reply(sandwich(file.file, content.size())); }, limits);
  TlsTestClient client(server.port(), {.version = GetParam(), .receive_buffer_bytes = 8 << 10});
  ASSERT_TRUE(client.handshake()) << client.failure();
  client.send("file");
  // Another one is served while this one does not read.
  TlsTestClient other(server.port(), {.version = GetParam()});
  ASSERT_TRUE(other.handshake()) << other.failure();
  other.send("file");
  EXPECT_TRUE(other.receive() == "head" + content + "tail");
  EXPECT_TRUE(client.receive() == "head" + content + "tail");
}

TEST_P(TlsTransportTest, readers_that_stop_hold_little_memory) {
  const std::string content = pattern(4 << 20, 5);
  const RealFile file(content);
  TlsTestServer server(ClientAuth::none, [&](IncomingRequest request) {
    request.slot.reply(sandwich(file.file, content.size()));
  });
  std::vector<std::unique_ptr<TlsTestClient>> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(
        std::make_unique<TlsTestClient>(server.port(), TlsClientOptions{.version = GetParam()}));
    ASSERT_TRUE(clients.back()->handshake()) << clients.back()->failure();
  }
  const std::size_t before = resident_bytes();
  for (const auto& client : clients) client->send("file");
  EXPECT_TRUE(eventually([&] { return server.server->started == 40; }));
  for (int i = 0; i < 10; ++i) {  // whatever a thread still does
    TlsTestClient other(server.port(), {.version = GetParam()});
    ASSERT_TRUE(other.handshake());
    ASSERT_TRUE(other.ask("file"));
  }
  const std::size_t after = resident_bytes();
  if (!sanitized) {
    EXPECT_LT(after, before + (40 << 20)) << "an answer each would be 160 MiB";
  }
}

TEST_P(TlsTransportTest, what_is_read_ahead_is_bounded_for_all_together) {
  constexpr std::size_t budget = 1 << 20;
  constexpr std::size_t count = 60;
  constexpr std::size_t scratch = 128 << 10;
  constexpr std::size_t record = 17 << 10;
  ServerLimits limits;
  limits.total_bytes_in_flight_max = budget;
  TlsTestServer server(ClientAuth::none, {}, limits);
  std::string sent = framed("held");
  for (int i = 0; i < 100; ++i) sent += framed(std::string(1000, 'x'));
  std::vector<std::unique_ptr<TlsTestClient>> clients;
  std::vector<IncomingRequest> held;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(
        std::make_unique<TlsTestClient>(server.port(), TlsClientOptions{.version = GetParam()}));
    ASSERT_TRUE(clients.back()->handshake()) << clients.back()->failure();
    clients.back()->send_raw(sent);
    held.push_back(server.server->take());
  }
  const std::size_t taken = count * sent.size() - bytes_left_unread(server.port());
  // A record is opened whole or not at all.
  EXPECT_LE(taken, budget / 2 + 2 * (scratch + security::TlsContext::read_buffer_bytes) + count * record);
  MemoryBudget& counted = server.server->loops.budget();
  EXPECT_TRUE(eventually([&] { return counted.used() + taken / 50 >= taken; }))
      << counted.used() << " of " << taken << " are counted";
  held.clear();
  clients.clear();
  EXPECT_TRUE(eventually([&] { return counted.used() == 0; }));
}

TEST_P(TlsTransportTest, a_peer_that_ends_its_side_still_gets_its_answers) {
  TlsTestServer server(ClientAuth::none, {});
  TlsTestClient client(server.port(), {.version = GetParam()});
  ASSERT_TRUE(client.handshake()) << client.failure();
  client.send("one");
  client.send("two");
  client.end_sending();
  for (const char* text : {"one", "two"}) {
    IncomingRequest request = server.server->take();
    EXPECT_EQ(text_of(request), text);
    request.slot.reply(answer(text));
  }
  EXPECT_EQ(client.receive(), "one");
  EXPECT_EQ(client.receive(), "two");
  EXPECT_TRUE(client.told_of_the_end());
}

TEST_P(TlsTransportTest, a_peer_that_ends_the_socket_only_still_gets_its_answers) {
  TlsTestServer server(ClientAuth::none, {});
  TlsTestClient client(server.port(), {.version = GetParam()});
  ASSERT_TRUE(client.handshake()) << client.failure();
  client.send("one");
  client.plain().end_sending();
  server.server->take().slot.reply(answer("one"));
  EXPECT_EQ(client.receive(), "one");
  EXPECT_TRUE(client.told_of_the_end());
}

TEST_P(TlsTransportTest, a_server_that_stops_says_so) {
  TlsTestServer server;
  TlsTestClient client(server.port(), {.version = GetParam()});
  ASSERT_TRUE(client.handshake()) << client.failure();
  EXPECT_EQ(client.ask("hello"), "hello");
  server.server->server->begin_stop();
  EXPECT_TRUE(client.told_of_the_end());
  EXPECT_TRUE(server.server->server->wait_stopped(10s));
}

TEST_P(TlsTransportTest, a_record_that_was_changed_on_its_way_closes) {
  const TlsTestServer server;
  TlsTestClient client(server.port(), {.version = GetParam()});
  ASSERT_TRUE(client.handshake()) << client.failure();
  EXPECT_EQ(client.ask("hello"), "hello");
  client.plain().send_raw(std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x'));
  EXPECT_FALSE(client.ask("after").has_value());
  EXPECT_EQ(server.server->started, 1);
}

TEST_P(TlsTransportTest, a_frame_that_is_too_large_is_refused_as_without_tls) {
  const LogLines log;
  const TlsTestServer server;
  TlsTestClient client(server.port(), {.version = GetParam()});
  ASSERT_TRUE(client.handshake()) << client.failure();
  client.send_raw("GET / HTTP/1.1\r\n\r\n");
  EXPECT_FALSE(client.receive().has_value());
  EXPECT_TRUE(log.hold("(an HTTP client?)"));
}

std::string version_name(const testing::TestParamInfo<int>& version) {
  return version.param == TLS1_3_VERSION ? "tls_1_3" : "tls_1_2";
}

INSTANTIATE_TEST_SUITE_P(Versions, TlsTransportTest, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         version_name);

TEST(TlsKeyUpdate, new_keys_are_taken_and_given) {
  const TlsTestServer server;
  TlsTestClient client(server.port(), {.version = TLS1_3_VERSION});
  ASSERT_TRUE(client.handshake()) << client.failure();
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(SSL_key_update(client.native(), SSL_KEY_UPDATE_REQUESTED), 1);
    EXPECT_EQ(client.ask(numbered(i)), numbered(i));
  }
}

TEST(TlsKeyUpdate, a_peer_that_sends_nothing_else_is_dropped) {
  const TlsTestServer server;
  TlsTestClient client(server.port(), {.version = TLS1_3_VERSION});
  ASSERT_TRUE(client.handshake()) << client.failure();
  EXPECT_EQ(client.ask(numbered(1)), numbered(1));
  // More than are read at once, and a request behind them.
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(SSL_key_update(client.native(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    ASSERT_EQ(SSL_do_handshake(client.native()), 1);
  }
  client.send(numbered(2));
  EXPECT_EQ(client.receive(), std::nullopt);
  TlsTestClient other(server.port(), {.version = TLS1_3_VERSION});
  ASSERT_TRUE(other.handshake()) << other.failure();
  EXPECT_EQ(other.ask(numbered(3)), numbered(3));
}

}  // namespace
}  // namespace barnabas::network
