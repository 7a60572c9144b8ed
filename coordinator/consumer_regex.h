#pragma once

#include <expected>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "metadata/image.h"

namespace barnabas::coordinator {

/// Nothing: it is a regular expression (RE2). Else what is wrong, in the words of RE2/J, which Kafka uses.
/// Takes less than a second and some tens of megabytes whatever it is given: one that would be larger than
/// protocol::string_bytes_max with its repetitions written out is refused (Kafka would try).
std::expected<void, std::string> check_regex(std::string_view regex);

/// The names of topics that each expression matches as a whole, of those that `may_see` (if there is any)
/// allows; sorted. An expression that is none matches nothing.
std::map<std::string, std::vector<std::string>> resolve_regexes(
    const std::set<std::string>& regexes, const metadata::MetadataImage& image,
    const std::function<bool(std::string_view)>& may_see = {});

/// Whether a text is matched as a whole; from any thread. What is wrong, as from check_regex.
std::expected<std::function<bool(std::string_view)>, std::string> matcher_of(std::string_view regex);

}  // namespace barnabas::coordinator
