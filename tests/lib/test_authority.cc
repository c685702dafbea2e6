#include "tests/lib/test_authority.h"

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_join.h"
#include "base/openssl_pointers.h"

namespace wavetune::testing {
namespace {

using ExtensionPtr =
    std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>>;

// A test cannot go on without its certificates.
void Require(bool done, const char* what) {
  if (done) return;
  std::fprintf(stderr, "test authority: %s failed\n", what);
  std::abort();
}

KeyPtr NewKey() {
  KeyPtr key(EVP_EC_gen("P-256"));
  Require(key != nullptr, "making a key");
  return key;
}

std::string TextOf(const BioPtr& bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return {bytes, static_cast<size_t>(size)};
}

std::string PemOf(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_X509(bio.get(), certificate) == 1, "writing");
  return TextOf(bio);
}

std::string PemOf(EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0,
                                        nullptr, nullptr) == 1,
          "writing");
  return TextOf(bio);
}

void Extend(X509* certificate, int id, const std::string& value) {
  const ExtensionPtr extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str()));
  Require(extension != nullptr, "an extension");
  Require(X509_add_ext(certificate, extension.get(), -1) == 1, "an extension");
}

// Returns a certificate of `key`, not signed yet.
CertificatePtr Unsigned(const std::string& name, EVP_PKEY* key,
                        const TestAuthority::Validity& validity) {
  static std::atomic<long> serial{1};
  CertificatePtr certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()),
                  static_cast<long>(validity.from.count()));
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()),
                  static_cast<long>(validity.until.count()));
  X509_NAME_add_entry_by_txt(
      X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
      reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_pubkey(certificate.get(), key);
  return certificate;
}

}  // namespace

struct TestAuthority::Secrets {
  // `signer` is nullptr: itself.
  static std::unique_ptr<Secrets> Make(const std::string& name,
                                       const Secrets* signer) {
    auto made = std::make_unique<Secrets>();
    made->key = NewKey();
    made->certificate = Unsigned(name, made->key.get(), Validity());
    if (signer == nullptr) signer = made.get();
    X509* const certificate = made->certificate.get();
    X509_set_issuer_name(certificate,
                         X509_get_subject_name(signer->certificate.get()));
    Extend(certificate, NID_basic_constraints, "critical,CA:TRUE");
    Extend(certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
    Require(X509_sign(certificate, signer->key.get(), EVP_sha256()) > 0,
            "signing");
    return made;
  }

  KeyPtr key;
  CertificatePtr certificate;
};

TestAuthority::TestAuthority(const std::string& name)
    : secrets_(Secrets::Make(name, nullptr)),
      cert_(PemOf(secrets_->certificate.get())) {}

TestAuthority::TestAuthority(const std::string& name,
                             const TestAuthority& signer)
    : secrets_(Secrets::Make(name, signer.secrets_.get())),
      cert_(PemOf(secrets_->certificate.get())) {}

TestAuthority::~TestAuthority() = default;

TestAuthority::Identity TestAuthority::Issue(
    const std::vector<std::string>& names, const Validity& validity) const {
  const KeyPtr key = NewKey();
  const CertificatePtr certificate =
      Unsigned("wavetune test", key.get(), validity);
  X509_set_issuer_name(certificate.get(),
                       X509_get_subject_name(secrets_->certificate.get()));
  if (!names.empty()) {
    Extend(certificate.get(), NID_subject_alt_name, absl::StrJoin(names, ","));
  }
  Require(X509_sign(certificate.get(), secrets_->key.get(), EVP_sha256()) > 0,
          "signing");
  return {.cert = PemOf(certificate.get()), .key = PemOf(key.get())};
}

}  // namespace wavetune::testing
