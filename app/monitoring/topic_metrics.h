#pragma once

#include "app/monitoring/metrics_collector.h"

namespace barnabas::app {

/// Adds what is told of topics and partitions. Partitions beyond metrics.partitions.max are counted only.
void add_topics(metrics::Page& page, const MetricsSources& sources, const metadata::MetadataImage& image);

}  // namespace barnabas::app
