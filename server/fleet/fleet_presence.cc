#include "server/fleet/fleet_presence.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

using std::chrono::steady_clock;

// In which a registry that answers does.
constexpr std::chrono::seconds kFirstAnswer{3};
constexpr FleetBounds kNodesBounds{.entry_bytes = kMostNodeBytes,
                                   .all_bytes = size_t{64} << 20,
                                   .entries = 50000};

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
    Check();
    Look();
    Judge();
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
  if (bytes == told_) {
    told_status_ = absl::OkStatus();  // Nothing is to be told.
    return;
  }
  if (!told_.empty()) {
    // Nodes that adopt one table do not tell so together.
    if (!next_) {
      next_ = steady_clock::now() +
              std::chrono::milliseconds(std::uniform_int_distribution<int64_t>(
                  0, options_.interval.count())(random_));
    }
    if (steady_clock::now() < *next_) return;
  }
  name_ = state.node;
  told_status_ = WriteEntry(NodePlace(name_), bytes);
  if (!told_status_.ok()) return;
  told_ = bytes;
  next_.reset();
}

void FleetPresence::Check() {
  const Time now = steady_clock::now();
  if (told_.empty() || now < check_at_) return;
  const int64_t interval = options_.check_interval.count();
  check_at_ =
      now + std::chrono::milliseconds(std::uniform_int_distribution<int64_t>(
                interval / 2, interval)(random_));
  const auto there = options_.registry->Get(NodePlace(name_), 0);
  const bool gone = absl::IsNotFound(there.status());
  if (!gone && (!there.ok() || there->revision == revision_)) return;
  if (gone) revision_ = 0;
  told_.clear();
}

void FleetPresence::Judge() {
  const absl::Status session = options_.registry->Session();
  const std::string silence = options_.silence();
  Outage outage{.why = std::string(session.message()),
                .silent = absl::IsUnavailable(session) || !silence.empty()};
  if (session.ok()) outage.why = silence;
  // Nothing is told before there is a session; another node of the name is no
  // fault of the registry.
  if (outage.why.empty() && !absl::IsAborted(told_status_) &&
      !absl::IsFailedPrecondition(told_status_))
    outage.why = std::string(told_status_.message());
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    // A refusal is an answer, too.
    outage.reached = outage_.reached || !absl::IsUnavailable(session);
    outage_ = outage;
  }
  if (outage.why.empty() == !said_outage_) return;
  // It is asked for the first time.
  if (!outage.reached && steady_clock::now() < began_ + kFirstAnswer) return;
  said_outage_ = !outage.why.empty();
  if (!said_outage_) {
    options_.log(false, "the fleet's registry answers again");
    return;
  }
  options_.log(true,
               absl::StrCat("the fleet's registry ",
                            !outage.reached ? "was never reached"
                            : outage.silent ? "is out of reach"
                                            : "refuses this node",
                            ", this node serves what it has: ", outage.why));
}

absl::Status FleetPresence::WriteEntry(const std::string& place,
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
    ResolveNameClash(*there);
  }
  return committed.status();
}

void FleetPresence::ResolveNameClash(const FleetEntry& other) {
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
  std::vector<FleetNode> nodes;
  size_t all_bytes = 0;
  RETURN_IF_ERROR(options_.registry
                      ->Read(kNodesPrefix, kNodesBounds,
                             [&](const FleetEntry& entry) {
                               size_t bytes = 0;
                               auto node = DecodeFleetNode(entry.key,
                                                           entry.value, &bytes);
                               all_bytes += bytes;
                               if (node.ok() && all_bytes <= kMostNodesBytes)
                                 nodes.push_back(*std::move(node));
                             })
                      .status());
  if (all_bytes > kMostNodesBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "what is beneath ", kNodesPrefix, " would take more than ",
        kMostNodesBytes >> 20,
        " MiB of memory: somebody fills the registry; delete what is no node "
        "(docs/fleet.md)"));
  }
  nodes_ = std::move(nodes);
  listed_at_ = steady_clock::now();
  return nodes_;
}

FleetPresence::Outage FleetPresence::outage() {
  const std::lock_guard lock(mutex_);
  return outage_;
}

std::string FleetPresence::problem() {
  const std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace wavetune
