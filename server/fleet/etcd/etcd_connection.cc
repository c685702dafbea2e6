#include "server/fleet/etcd/etcd_connection.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/input_file.h"
#include "base/status_macros.h"
#include "base/tls_files.h"

namespace wavetune {
namespace {

using std::chrono::system_clock;

constexpr size_t kMaxPemBytes = 1 << 20;
// etcd takes pings every 5 s as it is installed.
constexpr int kPingMs = 10000;
constexpr int kPingTimeoutMs = 5000;
// A listing is one message.
constexpr int kMaxAnswerBytes = 256 << 20;

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
  return status.error_code() == grpc::StatusCode::UNAUTHENTICATED &&
         absl::StrContains(status.error_message(), "invalid auth token");
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
          absl::StrCat(said,
                       ": compact and defragment it, then disarm its alarm "
                       "(docs/fleet.md)"));
    default:
      return absl::UnavailableError(said);
  }
}

}  // namespace

EtcdStubs::EtcdStubs(std::string at,
                     const std::shared_ptr<grpc::Channel>& given)
    : endpoint(std::move(at)),
      channel(given),
      kv(etcdserverpb::KV::NewStub(given)),
      watch(etcdserverpb::Watch::NewStub(given)),
      lease(etcdserverpb::Lease::NewStub(given)),
      auth(etcdserverpb::Auth::NewStub(given)) {}

absl::StatusOr<std::unique_ptr<EtcdConnection>> EtcdConnection::Create(
    const EtcdOptions& options) {
  if (options.endpoints.empty())
    return absl::InvalidArgumentError("etcd needs an endpoint");
  ASSIGN_OR_RETURN(auto credentials, CredentialsFor(options));
  return std::unique_ptr<EtcdConnection>(
      new EtcdConnection(options, std::move(credentials)));
}

EtcdConnection::EtcdConnection(
    EtcdOptions options, std::shared_ptr<grpc::ChannelCredentials> credentials)
    : options_(std::move(options)), credentials_(std::move(credentials)) {}

std::shared_ptr<EtcdStubs> EtcdConnection::Current() {
  const std::lock_guard lock(mutex_);
  if (stubs_ == nullptr) {
    grpc::ChannelArguments arguments;
    // A pooled one would wait before it connects anew.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMs);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs);
    arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
    const std::string& endpoint = options_.endpoints[endpoint_];
    stubs_ = std::make_shared<EtcdStubs>(
        endpoint, grpc::CreateCustomChannel(endpoint, credentials_, arguments));
  }
  return stubs_;
}

void EtcdConnection::MoveOn(const std::shared_ptr<EtcdStubs>& failed) {
  const std::lock_guard lock(mutex_);
  if (stubs_ != failed) return;
  stubs_ = nullptr;
  endpoint_ = (endpoint_ + 1) % options_.endpoints.size();
}

absl::Status EtcdConnection::AwaitConnected(EtcdStubs& stubs) const {
  const auto deadline = system_clock::now() + options_.call_timeout;
  while (true) {
    const grpc_connectivity_state state = stubs.channel->GetState(true);
    if (state == GRPC_CHANNEL_READY) return absl::OkStatus();
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE ||
        !stubs.channel->WaitForStateChange(state, deadline)) {
      break;
    }
  }
  // Only a call says why.
  grpc::ClientContext context;
  context.set_deadline(system_clock::now() + std::chrono::seconds(1));
  etcdserverpb::AuthenticateResponse ignored;
  const grpc::Status why = stubs.auth->Authenticate(&context, {}, &ignored);
  if (why.error_code() == grpc::StatusCode::UNAVAILABLE)
    return absl::UnavailableError(why.error_message());
  return absl::UnavailableError("it does not answer");
}

void EtcdConnection::Prepare(grpc::ClientContext* context) {
  const std::lock_guard lock(mutex_);
  if (!token_.empty()) context->AddMetadata("token", token_);
}

absl::Status EtcdConnection::Authenticate(EtcdStubs& stubs) {
  etcdserverpb::AuthenticateRequest request;
  request.set_name(options_.user);
  request.set_password(options_.password);
  etcdserverpb::AuthenticateResponse response;
  grpc::ClientContext context;
  context.set_deadline(system_clock::now() + options_.call_timeout);
  const grpc::Status status =
      stubs.auth->Authenticate(&context, request, &response);
  // An etcd that asks for no user is no obstacle.
  if (status.error_code() == grpc::StatusCode::FAILED_PRECONDITION)
    return absl::OkStatus();
  RETURN_IF_ERROR(ToStatus(status));
  const std::lock_guard lock(mutex_);
  token_ = response.token();
  return absl::OkStatus();
}

absl::Status EtcdConnection::CallOnce(EtcdStubs& stubs,
                                      const Function& function,
                                      grpc::Status* answer) {
  RETURN_IF_ERROR(AwaitConnected(stubs));
  bool has_token = false;
  {
    const std::lock_guard lock(mutex_);
    has_token = !token_.empty();
  }
  if (!options_.user.empty() && !has_token)
    RETURN_IF_ERROR(Authenticate(stubs));
  for (const bool again : {false, true}) {
    grpc::ClientContext context;
    context.set_deadline(system_clock::now() + options_.call_timeout);
    Prepare(&context);
    *answer = function(stubs, &context);
    if (again || options_.user.empty() || !IsOldToken(*answer)) break;
    RETURN_IF_ERROR(Authenticate(stubs));
  }
  return absl::OkStatus();
}

absl::Status EtcdConnection::Call(Retry retry, const Function& function) {
  std::vector<std::string> failures;
  for (size_t tried = 0; tried < options_.endpoints.size(); ++tried) {
    const std::shared_ptr<EtcdStubs> stubs = Current();
    grpc::Status answer;
    const absl::Status called = CallOnce(*stubs, function, &answer);
    if (!called.ok() && called.code() != absl::StatusCode::kUnavailable)
      return called;  // The user is refused.
    if (called.ok() && !IsOfMember(answer)) return ToStatus(answer);
    failures.push_back(absl::StrCat(
        stubs->endpoint, ": ",
        called.ok() ? answer.error_message() : std::string(called.message())));
    MoveOn(stubs);
    // It may have happened: whoever asked looks.
    if (called.ok() && retry == Retry::kNo) break;
  }
  return absl::UnavailableError(
      absl::StrCat("etcd does not answer (is it there, and is it ",
                   options_.tls ? "with" : "without",
                   " TLS?): ", absl::StrJoin(failures, "; ")));
}

absl::StatusOr<std::shared_ptr<EtcdStubs>> EtcdConnection::BeginStream(
    grpc::ClientContext* context) {
  // Finds a member that answers, and a token that it takes.
  RETURN_IF_ERROR(
      Call(Retry::kYes, [&](EtcdStubs& stubs, grpc::ClientContext* call) {
        etcdserverpb::RangeRequest request;
        request.set_key(options_.prefix);
        request.set_limit(1);
        request.set_keys_only(true);
        etcdserverpb::RangeResponse response;
        return stubs.kv->Range(call, request, &response);
      }));
  Prepare(context);
  context->AddMetadata("hasleader", "true");
  return Current();
}

absl::Status EtcdConnection::EndOf(const std::shared_ptr<EtcdStubs>& stubs,
                                   const grpc::Status& status) {
  if (IsOfMember(status)) MoveOn(stubs);
  return ToStatus(status);
}

}  // namespace wavetune
