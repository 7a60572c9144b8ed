#include "app/token_key_refresher.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "app/http_client.h"
#include "base/clock.h"
#include "base/log.h"

namespace barnabas::app {
namespace {

using security::JsonWebKeySet;
using security::TokenKeyEndpoint;

constinit Logger log_{"barnabas"};

constexpr std::size_t file_bytes_max = 1 << 20;
/// How often it is looked whether a file has changed.
constexpr std::chrono::milliseconds file_interval{1'000};

/// Reads a file whenever it is another one than before.
class ChangedFile {
 public:
  explicit ChangedFile(std::string path) : path_(std::move(path)) {}

  Result<std::optional<std::string>> read() {
    struct stat found {};
    const Version before = std::exchange(read_, never);
    if (::stat(path_.c_str(), &found) != 0)
      return fail(ErrorKind::not_found, path_ + ": no such file", errno);
    const Version version{static_cast<int64_t>(found.st_dev), static_cast<int64_t>(found.st_ino),
                          found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
    std::optional<std::string> text;
    if (version != before) {
      BARNABAS_ASSIGN(text, content());
    }
    read_ = version;
    return text;
  }

 private:
  using Version = std::array<int64_t, 5>;

  Result<std::string> content() const {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path_.c_str(), "rbe"),
                                                               &std::fclose);
    if (!file) return fail(ErrorKind::io, path_ + ": cannot be read", errno);
    std::string text;
    std::array<char, 65'536> part;
    while (const std::size_t count = std::fread(part.data(), 1, part.size(), file.get())) {
      text.append(part.data(), count);
      if (text.size() > file_bytes_max) return fail(ErrorKind::too_large, path_ + ": more than a MiB");
    }
    if (std::ferror(file.get()) != 0) return fail(ErrorKind::io, path_ + ": cannot be read", errno);
    return text;
  }

  std::string path_;
  static constexpr Version never{-1};
  Version read_ = never;
};

/// The path of "file:/path", "file:///path" or "file://localhost/path"; nothing for another host.
std::optional<std::string> path_of(std::string_view url) {
  url.remove_prefix(std::string_view("file:").size());
  if (url.starts_with("//")) {
    url.remove_prefix(2);
    if (url.starts_with("localhost/")) url.remove_prefix(std::string_view("localhost").size());
  }
  if (!url.starts_with('/')) return std::nullopt;
  return std::string(url);
}

std::string lower_scheme(const std::string& url) {
  std::string scheme = url.substr(0, url.find(':'));
  for (char& c : scheme) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return scheme;
}

Result<std::shared_ptr<TokenKeyRefresher>> open_file(TokenKeyEndpoint endpoint) {
  const auto path = path_of(endpoint.url);
  if (!path) return fail(ErrorKind::invalid, "expected file:///path");
  endpoint.refresh = endpoint.retry_backoff = endpoint.retry_backoff_max = file_interval;
  auto file = std::make_shared<ChangedFile>(*path);
  auto keys = std::make_shared<TokenKeyRefresher>(endpoint, *path,
                                                  [file](const std::atomic<bool>&) { return file->read(); });
  if (auto complaint = keys->complaint()) return std::unexpected(*std::move(complaint));
  return keys;
}

Result<std::shared_ptr<TokenKeyRefresher>> open_url(const TokenKeyEndpoint& endpoint) {
  BARNABAS_TRY(prepare_http());
  HttpRequest request{.url = endpoint.url, .trusted_certificates = endpoint.trusted_certificates};
  return std::make_shared<TokenKeyRefresher>(
      endpoint, url_for_log(endpoint.url),
      [request =
           std::move(request)](const std::atomic<bool>& cancelled) -> Result<std::optional<std::string>> {
        BARNABAS_ASSIGN(std::string body, http_get(request, &cancelled));
        return body;
      });
}

}  // namespace

TokenKeyRefresher::TokenKeyRefresher(const TokenKeyEndpoint& endpoint, std::string name, Fetch fetch)
    : name_(std::move(name)),
      fetch_(std::move(fetch)),
      schedule_(endpoint, std::chrono::steady_clock::now()) {
  this->fetch();
  thread_ = std::thread([this] { run(); });
}

TokenKeyRefresher::~TokenKeyRefresher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::shared_ptr<const JsonWebKeySet> TokenKeyRefresher::current() const {
  const std::lock_guard lock(mutex_);
  return keys_;
}

std::optional<Error> TokenKeyRefresher::complaint() const {
  const std::lock_guard lock(mutex_);
  return complaint_;
}

void TokenKeyRefresher::look_again() {
  {
    const std::lock_guard lock(mutex_);
    schedule_.missed(std::chrono::steady_clock::now());
  }
  wake_.notify_all();
}

void TokenKeyRefresher::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (std::chrono::steady_clock::now() < schedule_.next()) {
      wake_.wait_until(lock, schedule_.next());
      continue;
    }
    lock.unlock();
    fetch();
    lock.lock();
  }
}

void TokenKeyRefresher::fetch() {
  {
    const std::lock_guard lock(mutex_);
    schedule_.began(std::chrono::steady_clock::now());
  }
  auto text = fetch_(stopping_);
  Result<void> outcome;
  if (!text)
    outcome = std::unexpected(std::move(text).error());
  else if (*text)
    outcome = take(**text);
  const std::lock_guard lock(mutex_);
  const Instant now = std::chrono::steady_clock::now();
  if (outcome) {
    schedule_.succeeded(now);
    // A file that did not change is no better than it was.
    if (!complaint_ || !*text) return;
    log_.info("keys of tokens are there again endpoint={}", log_text(name_));
    complaint_.reset();
    return;
  }
  schedule_.failed(now);
  if (stopping_) return;
  // Of an endpoint that stays away only the first and every other reason is told.
  if (!complaint_ || complaint_->message != outcome.error().message)
    log_.warn("keys of tokens could not be had, {} endpoint={} error={}",
              keys_ ? "those of before stay in force" : "so no token is accepted", log_text(name_),
              log_text(outcome.error().message));
  complaint_ = std::move(outcome).error();
}

Result<void> TokenKeyRefresher::take(const std::string& text) {
  BARNABAS_ASSIGN(auto parsed, JsonWebKeySet::parse(text));
  if (parsed.size() == 0)
    return fail(ErrorKind::invalid,
                "no key that checks signatures; " + std::to_string(parsed.left_out()) + " of others");
  auto keys = std::make_shared<const JsonWebKeySet>(std::move(parsed));
  const std::lock_guard lock(mutex_);
  log_.debug("keys of tokens fetched endpoint={} keys={} left_out={}", log_text(name_), keys->size(),
             keys->left_out());
  keys_ = std::move(keys);
  return {};
}

Result<std::shared_ptr<security::TokenKeys>> TokenKeyEndpoints::open(const TokenKeyEndpoint& endpoint) {
  for (const Open& known : open_)
    if (known.endpoint == endpoint) return known.keys;
  const std::string scheme = lower_scheme(endpoint.url);
  if (scheme != "file" && scheme != "http" && scheme != "https")
    return fail(ErrorKind::invalid, "expected a URL of https, http or file");
  auto keys = scheme == "file" ? open_file(endpoint) : open_url(endpoint);
  if (!keys) return std::unexpected(std::move(keys).error());
  open_.push_back({endpoint, *keys});
  return *keys;
}

}  // namespace barnabas::app
