#include "http/session.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace barnabas::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using beast::http::status;
using beast::http::verb;
using ErrorCode = beast::error_code;

namespace {

/// What is taken of a peer that is owed nothing any more.
constexpr std::chrono::seconds linger{1};
constexpr std::size_t linger_bytes = 256 << 10;

/// What is read of a connection before somebody has looked at it: a header, and a little of what comes next.
std::size_t buffer_bytes(const Limits& limits) {
  return std::size_t{limits.header_bytes_max} + 1024;
}

bool is_parse_error(const ErrorCode& error) {
  return error.category() == make_error_code(beast::http::error::bad_method).category() &&
         error != beast::http::error::end_of_stream && error != beast::http::error::partial_message;
}

bool is_too_large(const ErrorCode& error) {
  return error == beast::http::error::header_limit || error == beast::http::error::buffer_overflow;
}

bool is_body(const ErrorCode& error) {
  return error == beast::http::error::unexpected_body || error == beast::http::error::body_limit;
}

}  // namespace

Session::Session(asio::ip::tcp::socket socket, const Handler& handler, const Limits& limits,
                 std::shared_ptr<Mailbox> mailbox, std::size_t& open)
    : stream_(std::move(socket)),
      answer_timer_(stream_.get_executor()),
      buffer_(buffer_bytes(limits)),
      handler_(handler),
      limits_(limits),
      mailbox_(std::move(mailbox)),
      open_(open) {
  ++open_;
}

void Session::read() {
  ++number_;
  parser_.emplace();
  parser_->header_limit(limits_.header_bytes_max);
  parser_->body_limit(0);
  version_ = 11;
  head_only_ = false;
  keep_alive_ = false;
  // For the whole request: a peer that sends a byte now and then gains nothing by it.
  stream_.expires_after(limits_.request_max);
  beast::http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](const ErrorCode& error, std::size_t) { self->on_header(error); });
}

void Session::on_header(const ErrorCode& error) {
  if (is_too_large(error))
    return refuse(status::request_header_fields_too_large,
                  "more than " + std::to_string(limits_.header_bytes_max) + " bytes of header");
  const auto method = parser_->get().method();
  if (is_body(error) && (method == verb::get || method == verb::head))
    return refuse(status::payload_too_large, "no body is expected here");
  if (is_body(error)) return refuse(status::method_not_allowed, "only GET and HEAD are served");
  if (is_parse_error(error)) return refuse(status::bad_request, error.message());
  if (error) return close();
  const auto& request = parser_->get();
  version_ = request.version();
  head_only_ = request.method() == verb::head;
  if (request.method() != verb::get && !head_only_)
    return refuse(status::method_not_allowed, "only GET and HEAD are served");
  // What follows the header would have to be read to find the next request.
  if (!parser_->is_done()) return refuse(status::payload_too_large, "no body is expected here");
  keep_alive_ = request.keep_alive();
  hand_on();
}

void Session::hand_on() {
  stream_.expires_never();
  awaiting_answer_ = true;
  answer_timer_.expires_after(limits_.answer_max);
  answer_timer_.async_wait([self = shared_from_this(), number = number_](const ErrorCode& error) {
    if (!error) self->answer(number, text_response(503, "not answered in time"));
  });
  const auto target = parser_->get().target();
  const Request request{std::string(target.substr(0, target.find('?')))};
  handler_(request, [mailbox = mailbox_, weak = weak_from_this(), number = number_](Response response) {
    const std::scoped_lock lock(mailbox->mutex);
    if (mailbox->context == nullptr) return;
    asio::post(*mailbox->context, [weak, number, response = std::move(response)]() mutable {
      if (const auto self = weak.lock()) self->answer(number, std::move(response));
    });
  });
}

void Session::answer(uint64_t number, Response response) {
  if (number != number_ || !std::exchange(awaiting_answer_, false)) return;
  answer_timer_.cancel();
  send(std::move(response));
}

void Session::refuse(status why, std::string text) {
  keep_alive_ = false;
  send(text_response(static_cast<unsigned>(why), std::move(text)));
}

void Session::send(Response response) {
  body_ = std::move(response.body);
  response_.emplace(beast::http::int_to_status(response.status), version_);
  response_->set(beast::http::field::content_type, response.content_type);
  response_->set(beast::http::field::cache_control, "no-store");
  response_->set("X-Content-Type-Options", "nosniff");
  if (response_->result() == status::method_not_allowed)
    response_->set(beast::http::field::allow, "GET, HEAD");
  response_->keep_alive(keep_alive_);
  response_->body() = beast::span<const char>(body_->data(), body_->size());
  response_->content_length(body_->size());
  serializer_.emplace(*response_);
  stream_.expires_after(limits_.send_max);
  const auto sent = [self = shared_from_this()](const ErrorCode& error, std::size_t) {
    self->on_sent(error);
  };
  if (head_only_) {
    serializer_->split(true);
    beast::http::async_write_header(stream_, *serializer_, sent);
  } else {
    beast::http::async_write(stream_, *serializer_, sent);
  }
}

void Session::on_sent(const ErrorCode& error) {
  serializer_.reset();
  response_.reset();
  body_.reset();
  if (error) return close();
  if (keep_alive_) return read();
  // What a refused peer still sends must not make the system take back the answer that says why.
  ErrorCode ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(linger);
  drain(linger_bytes);
}

void Session::drain(std::size_t left) {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(std::min(left, buffer_bytes(limits_))),
                          [self = shared_from_this(), left](const ErrorCode& error, std::size_t bytes) {
                            if (error || bytes >= left) return self->close();
                            self->drain(left - bytes);
                          });
}

void Session::close() {
  ErrorCode ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  stream_.close();
}

}  // namespace barnabas::http
