#include "server/fleet/etcd/etcd_session.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/backoff.h"
#include "base/status_macros.h"

namespace wavetune {

using std::chrono::steady_clock;

class EtcdSession::Handle : public FleetRegistry::WatchHandle {
 public:
  Handle(EtcdSession* session, Listeners<int64_t>::Handle handle)
      : session_(session), handle_(std::move(handle)) {}
  ~Handle() override {
    const std::lock_guard telling(session_->telling_);
    handle_ = nullptr;
  }

 private:
  EtcdSession* const session_;
  Listeners<int64_t>::Handle handle_;
};

EtcdSession::EtcdSession(EtcdConnection* connection, std::chrono::seconds ttl)
    : connection_(connection), ttl_(ttl) {}

EtcdSession::~EtcdSession() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  Revoke();
}

void EtcdSession::Start() {
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

int64_t EtcdSession::lease() {
  const std::lock_guard lock(mutex_);
  Start();
  return steady_clock::now() < lives_until_ ? lease_ : 0;
}

absl::Status EtcdSession::status() {
  const std::lock_guard lock(mutex_);
  Start();
  if (!status_.ok() || (lease_ != 0 && steady_clock::now() < lives_until_))
    return status_;
  return absl::UnavailableError(
      "etcd has not answered for as long as this node's session lives");
}

std::unique_ptr<FleetRegistry::WatchHandle> EtcdSession::OnBegin(
    FleetRegistry::SessionListener listener) {
  // Not while others are told: it would miss that session, or hear it twice.
  const std::lock_guard telling(telling_);
  bool begun = false;
  {
    const std::lock_guard lock(mutex_);
    Start();
    begun = lease_ != 0;
  }
  // Also one that may have ended: where it has not, it does not begin anew.
  if (begun) listener();
  const std::lock_guard lock(mutex_);
  return std::make_unique<Handle>(
      this, listeners_.Add([listener = std::move(listener)](const int64_t&) {
        listener();
      }));
}

void EtcdSession::Run() {
  using std::chrono::milliseconds;
  const milliseconds longest = milliseconds(ttl_) / 3;
  Backoff backoff(milliseconds(100), longest);
  // Nodes that were started at once do not stay together.
  std::mt19937_64 random(std::random_device{}());
  std::uniform_int_distribution<milliseconds::rep> waits(
      longest.count() * 4 / 5, longest.count());
  while (true) {
    bool begins = false;
    {
      const std::lock_guard lock(mutex_);
      begins = lease_ == 0;
    }
    const absl::Status status = begins ? Begin() : KeepAlive();
    milliseconds wait(waits(random));
    if (status.ok()) {
      backoff.Reset();
    } else {
      wait = backoff.Next();
    }
    std::unique_lock lock(mutex_);
    status_ = status;
    // One that etcd has ended is begun anew at once.
    if (status.ok() && lease_ == 0) continue;
    if (changed_.wait_for(lock, wait, [this] { return stopping_; })) return;
  }
}

absl::Status EtcdSession::Begin() {
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(ttl_.count());
  etcdserverpb::LeaseGrantResponse response;
  const Time asked = steady_clock::now();
  // One that is granted and not heard of ends by itself.
  RETURN_IF_ERROR(
      connection_->Call(EtcdConnection::Retry::kYes,
                        [&](EtcdMember& member, grpc::ClientContext* context) {
                          return member.Ask("/etcdserverpb.Lease/LeaseGrant",
                                            context, request, &response);
                        }));
  if (response.id() == 0) {
    return absl::UnavailableError(
        absl::StrCat("etcd grants no session: ", response.error()));
  }
  const std::lock_guard telling(telling_);
  {
    const std::lock_guard lock(mutex_);
    lease_ = response.id();
    lives_until_ = asked + ttl_;
    status_ = absl::OkStatus();  // Before anybody hears of it.
  }
  TellBegin();
  return absl::OkStatus();
}

void EtcdSession::TellBegin() {
  std::vector<Listeners<int64_t>::Handle> listeners;
  int64_t lease = 0;
  {
    const std::lock_guard lock(mutex_);
    listeners = listeners_.Current();
    lease = lease_;
  }
  for (const auto& listener : listeners) (*listener)(lease);
}

absl::Status EtcdSession::KeepAlive() {
  etcdserverpb::LeaseKeepAliveRequest request;
  {
    const std::lock_guard lock(mutex_);
    request.set_id(lease_);
  }
  EtcdAnswer<etcdserverpb::LeaseKeepAliveResponse> response;
  const Time asked = steady_clock::now();
  RETURN_IF_ERROR(connection_->Call(
      EtcdConnection::Retry::kYes,
      [&](EtcdMember& member, grpc::ClientContext* context) {
        const auto stream = member.Open<etcdserverpb::LeaseKeepAliveRequest,
                                        etcdserverpb::LeaseKeepAliveResponse>(
            "/etcdserverpb.Lease/LeaseKeepAlive", context);
        const bool answered = stream->Write(request) && stream->Read(&response);
        stream->WritesDone();
        const grpc::Status end = stream->Finish();
        return answered ? ToGrpcStatus(response.status) : end;
      }));
  const std::lock_guard lock(mutex_);
  if (response.message.ttl() > 0) {
    lives_until_ = asked + ttl_;
  } else {
    lease_ = 0;
  }
  return absl::OkStatus();
}

void EtcdSession::Revoke() {
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(lease_);
  if (request.id() == 0) return;
  etcdserverpb::LeaseRevokeResponse response;
  connection_->CallAtEnd([&](EtcdMember& member, grpc::ClientContext* context) {
    return member.Ask("/etcdserverpb.Lease/LeaseRevoke", context, request,
                      &response);
  });
}

}  // namespace wavetune
