#include "security/gss_context.h"

#include <gssapi/gssapi_ext.h>
#include <krb5.h>

#include <array>
#include <optional>
#include <utility>

#include "base/dynamic_library.h"
#include "base/log.h"

// GSS-API's macros cast as C does.
#pragma GCC diagnostic ignored "-Wold-style-cast"

namespace barnabas::security {
namespace {

// GSS-API's types want objects that can be written to, although nobody does.
std::array<unsigned char, 9> mechanism_bytes{0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02};
gss_OID_desc kerberos_mechanism{mechanism_bytes.size(), mechanism_bytes.data()};
std::array<unsigned char, 10> name_type_bytes{0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02, 0x01};
gss_OID_desc principal_name_type{name_type_bytes.size(), name_type_bytes.data()};

/// What is called of MIT Kerberos.
struct Library {
  decltype(::gss_import_name)* import_name = nullptr;
  decltype(::gss_display_name)* display_name = nullptr;
  decltype(::gss_release_name)* release_name = nullptr;
  decltype(::gss_acquire_cred_from)* acquire_cred_from = nullptr;
  decltype(::gss_release_cred)* release_cred = nullptr;
  decltype(::gss_accept_sec_context)* accept_sec_context = nullptr;
  decltype(::gss_delete_sec_context)* delete_sec_context = nullptr;
  decltype(::gss_wrap)* wrap = nullptr;
  decltype(::gss_unwrap)* unwrap = nullptr;
  decltype(::gss_release_buffer)* release_buffer = nullptr;
  decltype(::gss_display_status)* display_status = nullptr;
  decltype(::krb5_init_context)* init_context = nullptr;
  decltype(::krb5_free_context)* free_context = nullptr;
  decltype(::krb5_get_default_realm)* get_default_realm = nullptr;
  decltype(::krb5_free_default_realm)* free_default_realm = nullptr;

