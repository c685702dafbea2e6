#include "server/fleet/etcd/etcd_connection.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/input_file.h"
#include "base/status_macros.h"
#include "base/tls_files.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "server/rpc/request_bounds.h"

namespace wavetune {
namespace {

using std::chrono::system_clock;

constexpr size_t kMaxPemBytes = 1 << 20;
// etcd takes pings every 5 s as it is installed.
constexpr int kPingMs = 10000;
// No less: gRPC 1.51 may crash where a ping is answered at the moment that its
// time ends (grpc/grpc#32085), as on a machine that is too busy.
constexpr int kPingTimeoutMs = 20000;
// Listings come in pages; what a watch tells at once and is larger ends the
// stream, and is listed.
constexpr int kMaxAnswerBytes = 4 << 20;
// Of a watch's answer: what is small on the wire takes some five times that.
constexpr size_t kMostParsedAnswerBytes = size_t{24} << 20;
constexpr char kAuthenticate[] = "/etcdserverpb.Auth/Authenticate";
constexpr std::chrono::milliseconds kConnectStep{50};
constexpr std::chrono::seconds kEndTimeout{1};

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsFor(
    const EtcdOptions& options) {
  if (!options.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions ssl;
  if (!options.cert.empty() || !options.key.empty()) {
    ASSIGN_OR_RETURN(
        const TlsMaterial material,
        ReadTlsFiles(
            {.cert = options.cert, .key = options.key, .ca = options.ca}));
    ssl.pem_cert_chain = material.cert;
    ssl.pem_private_key = material.key;
    ssl.pem_root_certs = material.ca;
  } else if (!options.ca.empty()) {
    ASSIGN_OR_RETURN(ssl.pem_root_certs,
                     ReadOwnInputFile(options.ca, kMaxPemBytes));
  }
  return grpc::SslCredentials(ssl);
}

// Whether it is the member that failed, and not what was asked for.
bool IsOfMember(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNIMPLEMENTED:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNKNOWN:
      return true;
    default:
      return false;
  }
}

bool IsOldToken(const grpc::Status& status) {
  const std::string& said = status.error_message();
  switch (status.error_code()) {
    case grpc::StatusCode::UNAUTHENTICATED:
      return absl::StrContains(said, "invalid auth token");
    case grpc::StatusCode::INVALID_ARGUMENT:
      // Rights have changed; or users are asked for since a moment ago.
      return absl::StrContains(said, "revision of auth store is old") ||
             absl::StrContains(said, "user name is empty");
    default:
      return false;
  }
}

absl::Status WasStopped() {
  return absl::UnavailableError("this node has ended its connection to etcd");
}

void AddToken(const std::optional<std::string>& token,
              grpc::ClientContext* context) {
  if (token && !token->empty()) context->AddMetadata("token", *token);
}

// etcd's answer, and what to do about it.
absl::Status ToStatus(const grpc::Status& status) {
  const std::string said = absl::StrCat("etcd: ", status.error_message());
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return absl::OkStatus();
    case grpc::StatusCode::PERMISSION_DENIED:
      return absl::PermissionDeniedError(absl::StrCat(
          said,
          ": grant this node's etcd user readwrite on the fleet's prefix "
          "(docs/fleet.md)"));
    case grpc::StatusCode::UNAUTHENTICATED:
      return absl::UnauthenticatedError(
          absl::StrCat(said, ": name another user or password"));
    case grpc::StatusCode::INVALID_ARGUMENT:
      if (absl::StrContains(said, "user name is empty")) {
        return absl::UnauthenticatedError(absl::StrCat(
            said, ": this etcd asks for a user; name it (docs/fleet.md)"));
      }
      if (absl::StrContains(said, "authentication failed")) {
        return absl::UnauthenticatedError(
            absl::StrCat(said, ": name another user or password"));
      }
      return absl::InvalidArgumentError(said);
    case grpc::StatusCode::FAILED_PRECONDITION:
      return absl::FailedPreconditionError(said);
    case grpc::StatusCode::NOT_FOUND:
      return absl::NotFoundError(said);
    case grpc::StatusCode::OUT_OF_RANGE:
      return absl::OutOfRangeError(said);
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return absl::ResourceExhaustedError(
          absl::StrContains(said, "database space exceeded")
              ? absl::StrCat(said,
                             ": compact and defragment it, then disarm its "
                             "alarm (docs/fleet.md, etcd)")
              : said);
    default:
      return absl::UnavailableError(said);
  }
}

}  // namespace

