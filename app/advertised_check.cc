#include "app/advertised_check.h"

#include <netdb.h>

#include <algorithm>

#include "app/exposure.h"

namespace barnabas::app {

bool resolves_here(const std::string& host) {
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, nullptr, &found);
  if (error == 0) ::freeaddrinfo(found);
  // A resolver that gave no answer knows nothing against the name.
  return error != EAI_NONAME && error != EAI_NODATA;
}

std::vector<std::string> doubts_about_advertised(const Listeners& listeners, const Resolves& resolves) {
  std::vector<std::string> doubts;
  for (const broker::AdvertisedListener& told : listeners.advertised) {
    const auto bound = std::ranges::find(listeners.bind, told.listener, &network::ListenerConfig::name);
    if (bound == listeners.bind.end()) continue;
    const std::string address = told.listener + "://" + told.host + ":" + std::to_string(told.port);
    const std::string remedy =
        "; set advertised.listeners to the name or address by which clients reach this machine";
    if (is_loopback(told.host) && !is_loopback(bound->host))
      doubts.push_back("clients on other machines are told to connect to " + address +
                       ", which is their own machine" + remedy);
    else if (!is_loopback(told.host) && is_loopback(bound->host) && !bound->host.empty())
      doubts.push_back("clients are told to connect to " + address + ", but only " + bound->host +
                       " is listened on; name an address that this machine has there in listeners");
    else if (!resolves(told.host))
      doubts.push_back(
          "clients are told to connect to " + address +
          ", and this machine knows no such name; they can't either, unless their names are others" + remedy);
  }
  return doubts;
}

}  // namespace barnabas::app
