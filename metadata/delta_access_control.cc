// How records about access control change the image.

#include "metadata/delta.h"

namespace barnabas::metadata {

void MetadataDelta::note_access_control(const Uuid& id) {
  const auto* before = image_.access_control.by_id.find(id);
  changed_acls_.try_emplace(id, before == nullptr ? nullptr : *before);
}

Result<void> MetadataDelta::apply(const protocol::AccessControlEntryRecord& record) {
  AclEntry entry;
  entry.id = record.id;
  entry.rule.resource_type = static_cast<AclResourceType>(record.resource_type);
  entry.rule.resource_name = record.resource_name.str();
  entry.rule.pattern_type = static_cast<AclPatternType>(record.pattern_type);
  entry.rule.principal = record.principal.str();
  entry.rule.host = record.host.str();
  entry.rule.operation = static_cast<AclOperation>(record.operation);
  entry.rule.permission = static_cast<AclPermission>(record.permission_type);
  note_access_control(record.id);
  image_.access_control.put(std::make_shared<const AclEntry>(std::move(entry)));
  return {};
}

Result<void> MetadataDelta::apply(const protocol::RemoveAccessControlEntryRecord& record) {
  note_access_control(record.id);
  image_.access_control.erase(record.id);
  return {};
}

void MetadataDelta::finish_access_control() {
  for (auto& [id, before] : changed_acls_) {
    const auto* after = image_.access_control.by_id.find(id);
    if (before == nullptr && after == nullptr) continue;
    changes_.access_control.push_back({std::move(before), after == nullptr ? nullptr : *after});
  }
}

}  // namespace barnabas::metadata
