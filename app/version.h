#pragma once

namespace barnabas::app {

inline constexpr const char* version = BARNABAS_VERSION;
/// Whose protocol, settings and files this is.
inline constexpr const char* kafka_version = "4.4.0";

}  // namespace barnabas::app
