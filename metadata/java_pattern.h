#pragma once

#include <string_view>

namespace barnabas::metadata {

/// Whether java.util.regex would compile `pattern`: groups and classes closed, quantifiers behind something,
/// escapes known. Only the syntax is looked at. Nesting is bounded: what is deeper than a hundred groups is
/// refused.
bool is_java_pattern(std::string_view pattern);

/// "PnDTnHnMn.nS", as java.time.Duration reads it, and not negative.
bool is_java_duration(std::string_view text);

}  // namespace barnabas::metadata