  static Result<Library> load() {
    BARNABAS_ASSIGN(const auto gss, DynamicLibrary::open("libgssapi_krb5.so.2", "libgssapi-krb5-2"));
    BARNABAS_ASSIGN(const auto krb5, DynamicLibrary::open("libkrb5.so.3", "libkrb5-3"));
    Library all;
    const bool found =
        gss.find("gss_import_name", all.import_name) && gss.find("gss_display_name", all.display_name) &&
        gss.find("gss_release_name", all.release_name) &&
        gss.find("gss_acquire_cred_from", all.acquire_cred_from) &&
        gss.find("gss_release_cred", all.release_cred) &&
        gss.find("gss_accept_sec_context", all.accept_sec_context) &&
        gss.find("gss_delete_sec_context", all.delete_sec_context) && gss.find("gss_wrap", all.wrap) &&
        gss.find("gss_unwrap", all.unwrap) && gss.find("gss_release_buffer", all.release_buffer) &&
        gss.find("gss_display_status", all.display_status) &&
        krb5.find("krb5_init_context", all.init_context) &&
        krb5.find("krb5_free_context", all.free_context) &&
        krb5.find("krb5_get_default_realm", all.get_default_realm) &&
        krb5.find("krb5_free_default_realm", all.free_default_realm);
    if (!found) return fail(ErrorKind::unsupported, "libgssapi_krb5.so.2 is not MIT Kerberos 1.11 or newer");
    return all;
  }
};

const Result<Library>& library() {
  static const Result<Library> loaded = Library::load();
  return loaded;
}

/// A buffer that the library filled.
class Buffer {
 public:
  explicit Buffer(const Library& api) : api_(api) {}
  ~Buffer() {
    OM_uint32 minor = 0;
    api_.release_buffer(&minor, &buffer_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  gss_buffer_t get() { return &buffer_; }
  std::string text() const { return {static_cast<const char*>(buffer_.value), buffer_.length}; }
  std::vector<std::byte> bytes() const {
    const auto* const begin = static_cast<const std::byte*>(buffer_.value);
    return {begin, begin + buffer_.length};
  }

 private:
  const Library& api_;
  gss_buffer_desc buffer_ = GSS_C_EMPTY_BUFFER;
};

gss_buffer_desc view(ByteView bytes) {
  return {bytes.size(), const_cast<std::byte*>(bytes.data())};
}

std::string words(const Library& api, OM_uint32 status, int type) {
  OM_uint32 minor = 0;
  OM_uint32 more = 0;
  Buffer text(api);
  if (api.display_status(&minor, status, type, &kerberos_mechanism, &more, text.get()) != GSS_S_COMPLETE)
    return "status " + std::to_string(status);
  return text.text();
}

/// What went wrong, in the library's words: the mechanism's own say more where there are some.
std::unexpected<Error> fail_with(const Library& api, const char* doing, OM_uint32 major, OM_uint32 minor) {
  std::string text = std::string(doing) + ": " + words(api, major, GSS_C_GSS_CODE);
  // It may repeat what a stranger sent.
  constexpr std::size_t words_max = 200;
  if (minor != 0) text += ": " + log_text(words(api, minor, GSS_C_MECH_CODE), words_max);
  return fail(ErrorKind::invalid, std::move(text));
}

class MitContext final : public GssContext {
 public:
  MitContext(const Library& api, gss_cred_id_t credential) : api_(api), credential_(credential) {}
  ~MitContext() override {
    OM_uint32 minor = 0;
    api_.delete_sec_context(&minor, &context_, GSS_C_NO_BUFFER);
    api_.release_name(&minor, &initiator_);
  }

  Result<Step> accept(ByteView token) override {
    gss_buffer_desc input = view(token);
    Buffer output(api_);
    OM_uint32 minor = 0;
    OM_uint32 unused = 0;
    api_.release_name(&unused, &initiator_);
    const OM_uint32 major =
        api_.accept_sec_context(&minor, &context_, credential_, &input, GSS_C_NO_CHANNEL_BINDINGS,
                                &initiator_, nullptr, output.get(), &flags_, nullptr, nullptr);
    if (GSS_ERROR(major) != 0) return fail_with(api_, "context", major, minor);
    return Step{.token = output.bytes(), .established = (major & GSS_S_CONTINUE_NEEDED) == 0};
  }

  Result<std::vector<std::byte>> wrap(ByteView message) override {
    gss_buffer_desc input = view(message);
    Buffer output(api_);
    OM_uint32 minor = 0;
    const OM_uint32 major = api_.wrap(&minor, context_, 0, GSS_C_QOP_DEFAULT, &input, nullptr, output.get());
    if (major != GSS_S_COMPLETE) return fail_with(api_, "wrap", major, minor);
    return output.bytes();
  }

  Result<std::vector<std::byte>> unwrap(ByteView message) override {
    gss_buffer_desc input = view(message);
    Buffer output(api_);
    OM_uint32 minor = 0;
    const OM_uint32 major = api_.unwrap(&minor, context_, &input, output.get(), nullptr, nullptr);
    // Also what is right, but was there before or comes out of its order.
    if (major != GSS_S_COMPLETE) return fail_with(api_, "unwrap", major, minor);
    return output.bytes();
  }

  Result<std::string> initiator() const override {
    if ((flags_ & GSS_C_ANON_FLAG) != 0)
      return fail(ErrorKind::invalid, "an initiator that does not say who it is");
    Buffer text(api_);
    OM_uint32 minor = 0;
    const OM_uint32 major = api_.display_name(&minor, initiator_, text.get(), nullptr);
    if (major != GSS_S_COMPLETE) return fail_with(api_, "initiator's name", major, minor);
    return text.text();
  }

 private:
  const Library& api_;
  const gss_cred_id_t credential_;
  gss_ctx_id_t context_ = GSS_C_NO_CONTEXT;
  gss_name_t initiator_ = GSS_C_NO_NAME;
  OM_uint32 flags_ = 0;
};

class MitAcceptor final : public GssAcceptor {
 public:
  explicit MitAcceptor(const Library& api) : api_(api) {}
  ~MitAcceptor() override {
    OM_uint32 minor = 0;
    api_.release_cred(&minor, &credential_);
  }

  Result<void> acquire(const std::string& principal, const std::string& key_table) {
    gss_buffer_desc text = view(as_byte_view(principal));
    gss_name_t name = GSS_C_NO_NAME;
    OM_uint32 minor = 0;
    OM_uint32 major = api_.import_name(&minor, &text, &principal_name_type, &name);
    if (GSS_ERROR(major) != 0) return fail_with(api_, "principal", major, minor);
    // A store of its own: nothing of one listener leaks into the environment of another.
    gss_key_value_element_desc table{"keytab", key_table.c_str()};
    const gss_key_value_set_desc store{1, &table};
    gss_OID_set_desc mechanisms{1, &kerberos_mechanism};
    major = api_.acquire_cred_from(&minor, name, GSS_C_INDEFINITE, &mechanisms, GSS_C_ACCEPT,
                                   key_table.empty() ? GSS_C_NO_CRED_STORE : &store, &credential_, nullptr,
                                   nullptr);
    OM_uint32 unused = 0;
    api_.release_name(&unused, &name);
    if (GSS_ERROR(major) != 0) return fail_with(api_, "key table", major, minor);
    return {};
  }

  std::unique_ptr<GssContext> begin() const override {
    return std::make_unique<MitContext>(api_, credential_);
  }

 private:
  const Library& api_;
  gss_cred_id_t credential_ = GSS_C_NO_CREDENTIAL;
};

}  // namespace

Result<std::unique_ptr<GssAcceptor>> open_kerberos_acceptor(const std::string& principal,
                                                            const std::string& key_table) {
  const auto& loaded = library();
  if (!loaded) return std::unexpected(loaded.error());
  auto acceptor = std::make_unique<MitAcceptor>(*loaded);
  BARNABAS_TRY(acceptor->acquire(principal, key_table.empty() ? "" : "FILE:" + key_table));
  return acceptor;
}

Result<std::string> default_kerberos_realm() {
  const auto& loaded = library();
  if (!loaded) return std::unexpected(loaded.error());
  krb5_context context = nullptr;
  if (loaded->init_context(&context) != 0) return fail(ErrorKind::invalid, "krb5.conf cannot be read");
  char* realm = nullptr;
  std::string text;
  if (loaded->get_default_realm(context, &realm) == 0 && realm != nullptr) text = realm;
  loaded->free_default_realm(context, realm);
  loaded->free_context(context);
  return text;
}

}  // namespace barnabas::security
