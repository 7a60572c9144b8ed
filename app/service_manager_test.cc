#include "app/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace barnabas::app {
namespace {

/// A service manager's end of it.
class ServiceManagerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un any{};
    any.sun_family = AF_UNIX;  // without a name the kernel gives it an abstract one
    ASSERT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&any), sizeof(sa_family_t)), 0);
    sockaddr_un bound{};
    socklen_t length = sizeof bound;
    ASSERT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &length), 0);
    std::string name(bound.sun_path, length - offsetof(sockaddr_un, sun_path));
    name.front() = '@';
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  void TearDown() override {
    ::close(socket_);
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(name);
  }
  std::string received() {
    char text[512];
    const auto length = ::recv(socket_, text, sizeof text, 0);
    return length < 0 ? std::string() : std::string(text, static_cast<std::size_t>(length));
  }

  int socket_ = -1;
};

TEST_F(ServiceManagerTest, each_message_is_one_datagram) {
  ServiceManager manager = ServiceManager::of_environment();
  manager.ready("serving PLAINTEXT://127.0.0.1:9092");
  manager.reloading();
  manager.alive();
  manager.stopping("stopping");
  EXPECT_EQ(received(), "READY=1\nSTATUS=serving PLAINTEXT://127.0.0.1:9092");
  const std::string reloading = received();
  EXPECT_TRUE(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC=")) << reloading;
  EXPECT_EQ(received(), "WATCHDOG=1");
  EXPECT_EQ(received(), "STOPPING=1\nSTATUS=stopping");
}

TEST_F(ServiceManagerTest, watches_only_the_process_that_it_names) {
  EXPECT_FALSE(ServiceManager::of_environment().watchdog());
  ::setenv("WATCHDOG_USEC", "20000000", 1);
  EXPECT_EQ(ServiceManager::of_environment().watchdog(), std::chrono::seconds(20));
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  EXPECT_EQ(ServiceManager::of_environment().watchdog(), std::chrono::seconds(20));
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_FALSE(ServiceManager::of_environment().watchdog());
}

TEST_F(ServiceManagerTest, without_anybody_to_tell_nothing_happens) {
  for (const char* address : {"", "relative", "/no/such/socket"}) {
    ::setenv("NOTIFY_SOCKET", address, 1);
    ServiceManager::of_environment().ready("serving");
  }
  ::unsetenv("NOTIFY_SOCKET");
  ServiceManager::of_environment().alive();
}

}  // namespace
}  // namespace barnabas::app
