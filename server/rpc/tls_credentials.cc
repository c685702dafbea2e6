#include "server/rpc/tls_credentials.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/printable_text.h"
#include "grpc/grpc_security.h"
#include "grpc/slice.h"

namespace wavetune {
namespace {

// Of a name or method in a refusal: both are a peer's.
constexpr size_t kMostNameBytes = 256;

// What gRPC asks, in C: the C++ interface has no fetcher of certificates.
class Access {
 public:
  explicit Access(const TlsAccess* access) : access_(access) {}

  // What the next handshake uses; gRPC asks for one after another.
  grpc_ssl_certificate_config_reload_status Fetch(
      grpc_ssl_server_certificate_config** config) {
    const TlsAccess::Material now = access_->material();
    if (given_.exchange(now.generation) == now.generation) {
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    }
    const grpc_ssl_pem_key_cert_pair pair = {now.material->key.c_str(),
                                             now.material->cert.c_str()};
    *config = grpc_ssl_server_certificate_config_create(
        now.material->ca.c_str(), &pair, /*num_key_cert_pairs=*/1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  // Returns why a call is refused, empty where it is not.
  std::string Judge(const CertificateNames& caller,
                    absl::string_view path) const {
    if (access_->policy()->Allows(caller, path)) return "";
    return absl::StrCat(
        NameOf(caller), " may not call ", BoundedText(path, kMostNameBytes),
        ": no rule of the daemon's policy (--authz-policy) allows it");
  }

 private:
  static std::string NameOf(const CertificateNames& caller) {
    if (!caller.uris.empty()) {
      return BoundedText(caller.uris.front(), kMostNameBytes);
    }
    if (!caller.dns_names.empty()) {
      return BoundedText(caller.dns_names.front(), kMostNameBytes);
    }
    return BoundedText(caller.subject, kMostNameBytes);
  }

  const TlsAccess* const access_;
  std::atomic<uint64_t> given_ = 0;
};

std::vector<std::string> Properties(const grpc_auth_context* context,
                                    const char* name) {
  std::vector<std::string> values;
  grpc_auth_property_iterator it =
      grpc_auth_context_find_properties_by_name(context, name);
  while (const grpc_auth_property* property =
             grpc_auth_property_iterator_next(&it)) {
    values.emplace_back(property->value, property->value_length);
  }
  return values;
}

CertificateNames NamesIn(const grpc_auth_context* context) {
  const std::vector<std::string> subjects =
      Properties(context, GRPC_X509_SUBJECT_PROPERTY_NAME);
  return {.uris = Properties(context, GRPC_PEER_URI_PROPERTY_NAME),
          .dns_names = Properties(context, GRPC_PEER_DNS_PROPERTY_NAME),
          .subject = subjects.empty() ? "" : subjects.front()};
}

absl::string_view TextOf(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)),
          GRPC_SLICE_LENGTH(slice)};
}

// A call without a path is none that any rule allows.
absl::string_view PathIn(const grpc_metadata* metadata, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (TextOf(metadata[i].key) == ":path") return TextOf(metadata[i].value);
  }
  return "";
}

grpc_ssl_certificate_config_reload_status FetchConfig(
    void* access, grpc_ssl_server_certificate_config** config) {
  return static_cast<Access*>(access)->Fetch(config);
}

void JudgeCall(void* access, grpc_auth_context* context,
               const grpc_metadata* metadata, size_t count,
               grpc_process_auth_metadata_done_cb done, void* tag) {
  const std::string refusal = static_cast<Access*>(access)->Judge(
      NamesIn(context), PathIn(metadata, count));
  done(tag, nullptr, 0, nullptr, 0,
       refusal.empty() ? GRPC_STATUS_OK : GRPC_STATUS_PERMISSION_DENIED,
       refusal.empty() ? nullptr : refusal.c_str());
}

void Forget(void* access) { delete static_cast<Access*>(access); }

class TlsCredentials final : public grpc::ServerCredentials {
 public:
  explicit TlsCredentials(const TlsAccess* access)
      : credentials_(Make(std::make_unique<Access>(access))) {}
  // A server that is not gone yet has its own share in them.
  ~TlsCredentials() override { grpc_server_credentials_release(credentials_); }

  // They judge calls themselves.
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  // `access` goes with the last share in the credentials.
  static grpc_server_credentials* Make(std::unique_ptr<Access> access) {
    grpc_server_credentials* const credentials =
        grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY,
                FetchConfig, access.get()));
    grpc_server_credentials_set_auth_metadata_processor(
        credentials, {JudgeCall, Forget, access.release()});
    return credentials;
  }

  int AddPortToServer(const std::string& address,
                      grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  grpc_server_credentials* const credentials_;
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(
    const TlsAccess* access) {
  return std::make_shared<TlsCredentials>(access);
}

}  // namespace wavetune
