#pragma once

#include <map>
#include <memory>
#include <string>

#include "security/sasl_mechanism.h"

namespace barnabas::security {

/// Name → password of everybody who may log in.
using PlainUsers = std::map<std::string, std::string, std::less<>>;

/// SASL/PLAIN (RFC 4616) with the users of a JAAS setting: user_<name>="<password>".
class PlainMechanism final : public SaslMechanism {
 public:
  explicit PlainMechanism(PlainUsers users) : users_(std::move(users)) {}
  std::unique_ptr<SaslExchange> begin() const override;

 private:
  PlainUsers users_;
};

/// ErrorKind::invalid when the JAAS setting is missing, wrong, or names no user.
Result<std::unique_ptr<SaslMechanism>> make_plain_mechanism(const MechanismSettings& settings,
                                                            const SaslSources& sources);

}  // namespace barnabas::security
