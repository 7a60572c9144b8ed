#include "io/fake_tree.h"

namespace barnabas::io {
namespace {

void apply_change(std::map<std::string, std::shared_ptr<FakeNode>>& names, const FakeNode::Change& change) {
  for (const auto& [name, node] : change) {
    if (node) {
      names[name] = node;
    } else {
      names.erase(name);
    }
  }
}

}  // namespace

void FakeNode::change(Change change) {
  apply_change(names, change);
  unsynced_.push_back(std::move(change));
}

void FakeNode::sync_names() {
  for (const Change& change : unsynced_) apply_change(durable_names_, change);
  unsynced_.clear();
}

void FakeNode::power_cut(SeededRandom* random) {
  if (!is_directory) {
    content.power_cut(random);
    return;
  }
  if (random != nullptr) {
    // A journal writes changes of one directory in their order.
    unsynced_.resize(random->below(unsynced_.size() + 1));
    sync_names();
  }
  unsynced_.clear();
  names = durable_names_;
  for (const auto& [name, node] : names) node->power_cut(random);
}

void FakeNode::sync_all() {
  content.sync();
  sync_names();
  for (const auto& [name, node] : names) node->sync_all();
}

void FakeNode::forget_unsynced() {
  content.forget_unsynced();
  for (const auto& [name, node] : names) node->forget_unsynced();
}

uint64_t FakeNode::bytes_below() const {
  uint64_t bytes = content.size();
  for (const auto& [name, node] : names) bytes += node->bytes_below();
  return bytes;
}

std::vector<std::string> path_steps(std::string_view path) {
  std::vector<std::string> steps;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view step = path.substr(0, slash);
    if (!step.empty() && step != ".") steps.emplace_back(step);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return steps;
}

}  // namespace barnabas::io
