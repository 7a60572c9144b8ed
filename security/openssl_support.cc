#include "security/openssl_support.h"

#include <openssl/asn1t.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/x509.h>

#include <cstdint>

namespace barnabas::security {
namespace {

/// Java's own limit. keytool asks for 10,000, OpenSSL for 2,048, password managers for a million.
constexpr int64_t rounds_max = 5'000'000;
/// N × r × p of scrypt; OpenSSL bounds the memory itself.
constexpr uint64_t scrypt_work_max = uint64_t{1} << 26;

Result<void> too_much_work() {
  return refuse_store("asks for more than " + std::to_string(rounds_max) + " rounds of key derivation");
}

Result<void> check_scrypt(const ASN1_TYPE* parameter) {
  const std::unique_ptr<SCRYPT_PARAMS, Freed<SCRYPT_PARAMS_free>> scrypt(
      static_cast<SCRYPT_PARAMS*>(ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(SCRYPT_PARAMS), parameter)));
  uint64_t cost = 0;
  uint64_t block = 0;
  uint64_t parallel = 0;
  if (!scrypt || ASN1_INTEGER_get_uint64(&cost, scrypt->costParameter) != 1 ||
      ASN1_INTEGER_get_uint64(&block, scrypt->blockSize) != 1 ||
      ASN1_INTEGER_get_uint64(&parallel, scrypt->parallelizationParameter) != 1)
    return refuse_store("damaged parameters of its encryption");
  if (cost > scrypt_work_max || block > scrypt_work_max || parallel > scrypt_work_max) return too_much_work();
  const bool fits = block == 0 || parallel == 0 || cost <= scrypt_work_max / block / parallel;
  return fits ? Result<void>() : too_much_work();
}

Result<void> check_pbes2(const ASN1_TYPE* parameter) {
  const std::unique_ptr<PBE2PARAM, Freed<PBE2PARAM_free>> pbes2(
      static_cast<PBE2PARAM*>(ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(PBE2PARAM), parameter)));
  if (!pbes2) return refuse_store("damaged parameters of its encryption");
  const X509_ALGOR* derivation = pbes2->keyfunc;
  if (OBJ_obj2nid(derivation->algorithm) == NID_id_scrypt) return check_scrypt(derivation->parameter);
  if (OBJ_obj2nid(derivation->algorithm) != NID_id_pbkdf2) return {};  // OpenSSL knows no other and says so
  const std::unique_ptr<PBKDF2PARAM, Freed<PBKDF2PARAM_free>> pbkdf2(static_cast<PBKDF2PARAM*>(
      ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(PBKDF2PARAM), derivation->parameter)));
  if (!pbkdf2) return refuse_store("damaged parameters of its encryption");
  return check_rounds(pbkdf2->iter);
}

}  // namespace

std::string openssl_reason(std::string_view fallback) {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  std::string text(reason != nullptr ? reason : fallback);
  ERR_clear_error();
  return text;
}

std::unexpected<Error> refuse_store(std::string text) {
  ERR_clear_error();
  return fail(ErrorKind::invalid, std::move(text));
}

Result<void> check_rounds(const ASN1_INTEGER* rounds) {
  int64_t count = 0;
  if (rounds == nullptr) return {};
  if (ASN1_INTEGER_get_int64(&count, rounds) != 1 || count > rounds_max) return too_much_work();
  if (count < 1) return refuse_store("damaged parameters of its encryption");
  return {};
}

Result<void> check_rounds(const X509_ALGOR* algorithm) {
  const int kind = OBJ_obj2nid(algorithm->algorithm);
  if (kind == NID_pbes2) return check_pbes2(algorithm->parameter);
  const std::unique_ptr<PBEPARAM, Freed<PBEPARAM_free>> pbes1(
      static_cast<PBEPARAM*>(ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(PBEPARAM), algorithm->parameter)));
  if (pbes1) return check_rounds(pbes1->iter);
  ERR_clear_error();
  return {};
}

}  // namespace barnabas::security
