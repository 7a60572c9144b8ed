#include "metadata/delta.h"

namespace barnabas::metadata {

Result<void> MetadataDelta::apply(const protocol::ClientQuotaRecord& record) {
  auto next = std::make_shared<QuotaImage>();
  for (const auto& part : record.entity)
    next->entity[part.entity_type.str()] =
        part.entity_name ? std::optional(part.entity_name->str()) : std::nullopt;
  if (const auto* before = image_.client_quotas.find(next->entity)) next->values = (*before)->values;
  if (record.remove) {
    next->values.erase(record.key.str());
  } else {
    next->values.insert_or_assign(record.key.str(), record.value);
  }
  changes_.changed_quotas.push_back(next->entity);
  if (next->values.empty()) {
    image_.client_quotas.erase(next->entity);
  } else {
    image_.client_quotas.put(std::move(next));
  }
  return {};
}

}  // namespace barnabas::metadata
