// Owners of what OpenSSL allocates.
//
// Thread safety: as std::unique_ptr.
#ifndef WAVETUNE_BASE_OPENSSL_POINTERS_H_
#define WAVETUNE_BASE_OPENSSL_POINTERS_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>

namespace wavetune {

template <auto kFree>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using BioPtr = std::unique_ptr<BIO, FreeWith<BIO_free_all>>;
using CertificatePtr = std::unique_ptr<X509, FreeWith<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;

}  // namespace wavetune

#endif  // WAVETUNE_BASE_OPENSSL_POINTERS_H_
