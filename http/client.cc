#include "http/client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <optional>

namespace barnabas::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

namespace {

constexpr std::size_t answer_bytes_max = 64 << 10;

/// The steps of one request, each of which begins the next one; all under one deadline.
class Exchange {
 public:
  Exchange(asio::io_context& context, const std::string& host, const std::string& path,
           std::chrono::milliseconds timeout)
      : stream_(context), buffer_(answer_bytes_max) {
    request_.method(beast::http::verb::get);
    request_.target(path);
    request_.version(11);
    request_.set(beast::http::field::host, host);
    request_.set(beast::http::field::connection, "close");
    parser_.body_limit(answer_bytes_max);
    stream_.expires_after(timeout);
  }

  void start(const tcp::resolver::results_type& addresses) {
    stream_.async_connect(addresses, [this](const beast::error_code& error, const tcp::endpoint&) {
      if (!failed(error)) send();
    });
  }
  const beast::error_code& error() const { return error_; }
  Answer answer() { return {parser_.get().result_int(), std::move(parser_.get().body())}; }

 private:
  void send() {
    beast::http::async_write(stream_, request_, [this](const beast::error_code& error, std::size_t) {
      if (!failed(error)) receive();
    });
  }
  void receive() {
    beast::http::async_read(stream_, buffer_, parser_,
                            [this](const beast::error_code& error, std::size_t) { (void)failed(error); });
  }
  bool failed(const beast::error_code& error) {
    error_ = error;
    return error.failed();
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  beast::http::request<beast::http::empty_body> request_;
  beast::http::response_parser<beast::http::string_body> parser_;
  beast::error_code error_ = beast::error::timeout;
};

}  // namespace

Result<Answer> get(const Address& address, const std::string& path, std::chrono::milliseconds timeout) {
  asio::io_context context(1);
  const std::string host = address.host.empty() ? "127.0.0.1" : address.host;
  beast::error_code error;
  const auto found = tcp::resolver(context).resolve(host, std::to_string(address.port), error);
  const std::string place = Address{host, address.port}.to_string();
  if (error) return fail(ErrorKind::not_found, place + ": " + error.message());
  Exchange exchange(context, place, path, timeout);
  exchange.start(found);
  context.run();
  if (!exchange.error()) return exchange.answer();
  if (exchange.error() == beast::error::timeout)
    return fail(ErrorKind::timed_out,
                place + ": no answer within " + std::to_string(timeout.count()) + " ms");
  return fail(ErrorKind::io, place + ": " + exchange.error().message());
}

}  // namespace barnabas::http
