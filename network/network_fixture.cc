#include "network/network_fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/endian.h"

namespace barnabas::network {

namespace {

constexpr auto patience = 20s;

bool readable_within(int socket, std::chrono::milliseconds time) {
  pollfd wait{socket, POLLIN, 0};
  return ::poll(&wait, 1, static_cast<int>(time.count())) > 0;
}

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

TestClient::TestClient(uint16_t port, int receive_buffer_bytes) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  if (receive_buffer_bytes >= 0) {
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  }
  const sockaddr_in address = loopback(port);
  const int connected = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  EXPECT_EQ(connected, 0) << std::strerror(errno);
}

TestClient::~TestClient() {
  close();
}

TestClient::TestClient(TestClient&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

void TestClient::send(std::string_view request) {
  send_raw(framed(request));
}

void TestClient::send_raw(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the server closed; the test sees that when it reads
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::size_t TestClient::send_some(std::string_view bytes) {
  std::size_t total = 0;
  while (total < bytes.size()) {
    const ssize_t sent =
        ::send(socket_, bytes.data() + total, bytes.size() - total, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) break;
    total += static_cast<std::size_t>(sent);
  }
  return total;
}

std::string TestClient::receive_raw(std::size_t bytes) {
  std::string received(bytes, '\0');
  std::size_t at = 0;
  while (at < bytes) {
    if (!readable_within(socket_, patience)) {
      ADD_FAILURE() << "no answer in time";
      break;
    }
    const ssize_t got = ::recv(socket_, received.data() + at, bytes - at, 0);
    if (got <= 0) break;
    at += static_cast<std::size_t>(got);
  }
  received.resize(at);
  return received;
}

std::optional<std::string> TestClient::receive() {
  const std::string size = receive_raw(4);
  if (size.size() < 4) return std::nullopt;
  const auto bytes = load_big_endian<uint32_t>(as_byte_view(size).data());
  std::string body = receive_raw(bytes);
  if (body.size() < bytes) return std::nullopt;
  return body;
}

bool TestClient::closed_within(std::chrono::milliseconds time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  std::string buffer(1 << 16, '\0');
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= 0ms || !readable_within(socket_, left)) return false;
    if (::recv(socket_, buffer.data(), buffer.size(), 0) <= 0) return true;
  }
}

bool TestClient::anything_within(std::chrono::milliseconds time) {
  return readable_within(socket_, time);
}

void TestClient::end_sending() {
  ::shutdown(socket_, SHUT_WR);
}

void TestClient::reset() {
  const linger hard{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  close();
}

void TestClient::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

bool connection_refused(uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  const int connected = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const bool refused = connected < 0 && errno == ECONNREFUSED;
  ::close(socket);
  return refused;
}

std::string framed(std::string_view request) {
  std::string bytes(4, '\0');
  store_big_endian(reinterpret_cast<std::byte*>(bytes.data()), static_cast<uint32_t>(request.size()));
  return bytes.append(request);
}

std::string numbered(int i) {
  return "request " + std::to_string(i);
}

OutgoingFrame answer(std::string_view text) {
  const ByteView bytes = as_byte_view(text);
  return OutgoingFrame(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

std::string text_of(const IncomingRequest& request) {
  return std::string(as_text(request.frame.bytes()));
}

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

std::size_t unread_bytes(uint16_t port) {
  std::ifstream table("/proc/net/tcp");
  std::string line;
  std::getline(table, line);
  std::size_t total = 0;
  while (std::getline(table, line)) {
    unsigned local = 0;
    unsigned remote = 0;
    unsigned state = 0;
    unsigned sending = 0;
    unsigned received = 0;
    std::sscanf(line.c_str(), "%*u: %*x:%x %*x:%x %x %x:%x", &local, &remote, &state, &sending, &received);
    constexpr unsigned listening = 10;
    if (local == port && state != listening) total += received;
    if (remote == port) total += sending;
  }
  return total;
}

std::size_t bytes_left_unread(uint16_t port) {
  constexpr auto acknowledged_after = 300ms;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::size_t last = unread_bytes(port);
  auto since = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < std::min(since + acknowledged_after, deadline)) {
    std::this_thread::sleep_for(5ms);
    const std::size_t bytes = unread_bytes(port);
    if (std::exchange(last, bytes) != bytes) since = std::chrono::steady_clock::now();
  }
  return last;
}

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TestServer::TestServer(ServerLimits limits, OnRequest on_request, std::size_t loop_count,
                       const ListenerConfig& listener)
    : loops(loop_count, "test"),
      server(std::make_unique<Server>(loops, disk_pool, *this, std::move(limits))),
      on_request_(std::move(on_request)) {
  loops.start();
  const auto bound = server->bind({listener});
  EXPECT_TRUE(bound) << bound.error().message;
  server->start_accepting();
}

TestServer::~TestServer() {
  server.reset();
  {
    std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  disk_pool.shut_down();
  loops.stop();
}

IncomingRequest TestServer::take() {
  std::unique_lock lock(mutex_);
  if (!arrived_.wait_for(lock, patience, [this] { return !waiting_.empty(); })) {
    ADD_FAILURE() << "no request in time";
    return {};
  }
  IncomingRequest request = std::move(waiting_.front());
  waiting_.pop_front();
  return request;
}

std::size_t TestServer::waiting_count() {
  std::lock_guard lock(mutex_);
  return waiting_.size();
}

void TestServer::start(IncomingRequest request) {
  ++started;
  if (on_request_) {
    on_request_(std::move(request));
    return;
  }
  std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(request));
  arrived_.notify_all();
}

void TestServer::connection_closed(ConnectionContext&) {
  ++closed;
}

}  // namespace barnabas::network
