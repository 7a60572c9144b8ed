#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "app/doctor/certificate_examination.h"
#include "app/doctor/disk_examination.h"
#include "app/doctor/network_examination.h"
#include "app/doctor/settings_examination.h"
#include "io/posix_disk.h"
#include "security/test_certificates.h"

namespace barnabas::app {
namespace {

using Level = Finding::Level;

/// Whether something of this level says these words; and that everything has a reason and a remedy.
bool says(const Findings& findings, Level level, std::string_view words) {
  for (const Finding& each : findings) {
    EXPECT_FALSE(each.why.empty()) << each.what;
    EXPECT_EQ(each.remedy.empty(), each.level == Level::note) << each.what;
  }
  return std::ranges::any_of(findings, [&](const Finding& each) {
    return each.level == level && each.what.find(words) != std::string::npos;
  });
}

std::string all_of(const Findings& findings) {
  std::string text;
  for (const Finding& each : findings) text += each.what + "\n";
  return text;
}

TEST(Doctor, all_wrong_settings_are_told_and_the_others_are_looked_at) {
  ConfigurationSources sources;
  sources.file = "server.properties";
  sources.file_text = "node.id=7\nnobody.knows.it=1\nnum.partitions=many\nlog.dirs=/tmp/x\n";
  Findings findings;
  const auto config = examine_settings(sources, findings);
  EXPECT_TRUE(says(findings, Level::problem, "nobody.knows.it")) << all_of(findings);
  EXPECT_TRUE(says(findings, Level::problem, "num.partitions")) << all_of(findings);
  EXPECT_EQ(config.text("node.id"), "7");
}

TEST(Doctor, a_byte_order_mark_is_no_setting_whatever_else_is_wrong) {
  ConfigurationSources sources;
  sources.file = "server.properties";
  sources.file_text = "\xEF\xBB\xBFnode.id=7\nnum.partitions=many\n";
  Findings findings;
  const auto config = examine_settings(sources, findings);
  EXPECT_EQ(std::ranges::count(findings, Level::problem, &Finding::level), 1) << all_of(findings);
  EXPECT_EQ(config.text("node.id"), "7");
}

TEST(Doctor, variables_that_the_broker_ignores_are_warned_of_whatever_else_is_wrong) {
  ConfigurationSources sources;
  sources.environment = {{"KAFKA_BOGUS", "bogus", "1"}};
  Findings findings;
  (void)examine_settings(sources, findings);
  EXPECT_TRUE(says(findings, Level::warning, "KAFKA_BOGUS")) << all_of(findings);
  sources.environment.push_back({"KAFKA_NUM_PARTITIONS", "num.partitions", "many"});
  findings.clear();
  (void)examine_settings(sources, findings);
  EXPECT_TRUE(says(findings, Level::warning, "KAFKA_BOGUS")) << all_of(findings);
  EXPECT_TRUE(says(findings, Level::problem, "KAFKA_NUM_PARTITIONS")) << all_of(findings);
  EXPECT_EQ(std::ranges::count(findings, Level::problem, &Finding::level), 1) << all_of(findings);
}

class Directory : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "barnabas-doctor-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
    ASSERT_TRUE(config_.set("log.dirs", path_, "test"));
    ASSERT_TRUE(config_.set("node.id", "1", "test"));
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  void write(const std::string& name, const std::string& text) { std::ofstream(path_ + "/" + name) << text; }

