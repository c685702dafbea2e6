#include "server/rpc/tls_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/tls_files.h"
#include "server/test_folder.h"
#include "tests/lib/test_authority.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CertificateNames NamesOf(const std::string& pem) {
  return NamesIn(CertificatesIn(pem).front().get());
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

class TlsSessionTest : public ::testing::Test {
 protected:
  TlsSessionTest() {
    const testing::TestAuthority::Identity daemon =
        authority_.Issue({"DNS:localhost"});
    Write("cert", daemon.cert);
    Write("key", daemon.key);
    Write("ca", authority_.cert());
    Write("policy", R"({"name": "p", "allow_rules": [{"name": "r"}]})");
    auto access = TlsAccess::Open({.tls = {.cert = folder_ / "cert",
                                           .key = folder_ / "key",
                                           .ca = folder_ / "ca"},
                                   .policy = folder_ / "policy"},
                                  [](LogLevel, const std::string&) {});
    EXPECT_TRUE(access.ok()) << access.status();
    access_ = *std::move(access);
    server_ = std::make_unique<TlsServer>(access_.get());
    std::array<int, 2> pair = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                           0, pair.data()),
              0);
    peer_ = FileDescriptor(pair[0]);
    ours_ = FileDescriptor(pair[1]);
    session_ = *server_->Begin(ours_.get());
  }
  ~TlsSessionTest() override {
    SSL_free(client_);
    SSL_CTX_free(context_);
  }

  void Write(const std::string& name, const std::string& text) const {
    folder_.Write(name, text);
    ASSERT_EQ(::chmod((folder_ / name).c_str(), 0600), 0);
  }
  // As a client with a certificate.
  void ShakeHands() {
    const testing::TestAuthority::Identity own =
        authority_.Issue({"URI:spiffe://wavetune/reader"});
    Write("own.cert", own.cert);
    Write("own.key", own.key);
    context_ = SSL_CTX_new(TLS_client_method());
    ASSERT_EQ(SSL_CTX_use_certificate_chain_file(
                  context_, (folder_ / "own.cert").c_str()),
              1);
    ASSERT_EQ(SSL_CTX_use_PrivateKey_file(
                  context_, (folder_ / "own.key").c_str(), SSL_FILETYPE_PEM),
              1);
    client_ = SSL_new(context_);
    SSL_set_fd(client_, peer_.get());
    SSL_set_alpn_protos(client_, reinterpret_cast<const uint8_t*>("\x02h2"), 3);
    TlsSession::Step step = TlsSession::Step::kMore;
    for (int i = 0; i < 10 && step == TlsSession::Step::kMore; ++i) {
      SSL_connect(client_);
      step = session_->Handshake();
    }
    ASSERT_EQ(step, TlsSession::Step::kDone) << session_->problem();
  }
  void ChangeKeys(int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_EQ(SSL_key_update(client_, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
      ASSERT_EQ(SSL_do_handshake(client_), 1);
    }
  }
  ssize_t Read() {
    std::array<char, 100> bytes{};
    return session_->Read(bytes.data(), bytes.size());
  }
  void SayRaw(const std::string& bytes) {
    ASSERT_EQ(::send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  const testing::TestAuthority authority_{"somebody"};
  const TestFolder folder_;
  std::unique_ptr<TlsAccess> access_;
  std::unique_ptr<TlsServer> server_;
  FileDescriptor peer_;
  FileDescriptor ours_;
  std::unique_ptr<TlsSession> session_;
  SSL_CTX* context_ = nullptr;
  SSL* client_ = nullptr;
};

TEST_F(TlsSessionTest, KeysMayChangeButNotForEver) {
  ShakeHands();
  ChangeKeys(20);
  ASSERT_EQ(SSL_write(client_, "hello", 5), 5);
  EXPECT_EQ(Read(), 5);
  EXPECT_EQ(Read(), TlsSession::kAgain);
  ChangeKeys(200);
  ASSERT_EQ(SSL_write(client_, "hello", 5), 5);
  EXPECT_EQ(Read(), TlsSession::kEnd);
}

// A handshake's message as it begins: what OpenSSL reserves is what it says.
TEST_F(TlsSessionTest, AClientHelloOfAnySizeIsNotTaken) {
  EXPECT_EQ(session_->Handshake(), TlsSession::Step::kMore);
  SayRaw(std::string("\x16\x03\x01\x40\0\x01\x02", 7));
  EXPECT_EQ(session_->Handshake(), TlsSession::Step::kMore);
  SayRaw(std::string("\x01\0", 2));
  EXPECT_EQ(session_->Handshake(), TlsSession::Step::kFailed);
  EXPECT_THAT(session_->problem(), HasSubstr("16 KiB"));
}

TEST_F(TlsSessionTest, AnotherClientHelloIsNotAskedFor) {
  const std::string extensions(
      "\0\x2b\0\x03\x02\x03\x04"            // TLS 1.3
      "\0\x0a\0\x04\0\x02\0\x1d"            // of X25519,
      "\0\x0d\0\x06\0\x04\x04\x03\x08\x04"  // with usual signatures,
      "\0\x33\0\x02\0\0",                   // and a key of no group.
      7 + 8 + 10 + 6);
  const std::string hello = std::string("\x03\x03", 2) + std::string(32, 'r') +
                            std::string("\0\0\x02\x13\x01\x01\0\0\x1f", 9) +
                            extensions;
  const auto size = static_cast<char>(hello.size());
  SayRaw(std::string("\x16\x03\x01\0", 4) + static_cast<char>(size + 4) +
         std::string("\x01\0\0", 3) + size + hello);
  EXPECT_EQ(session_->Handshake(), TlsSession::Step::kFailed);
  EXPECT_THAT(session_->problem(), HasSubstr("no key of a group"));
}

}  // namespace
}  // namespace wavetune
