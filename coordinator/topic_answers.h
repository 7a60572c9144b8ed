#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

namespace barnabas::coordinator {

/// What is answered for the partitions of a request, in Kafka's order: what failed before the group was asked
/// comes first, then the rest. A topic of which something failed takes its other partitions, too; when
/// nothing failed, every topic of the request has an entry of its own, also one that is named twice.
///
/// `Asked` and `Answer` are the topics of a request and of its response. The request outlives this.
template <class Answer, class Asked>
class TopicAnswers {
 public:
  /// Topics go by their ids instead of their names.
  explicit TopicAnswers(bool by_id = false) : by_id_(by_id) {}

  /// The answer that gets partitions of `asked` that failed. Good until the next call.
  Answer& failed(const Asked& asked) {
    some_failed_ = true;
    return of(asked);
  }
  /// The same for the others; only after all that failed.
  Answer& other(const Asked& asked) { return some_failed_ ? of(asked) : add(asked); }

  std::vector<Answer> take() { return std::move(answers_); }

 private:
  Answer& of(const Asked& asked) {
    const auto [found, is_new] = places_.try_emplace(identity(asked), answers_.size());
    return is_new ? add(asked) : answers_[found->second];
  }
  Answer& add(const Asked& asked) {
    Answer& answer = answers_.emplace_back();
    answer.name = asked.name;
    if constexpr (requires { asked.topic_id; }) answer.topic_id = asked.topic_id;
    return answer;
  }
  std::string_view identity(const Asked& asked) const {
    if constexpr (requires { asked.topic_id; }) {
      if (by_id_) return {reinterpret_cast<const char*>(asked.topic_id.bytes.data()), 16};
    }
    return asked.name.view();
  }

  bool by_id_;
  bool some_failed_ = false;
  std::vector<Answer> answers_;
  std::unordered_map<std::string_view, std::size_t> places_;
};

}  // namespace barnabas::coordinator