  std::string path_;
  metadata::StaticConfig config_;
  Findings findings_;
};

TEST_F(Directory, another_nodes_data_is_told) {
  write("meta.properties", "version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=5\n");
  EXPECT_FALSE(examine_directories(config_, findings_));
  EXPECT_TRUE(says(findings_, Level::problem, "belongs to node 5")) << all_of(findings_);
}

TEST_F(Directory, a_file_in_its_place_is_told) {
  write("file", "");
  ASSERT_TRUE(config_.set("log.dirs", path_ + "/file", "test"));
  examine_directories(config_, findings_);
  EXPECT_TRUE(says(findings_, Level::problem, "is no directory")) << all_of(findings_);
}

TEST_F(Directory, what_is_not_there_yet_is_no_problem_and_is_not_made) {
  ASSERT_TRUE(config_.set("log.dirs", path_ + "/a/b", "test"));
  examine_directories(config_, findings_);
  EXPECT_FALSE(says(findings_, Level::problem, path_)) << all_of(findings_);
  EXPECT_FALSE(std::filesystem::exists(path_ + "/a"));
}

TEST_F(Directory, a_broker_that_has_it_is_a_note) {
  io::PosixDisk disk;
  const auto lock = disk.lock(path_ + "/.lock");
  ASSERT_TRUE(lock);
  EXPECT_TRUE(examine_directories(config_, findings_));
  EXPECT_TRUE(says(findings_, Level::note, "a broker is running on it")) << all_of(findings_);
}

TEST_F(Directory, a_clock_that_went_back_is_told) {
  std::filesystem::create_directory(path_ + "/t-0");
  write("t-0/00000000000000000000.log", "");
  const auto now = static_cast<int64_t>(std::time(nullptr));
  examine_clock(config_, now, findings_);
  EXPECT_TRUE(findings_.empty()) << all_of(findings_);
  examine_clock(config_, now - 3600, findings_);
  EXPECT_TRUE(says(findings_, Level::problem, "behind the last write")) << all_of(findings_);
  examine_clock(config_, 1000, findings_);
  EXPECT_TRUE(says(findings_, Level::problem, "before this program was made")) << all_of(findings_);
}

TEST(Doctor, room_is_told_before_it_is_used_up) {
  constexpr uint64_t gib = uint64_t{1} << 30;
  const auto of = [](uint64_t free, uint64_t all) {
    Findings findings;
    tell_room("/data", free, all, findings);
    return findings;
  };
  EXPECT_TRUE(of(50 * gib, 100 * gib).empty());
  EXPECT_TRUE(says(of(4 * gib, 100 * gib), Level::warning, "little room"));
  EXPECT_TRUE(says(of(gib / 2, gib), Level::warning, "little room"));
  EXPECT_TRUE(says(of(1 << 20, 100 * gib), Level::problem, "full"));
}

TEST(Doctor, a_small_volume_is_not_a_full_one) {
  Findings findings;
  tell_room("/d", 2 << 20, 2 << 20, findings);
  EXPECT_FALSE(says(findings, Level::problem, "")) << all_of(findings);
  tell_room("/d", 0, 2 << 20, findings);
  EXPECT_TRUE(says(findings, Level::problem, "full")) << all_of(findings);
  tell_room("/sys/d", 0, 0, findings);
  EXPECT_TRUE(says(findings, Level::problem, "holds no files")) << all_of(findings);
}

TEST(Doctor, file_systems_that_forget_are_told) {
  Findings findings;
  tell_file_system("/data", 0xEF53, findings);
  EXPECT_TRUE(findings.empty()) << "ext4";
  tell_file_system("/data", 0x01021994, findings);
  tell_file_system("/nfs", 0x6969, findings);
  EXPECT_TRUE(says(findings, Level::warning, "in memory"));
  EXPECT_TRUE(says(findings, Level::warning, "network file system"));
}

TEST(Doctor, few_descriptors_are_told) {
  const auto of = [](uint64_t limit) {
    Findings findings;
    examine_descriptor_limit(limit, findings);
    return findings;
  };
  EXPECT_TRUE(of(1'000'000).empty());
  EXPECT_TRUE(says(of(10'000), Level::warning, "10000"));
  EXPECT_TRUE(says(of(1024), Level::problem, "1024"));
}

/// A listening socket of the test, which has a port.
class TakenPort {
 public:
  TakenPort() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_, generic, size), 0);
    EXPECT_EQ(::listen(socket_, 1), 0);
    EXPECT_EQ(::getsockname(socket_, generic, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~TakenPort() { ::close(socket_); }
  uint16_t port() const { return port_; }

 private:
  int socket_;
  uint16_t port_ = 0;
};

Listeners listener(const std::string& host, uint16_t port, const std::string& advertised) {
  Listeners listeners;
  listeners.bind.push_back({"PLAINTEXT", security::SecurityProtocol::plaintext, host, port});
  listeners.advertised.push_back({"PLAINTEXT", advertised, port, 0});
  return listeners;
}

TEST(Doctor, a_port_in_use_is_told_unless_the_broker_itself_has_it) {
  const TakenPort taken;
  const auto listeners = listener("127.0.0.1", taken.port(), "127.0.0.1");
  Findings findings;
  examine_network(listeners, false, findings);
  EXPECT_TRUE(says(findings, Level::problem, "the port is in use")) << all_of(findings);
  findings.clear();
  examine_network(listeners, true, findings);
  EXPECT_TRUE(findings.empty()) << all_of(findings);
}

TEST(Doctor, a_taken_port_of_http_is_a_problem_only_where_it_was_asked_for) {
  const TakenPort taken;
  metadata::StaticConfig config;
  ASSERT_TRUE(config.set("http.listeners", "127.0.0.1:" + std::to_string(taken.port()), "test"));
  Findings findings;
  examine_http(config, false, findings);
  EXPECT_TRUE(says(findings, Level::problem, "http.listeners: 127.0.0.1:")) << all_of(findings);
  findings.clear();
  examine_http(config, true, findings);
  EXPECT_TRUE(findings.empty()) << all_of(findings);
}

TEST(Doctor, addresses_that_lead_nowhere_are_told) {
  Findings findings;
  examine_network(listener("127.0.0.1", 0, "no-such-host.invalid"), false, findings);
  EXPECT_TRUE(says(findings, Level::problem, "has no address here")) << all_of(findings);
  findings.clear();
  examine_network(listener("0.0.0.0", 0, "localhost"), false, findings);
  EXPECT_TRUE(says(findings, Level::warning, "leads to the client's own machine")) << all_of(findings);
  findings.clear();
  // Of TEST-NET-1, which no machine has.
  examine_network(listener("192.0.2.1", 9092, "192.0.2.1"), false, findings);
  EXPECT_TRUE(says(findings, Level::problem, "192.0.2.1")) << all_of(findings);
}

TEST(Doctor, an_advertised_port_that_nobody_has_is_told) {
  uint16_t unused = 0;
  {
    const TakenPort before;
    unused = before.port();
  }
  const TakenPort taken;
  auto listeners = listener("127.0.0.1", taken.port(), "127.0.0.1");
  listeners.advertised.front().port = unused;
  Findings findings;
  examine_network(listeners, true, findings);
  EXPECT_TRUE(says(findings, Level::problem, "cannot be reached")) << all_of(findings);
}

Findings of_certificate(const security::TestCertificateOptions& options, const std::string& host,
                        int64_t days_from_now = 0) {
  const security::TestAuthority authority;
  const auto identity = authority.issue({{"CN", "broker"}}, options);
  Findings findings;
  tell_certificate("SSL", identity.certificate, host, std::time(nullptr) + days_from_now * 86'400 + 3600,
                   findings);
  return findings;
}

TEST(Doctor, certificates_that_clients_refuse_are_told) {
  EXPECT_TRUE(
      of_certificate({.days = 90, .alternative_names = "DNS:broker.example"}, "broker.example").empty());
  EXPECT_TRUE(of_certificate({.days = 90, .alternative_names = "IP:127.0.0.1"}, "127.0.0.1").empty());
  EXPECT_TRUE(says(of_certificate({.days = 90, .alternative_names = "DNS:broker.example"}, "other.example"),
                   Level::problem, "does not have the advertised name other.example"));
  EXPECT_TRUE(says(of_certificate({.days = 90}, "", 91), Level::problem, "expired on"));
  EXPECT_TRUE(says(of_certificate({.days = 90}, "", 80), Level::warning, "expires in 9 days"));
  EXPECT_TRUE(says(of_certificate({.days = 90}, "", -200), Level::problem, "is not valid yet"));
}

TEST(Doctor, stores_that_cannot_be_used_are_told_with_their_setting) {
  metadata::StaticConfig config;
  ASSERT_TRUE(config.set("listener.name.tls.ssl.keystore.type", "PEM", "test"));
  ASSERT_TRUE(config.set("listener.name.tls.ssl.keystore.location", "/nowhere/server.pem", "test"));
  Listeners listeners;
  listeners.bind.push_back({"TLS", security::SecurityProtocol::ssl, "127.0.0.1", 9093});
  Findings findings;
  examine_certificates(listeners, config, findings);
  EXPECT_TRUE(says(findings, Level::problem, "/nowhere/server.pem: No such file")) << all_of(findings);
}

}  // namespace
}  // namespace barnabas::app
