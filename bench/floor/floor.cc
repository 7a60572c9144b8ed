// The least that taking in produce requests can cost: receive frames from TCP, checksum them, write them to a
// file. The processor time of this a gigabyte is what a broker's is compared with.
//
//   floor run --frame 1048576 --bytes 4294967296 --connections 2
//   floor serve --port 19990 --file /tmp/floor.log        and elsewhere        floor send --port 19990 …
//
// As in the protocol of Kafka a frame is a 4-byte size and that many bytes; each is answered with a frame of
// 4 bytes, its checksum, so that the sender can keep a bounded number in flight and verify. One thread a
// connection, blocking calls, one buffer, no parsing: nothing a broker could do with less.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/crc32c.h"
#include "base/endian.h"
#include "base/random.h"

namespace {

using namespace barnabas;

struct Options {
  uint16_t port = 0;
  std::string file = "floor.log";
  uint32_t frame = 1 << 20;
  uint64_t bytes = uint64_t{2} << 30;
  uint32_t connections = 1;
  uint32_t in_flight = 5;
  int receive_buffer = -1;
};

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

bool receive_all(int socket, std::byte* into, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = ::recv(socket, into, bytes, MSG_WAITALL);
    if (got <= 0) return false;
    into += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

void send_all(int socket, const std::byte* from, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = ::send(socket, from, bytes, MSG_NOSIGNAL);
    if (sent <= 0) die("send");
    from += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

void write_all(int file, const std::byte* from, std::size_t bytes, uint64_t position) {
  while (bytes > 0) {
    const ssize_t written = ::pwrite(file, from, bytes, static_cast<off_t>(position));
    if (written <= 0) die("pwrite");
    from += written;
    position += static_cast<uint64_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
}

void set_no_delay(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int listen_on(uint16_t port, int receive_buffer) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (receive_buffer >= 0)
    ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  const sockaddr_in address = loopback(port);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) die("bind");
  if (::listen(socket, 128) < 0) die("listen");
  return socket;
}

uint16_t port_of(int socket) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

/// Receives, checksums and writes until the peer closes; returns the bytes of frames.
uint64_t serve_connection(int socket, int file, std::atomic<uint64_t>& file_end, uint32_t frame_max) {
  std::vector<std::byte> buffer(frame_max);
  uint64_t total = 0;
  std::byte head[4];
  while (receive_all(socket, head, sizeof head)) {
    const auto size = load_big_endian<uint32_t>(head);
    if (size > frame_max || !receive_all(socket, buffer.data(), size)) break;
    const uint32_t crc = crc32c({buffer.data(), size});
    write_all(file, buffer.data(), size, file_end.fetch_add(size));
    std::byte reply[8];
    store_big_endian<uint32_t>(reply, 4);
    store_big_endian(reply + 4, crc);
    send_all(socket, reply, sizeof reply);
    total += size;
  }
  ::close(socket);
  return total;
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Serves so many connections to their end and prints what that cost.
void serve(int listening, const Options& options) {
  const int file = ::open(options.file.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
  if (file < 0) die(options.file.c_str());
  std::atomic<uint64_t> file_end = 0;
  std::atomic<uint64_t> total = 0;
  std::vector<std::thread> threads;
  const double cpu_before = cpu_seconds();
  auto began = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < options.connections; ++i) {
    const int socket = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) die("accept");
    if (i == 0) began = std::chrono::steady_clock::now();
    set_no_delay(socket);
    threads.emplace_back([&, socket] { total += serve_connection(socket, file, file_end, options.frame); });
  }
  for (auto& thread : threads) thread.join();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
  const double cpu = cpu_seconds() - cpu_before;
  const double gigabytes = static_cast<double>(total) / 1e9;
  ::close(file);
  std::printf(
      "frame_bytes=%u connections=%u gb=%.3f wall_s=%.3f mb_per_s=%.0f cpu_s=%.3f cpu_s_per_gb=%.4f\n",
      options.frame, options.connections, gigabytes, wall.count(), gigabytes * 1e3 / wall.count(), cpu,
      cpu / gigabytes);
}

void send_frames(const Options& options, uint64_t bytes) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  set_no_delay(socket);
  const sockaddr_in address = loopback(options.port);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) die("connect");
  std::vector<std::byte> frame(4 + options.frame);
  store_big_endian(frame.data(), options.frame);
  SeededRandom random(1);
  for (std::size_t i = 4; i + 8 <= frame.size(); i += 8) store_big_endian(frame.data() + i, random.next());
  const uint32_t crc = crc32c({frame.data() + 4, options.frame});
  const auto await_reply = [&] {
    std::byte reply[8];
    if (!receive_all(socket, reply, sizeof reply)) die("receive");
    if (load_big_endian<uint32_t>(reply + 4) != crc) {
      std::fputs("wrong checksum\n", stderr);
      std::exit(1);
    }
  };
  uint32_t waiting = 0;
  for (uint64_t sent = 0; sent < bytes; sent += options.frame) {
    send_all(socket, frame.data(), frame.size());
    if (++waiting == options.in_flight) {
      await_reply();
      --waiting;
    }
  }
  for (; waiting > 0; --waiting) await_reply();
  ::close(socket);
}

void send(const Options& options) {
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < options.connections; ++i) {
    threads.emplace_back([&] { send_frames(options, options.bytes / options.connections); });
  }
  for (auto& thread : threads) thread.join();
}

/// Both, the sender in a process of its own so that its time is not counted.
void run(Options options) {
  const int listening = listen_on(0, options.receive_buffer);
  options.port = port_of(listening);
  const pid_t sender = ::fork();
  if (sender < 0) die("fork");
  if (sender == 0) {
    ::close(listening);
    send(options);
    std::exit(0);
  }
  serve(listening, options);
  int status = 0;
  ::waitpid(sender, &status, 0);
  ::unlink(options.file.c_str());
  if (status != 0) std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("The floor for produce: receive, checksum and write");
  app.require_subcommand(1);
  CLI::App* serving = app.add_subcommand("serve", "serve `connections` senders, print the cost, end");
  CLI::App* sending = app.add_subcommand("send", "send frames to a server");
  CLI::App* both = app.add_subcommand("run", "both; the sender as a child process");
  for (CLI::App* each : {serving, sending, both}) {
    each->add_option("--frame", options.frame, "bytes of a frame")->check(CLI::Range(1u, 1u << 30));
    each->add_option("--connections", options.connections)->check(CLI::Range(1u, 10'000u));
  }
  for (CLI::App* each : {serving, sending})
    each->add_option("--port", options.port, "on 127.0.0.1")->required();
  for (CLI::App* each : {serving, both}) {
    each->add_option("--file", options.file, "where to write");
    each->add_option("--receive-buffer", options.receive_buffer,
                     "SO_RCVBUF as of the broker; -1: the system's");
  }
  for (CLI::App* each : {sending, both}) {
    each->add_option("--bytes", options.bytes, "of all connections together");
    each->add_option("--in-flight", options.in_flight, "frames sent before the first answer")
        ->check(CLI::Range(1u, 10'000u));
  }
  CLI11_PARSE(app, argc, argv);
  if (*serving) serve(listen_on(options.port, options.receive_buffer), options);
  if (*sending) send(options);
  if (*both) run(options);
  return 0;
}
