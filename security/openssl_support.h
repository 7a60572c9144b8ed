#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

#include "base/result.h"

/// For the files here that call OpenSSL.
namespace barnabas::security {

/// `std::unique_ptr<X, Freed<X_free>>`.
template <auto free_function>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    free_function(object);
  }
};

/// The newest reason in this thread's error queue, which is empty afterwards; `fallback` when there is none.
/// OpenSSL's own words, which never hold a key or a password.
std::string openssl_reason(std::string_view fallback);
/// Also "algorithm … is not available here" and the like come as ErrorKind::invalid.
std::unexpected<Error> refuse_store(std::string text);

/// ErrorKind::invalid when an algorithm of a password-protected item would derive its key in more rounds than
/// any program asks for: the store was made to keep us busy.
Result<void> check_rounds(const X509_ALGOR* algorithm);
/// The same for the count that stands alone.
Result<void> check_rounds(const ASN1_INTEGER* rounds);

}  // namespace barnabas::security
