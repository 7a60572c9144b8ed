#include "http/server.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <thread>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "http/session.h"
#include "network/socket_address.h"

namespace barnabas::http {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constinit Logger log_{"network"};

/// When the system has no descriptor or memory for another connection.
constexpr std::chrono::milliseconds accept_pause{100};
constexpr int backlog = 64;

tcp protocol_of(int socket) {
  int domain = AF_INET;
  socklen_t length = sizeof domain;
  (void)::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &length);
  return domain == AF_INET6 ? tcp::v6() : tcp::v4();
}

}  // namespace

Response text_response(unsigned status, std::string text) {
  text += '\n';
  return {status, "text/plain; charset=utf-8", std::make_shared<const std::string>(std::move(text))};
}

struct Server::Impl {
  struct Acceptor {
    Acceptor(asio::io_context& context, int listening)
        : socket(context, protocol_of(listening), listening), pause(context) {}
    tcp::acceptor socket;
    asio::steady_timer pause;
  };

  Impl(Handler answering, Limits with) : handler(std::move(answering)), limits(with) {
    mailbox->context = &context;
  }

  void accept(Acceptor& acceptor) {
    acceptor.socket.async_accept(
        [this, &acceptor](const boost::system::error_code& error, tcp::socket socket) {
          if (error == asio::error::operation_aborted) return;
          if (error) {
            acceptor.pause.expires_after(accept_pause);
            acceptor.pause.async_wait([this, &acceptor](const boost::system::error_code& ended) {
              if (!ended) accept(acceptor);
            });
            return;
          }
          if (open < limits.connections_max)
            std::make_shared<Session>(std::move(socket), handler, limits, mailbox, open)->read();
          accept(acceptor);
        });
  }

  void run() {
    pthread_setname_np(pthread_self(), "http");
    while (true) {
      try {
        context.run();
        return;
      } catch (const std::exception& error) {
        // Such as no memory for an answer; its connection is gone with it.
        log_.error("request failed error={}", log_text(error.what()));
      }
    }
  }

  const Handler handler;
  const Limits limits;
  const std::shared_ptr<Mailbox> mailbox = std::make_shared<Mailbox>();
  std::size_t open = 0;  ///< sessions
  std::vector<Address> bound;
  asio::io_context context{1};
  std::vector<std::unique_ptr<Acceptor>> acceptors;
  std::thread thread;
};

Server::Server(Handler handler, Limits limits) : impl_(std::make_unique<Impl>(std::move(handler), limits)) {}

Server::~Server() {
  stop();
}

Result<void> Server::bind(const Address& address) {
  BARNABAS_ASSERT(!impl_->thread.joinable());
  BARNABAS_ASSIGN(const int socket,
                  network::open_listening_socket(address.host, address.port, {.backlog = backlog}));
  const auto port = network::bound_port(socket);
  if (!port) {
    ::close(socket);
    return std::unexpected(port.error());
  }
  impl_->acceptors.push_back(std::make_unique<Impl::Acceptor>(impl_->context, socket));
  impl_->bound.push_back({address.host, *port});
  return {};
}

const std::vector<Address>& Server::bound() const {
  return impl_->bound;
}

void Server::start() {
  BARNABAS_ASSERT(!impl_->thread.joinable());
  for (const auto& acceptor : impl_->acceptors) impl_->accept(*acceptor);
  // Signals are for the main thread; the new one inherits a mask that blocks them all.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Server::post(std::function<void()> work) {
  const std::scoped_lock lock(impl_->mailbox->mutex);
  if (impl_->mailbox->context != nullptr) asio::post(impl_->context, std::move(work));
}

void Server::after(std::chrono::milliseconds time, std::function<void()> work) {
  const auto due = std::chrono::steady_clock::now() + time;
  post([impl = impl_.get(), due, work = std::move(work)]() mutable {
    const auto timer = std::make_shared<asio::steady_timer>(impl->context, due);
    timer->async_wait([timer, work = std::move(work)](const boost::system::error_code& error) {
      if (!error) work();
    });
  });
}

void Server::stop() {
  {
    const std::scoped_lock lock(impl_->mailbox->mutex);
    impl_->mailbox->context = nullptr;
  }
  impl_->context.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

}  // namespace barnabas::http
