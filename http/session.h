#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "http/server.h"

namespace barnabas::http {

/// The way back to the server's thread for answers from elsewhere, which may come after its end.
struct Mailbox {
  std::mutex mutex;
  boost::asio::io_context* context = nullptr;  ///< null once the server has stopped
};

/// One connection, on the server's thread.
class Session : public std::enable_shared_from_this<Session> {
 public:
  /// `handler`, `limits` and `open` outlive it; `open` counts it.
  Session(boost::asio::ip::tcp::socket socket, const Handler& handler, const Limits& limits,
          std::shared_ptr<Mailbox> mailbox, std::size_t& open);
  ~Session() { --open_; }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Reads the next request.
  void read();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::empty_body>;
  using Body = boost::beast::http::span_body<const char>;

  void on_header(const boost::beast::error_code& error);
  void hand_on();
  /// Of request `number`; one that was answered already is not answered again.
  void answer(uint64_t number, Response response);
  /// Answers, and ends the connection.
  void refuse(boost::beast::http::status status, std::string text);
  void send(Response response);
  void on_sent(const boost::beast::error_code& error);
  void drain(std::size_t left);
  void close();

  boost::beast::tcp_stream stream_;
  boost::asio::steady_timer answer_timer_;
  boost::beast::flat_buffer buffer_;
  const Handler& handler_;
  const Limits& limits_;
  const std::shared_ptr<Mailbox> mailbox_;
  std::size_t& open_;
  std::optional<Parser> parser_;
  uint64_t number_ = 0;  ///< of the request that is read or answered
  bool awaiting_answer_ = false;
  bool keep_alive_ = false;
  bool head_only_ = false;
  unsigned version_ = 11;
  std::shared_ptr<const std::string> body_;
  std::optional<boost::beast::http::response<Body>> response_;
  std::optional<boost::beast::http::response_serializer<Body>> serializer_;
};

}  // namespace barnabas::http
