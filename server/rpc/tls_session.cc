#include "server/rpc/tls_session.h"

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "base/tls_files.h"

namespace wavetune {
namespace {

// What gRPC's clients ask for.
constexpr absl::string_view kProtocols("\x02h2", 3);
// Of TLS 1.2; those of 1.3 are all good.
constexpr char kCiphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20";
// Of a client's certificate, with those between it and its authority.
constexpr long kMostChainBytes = 32L << 10;  // NOLINT: OpenSSL's.
// Of a ClientHello; OpenSSL would take 128 KiB, before anybody is known.
constexpr size_t kMostHelloBytes = size_t{16} << 10;
// Read at once without a byte of what is carried: new keys without end, or a
// handshake begun again, would keep the thread.
constexpr int kMostRecords = 128;
// How the random number of a ServerHello begins that asks for another
// ClientHello (RFC 8446, 4.1.3), which could be of any size.
constexpr absl::string_view kAsksAgain("\xcf\x21\xad\x74\xe5\x9a\x61\x11", 8);

struct FreeNames {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

std::string TextOf(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<size_t>(ASN1_STRING_length(text))};
}

std::string LastError() {
  std::array<char, 256> text{};
  const unsigned long error = ERR_peek_last_error();  // NOLINT: OpenSSL's.
  ERR_clear_error();
  if (error == 0) return errno != 0 ? std::strerror(errno) : "it went away";
  const char* const reason = ERR_reason_error_string(error);
  if (reason != nullptr) return reason;
  ERR_error_string_n(error, text.data(), text.size());
  return text.data();
}

std::string CommonNameOf(X509* certificate) {
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return "";
  return TextOf(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

// Whether a name is one of hosts: whoever issues it may not know that another
// text there would be somebody's URI.
bool IsHostName(absl::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_' ||
                  c == '*';
         });
}

int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* size,
                   const unsigned char* offered, unsigned int offered_size,
                   void*) {
  unsigned char* at = nullptr;
  const int found = SSL_select_next_proto(
      &at, size, reinterpret_cast<const unsigned char*>(kProtocols.data()),
      static_cast<unsigned int>(kProtocols.size()), offered, offered_size);
  if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = at;
  return SSL_TLSEXT_ERR_OK;
}

bool UseChain(SSL_CTX* context, const std::string& pem) {
  bool used = false;
  for (const CertificatePtr& next : CertificatesIn(pem)) {
    if ((used ? SSL_CTX_add1_chain_cert(context, next.get())
              : SSL_CTX_use_certificate(context, next.get())) != 1) {
      return false;
    }
    used = true;
  }
  ERR_clear_error();
  return used;
}

bool UseKey(SSL_CTX* context, const std::string& pem) {
  const BioPtr reads(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const KeyPtr key(
      PEM_read_bio_PrivateKey(reads.get(), nullptr, nullptr, nullptr));
  return key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1;
}

// A certificate of the file is believed, whoever has signed it.
bool Believe(SSL_CTX* context, const std::string& pem) {
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  X509_STORE_set_flags(store,
                       X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
  for (const CertificatePtr& next : CertificatesIn(pem)) {
    if (X509_STORE_add_cert(store, next.get()) != 1 ||
        SSL_CTX_add_client_CA(context, next.get()) != 1) {
      return false;
    }
  }
  ERR_clear_error();
  return true;
}

bool Configure(SSL_CTX* context, const TlsMaterial& material) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_NO_TICKET |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS |
                                SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_max_cert_list(context, kMostChainBytes);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     nullptr);
  SSL_CTX_set_alpn_select_cb(context, ChooseProtocol, nullptr);
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
         SSL_CTX_set_cipher_list(context, kCiphers) == 1 &&
         UseChain(context, material.cert) && UseKey(context, material.key) &&
         Believe(context, material.ca);
}

}  // namespace

CertificateNames NamesIn(X509* certificate) {
  CertificateNames names = {.subject = SubjectOf(certificate),
                            .common_name = CommonNameOf(certificate)};
  const std::unique_ptr<GENERAL_NAMES, FreeNames> alternatives(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(
          certificate, NID_subject_alt_name, nullptr, nullptr)));
  ERR_clear_error();
  for (int i = 0; i < sk_GENERAL_NAME_num(alternatives.get()); ++i) {
    const GENERAL_NAME* const name =
        sk_GENERAL_NAME_value(alternatives.get(), i);
    if (name->type == GEN_URI) {
      names.uris.push_back(TextOf(name->d.uniformResourceIdentifier));
    } else if (name->type == GEN_DNS) {
      std::string host = TextOf(name->d.dNSName);
      if (IsHostName(host)) names.dns_names.push_back(std::move(host));
    }
  }
  names.of_authority = X509_check_ca(certificate) == 1;
  return names;
}

TlsSession::TlsSession(ssl_st* ssl) : ssl_(ssl) {
  SSL_set_msg_callback(ssl_, Hear);
  SSL_set_msg_callback_arg(ssl_, this);
}