absl::Status CheckEtcdAnswer(const google::protobuf::Descriptor& type,
                             const grpc::ByteBuffer& bytes) {
  grpc::ByteBuffer buffer(bytes);  // Shares the bytes.
  grpc::ProtoBufferReader reader(&buffer);
  const absl::Status sound = CheckRequest(
      type, bytes.Length(), &reader,
      {.wire_bytes = kMaxAnswerBytes, .parsed_bytes = kMostParsedAnswerBytes});
  if (sound.ok()) return sound;
  if (!absl::IsResourceExhausted(sound)) {
    return absl::InternalError(
        absl::StrCat("what etcd answers is no ", type.name()));
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "the ", type.name(), " would take more than ",
      kMostParsedAnswerBytes >> 20, " MiB of memory: see who answers there"));
}

absl::StatusOr<std::unique_ptr<EtcdConnection>> EtcdConnection::Create(
    const EtcdOptions& options) {
  if (options.endpoints.empty())
    return absl::InvalidArgumentError("etcd needs an endpoint");
  for (const std::string& endpoint : options.endpoints)
    RETURN_IF_ERROR(CheckEtcdEndpoint(endpoint));
  ASSIGN_OR_RETURN(auto credentials, CredentialsFor(options));
  // Not all nodes come to the first member.
  EtcdOptions shuffled = options;
  std::shuffle(shuffled.endpoints.begin(), shuffled.endpoints.end(),
               std::mt19937_64(std::random_device{}()));
  return std::unique_ptr<EtcdConnection>(
      new EtcdConnection(std::move(shuffled), std::move(credentials)));
}

EtcdConnection::EtcdConnection(
    EtcdOptions options, std::shared_ptr<grpc::ChannelCredentials> credentials)
    : options_(std::move(options)), credentials_(std::move(credentials)) {}

EtcdConnection::Context::Context(EtcdConnection* connection)
    : connection_(connection) {
  const std::lock_guard lock(connection_->mutex_);
  connection_->contexts_.insert(this);
  if (connection_->stopped_) TryCancel();
}

EtcdConnection::Context::~Context() {
  const std::lock_guard lock(connection_->mutex_);
  connection_->contexts_.erase(this);
}

void EtcdConnection::Shutdown() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (grpc::ClientContext* const context : contexts_) context->TryCancel();
}

bool EtcdConnection::Stopped() {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

std::optional<std::string> EtcdConnection::Token() {
  const std::lock_guard lock(mutex_);
  return token_;
}

std::shared_ptr<EtcdMember> EtcdConnection::Current() {
  const std::lock_guard lock(mutex_);
  if (member_ == nullptr) {
    grpc::ChannelArguments arguments;
    // A pooled one would wait before it connects anew.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMs);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs);
    // A watch that nothing happens to is pinged for ever.
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
    // As etcd's own client: http_proxy is for the web.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    const std::string& endpoint = options_.endpoints[endpoint_];
    member_ = std::make_shared<EtcdMember>(EtcdMember{
        endpoint,
        grpc::CreateCustomChannel(endpoint, credentials_, arguments)});
  }
  return member_;
}

void EtcdConnection::MoveOn(const std::shared_ptr<EtcdMember>& failed) {
  const std::lock_guard lock(mutex_);
  if (member_ != failed) return;
  // A connection of the only one is kept. One that cannot be made is tried
  // anew by the next call: gRPC would wait, and work on it only now and then.
  const grpc_connectivity_state state = failed->channel->GetState(false);
  if (options_.endpoints.size() == 1 &&
      (state == GRPC_CHANNEL_READY || state == GRPC_CHANNEL_IDLE)) {
    return;
  }
  member_ = nullptr;
  endpoint_ = (endpoint_ + 1) % options_.endpoints.size();
}

absl::Status EtcdConnection::AwaitConnected(EtcdMember& member) {
  const auto deadline = system_clock::now() + options_.call_timeout;
  while (true) {
    const grpc_connectivity_state state = member.channel->GetState(true);
    if (state == GRPC_CHANNEL_READY) return absl::OkStatus();
    const auto now = system_clock::now();
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || now >= deadline) break;
    if (Stopped()) return WasStopped();
    member.channel->WaitForStateChange(state, now + kConnectStep);
  }
  // Only a call says why.
  Context context(this);
  context.set_deadline(system_clock::now() + std::chrono::seconds(1));
  etcdserverpb::AuthenticateResponse ignored;
  const grpc::Status why = member.Ask(
      kAuthenticate, &context, etcdserverpb::AuthenticateRequest(), &ignored);
  if (why.error_code() == grpc::StatusCode::UNAVAILABLE)
    return absl::UnavailableError(why.error_message());
  return absl::UnavailableError("it does not answer");
}

