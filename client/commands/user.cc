#include <unistd.h>

#include <iostream>

#include "client/action.h"
#include "client/commands/commands.h"
#include "protocol/messages/alter_user_scram_credentials_request.h"
#include "protocol/messages/alter_user_scram_credentials_response.h"
#include "protocol/messages/describe_user_scram_credentials_request.h"
#include "protocol/messages/describe_user_scram_credentials_response.h"
#include "security/scram_keys.h"

namespace barnabas::client {
namespace {

using protocol::ErrorCode;

class List final : public Action {
 public:
  std::string name() const override { return "list"; }
  std::string summary() const override { return "Users that log in by SCRAM, with their mechanisms"; }
  std::string example() const override { return "barnabas user list"; }
  void declare(CLI::App& app) override { app.add_option("name", names_, "only these"); }

  Result<Answer> run(Cluster& cluster) override {
    protocol::DescribeUserScramCredentialsRequest request;
    request.users = std::nullopt;
    if (!names_.empty()) {
      request.users.emplace();
      for (const std::string& each : names_) request.users->emplace_back().name = each;
    }
    BARNABAS_ASSIGN(const auto response, cluster.ask(request));
    if (response->error_code != 0)
      return fail(ErrorKind::invalid, error_text(response->error_code, response->error_message));
    Json rows = Json::array();
    std::vector<std::string> complaints;
    for (const auto& user : response->results) {
      if (user.error_code != 0)
        complaints.push_back("user " + user.user.str() + ": " +
                             error_text(user.error_code, user.error_message));
      for (const auto& each : user.credential_infos)
        rows.push_back(
            {{"user", user.user.str()},
             {"mechanism", security::scram_name(static_cast<security::ScramMechanism>(each.mechanism))},
             {"iterations", each.iterations}});
    }
    Answer answer = Answer::list(std::move(rows));
    for (std::string& each : complaints) answer.complain(std::move(each));
    return answer;
  }

 private:
  std::vector<std::string> names_;
};

class MechanismOption {
 public:
  void declare(CLI::App& app, const char* description) {
    app.add_option("--mechanism", name_, description)
        ->check(CLI::IsMember({"SCRAM-SHA-256", "SCRAM-SHA-512"}));
  }
  bool given() const { return !name_.empty(); }
  security::ScramMechanism value() const {
    return security::scram_mechanism(name_).value_or(security::ScramMechanism::sha_256);
  }

 private:
  std::string name_;
};

class Create final : public Action {
 public:
  std::string name() const override { return "create"; }
  std::string summary() const override { return "Make a user, or give one another password"; }
  std::string example() const override { return "barnabas user create alice --password-stdin < secret"; }
  void declare(CLI::App& app) override {
    app.add_option("name", user_, "the user")->required();
    mechanism_.declare(app, "how it logs in; SCRAM-SHA-256 where nothing is said");
    app.add_option("--new-password", password_, "better in the environment or from standard input")
        ->type_name("TEXT")
        ->envname("BARNABAS_NEW_PASSWORD");
    app.add_flag("--password-stdin", from_stdin_, "the password is the first line of standard input");
    app.add_option("--iterations", iterations_, "of hashing")
        ->check(CLI::Range(security::scram_iterations_min, security::scram_iterations_max))
        ->capture_default_str();
  }

  Result<void> read_arguments() override {
    if (from_stdin_) {
      if (::isatty(STDIN_FILENO) == 1) std::cerr << "password: " << std::flush;
      std::getline(std::cin, password_);
    }
    if (password_.empty())
      return fail(ErrorKind::invalid,
                  "no password; add --password-stdin, or set BARNABAS_NEW_PASSWORD in the environment");
    return {};
  }

  Result<Answer> run(Cluster& cluster) override {
    const std::string salt = security::scram_random_text();
    protocol::AlterUserScramCredentialsRequest request;
    auto& wanted = request.upsertions.emplace_back();
    wanted.name = user_;
    wanted.mechanism = static_cast<int8_t>(mechanism_.value());
    wanted.iterations = iterations_;
    wanted.salt = protocol::Bytes::of_text(salt);
    // The password itself stays here.
    wanted.salted_password = protocol::Bytes(
        security::scram_salted_password(mechanism_.value(), password_, as_byte_view(salt), iterations_));
    BARNABAS_ASSIGN(const auto response, cluster.ask(request));
    Answer answer;
    for (const auto& each : response->results)
      answer.outcome({{"user", each.user.str()}, {"mechanism", security::scram_name(mechanism_.value())}},
                     "user " + each.user.str(), each.error_code, each.error_message);
    return answer;
  }

 private:
  std::string user_;
  MechanismOption mechanism_;
  std::string password_;
  bool from_stdin_ = false;
  int32_t iterations_ = 8192;
};

class Delete final : public Action {
 public:
  std::string name() const override { return "delete"; }
  std::string summary() const override { return "Take away a user's passwords"; }
  std::string example() const override { return "barnabas user delete alice"; }
  void declare(CLI::App& app) override {
    app.add_option("name", user_, "the user")->required();
    mechanism_.declare(app, "only that of this mechanism");
  }

  Result<Answer> run(Cluster& cluster) override {
    BARNABAS_ASSIGN(const auto mechanisms, mechanisms_of_user(cluster));
    Answer answer;
    for (const int8_t mechanism : mechanisms) {
      // One at a time: a request must not name a user twice.
      protocol::AlterUserScramCredentialsRequest request;
      auto& gone = request.deletions.emplace_back();
      gone.name = user_;
      gone.mechanism = mechanism;
      BARNABAS_ASSIGN(const auto response, cluster.ask(request));
      for (const auto& each : response->results)
        answer.outcome(
            {{"user", each.user.str()},
             {"mechanism", security::scram_name(static_cast<security::ScramMechanism>(mechanism))}},
            "user " + each.user.str(), each.error_code, each.error_message);
    }
    return answer;
  }

 private:
  Result<std::vector<int8_t>> mechanisms_of_user(Cluster& cluster) const {
    if (mechanism_.given()) return std::vector<int8_t>{static_cast<int8_t>(mechanism_.value())};
    protocol::DescribeUserScramCredentialsRequest request;
    request.users.emplace().emplace_back().name = user_;
    BARNABAS_ASSIGN(const auto response, cluster.ask(request));
    std::vector<int8_t> mechanisms;
    for (const auto& user : response->results) {
      if (user.error_code != 0)
        return fail(ErrorKind::not_found,
                    "user " + user_ + ": " + error_text(user.error_code, user.error_message));
      for (const auto& each : user.credential_infos) mechanisms.push_back(each.mechanism);
    }
    if (mechanisms.empty())
      return fail(ErrorKind::not_found,
                  "user " + user_ + ": " + error_text(response->error_code, response->error_message));
    return mechanisms;
  }

  std::string user_;
  MechanismOption mechanism_;
};

}  // namespace

std::unique_ptr<command::Command> user_command() {
  std::vector<std::unique_ptr<Action>> actions;
  actions.push_back(std::make_unique<List>());
  actions.push_back(std::make_unique<Create>());
  actions.push_back(std::make_unique<Delete>());
  return std::make_unique<Noun>("user", "Users that log in by SCRAM", std::move(actions));
}

}  // namespace barnabas::client
