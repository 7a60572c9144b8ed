#pragma once

#include <vector>

#include "base/result.h"
#include "security/key_store.h"
#include "security/tls_settings.h"

namespace barnabas::security {

/// Read what the settings name. May wait for a disk. Errors name setting and file, and what to do about a
/// store that is no good here (a Java key store has to be converted).
Result<KeyEntry> load_key_entry(const StoreSettings& settings);
/// Nothing in it when the settings name no store.
Result<std::vector<Certificate>> load_trusted(const StoreSettings& settings);

}  // namespace barnabas::security
