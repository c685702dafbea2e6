// TestAuthority: an authority that issues certificates, for tests of TLS.
//
//   const TestAuthority authority("wavetune");
//   const TestAuthority::Identity reader =
//       authority.Issue({"URI:spiffe://wavetune/reader"});
//
// Thread safety: immutable.
#ifndef WAVETUNE_TESTS_LIB_TEST_AUTHORITY_H_
#define WAVETUNE_TESTS_LIB_TEST_AUTHORITY_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace wavetune::testing {

class TestAuthority {
 public:
  // As PEM texts.
  struct Identity {
    std::string cert;
    std::string key;
  };
  // From now.
  struct Validity {
    std::chrono::seconds from{-3600};
    std::chrono::seconds until{30 * 24 * 3600};
  };

  explicit TestAuthority(const std::string& name);
  // One that `signer` vouches for.
  TestAuthority(const std::string& name, const TestAuthority& signer);
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  // Its own certificate, as a PEM text.
  const std::string& cert() const { return cert_; }

  // Issues a certificate and its key. `names` as OpenSSL writes alternative
  // names: "URI:spiffe://wavetune/reader", "DNS:localhost", "IP:127.0.0.1".
  Identity Issue(const std::vector<std::string>& names,
                 const Validity& validity) const;
  Identity Issue(const std::vector<std::string>& names) const {
    return Issue(names, Validity());
  }

 private:
  struct Secrets;

  std::unique_ptr<Secrets> secrets_;
  std::string cert_;
};

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_TEST_AUTHORITY_H_