absl::Status EtcdConnection::Authenticate(
    EtcdMember& member, const std::optional<std::string>& old) {
  const std::lock_guard authenticating(authenticating_);
  if (Token() != old) return absl::OkStatus();
  etcdserverpb::AuthenticateRequest request;
  request.set_name(options_.user);
  request.set_password(options_.password);
  etcdserverpb::AuthenticateResponse response;
  Context context(this);
  context.set_deadline(system_clock::now() + options_.call_timeout);
  const grpc::Status status =
      member.Ask(kAuthenticate, &context, request, &response);
  // An etcd that asks for no user is no obstacle, and answers nothing.
  if (status.error_code() != grpc::StatusCode::FAILED_PRECONDITION)
    RETURN_IF_ERROR(ToStatus(status));
  const std::lock_guard lock(mutex_);
  token_ = response.token();
  return absl::OkStatus();
}

absl::Status EtcdConnection::CallOnce(EtcdMember& member,
                                      const Function& function,
                                      grpc::Status* answer) {
  RETURN_IF_ERROR(AwaitConnected(member));
  const bool has_user = !options_.user.empty();
  if (has_user && !Token()) RETURN_IF_ERROR(Authenticate(member, std::nullopt));
  for (const bool again : {false, true}) {
    Context context(this);
    context.set_deadline(system_clock::now() + options_.call_timeout);
    const std::optional<std::string> token = Token();
    AddToken(token, &context);
    *answer = function(member, &context);
    if (again || !has_user || !IsOldToken(*answer)) break;
    RETURN_IF_ERROR(Authenticate(member, token));
  }
  return absl::OkStatus();
}

absl::Status EtcdConnection::Call(Retry retry, const Function& function) {
  std::vector<std::string> failures;
  for (size_t tried = 0; tried < options_.endpoints.size(); ++tried) {
    if (Stopped()) break;
    const std::shared_ptr<EtcdMember> member = Current();
    grpc::Status answer;
    absl::Status called = CallOnce(*member, function, &answer);
    if (!called.ok() && called.code() != absl::StatusCode::kUnavailable)
      return called;  // The user is refused.
    if (called.ok() && !IsOfMember(answer)) return ToStatus(answer);
    if (Stopped()) break;
    failures.push_back(absl::StrCat(
        member->endpoint, ": ",
        called.ok() ? answer.error_message() : std::string(called.message())));
    MoveOn(member);
    // It may have happened: whoever asked looks.
    if (called.ok() && retry == Retry::kNo) break;
  }
  if (Stopped()) return WasStopped();
  return absl::UnavailableError(
      absl::StrCat("etcd does not answer (is it there, and is it ",
                   options_.tls ? "with TLS, of an authority that is named here"
                                : "without TLS",
                   "?): ", absl::StrJoin(failures, "; ")));
}

absl::StatusOr<std::shared_ptr<EtcdMember>> EtcdConnection::BeginStream(
    Context* context) {
  // Finds a member that answers, and a token that it takes.
  RETURN_IF_ERROR(
      Call(Retry::kYes, [&](EtcdMember& member, grpc::ClientContext* call) {
        etcdserverpb::RangeRequest request;
        request.set_key(options_.prefix);
        request.set_limit(1);
        request.set_keys_only(true);
        etcdserverpb::RangeResponse response;
        return member.Ask("/etcdserverpb.KV/Range", call, request, &response);
      }));
  AddToken(Token(), context);
  context->AddMetadata("hasleader", "true");
  return Current();
}

absl::Status EtcdConnection::EndOf(const std::shared_ptr<EtcdMember>& member,
                                   const grpc::Status& status) {
  if (Stopped()) return WasStopped();
  if (IsOfMember(status)) MoveOn(member);
  return ToStatus(status);
}

void EtcdConnection::CallAtEnd(const Function& function) {
  std::shared_ptr<EtcdMember> member;
  {
    const std::lock_guard lock(mutex_);
    member = member_;
  }
  if (member == nullptr ||
      member->channel->GetState(false) != GRPC_CHANNEL_READY)
    return;
  grpc::ClientContext context;
  context.set_deadline(system_clock::now() + kEndTimeout);
  AddToken(Token(), &context);
  const grpc::Status ignored = function(*member, &context);
}

}  // namespace wavetune
