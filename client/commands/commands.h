#pragma once

#include <memory>

#include "command/command.h"

/// The nouns of the command line that speak to a cluster; each is in the file of its name.
namespace barnabas::client {

std::unique_ptr<command::Command> topic_command();
std::unique_ptr<command::Command> group_command();
std::unique_ptr<command::Command> config_command();
std::unique_ptr<command::Command> acl_command();
std::unique_ptr<command::Command> user_command();
std::unique_ptr<command::Command> quota_command();
std::unique_ptr<command::Command> cluster_command();
std::unique_ptr<command::Command> log_command();
std::unique_ptr<command::Command> produce_command();
std::unique_ptr<command::Command> consume_command();

}  // namespace barnabas::client
