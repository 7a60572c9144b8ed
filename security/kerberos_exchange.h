#pragma once

#include <memory>
#include <string>

#include "security/gss_context.h"
#include "security/kerberos_name.h"
#include "security/sasl_exchange.h"

namespace barnabas::security {

/// GSSAPI with Kerberos (RFC 4752): a security context, then the question which layer is to protect what
/// follows. The answer is none, since that is what TLS is for and all that Kafka offers. The principal is
/// what the rules make of the initiator's name; an authorization id that the client sends is not looked at,
/// as in Kafka.
class KerberosExchange final : public SaslExchange {
 public:
  /// `rules` outlive this, and so does whoever made `context`.
  KerberosExchange(const KerberosRules& rules, std::unique_ptr<GssContext> context)
      : rules_(rules), context_(std::move(context)) {}

  SaslStep respond(ByteView message, TimestampMs now) override;
  bool may_block() const override { return true; }
  Principal principal() const override { return principal_; }

 private:
  enum class State : uint8_t {
    establishing,
    established,  ///< the client has to take our last token, and answers with nothing
    offered,      ///< no layer, and the client has to agree
  };

  SaslStep establish(ByteView token);
  SaslStep offer();
  SaslStep take_choice(ByteView message);
  static SaslStep refuse(std::string reason);

  const KerberosRules& rules_;
  std::unique_ptr<GssContext> context_;
  State state_ = State::establishing;
  int rounds_ = 0;
  Principal principal_;
};

}  // namespace barnabas::security
