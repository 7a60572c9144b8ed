#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace barnabas::security {

/// The acceptor's side of one security context (RFC 2743). Errors are the library's words, without secrets.
/// Calls may wait for disks: key table, settings and replay cache are files. Used on one thread at a time.
class GssContext {
 public:
  struct Step {
    std::vector<std::byte> token{};  ///< for the initiator, if not empty
    bool established = false;
  };

  virtual ~GssContext() = default;

  /// The initiator's next token, until the context is established.
  virtual Result<Step> accept(ByteView token) = 0;

  // Once it is established.
  virtual Result<std::vector<std::byte>> wrap(ByteView message) = 0;  ///< with integrity, not encrypted
  virtual Result<std::vector<std::byte>> unwrap(ByteView message) = 0;
  /// "primary/host@REALM"; an error for one who does not say.
  virtual Result<std::string> initiator() const = 0;
};

/// Whom the acceptor is: a principal with its key in a key table. Any thread.
class GssAcceptor {
 public:
  virtual ~GssAcceptor() = default;
  virtual std::unique_ptr<GssContext> begin() const = 0;
};

/// By MIT Kerberos, which is loaded when this is first called. The principal's key must be in the table at
/// `key_table`; "": in the default one of krb5.conf. It is read anew for each context, so that keys can be
/// changed. May wait.
Result<std::unique_ptr<GssAcceptor>> open_kerberos_acceptor(const std::string& principal,
                                                            const std::string& key_table);

/// default_realm of krb5.conf; "" when there is none. May wait.
Result<std::string> default_kerberos_realm();

}  // namespace barnabas::security
