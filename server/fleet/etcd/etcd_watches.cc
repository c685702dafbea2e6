#include "server/fleet/etcd/etcd_watches.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/backoff.h"
#include "base/status_macros.h"
#include "server/fleet/etcd/etcd_keys.h"

namespace wavetune {
namespace {

constexpr std::chrono::milliseconds kFirstWait{100};
constexpr std::chrono::milliseconds kLongestWait{10000};

}  // namespace

class EtcdWatches::Handle : public FleetRegistry::WatchHandle {
 public:
  Handle(EtcdWatches* watches, std::shared_ptr<Subscription> subscription)
      : watches_(watches), subscription_(std::move(subscription)) {}
  ~Handle() override {
    {
      const std::lock_guard telling(subscription_->telling);
      subscription_->ended = true;
    }
    const std::lock_guard lock(watches_->mutex_);
    std::erase(watches_->subscriptions_, subscription_);
    watches_->Interrupt();
  }

 private:
  EtcdWatches* const watches_;
  const std::shared_ptr<Subscription> subscription_;
};

EtcdWatches::EtcdWatches(EtcdConnection* connection, std::string root,
                         ListFunction list)
    : connection_(connection),
      root_(std::move(root)),
      list_(std::move(list)),
      thread_([this] { Run(); }) {}

EtcdWatches::~EtcdWatches() {
  Stop();
  thread_.join();
}

void EtcdWatches::Stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  Interrupt();
}

std::unique_ptr<FleetRegistry::WatchHandle> EtcdWatches::Add(
    std::string prefix, const FleetBounds& bounds,
    FleetRegistry::Listener listener) {
  auto subscription = std::make_shared<Subscription>(std::move(prefix), bounds,
                                                     std::move(listener));
  const std::lock_guard lock(mutex_);
  subscriptions_.push_back(subscription);
  Interrupt();
  return std::make_unique<Handle>(this, std::move(subscription));
}

void EtcdWatches::Interrupt() {
  other_wanted_ = true;
  if (stream_ != nullptr) stream_->TryCancel();
  changed_.notify_all();
}

void EtcdWatches::Deliver(Subscription& subscription, const FleetNews& news) {
  const std::lock_guard telling(subscription.telling);
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
  }
  subscription.out = !news.status.ok();
  if (!subscription.ended) subscription.listener(news);
}

void EtcdWatches::Run() {
  Backoff backoff(kFirstWait, kLongestWait);
  while (true) {
    Subscriptions subscriptions;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock,
                    [this] { return stopping_ || !subscriptions_.empty(); });
      if (stopping_) return;
      subscriptions = subscriptions_;
      other_wanted_ = false;
    }
    bool answered = false;
    const absl::Status status = Serve(subscriptions, &answered);
    // No outage, and no reason to list again and again; nor is an answer that
    // would take too much memory.
    const bool compacted = absl::IsOutOfRange(status);
    if (answered && !compacted && !absl::IsResourceExhausted(status)) {
      backoff.Reset();
    }
    if (status.ok()) continue;
    for (const auto& one : subscriptions) {
      one->next_revision = 0;
      if (!one->out && !compacted) Deliver(*one, {.status = status});
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, backoff.Next(),
                      [this] { return stopping_ || other_wanted_; });
    if (stopping_) return;
  }
}

absl::Status EtcdWatches::ListAnew(Subscription& subscription) {
  ASSIGN_OR_RETURN(FleetListing listing,
                   list_(subscription.prefix, subscription.bounds));
  FleetNews news{.whole = true, .revision = listing.revision};
  subscription.budget.Clear();
  for (FleetEntry& entry : listing.entries) {
    RETURN_IF_ERROR(subscription.budget.Take(entry));
    news.entries.push_back({.entry = std::move(entry)});
  }
  subscription.next_revision = listing.revision + 1;
  Deliver(subscription, news);
  return absl::OkStatus();
}

