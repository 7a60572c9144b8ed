#include "app/http_client.h"

#include <curl/curl.h>

#include <array>
#include <memory>

#include "app/version.h"
#include "base/dynamic_library.h"

namespace barnabas::app {
namespace {

constexpr const char* user_agent = "barnabas/" BARNABAS_VERSION;

/// What is called of libcurl.
struct Curl {
  decltype(::curl_global_init)* global_init = nullptr;
  decltype(::curl_easy_init)* easy_init = nullptr;
  decltype(::curl_easy_setopt)* easy_setopt = nullptr;
  decltype(::curl_easy_perform)* easy_perform = nullptr;
  decltype(::curl_easy_getinfo)* easy_getinfo = nullptr;
  decltype(::curl_easy_strerror)* easy_strerror = nullptr;
  decltype(::curl_easy_cleanup)* easy_cleanup = nullptr;
  decltype(::curl_url)* url = nullptr;
  decltype(::curl_url_set)* url_set = nullptr;
  decltype(::curl_url_get)* url_get = nullptr;
  decltype(::curl_url_cleanup)* url_cleanup = nullptr;
  decltype(::curl_free)* free = nullptr;

  static Result<Curl> load() {
    BARNABAS_ASSIGN(const auto library, DynamicLibrary::open("libcurl.so.4", "libcurl4"));
    Curl curl;
    const bool found =
        library.find("curl_global_init", curl.global_init) &&
        library.find("curl_easy_init", curl.easy_init) &&
        library.find("curl_easy_setopt", curl.easy_setopt) &&
        library.find("curl_easy_perform", curl.easy_perform) &&
        library.find("curl_easy_getinfo", curl.easy_getinfo) &&
        library.find("curl_easy_strerror", curl.easy_strerror) &&
        library.find("curl_easy_cleanup", curl.easy_cleanup) && library.find("curl_url", curl.url) &&
        library.find("curl_url_set", curl.url_set) && library.find("curl_url_get", curl.url_get) &&
        library.find("curl_url_cleanup", curl.url_cleanup) && library.find("curl_free", curl.free);
    if (!found || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
      return fail(ErrorKind::unsupported, "libcurl.so.4 cannot be used");
    return curl;
  }
};

const Result<Curl>& curl() {
  static const Result<Curl> loaded = Curl::load();
  return loaded;
}

struct Answer {
  std::string body;
  std::size_t bytes_max = 0;
  bool too_large = false;
  const std::atomic<bool>* cancelled = nullptr;
};

std::size_t on_data(char* data, std::size_t, std::size_t size, void* context) {
  auto& answer = *static_cast<Answer*>(context);
  if (size > answer.bytes_max - answer.body.size()) {
    answer.too_large = true;
    return 0;
  }
  answer.body.append(data, size);
  return size;
}

int on_progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& answer = *static_cast<const Answer*>(context);
  return answer.cancelled != nullptr && answer.cancelled->load() ? 1 : 0;
}

/// False when libcurl refuses one of them.
bool set_options(const Curl& api, CURL* handle, const HttpRequest& request, Answer& answer, char* words) {
  const auto set = [&](CURLoption option, auto value) {
    return api.easy_setopt(handle, option, value) == CURLE_OK;
  };
  return set(CURLOPT_URL, request.url.c_str()) && set(CURLOPT_PROTOCOLS_STR, "http,https") &&
         set(CURLOPT_NOSIGNAL, 1L) && set(CURLOPT_FOLLOWLOCATION, 0L) && set(CURLOPT_USERAGENT, user_agent) &&
         set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.count())) &&
         set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count())) &&
         set(CURLOPT_ERRORBUFFER, words) && set(CURLOPT_WRITEFUNCTION, &on_data) &&
         set(CURLOPT_WRITEDATA, &answer) && set(CURLOPT_NOPROGRESS, 0L) &&
         set(CURLOPT_XFERINFOFUNCTION, &on_progress) && set(CURLOPT_XFERINFODATA, &answer) &&
         // These instead of the machine's, whose directory libcurl would look into as well.
         (request.trusted_certificates.empty() ||
          (set(CURLOPT_CAINFO, request.trusted_certificates.c_str()) &&
           set(CURLOPT_CAPATH, static_cast<const char*>(nullptr))));
}

}  // namespace

Result<void> prepare_http() {
  if (!curl()) return std::unexpected(curl().error());
  return {};
}

std::string url_for_log(const std::string& url) {
  const std::string unreadable = "(a URL that cannot be read)";
  if (!curl()) return unreadable;
  const Curl& api = *curl();
  const std::unique_ptr<CURLU, decltype(api.url_cleanup)> parts(api.url(), api.url_cleanup);
  // As curl_easy_perform reads it; what it takes for the host or the path is what is shown.
  constexpr unsigned as_performed = CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME;
  if (!parts || api.url_set(parts.get(), CURLUPART_URL, url.c_str(), as_performed) != CURLUE_OK)
    return unreadable;
  for (const CURLUPart secret :
       {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_QUERY, CURLUPART_FRAGMENT})
    if (api.url_set(parts.get(), secret, nullptr, 0) != CURLUE_OK) return unreadable;
  char* text = nullptr;
  if (api.url_get(parts.get(), CURLUPART_URL, &text, 0) != CURLUE_OK) return unreadable;
  const std::unique_ptr<char, decltype(api.free)> owned(text, api.free);
  return owned.get();
}

Result<std::string> http_get(const HttpRequest& request, const std::atomic<bool>* cancelled) {
  BARNABAS_TRY(prepare_http());
  const Curl& api = *curl();
  const std::string place = "GET " + url_for_log(request.url);
  const std::unique_ptr<CURL, decltype(api.easy_cleanup)> handle(api.easy_init(), api.easy_cleanup);
  Answer answer{.body = {}, .bytes_max = request.bytes_max, .cancelled = cancelled};
  std::array<char, CURL_ERROR_SIZE> words{};
  if (!handle || !set_options(api, handle.get(), request, answer, words.data()))
    return fail(ErrorKind::unsupported, place + ": libcurl refuses the request");
  const CURLcode code = api.easy_perform(handle.get());
  if (answer.too_large)
    return fail(ErrorKind::too_large, place + ": more than " + std::to_string(request.bytes_max) + " bytes");
  if (code == CURLE_ABORTED_BY_CALLBACK) return fail(ErrorKind::closed, place + ": cancelled");
  if (code != CURLE_OK)
    return fail(code == CURLE_OPERATION_TIMEDOUT ? ErrorKind::timed_out : ErrorKind::io,
                place + ": " + (words[0] != '\0' ? words.data() : api.easy_strerror(code)));
  long status = 0;
  api.easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 200)
    return fail(ErrorKind::not_found, place + ": status " + std::to_string(status) + ", expected 200");
  return std::move(answer.body);
}

}  // namespace barnabas::app
