#include "storage/retention.h"

namespace barnabas::storage {

RetentionPlan plan_retention(std::span<const RetentionSegment> segments, const LogConfig& config,
                             Offset log_start, Offset high_watermark, TimestampMs now) {
  RetentionPlan plan;
  const auto take_while = [&](RetentionPlan::Reason reason, auto&& goes) {
    while (plan.segments < segments.size()) {
      const RetentionSegment& segment = segments[plan.segments];
      const bool is_active = plan.segments + 1 == segments.size();
      if (segment.next_offset > high_watermark || (is_active && segment.size_bytes == 0) ||
          !goes(segment, is_active))
        return;
      ++plan.segments;
      plan.reason = reason;
    }
  };

  take_while(RetentionPlan::Reason::log_start_offset, [&](const RetentionSegment& segment, bool is_active) {
    return !is_active && segment.next_offset <= log_start;
  });
  if (!config.cleanup_delete) return plan;

  if (config.retention_bytes >= 0) {
    uint64_t total = 0;
    for (const RetentionSegment& segment : segments.subspan(plan.segments)) total += segment.size_bytes;
    const auto limit = static_cast<uint64_t>(config.retention_bytes);
    uint64_t surplus = total > limit ? total - limit : 0;
    take_while(RetentionPlan::Reason::size, [&](const RetentionSegment& segment, bool) {
      if (surplus < segment.size_bytes || surplus == 0) return false;
      surplus -= segment.size_bytes;
      return true;
    });
  }
  if (config.retention_ms >= 0) {
    take_while(RetentionPlan::Reason::time, [&](const RetentionSegment& segment, bool) {
      return now - segment.largest_timestamp > config.retention_ms;
    });
  }
  return plan;
}

}  // namespace barnabas::storage