absl::Status EtcdWatches::Serve(const Subscriptions& subscriptions,
                                bool* answered) {
  for (const auto& one : subscriptions) {
    if (one->next_revision == 0) RETURN_IF_ERROR(ListAnew(*one));
  }
  EtcdConnection::Context context(connection_);
  ASSIGN_OR_RETURN(const std::shared_ptr<EtcdMember> member,
                   connection_->BeginStream(&context));
  {
    const std::lock_guard lock(mutex_);
    if (other_wanted_) return absl::OkStatus();
    stream_ = &context;
  }
  const auto stream =
      member->Open<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>(
          "/etcdserverpb.Watch/Watch", &context);
  size_t created = 0;
  std::map<int64_t, Subscription*> by_id;
  const auto create_next = [&] {
    if (created == subscriptions.size()) return;
    etcdserverpb::WatchRequest request;
    auto& create = *request.mutable_create_request();
    const std::string prefix = root_ + subscriptions[created]->prefix;
    create.set_key(prefix);
    create.set_range_end(EndOfPrefix(prefix));
    create.set_start_revision(subscriptions[created]->next_revision);
    stream->Write(request);
  };
  // Where it cannot be written to, reading says why.
  create_next();
  absl::Status taken;
  EtcdAnswer<etcdserverpb::WatchResponse> answer;
  while (taken.ok() && stream->Read(&answer)) {
    if (!answer.status.ok()) {
      taken = answer.status;
      break;
    }
    etcdserverpb::WatchResponse& response = answer.message;
    // A watch that is refused is no answer, though it is called created.
    *answered = *answered || !response.events().empty() ||
                (response.created() && !response.canceled());
    if (response.created() && created < subscriptions.size()) {
      by_id[response.watch_id()] = subscriptions[created++].get();
      create_next();
    }
    if (const auto of = by_id.find(response.watch_id()); of != by_id.end()) {
      taken = Take(response, *of->second);
    } else if (response.canceled()) {
      taken = absl::UnavailableError(
          absl::StrCat("etcd: ", response.cancel_reason()));
    }
  }
  if (!taken.ok()) context.TryCancel();
  const grpc::Status end = stream->Finish();
  {
    const std::lock_guard lock(mutex_);
    stream_ = nullptr;
    const bool cancelled = end.error_code() == grpc::StatusCode::CANCELLED;
    if (other_wanted_ && taken.ok() && cancelled) return absl::OkStatus();
  }
  RETURN_IF_ERROR(taken);
  const absl::Status ended = connection_->EndOf(member, end);
  return ended.ok() ? absl::UnavailableError("etcd ended the watch") : ended;
}

absl::Status EtcdWatches::Take(etcdserverpb::WatchResponse& response,
                               Subscription& subscription) {
  if (response.canceled()) {
    if (response.compact_revision() == 0) {
      return absl::UnavailableError(
          absl::StrCat("etcd ended a watch: ", response.cancel_reason()));
    }
    return absl::OutOfRangeError("compacted");
  }
  if (response.events().empty() && !response.created()) return absl::OkStatus();
  // Without entries it says that an outage is over.
  FleetNews news{.revision = response.header().revision()};
  for (etcdserverpb::Event& event : *response.mutable_events()) {
    etcdserverpb::KeyValue& kv = *event.mutable_kv();
    subscription.next_revision = kv.mod_revision() + 1;
    FleetNews::Entry one{
        .entry = {.key = std::string(absl::StripPrefix(kv.key(), root_)),
                  .value = std::move(*kv.mutable_value()),
                  .revision = kv.mod_revision(),
                  .of_session = kv.lease() != 0},
        .deleted = event.type() == etcdserverpb::Event::DELETE};
    if (!kv.key().starts_with(root_) ||
        !subscription.budget.IsOurs(one.entry.key))
      continue;
    if (one.deleted) {
      subscription.budget.Forget(one.entry.key);
    } else {
      RETURN_IF_ERROR(subscription.budget.Take(one.entry));
    }
    news.entries.push_back(std::move(one));
  }
  Deliver(subscription, news);
  return absl::OkStatus();
}

}  // namespace wavetune
