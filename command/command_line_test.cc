#include "command/command_line.h"

#include <gmock/gmock.h>

#include <sstream>

#include "command/model_commands.h"

namespace barnabas::command {
namespace {

using testing::HasSubstr;

struct Told {
  std::string who;
  std::string argument;
};

class Recorder : public Command {
 public:
  Recorder(std::string name, Told& told, int code) : name_(std::move(name)), told_(told), code_(code) {}
  std::string name() const override { return name_; }
  std::string summary() const override { return "what " + name_ + " does"; }
  void declare(CLI::App& app) override {
    app.add_option("FILE", argument_, "a file");
    app.footer("Example: " + name_ + " x");
  }
  int run(std::ostream&, std::ostream&) override {
    told_ = {name_, argument_};
    return code_;
  }

 private:
  std::string name_;
  Told& told_;
  int code_;
  std::string argument_;
};

class CommandLineTest : public testing::Test {
 protected:
  int run(std::vector<const char*> arguments) {
    CommandLine line("program", "program 1.2", std::make_unique<Recorder>("serve", told_, 0));
    line.add(std::make_unique<Recorder>("dump", told_, 1));
    line.add(std::make_unique<Recorder>("check", told_, 0));
    line.add(std::make_unique<HelpCommand>(line.model()));
    arguments.insert(arguments.begin(), "program");
    return line.run(arguments, out_, errors_);
  }

  Told told_;
  std::ostringstream out_;
  std::ostringstream errors_;
};

TEST_F(CommandLineTest, does_the_main_thing_when_no_command_is_named) {
  EXPECT_EQ(run({"server.properties"}), 0);
  EXPECT_EQ(told_.who, "serve");
  EXPECT_EQ(told_.argument, "server.properties");
}

TEST_F(CommandLineTest, runs_the_command_that_is_named_and_gives_its_exit_code) {
  EXPECT_EQ(run({"dump", "a file"}), 1);
  EXPECT_EQ(told_.who, "dump");
  EXPECT_EQ(told_.argument, "a file");
}

TEST_F(CommandLineTest, a_command_line_that_makes_no_sense_runs_nothing_and_ends_with_2) {
  EXPECT_EQ(run({"check", "--no-such-option"}), 2);
  EXPECT_EQ(run({"check", "one", "too many"}), 2);
  EXPECT_THAT(told_.who, "");
  EXPECT_THAT(errors_.str(), HasSubstr("--no-such-option"));
}

TEST_F(CommandLineTest, help_lists_the_commands_and_goes_to_standard_output) {
  EXPECT_EQ(run({"--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("what check does"));
  EXPECT_EQ(errors_.str(), "");
}

TEST_F(CommandLineTest, help_of_a_command_ends_with_its_example) {
  EXPECT_EQ(run({"dump", "--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Example: dump x"));
}

TEST_F(CommandLineTest, help_is_also_a_command) {
  for (const auto& [option, word] :
       std::vector<std::pair<std::vector<const char*>, std::vector<const char*>>>{
           {{"--help"}, {"help"}}, {{"dump", "--help"}, {"help", "dump"}}}) {
    out_.str("");
    EXPECT_EQ(run(option), 0);
    const std::string expected = out_.str();
    out_.str("");
    EXPECT_EQ(run(word), 0);
    EXPECT_EQ(out_.str(), expected);
  }
  EXPECT_EQ(run({"help", "dmp"}), 2);
  EXPECT_EQ(errors_.str(), "barnabas: no command dmp; did you mean dump?\n");
}

TEST_F(CommandLineTest, a_mistyped_command_is_no_settings_file) {
  EXPECT_EQ(run({"chek"}), 2);
  EXPECT_EQ(errors_.str(), "barnabas: no command chek; did you mean check?\n");
  EXPECT_EQ(told_.who, "");
}

TEST_F(CommandLineTest, help_that_cannot_be_written_is_an_error) {
  out_.setstate(std::ios_base::badbit);
  EXPECT_EQ(run({"--help"}), 1);
  EXPECT_THAT(errors_.str(), HasSubstr("the output cannot be written"));
}

TEST_F(CommandLineTest, says_its_version) {
  EXPECT_EQ(run({"--version"}), 0);
  EXPECT_EQ(out_.str(), "program 1.2\n");
}

TEST_F(CommandLineTest, a_command_alone_takes_the_same_arguments) {
  Recorder command("dump", told_, 1);
  EXPECT_EQ(run_alone(command, std::vector<const char*>{"x"}, out_, errors_), 1);
  EXPECT_EQ(told_.argument, "x");
  EXPECT_EQ(run_alone(command, std::vector<const char*>{"--odd"}, out_, errors_), 2);
}

}  // namespace
}  // namespace barnabas::command
