#include "app/http_client.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace barnabas::app {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

/// Gives each connection the same bytes, one after the other, and closes it; without any it just listens.
class Server {
 public:
  explicit Server(std::string answer)
      : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, generic, size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, generic, &size), 0);
    port_ = ntohs(address.sin_port);
    if (!answer_.empty()) thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    ::shutdown(listener_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    ::close(listener_);
  }

  std::string url(const std::string& path = "/keys") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }

 private:
  void serve() {
    for (int peer; (peer = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(peer)) {
      std::array<char, 4096> request;
      if (::recv(peer, request.data(), request.size(), 0) <= 0) continue;
      for (std::size_t sent = 0; sent < answer_.size();) {
        const auto count = ::send(peer, answer_.data() + sent, answer_.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) break;
        sent += static_cast<std::size_t>(count);
      }
    }
  }

  std::string answer_;
  int listener_;
  uint16_t port_ = 0;
  std::thread thread_;
};

std::string with_body(const std::string& body, const std::string& status = "200 OK",
                      const std::string& headers = "") {
  return "HTTP/1.1 " + status + "\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

TEST(HttpGet, gives_the_body) {
  const Server server(with_body("hello"));
  EXPECT_EQ(http_get({.url = server.url()}).value(), "hello");
  EXPECT_EQ(http_get({.url = server.url(), .bytes_max = 5}).value(), "hello");
}

TEST(HttpGet, refuses_more_than_is_allowed) {
  const Server server(with_body(std::string(5'000'000, 'x')));
  EXPECT_EQ(http_get({.url = server.url(), .bytes_max = 1000}).error().kind, ErrorKind::too_large);
}

TEST(HttpGet, follows_no_redirect) {
  const Server other(with_body("secret"));
  const Server server(with_body("", "302 Found", "Location: " + other.url() + "\r\n"));
  EXPECT_THAT(http_get({.url = server.url()}).error().message, HasSubstr("302"));
}

TEST(HttpGet, anything_but_200_is_an_error) {
  for (const auto* status : {"204 No Content", "404 Not Found", "500 Internal Server Error"}) {
    const Server server(with_body("x", status));
    EXPECT_THAT(http_get({.url = server.url()}).error().message, HasSubstr(std::string(status).substr(0, 3)));
  }
}

TEST(HttpGet, a_server_that_says_nothing_is_given_up) {
  const Server server("");
  const auto result = http_get({.url = server.url(), .timeout = std::chrono::milliseconds(50)});
  EXPECT_EQ(result.error().kind, ErrorKind::timed_out);
}

TEST(HttpGet, can_be_cancelled) {
  const Server server("");
  const std::atomic<bool> cancelled{true};
  EXPECT_EQ(http_get({.url = server.url()}, &cancelled).error().kind, ErrorKind::closed);
}

TEST(HttpGet, serves_no_other_schemes) {
  for (const auto* url : {"file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x", ""})
    EXPECT_FALSE(http_get({.url = url})) << url;
}

TEST(HttpGet, says_neither_user_nor_query) {
  EXPECT_EQ(url_for_log("https://user:secret@host:8/a?key=secret#x"), "https://host:8/a");
  EXPECT_EQ(url_for_log("https://host/a@b"), "https://host/a@b");
  for (const auto* form :
       {"https://me:secret@host/a", "https:/me:secret@host/a", "https:///me:secret@host/a",
        "HTTPS://me:secret@host/a", "https://secret@host/a", "https://:secret@host/a",
        "https://me:secret;AUTH=PLAIN@host/a", "https://me:se%63ret@host/a", "https://me:secret@host/a?b@c",
        "https://host/a?secret@x", "https://host/a#secret@x", "https://host/a?#secret"})
    EXPECT_EQ(url_for_log(form), "https://host/a") << form;
  EXPECT_EQ(url_for_log("me:secret@host/a"), "http://host/a");
  EXPECT_EQ(url_for_log("secret@host/a"), "http://host/a");
  EXPECT_EQ(url_for_log("https://me:secret@[::1]:8/a"), "https://[::1]:8/a");
  // What libcurl refuses: no piece of it.
  for (const auto* form :
       {"https:////me:secret@host/a", "https:me:secret@host/a", "https://me:secret/x@host/a",
        "https://me:sec ret@host/a", "https://me:secret@ho st/a", "https://me:secret@", "",
        "https:\\\\me:secret@host/a", "https://me:secret@host:port/a", "https://me:secret@x:secret@host/a"})
    EXPECT_THAT(url_for_log(form), Not(AnyOf(HasSubstr("sec"), HasSubstr("ret")))) << form;
  const auto result = http_get({.url = "http://me:secret@127.0.0.1:1/x?secret"});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace barnabas::app