TlsSession::~TlsSession() {
  ERR_clear_error();
  if (!broken_ && SSL_is_init_finished(ssl_) == 1) SSL_shutdown(ssl_);
  SSL_free(ssl_);
  ERR_clear_error();
}

void TlsSession::Hear(int is_sent, int, int type, const void* bytes,
                      size_t size, ssl_st* ssl, void* session) {
  auto* const self = static_cast<TlsSession*>(session);
  if (is_sent == 0 && type == SSL3_RT_HEADER) {
    if (++self->records_ <= kMostRecords) return;
    self->problem_ = "it sends records that say nothing";
  } else {
    const absl::string_view sent(static_cast<const char*>(bytes), size);
    if (is_sent == 0 || type != SSL3_RT_HANDSHAKE ||
        sent[0] != SSL3_MT_SERVER_HELLO ||
        sent.substr(6, kAsksAgain.size()) != kAsksAgain) {
      return;
    }
    self->problem_ = "it offers no key of a group that the daemon has";
  }
  // Nothing more is read.
  SSL_set_shutdown(ssl, SSL_RECEIVED_SHUTDOWN);
}

TlsSession::Step TlsSession::LookAtHello() {
  std::array<unsigned char, 9> head{};  // Of a record, and a message.
  const ssize_t size = ::recv(SSL_get_fd(ssl_), head.data(), head.size(),
                              MSG_PEEK | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return Step::kMore;
  if (size > 0 && static_cast<size_t>(size) < head.size()) return Step::kMore;
  const size_t record = size_t{head[3]} << 8 | head[4];
  const size_t hello = size_t{head[6]} << 16 | size_t{head[7]} << 8 | head[8];
  hello_seen_ = true;
  // OpenSSL says what is wrong with anything else.
  if (size <= 0 || (record >= 4 && hello <= kMostHelloBytes)) {
    return Step::kDone;
  }
  problem_ = "its ClientHello is above 16 KiB, or in pieces";
  broken_ = true;
  return Step::kFailed;
}

TlsSession::Step TlsSession::Handshake() {
  ERR_clear_error();
  errno = 0;
  records_ = 0;
  if (!hello_seen_) {
    if (const Step seen = LookAtHello(); seen != Step::kDone) return seen;
  }
  const int result = SSL_do_handshake(ssl_);
  if (result == 1) {
    const unsigned char* protocol = nullptr;
    unsigned int size = 0;
    SSL_get0_alpn_selected(ssl_, &protocol, &size);
    X509* const shown = SSL_get0_peer_certificate(ssl_);
    if (size != 0 && shown != nullptr) {
      names_ = NamesIn(shown);
      return Step::kDone;
    }
    problem_ = "it does not offer HTTP/2 (ALPN)";
    return Step::kFailed;
  }
  const int error = SSL_get_error(ssl_, result);
  if (problem_.empty() &&
      (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)) {
    return Step::kMore;
  }
  broken_ = true;
  if (!problem_.empty()) return Step::kFailed;
  const long verified = SSL_get_verify_result(ssl_);  // NOLINT: OpenSSL's.
  problem_ = verified == X509_V_OK
                 ? LastError()
                 : absl::StrCat("its certificate is not believed: ",
                                X509_verify_cert_error_string(verified));
  ERR_clear_error();
  return Step::kFailed;
}

ssize_t TlsSession::Read(char* bytes, size_t size) {
  ERR_clear_error();
  records_ = 0;
  return Outcome(SSL_read(ssl_, bytes, static_cast<int>(size)));
}

ssize_t TlsSession::Write(const char* bytes, size_t size) {
  ERR_clear_error();
  return Outcome(SSL_write(ssl_, bytes, static_cast<int>(size)));
}

ssize_t TlsSession::Outcome(int result) {
  if (result > 0) return result;
  const int error = SSL_get_error(ssl_, result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    return kAgain;
  }
  broken_ = error != SSL_ERROR_ZERO_RETURN;
  ERR_clear_error();
  return kEnd;
}

TlsServer::~TlsServer() { SSL_CTX_free(context_); }

absl::StatusOr<std::unique_ptr<TlsSession>> TlsServer::Begin(int fd) {
  RETURN_IF_ERROR(Renew());
  SSL* const ssl = SSL_new(context_);
  if (ssl == nullptr || SSL_set_fd(ssl, fd) != 1) {
    SSL_free(ssl);
    return absl::InternalError(absl::StrCat("OpenSSL: ", LastError()));
  }
  SSL_set_accept_state(ssl);
  return std::unique_ptr<TlsSession>(new TlsSession(ssl));
}

absl::Status TlsServer::Renew() {
  const TlsAccess::Material now = access_->material();
  if (now.generation == generation_) return absl::OkStatus();
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr || !Configure(context, *now.material)) {
    SSL_CTX_free(context);
    return absl::InternalError(
        absl::StrCat("OpenSSL cannot use the certificate, its key or the "
                     "authorities: ",
                     LastError()));
  }
  // Sessions that run have a share in theirs.
  SSL_CTX_free(std::exchange(context_, context));
  generation_ = now.generation;
  return absl::OkStatus();
}

}  // namespace wavetune
