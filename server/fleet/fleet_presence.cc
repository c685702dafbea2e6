#include "server/fleet/fleet_presence.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

using std::chrono::steady_clock;

std::string NewInstance() {
  std::random_device random;
  return absl::StrFormat("%08x%08x", random(), random());
}

}  // namespace

FleetPresence::FleetPresence(Options options)
    : options_(std::move(options)), instance_(NewInstance()) {}

FleetPresence::~FleetPresence() { Stop(); }

void FleetPresence::Start() {
  // What was of the session before has gone, or will.
  session_ = options_.registry->OnSession([this] {
    {
      const std::lock_guard lock(mutex_);
      awake_ = true;
    }
    changed_.notify_all();
  });
  thread_ = std::thread([this] { Run(); });
}

void FleetPresence::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    options_.registry->Stop();
    thread_.join();
  }
  session_ = nullptr;
}

void FleetPresence::Run() {
  while (true) {
    Look();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, options_.look_interval,
                      [this] { return stopping_ || awake_; });
    if (stopping_) return;
    // A session that has begun has nothing of this node.
    if (std::exchange(awake_, false)) told_.clear();
  }
}

void FleetPresence::Look() {
  FleetNode state = options_.state();
  state.instance = instance_;
  const std::string bytes = EncodeFleetNode(state);
  if (bytes == told_) return;
  if (!told_.empty()) {
    // Nodes that adopt one table do not tell so together.
    if (!next_) {
      next_ = steady_clock::now() +
              std::chrono::milliseconds(std::uniform_int_distribution<int64_t>(
                  0, options_.interval.count())(random_));
    }
    if (steady_clock::now() < *next_) return;
  }
  if (!Tell(NodePlace(state.node), bytes).ok()) return;
  told_ = bytes;
  next_.reset();
}

absl::Status FleetPresence::Tell(const std::string& place,
                                 const std::string& bytes) {
  const auto committed = options_.registry->Commit({{.key = place,
                                                     .value = bytes,
                                                     .expected = revision_,
                                                     .of_session = true}});
  if (committed.ok()) {
    revision_ = *committed;
    twin_since_.reset();
    const std::lock_guard lock(mutex_);
    problem_.clear();
    return absl::OkStatus();
  }
  if (!absl::IsAborted(committed.status())) return committed.status();
  const auto there = options_.registry->Get(place);
  if (absl::IsNotFound(there.status())) {
    revision_ = 0;  // It went with the session before.
  } else if (there.ok()) {
    Meet(*there);
  }
  return committed.status();
}

void FleetPresence::Meet(const FleetEntry& other) {
  const auto node = DecodeFleetNode(other.key, other.value);
  // Of this process, and of a session before: it is written over.
  if (node.ok() && node->instance == instance_) {
    revision_ = other.revision;
    return;
  }
  if (!twin_since_) twin_since_ = steady_clock::now();
  if (steady_clock::now() - *twin_since_ < options_.twin_patience) return;
  const std::string why = absl::StrCat(
      "another node of the fleet calls itself ",
      absl::string_view(other.key).substr(sizeof kNodesPrefix - 1),
      ": give each a name of its own (--fleet-node); this one is not counted");
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(problem_, why) == why) return;
  }
  options_.log(true, why);
}

absl::StatusOr<std::vector<FleetNode>> FleetPresence::Nodes() {
  const std::lock_guard lock(listing_);
  if (listed_at_ != Time{} &&
      steady_clock::now() - listed_at_ < options_.most_age) {
    return nodes_;
  }
  ASSIGN_OR_RETURN(const FleetListing listing,
                   options_.registry->List(kNodesPrefix));
  nodes_.clear();
  for (const FleetEntry& entry : listing.entries) {
    auto node = DecodeFleetNode(entry.key, entry.value);
    if (node.ok()) nodes_.push_back(*std::move(node));
  }
  listed_at_ = steady_clock::now();
  return nodes_;
}

std::string FleetPresence::problem() {
  const std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace wavetune
