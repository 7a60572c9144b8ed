#include "security/tls_stores.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

namespace barnabas::security {
namespace {

constexpr std::size_t store_bytes_max = 16 << 20;

/// The words that differ between the two stores.
struct Names {
  std::string_view what;      ///< "keystore"
  std::string_view location;  ///< settings
  std::string_view password;
  std::string_view type;
  std::string_view certificates;
};
constexpr Names key_names{"keystore", "ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.type",
                          "ssl.keystore.certificate.chain"};
constexpr Names trust_names{"truststore", "ssl.truststore.location", "ssl.truststore.password",
                            "ssl.truststore.type", "ssl.truststore.certificates"};

std::unexpected<Error> refuse(std::string_view setting, const std::string& text) {
  return fail(ErrorKind::invalid, std::string(setting) + ": " + text);
}

Result<std::string> read_file(std::string_view setting, const std::string& path) {
  const auto complain = [&](int error) { return refuse(setting, path + ": " + std::strerror(error)); };
  // A pipe that nobody writes to must not stop the broker.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return complain(errno);
  struct stat status {};
  std::string bytes;
  int error = ::fstat(file, &status) != 0 ? errno : 0;
  const bool regular = error == 0 && S_ISREG(status.st_mode);
  for (char buffer[64 << 10]; regular && bytes.size() <= store_bytes_max;) {
    const ssize_t got = ::read(file, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error = errno;
    if (got <= 0) break;
    bytes.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(file);
  if (error != 0) return complain(error);
  if (!regular) return refuse(setting, path + ": not a file");
  if (bytes.size() > store_bytes_max)
    return refuse(setting, path + ": more than " + std::to_string(store_bytes_max >> 20) + " MiB");
  if (bytes.empty()) return refuse(setting, path + ": empty");
  return bytes;
}

enum class Type : uint8_t { pem, pkcs12 };

Result<Type> type_of(const StoreSettings& settings, const Names& names) {
  std::string type = settings.type;
  std::ranges::transform(type, type.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (type == "PEM") return Type::pem;
  if (type == "JKS" || type == "PKCS12") return Type::pkcs12;
  return refuse(names.type, "\"" + settings.type + "\"; expected PEM, PKCS12 or JKS (with PKCS12 in it)");
}

/// Whether the file is what its type says; a Java key store gets the command that converts it.
Result<void> check_form(Type type, const std::string& path, const std::string& bytes, const Names& names) {
  const StoreForm form = form_of(as_byte_view(bytes));
  if (form == StoreForm::jks || form == StoreForm::jceks) {
    const std::string kind = form == StoreForm::jks ? "JKS" : "JCEKS";
    return refuse(names.location, path + ": a Java key store (" + kind +
                                      "), which only Java can read; convert it with: keytool -importkeystore "
                                      "-srckeystore " +
                                      path + " -srcstoretype " + kind + " -destkeystore " + path +
                                      ".p12 -deststoretype PKCS12");
  }
  const StoreForm expected = type == Type::pem ? StoreForm::pem : StoreForm::pkcs12;
  if (form == expected) return {};
  if (form == StoreForm::unknown) return refuse(names.location, path + ": neither PEM nor PKCS12");
  const char* found = form == StoreForm::pem ? "PEM" : "PKCS12";
  return refuse(names.location, path + ": holds " + found + "; set " + std::string(names.type) + "=" + found);
}

Result<void> check_together(const StoreSettings& settings, const Names& names, Type type) {
  if (settings.certificates && type != Type::pem)
    return refuse(names.certificates, std::string(names.type) + " is " + settings.type + "; expected PEM");
  if (settings.certificates && settings.location)
    return refuse(names.certificates, std::string(names.location) + " is set as well; expected one of them");
  if (settings.password && type == Type::pem)
    return refuse(names.password,
                  "PEM has no password of the store" +
                      std::string(names.what == "keystore" ? "; that of the key is ssl.key.password" : ""));
  return {};
}

Result<KeyEntry> key_entry_of_file(const StoreSettings& settings, Type type) {
  const std::string& path = *settings.location;
  BARNABAS_ASSIGN(const std::string bytes, read_file(key_names.location, path));
  BARNABAS_TRY(check_form(type, path, bytes, key_names));
  if (type == Type::pkcs12 && !settings.password)
    return refuse(key_names.password, "not set; expected that of " + path);
  auto entry = type == Type::pem
                   ? key_entry_from_pem(bytes, bytes, settings.key_password)
                   : key_entry_from_pkcs12(as_byte_view(bytes), *settings.password, settings.key_password);
  if (!entry) return refuse(key_names.location, path + ": " + entry.error().message);
  return entry;
}

}  // namespace

Result<KeyEntry> load_key_entry(const StoreSettings& settings) {
  BARNABAS_ASSIGN(const Type type, type_of(settings, key_names));
  BARNABAS_TRY(check_together(settings, key_names, type));
  if (settings.key && !settings.certificates)
    return refuse("ssl.keystore.key", "ssl.keystore.certificate.chain is not set; expected both or none");
  if (settings.certificates && !settings.key)
    return refuse("ssl.keystore.certificate.chain", "ssl.keystore.key is not set; expected both or none");
  if (settings.key) {
    auto entry = key_entry_from_pem(*settings.key, *settings.certificates, settings.key_password);
    if (!entry) return refuse("ssl.keystore.key", entry.error().message);
    return entry;
  }
  if (settings.location) return key_entry_of_file(settings, type);
  return refuse("ssl.keystore.location",
                "not set; expected a file with the key and the certificate that clients are shown");
}

Result<std::vector<Certificate>> load_trusted(const StoreSettings& settings) {
  BARNABAS_ASSIGN(const Type type, type_of(settings, trust_names));
  BARNABAS_TRY(check_together(settings, trust_names, type));
  if (settings.certificates) {
    auto trusted = trusted_from_pem(*settings.certificates);
    if (!trusted) return refuse(trust_names.certificates, trusted.error().message);
    return trusted;
  }
  if (!settings.location) {
    if (settings.password) return refuse(trust_names.password, "set, but ssl.truststore.location is not");
    return {};
  }
  const std::string& path = *settings.location;
  BARNABAS_ASSIGN(const std::string bytes, read_file(trust_names.location, path));
  BARNABAS_TRY(check_form(type, path, bytes, trust_names));
  auto trusted = type == Type::pem ? trusted_from_pem(bytes)
                                   : trusted_from_pkcs12(as_byte_view(bytes), settings.password);
  if (!trusted) return refuse(trust_names.location, path + ": " + trusted.error().message);
  return trusted;
}

}  // namespace barnabas::security
