#include "server/rpc/tls_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>

#include <string>
#include <vector>

#include "tests/lib/test_authority.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CertificateNames NamesOf(const std::string& pem) {
  const BioPtr reads(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const CertificatePtr certificate(
      PEM_read_bio_X509(reads.get(), nullptr, nullptr, nullptr));
  return NamesIn(certificate.get());
}

CertificateNames Issued(const std::vector<std::string>& names) {
  const testing::TestAuthority authority("somebody");
  return NamesOf(authority.Issue(names).cert);
}

TEST(CertificateNamesTest, AreTheUrisTheHostsAndTheSubject) {
  const CertificateNames names =
      Issued({"URI:spiffe://wavetune/reader", "DNS:a.example.org",
              "IP:127.0.0.1", "email:x@example.org"});
  EXPECT_THAT(names.uris, ElementsAre("spiffe://wavetune/reader"));
  EXPECT_THAT(names.dns_names, ElementsAre("a.example.org"));
  EXPECT_THAT(names.subject, HasSubstr("CN="));
  EXPECT_FALSE(names.of_authority);
  EXPECT_EQ(names.Name(), "spiffe://wavetune/reader");
}

// Whoever may issue for hosts alone makes no admins.
TEST(CertificateNamesTest, ADnsNameThatLooksLikeAUriIsNobodys) {
  const CertificateNames names =
      Issued({"DNS:spiffe://wavetune/admin/eve", "DNS:b.example.org"});
  EXPECT_THAT(names.uris, IsEmpty());
  EXPECT_THAT(names.dns_names, ElementsAre("b.example.org"));
}

TEST(CertificateNamesTest, AnAuthorityIsSeenAsOne) {
  EXPECT_TRUE(NamesOf(testing::TestAuthority("somebody").cert()).of_authority);
}

}  // namespace
}  // namespace wavetune
