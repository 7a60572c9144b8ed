#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace barnabas::io {

/// The error for a system call that failed with `number` (an errno): "<call> <path>: <the system's text>".
/// ENOSPC and EDQUOT are ErrorKind::no_space, ENOENT is not_found, EEXIST already_exists, all else io.
Error system_error(std::string_view call, const std::string& path, int number);

/// The directory part of a path; "." when it has none, "/" for what lies in the root.
std::string parent_directory(const std::string& path);

}  // namespace barnabas::io
