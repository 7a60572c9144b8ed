#include "http/server.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <random>
#include <thread>

namespace barnabas::http {
namespace {

using namespace std::chrono_literals;

/// A peer that says whatever it likes.
class Peer {
 public:
  explicit Peer(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Peer() { ::close(socket_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  bool connected() const { return connected_; }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Up to the end of the connection.
  std::string receive_all() {
    std::string all;
    char part[4096];
    for (ssize_t got; (got = ::recv(socket_, part, sizeof part, 0)) > 0;)
      all.append(part, static_cast<std::size_t>(got));
    return all;
  }
  /// Until what has come ends with `end`.
  std::string receive_until(std::string_view end) {
    std::string all;
    char part[1];
    while (!all.ends_with(end) && ::recv(socket_, part, 1, 0) == 1) all += part[0];
    return all;
  }

 private:
  const int socket_;
  bool connected_ = false;
};

class HttpServer : public testing::Test {
 protected:
  static Limits quick_limits() {
    Limits limits;
    limits.request_max = 300ms;
    limits.answer_max = 300ms;
    limits.send_max = 300ms;
    return limits;
  }

  void serve(Limits limits = {}, Handler handler = echo) {
    server_.emplace(std::move(handler), limits);
    ASSERT_TRUE(server_->bind({"127.0.0.1", 0}));
    server_->start();
  }
  static void echo(const Request& request, const Respond& respond) {
    respond(text_response(request.path == "/nothing" ? 404 : 200, "path " + request.path));
  }
  uint16_t port() const { return server_->bound().front().port; }
  /// The whole answer to what is sent; the connection ends behind it.
  std::string ask(std::string_view bytes) {
    Peer peer(port());
    peer.send(bytes);
    return peer.receive_all();
  }
  std::string get(const std::string& path) {
    return ask("GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }
  /// The server still serves everybody else.
  void expect_well() { EXPECT_NE(get("/well").find("path /well"), std::string::npos); }

  std::optional<Server> server_;
};

TEST_F(HttpServer, answers_a_get_without_its_query) {
  serve();
  const std::string answer = get("/metrics?name=x");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\npath /metrics\n")) << answer;
  EXPECT_NE(answer.find("Content-Length: 14\r\n"), std::string::npos) << answer;
  EXPECT_TRUE(get("/nothing").starts_with("HTTP/1.1 404 Not Found\r\n"));
}

TEST_F(HttpServer, answers_a_head_without_a_body) {
  serve();
  const std::string answer = ask("HEAD /x HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("Content-Length: 8\r\n"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

TEST_F(HttpServer, answers_one_request_after_the_other_on_a_connection) {
  serve();
  Peer peer(port());
  ASSERT_TRUE(peer.send("GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n"));
  EXPECT_NE(peer.receive_until("path /a\n").find("200 OK"), std::string::npos);
  EXPECT_NE(peer.receive_until("path /b\n").find("200 OK"), std::string::npos);
  ASSERT_TRUE(peer.send("GET /c HTTP/1.1\r\n\r\n"));
  EXPECT_NE(peer.receive_until("path /c\n").find("200 OK"), std::string::npos);
}

TEST_F(HttpServer, closes_after_an_answer_to_version_1_0) {
  serve();
  EXPECT_TRUE(ask("GET /a HTTP/1.0\r\n\r\n").ends_with("path /a\n"));
}

TEST_F(HttpServer, refuses_other_methods_and_bodies) {
  serve();
  EXPECT_TRUE(ask("POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
  EXPECT_TRUE(ask("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello").starts_with("HTTP/1.1 405 "));
  EXPECT_NE(ask("DELETE /x HTTP/1.1\r\n\r\n").find("Allow: GET, HEAD"), std::string::npos);
  const std::string body = "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello";
  EXPECT_TRUE(ask(body).starts_with("HTTP/1.1 413 ")) << ask(body);
  EXPECT_TRUE(
      ask("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").starts_with("HTTP/1.1 413 "));
  expect_well();
}

TEST_F(HttpServer, refuses_garbage) {
  serve();
  EXPECT_TRUE(ask("\x16\x03\x01\x02\x00 hello\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(ask("GET\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(ask("GET / HTTP/1.1\r\nno colon\r\n\r\n").starts_with("HTTP/1.1 400 "));
  std::minstd_rand random(1);
  for (int i = 0; i < 200; ++i) {
    std::string bytes = i % 2 == 0 ? "GET / HTTP/1.1\r\n" : "";
    for (int length = static_cast<int>(random() % 200); length > 0; --length)
      bytes += static_cast<char>(random());
    Peer peer(port());
    peer.send(bytes);
  }
  expect_well();
}

TEST_F(HttpServer, bounds_the_header) {
  serve();
  const std::string begin = "GET / HTTP/1.1\r\nA: ";
  EXPECT_TRUE(ask(begin + std::string(20'000, 'a') + "\r\n\r\n").starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(ask("GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 4"));
  // One that never ends is not read to its end either.
  Peer endless(port());
  endless.send(begin);
  for (int i = 0; i < 10'000 && endless.send(std::string(10'000, 'a')); ++i) {
  }
  expect_well();
}

TEST_F(HttpServer, lets_go_of_a_peer_that_sends_a_byte_now_and_then) {
  serve(quick_limits());
  Peer slow(port());
  const auto begin = std::chrono::steady_clock::now();
  bool open = slow.send("GET / HTTP/1.1\r\nA: ");
  while (open && std::chrono::steady_clock::now() - begin < 60s) {
    std::this_thread::sleep_for(20ms);
    open = slow.send("a");
  }
  EXPECT_FALSE(open);
  expect_well();
}

TEST_F(HttpServer, lets_go_of_a_peer_that_says_nothing) {
  serve(quick_limits());
  Peer mute(port());
  EXPECT_EQ(mute.receive_all(), "");
  Peer idle(port());
  ASSERT_TRUE(idle.send("GET /a HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(idle.receive_all().ends_with("path /a\n"));
}

TEST_F(HttpServer, lets_go_of_a_peer_that_does_not_read) {
  const auto body = std::make_shared<const std::string>(std::size_t{64} << 20, 'x');
  std::promise<void> asked;
  serve(quick_limits(), [&](const Request& request, const Respond& respond) {
    if (request.path != "/large") return echo(request, respond);
    respond({200, "text/plain", body});
    asked.set_value();
  });
  Peer deaf(port());
  ASSERT_TRUE(deaf.send("GET /large HTTP/1.1\r\n\r\n"));
  asked.get_future().wait();
  // One is the test's own; the connection's goes with it.
  const auto patience = std::chrono::steady_clock::now() + 60s;
  while (body.use_count() > 1 && std::chrono::steady_clock::now() < patience)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(body.use_count(), 1);
  expect_well();
}

TEST_F(HttpServer, closes_connections_above_its_limit_and_takes_others_later) {
  Limits limits;
  limits.connections_max = 3;
  serve(limits);
  std::vector<std::unique_ptr<Peer>> peers;
  for (int i = 0; i < 3; ++i) {
    peers.push_back(std::make_unique<Peer>(port()));
    ASSERT_TRUE(peers.back()->send("GET /a HTTP/1.1\r\n\r\n"));
    EXPECT_NE(peers.back()->receive_until("path /a\n"), "");
  }
  Peer fourth(port());
  EXPECT_EQ(fourth.receive_all(), "");
  peers.clear();
  // The server learns of the ends by and by.
  std::string answer;
  while (answer.empty()) answer = get("/again");
  EXPECT_NE(answer.find("path /again"), std::string::npos);
}

TEST_F(HttpServer, outlives_many_connections_at_once) {
  serve();
  std::vector<std::unique_ptr<Peer>> peers;
  for (int i = 0; i < 500; ++i) {
    peers.push_back(std::make_unique<Peer>(port()));
    peers.back()->send("GET");
  }
  peers.clear();
  std::string answer;
  while (answer.empty()) answer = get("/well");
  EXPECT_NE(answer.find("path /well"), std::string::npos);
}

TEST_F(HttpServer, says_so_when_the_handler_does_not_answer_in_time) {
  Respond kept;
  serve(quick_limits(), [&](const Request&, Respond respond) { kept = std::move(respond); });
  EXPECT_TRUE(get("/").starts_with("HTTP/1.1 503 "));
  kept(text_response(200, "too late"));
}

TEST_F(HttpServer, takes_answers_from_other_threads) {
  std::vector<std::jthread> threads;
  serve({}, [&](const Request& request, Respond respond) {
    threads.emplace_back([request, respond] { echo(request, respond); });
  });
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(get("/a").ends_with("path /a\n"));
  server_->stop();
}

TEST_F(HttpServer, ends_at_once_whatever_peers_do_and_ignores_late_answers) {
  Respond kept;
  std::promise<void> asked;
  serve({}, [&](const Request&, Respond respond) {
    kept = std::move(respond);
    asked.set_value();
  });
  Peer half(port());
  ASSERT_TRUE(half.send("GET / HT"));
  Peer waits(port());
  ASSERT_TRUE(waits.send("GET / HTTP/1.1\r\n\r\n"));
  asked.get_future().wait();
  server_->stop();
  kept(text_response(200, "too late"));
  server_->post([] { ADD_FAILURE() << "the server has stopped"; });
  server_.reset();
  kept(text_response(200, "far too late"));
  EXPECT_EQ(waits.receive_all(), "");
}

TEST_F(HttpServer, runs_what_is_posted_and_what_is_to_come_later) {
  serve();
  std::promise<void> now;
  std::promise<void> later;
  server_->post([&] { now.set_value(); });
  server_->after(1ms, [&] { later.set_value(); });
  now.get_future().wait();
  later.get_future().wait();
}

TEST_F(HttpServer, survives_what_its_work_throws) {
  serve({}, [](const Request& request, const Respond& respond) {
    if (request.path == "/throws") throw std::runtime_error("as told");
    echo(request, respond);
  });
  server_->post([] { throw std::runtime_error("posted"); });
  Peer peer(port());
  ASSERT_TRUE(peer.send("GET /throws HTTP/1.1\r\n\r\n"));
  expect_well();
}

TEST_F(HttpServer, says_which_address_is_taken) {
  serve();
  Server second(echo, {});
  const auto bound = second.bind({"127.0.0.1", port()});
  ASSERT_FALSE(bound);
  EXPECT_NE(bound.error().message.find("127.0.0.1:" + std::to_string(port())), std::string::npos);
}

}  // namespace
}  // namespace barnabas::http
