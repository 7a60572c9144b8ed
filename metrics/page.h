#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/catalog.h"
#include "metrics/latency_histogram.h"

namespace barnabas::metrics {

/// What is told when somebody asks for metrics: values under the names of the catalog. Made and written by
/// one thread; nothing is registered or kept between two pages. Label values may be any bytes: those that are
/// no UTF-8, which would make the whole page unreadable, are told as \xff.
class Page {
 public:
  Page();

  using LabelValues = std::initializer_list<std::string_view>;
  /// One value of a counter or gauge. `name` stands in the catalog; the values are those of its labels, in
  /// its order, or none at all: of everything together.
  void add(std::string_view name, LabelValues labels, double value);
  void add(std::string_view name, double value) { add(name, {}, value); }
  /// The same with labels that are not of the catalog: names are made of what a label may be made of.
  void add(std::string_view name, LabelValues labels, const std::map<std::string, std::string>& further,
           double value);
  /// A histogram in seconds.
  void add(std::string_view name, LabelValues labels, const LatencySnapshot& latency);
  /// A summary in milliseconds, as Kafka's own: number and sum of all, quantiles of what was lately.
  void add_milliseconds(std::string_view name, LabelValues labels, const LatencySnapshot& all,
                        const LatencySnapshot& lately);

  /// In the text format 0.0.4, in the order of the catalog. Families without a value are left out.
  std::string text() const;

 private:
  prometheus::ClientMetric& metric(std::string_view name, LabelValues labels);

  std::vector<prometheus::MetricFamily> families_;  ///< as the catalog
};

}  // namespace barnabas::metrics
