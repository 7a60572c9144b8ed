#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "metadata/image.h"

namespace barnabas::metadata {

/// What one publication changed, so that listeners need not compare images. The new state of everything named
/// here is in the image that comes with it.
struct MetadataChanges {
  bool all =
      false;  ///< the first image after a start or a snapshot: everything may be new, and all of it is listed
  std::vector<std::shared_ptr<const TopicImage>>
      deleted_topics;  ///< as they were last; also when the name came back
  std::vector<std::shared_ptr<const TopicImage>> changed_topics;  ///< created or changed, as they are now
  std::vector<ConfigResource> changed_configs;
  std::vector<NodeId> changed_brokers;  ///< registered, changed or gone
  std::vector<AccessControlChange> access_control;
  bool features = false;
  bool producer_ids = false;
  bool credentials = false;                 ///< SCRAM credentials or delegation tokens
  std::vector<QuotaEntity> changed_quotas;  ///< may name one more than once
  bool kept = false;
};

/// Hands the current image to readers on any thread and every change to listeners.
///
/// Images only move forward: once current() gave an image, no later call gives an older one, on no thread.
/// Listeners run on the publishing thread, in the order of their subscription, and **before** current() shows
/// the image: what an image shows, this broker can already serve.
class ImagePublisher {
 public:
  using Listener = std::function<void(const MetadataChanges&, const MetadataImagePtr&)>;

  /// Starts with an empty image.
  ImagePublisher();

  MetadataImagePtr current() const {
    const std::lock_guard lock(current_mutex_);
    return current_;
  }

  /// From any thread. The listener at once gets the current image with `all` set, and then every change after
  /// it. It must not subscribe or publish itself.
  void subscribe(Listener listener);

  /// From one thread at a time.
  void publish(const MetadataChanges& changes, MetadataImagePtr image);
  /// Tells the listeners of a change that is not in the image, such as of a settings file. From any thread,
  /// which runs them, but no listener.
  void announce(const MetadataChanges& changes);

 private:
  std::mutex
      mutex_;  ///< held while listeners run, so that nobody misses a change between subscription and call
  std::vector<Listener> listeners_;
  /// Only for as long as a pointer is copied. (std::atomic<std::shared_ptr> of g++ 12 is a lock as well, and
  /// has a race.)
  mutable std::mutex current_mutex_;
  MetadataImagePtr current_;
};

/// Whether something was set or deleted on `node`, or on all brokers.
bool concerns_broker(const MetadataChanges& changes, NodeId node);

/// Everything in the image as one change with `all` set.
MetadataChanges all_of(const MetadataImage& image);

}  // namespace barnabas::metadata
