#pragma once

#include <memory>

#include "client/action.h"

namespace barnabas::client {

std::unique_ptr<Action> group_seek_action();
std::unique_ptr<Action> group_delete_offsets_action();

}  // namespace barnabas::client
