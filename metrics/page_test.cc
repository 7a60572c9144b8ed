#include "metrics/page.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <cctype>
#include <limits>
#include <set>
#include <string>
#include <thread>

#include "metrics/process.h"

namespace barnabas::metrics {
namespace {

constexpr const char* with_topic = "kafka_topic_partitions";

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Page, tells_help_type_and_values) {
  Page page;
  page.add(with_topic, {"orders"}, 12);
  page.add(with_topic, 20);
  const std::string text = page.text();
  EXPECT_TRUE(has_line(text, std::string("# TYPE ") + with_topic + " gauge")) << text;
  EXPECT_TRUE(has_line(text, std::string(with_topic) + "{topic=\"orders\"} 12")) << text;
  EXPECT_TRUE(has_line(text, std::string(with_topic) + " 20")) << text;
  EXPECT_NE(text.find(std::string("# HELP ") + with_topic + " Partitions of"), std::string::npos);
}

TEST(Page, leaves_out_families_without_values) {
  EXPECT_EQ(Page().text(), "");
}

TEST(Page, labels_that_are_no_text_are_escaped) {
  Page page;
  page.add(with_topic, {"a\xff\xc3\xa9"}, 1);
  EXPECT_TRUE(has_line(page.text(), std::string(with_topic) + "{topic=\"a\\\\xff\xc3\xa9\"} 1"))
      << page.text();
}

TEST(Page, further_labels_get_names_that_may_be_and_never_one_twice) {
  Page page;
  page.add("barnabas_client_telemetry", {"up", "c", "i"},
           {{"node-id", "1"}, {"node.id", "2"}, {"metric", "3"}, {"__name__", "4"}, {"9", "5"}, {"", "6"}},
           1);
  EXPECT_TRUE(
      has_line(page.text(),
               "barnabas_client_telemetry{metric=\"up\",client_id=\"c\",client_instance_id=\"i\",label=\"6\","
               "n9=\"5\",label__name__=\"4\",node_id=\"1\"} 1"))
      << page.text();
}

TEST(Page, labels_cannot_forge_lines) {
  Page page;
  page.add("kafka_topic_partitions", {"a\"b\\c\nd"}, 1);
  EXPECT_TRUE(has_line(page.text(), "kafka_topic_partitions{topic=\"a\\\"b\\\\c\\nd\"} 1")) << page.text();
}

TEST(Page, tells_large_and_odd_numbers_exactly) {
  Page page;
  page.add("kafka_topic_partition_current_offset", {"t", "0"}, 9007199254740991.0);
  page.add("kafka_topic_partition_current_offset", {"t", "1"}, std::numeric_limits<double>::infinity());
  page.add("kafka_topic_partition_current_offset", {"t", "2"}, 0.1);
  const std::string name = "kafka_topic_partition_current_offset";
  const std::string text = page.text();
  EXPECT_TRUE(has_line(text, name + "{topic=\"t\",partition=\"0\"} 9007199254740991")) << text;
  EXPECT_TRUE(has_line(text, name + "{topic=\"t\",partition=\"1\"} +Inf")) << text;
  EXPECT_TRUE(has_line(text, name + "{topic=\"t\",partition=\"2\"} 0.1")) << text;
}

TEST(Page, tells_a_histogram_with_buckets_that_add_up) {
  LatencyHistogram histogram;
  histogram.observe(std::chrono::milliseconds(2));
  histogram.observe(std::chrono::minutes(1));
  Page page;
  page.add("barnabas_request_seconds", {"Produce"}, histogram.snapshot());
  const std::string text = page.text();
  EXPECT_TRUE(has_line(text, "barnabas_request_seconds_bucket{request=\"Produce\",le=\"0.001\"} 0")) << text;
  EXPECT_TRUE(has_line(text, "barnabas_request_seconds_bucket{request=\"Produce\",le=\"0.0025\"} 1")) << text;
  EXPECT_TRUE(has_line(text, "barnabas_request_seconds_bucket{request=\"Produce\",le=\"+Inf\"} 2")) << text;
  EXPECT_TRUE(has_line(text, "barnabas_request_seconds_count{request=\"Produce\"} 2")) << text;
}

TEST(Page, tells_a_summary_in_milliseconds) {
  LatencyHistogram histogram;
  histogram.observe(std::chrono::milliseconds(2));
  Page page;
  page.add_milliseconds("kafka_network_requestmetrics_totaltimems", {"Fetch"}, histogram.snapshot(),
                        histogram.snapshot());
  const std::string text = page.text();
  EXPECT_TRUE(has_line(text, "kafka_network_requestmetrics_totaltimems_sum{request=\"Fetch\"} 2")) << text;
  EXPECT_NE(text.find("totaltimems{request=\"Fetch\",quantile=\"0.99\"} 1.9"), std::string::npos) << text;
}

TEST(Page, knows_the_process) {
  Page page;
  add_process(page);
  const std::string text = page.text();
  for (const char* name :
       {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_virtual_memory_bytes",
        "process_open_fds", "process_max_fds", "process_start_time_seconds", "process_threads"})
    EXPECT_NE(text.find(std::string("\n") + name + " "), std::string::npos) << name << "\n" << text;
}

TEST(Catalog, has_each_name_once_in_the_form_that_prometheus_takes) {
  std::set<std::string_view> names;
  for (const Family& family : catalog()) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    for (const char c : family.name)
      EXPECT_TRUE(std::islower(static_cast<unsigned char>(c)) ||
                  std::isdigit(static_cast<unsigned char>(c)) || c == '_')
          << family.name;
    EXPECT_TRUE(family.help.ends_with('.')) << family.name;
    EXPECT_EQ(family.help.find_first_of("\n\\|"), family.help.npos) << family.name;
    EXPECT_EQ(family.type == Type::counter, family.name.ends_with("_total")) << family.name;
  }
}

TEST(Process, knows_the_processor_time_of_threads_by_their_names) {
  EXPECT_EQ(processor_time_of_threads("nobody-").count(), 0);
  std::thread busy([] {
    pthread_setname_np(pthread_self(), "busy-1) (x");
    while (processor_time_of_threads("busy-") < std::chrono::milliseconds(20)) {
    }
  });
  busy.join();
}

}  // namespace
}  // namespace barnabas::metrics
