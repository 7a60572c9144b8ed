#include "security/strict_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace barnabas::security {
namespace {

using nlohmann::json;

/// Sees the text go by before a tree is made of it, and stops it at the first breach.
class Judge {
 public:
  explicit Judge(const JsonLimits& limits) : limits_(limits) {}

  const std::string& complaint() const { return complaint_; }

  // What nlohmann::json::sax_parse calls; its names.
  bool null() { return value(); }
  bool boolean(bool) { return value(); }
  bool number_integer(json::number_integer_t) { return value(); }
  bool number_unsigned(json::number_unsigned_t) { return value(); }
  bool number_float(json::number_float_t, const json::string_t&) { return value(); }
  bool string(json::string_t&) { return value(); }
  bool binary(json::binary_t&) { return value(); }
  bool start_object(std::size_t) { return open(); }
  bool start_array(std::size_t) { return open(); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(json::string_t& name) {
    return names_.back().insert(std::move(name)).second || complain("a name stands twice in an object");
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) {
    return complain("no JSON at byte " + std::to_string(position));
  }

 private:
  bool value() { return ++values_ <= limits_.values || complain("too many values"); }
  bool open() {
    names_.emplace_back();
    return value() && (names_.size() <= limits_.depth || complain("nested too deep"));
  }
  bool close() {
    names_.pop_back();
    return true;
  }
  bool complain(std::string what) {
    complaint_ = std::move(what);
    return false;
  }

  const JsonLimits& limits_;
  std::size_t values_ = 0;
  std::vector<std::set<std::string, std::less<>>> names_;
  std::string complaint_;
};

}  // namespace

Result<json> parse_strict_json_object(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) return fail(ErrorKind::too_large, "JSON: longer than allowed");
  Judge judge(limits);
  if (!json::sax_parse(text, &judge)) return fail(ErrorKind::corrupt, "JSON: " + judge.complaint());
  json tree = json::parse(text, nullptr, false);
  if (!tree.is_object()) return fail(ErrorKind::corrupt, "JSON: expected an object");
  return tree;
}

}  // namespace barnabas::security
