#include "server/fleet/fleet_profiles.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "server/fleet/fleet_head.h"
#include "server/fleet/fleet_node.h"
#include "server/fleet/fleet_rollout.h"

namespace wavetune {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kNewsPatience{1};
// What somebody writes beyond that is left out.
constexpr size_t kMostSeen = 10000;
constexpr size_t kMostEntryBytes = 16 << 10;
constexpr char kHolderEnd[] = "/holder";

constexpr std::chrono::seconds kRetry{5};
constexpr std::chrono::minutes kTakeOverRetry{1};

// Whether a job is what was asked for, and not another one of its kernel.
bool DoesWhatIsAsked(const JobRecord& job, const FleetProfile& profile) {
  const auto same = [](auto asked, auto does) {
    return asked == 0 || asked == does;
  };
  return job.key == profile.key &&
         job.options.drift_probe == profile.drift_probe &&
         !job.options.top_up && same(profile.budget_s, job.options.budget_s) &&
         same(profile.samples_per_candidate,
              job.options.samples_per_candidate) &&
         same(profile.portfolio_size, job.options.portfolio_size);
}

ProfileTurn ForFleet() { return {.for_fleet = true}; }

// Whether what a job finds is the fleet's to have.
bool IsForFleet(const JobRecord& job) {
  return job.kind == JobKind::kReprofile && !job.options.refit_only &&
         job.options.verify_digest.empty();
}

}  // namespace

FleetProfiles::FleetProfiles(Options options) : options_(std::move(options)) {}

FleetProfiles::~FleetProfiles() { Stop(); }

void FleetProfiles::Start() {
  // A session, so that it can hold something; what went with the one before is
  // taken again.
  session_ = options_.registry->OnSession([this] {
    {
      const std::lock_guard lock(mutex_);
      awake_ = true;
    }
    changed_.notify_all();
  });
  thread_ = std::thread([this] { Run(); });
}

void FleetProfiles::Stop() {
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
  // Without the lock, which their listeners take.
  std::map<std::string, Watched> classes;
  const std::lock_guard lock(mutex_);
  classes.swap(classes_);
}

void FleetProfiles::Run() {
  while (true) {
    WatchClasses();
    std::vector<std::string> held;
    {
      const std::lock_guard lock(mutex_);
      awake_ = false;
      for (const auto& [place, one] : held_) held.push_back(place);
    }
    for (const std::string& place : held) AdvanceHolding(place);
    LookForHolders();
    TakeOver();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, options_.look_interval,
                      [this] { return stopping_ || awake_; });
    if (stopping_) return;
  }
}

void FleetProfiles::WatchClasses() {
  for (const AgentDirectory::Known& known : options_.devices()) {
    const std::string fleet_class = FleetClass(known.record.facts);
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      if (!classes_.try_emplace(fleet_class).second) continue;
    }
    auto watch = options_.registry->Watch(
        ProfilesPrefix(fleet_class), {.entry_bytes = kMostEntryBytes},
        [this, fleet_class](const FleetNews& news) {
          OnNews(fleet_class, news);
        });
    const std::lock_guard lock(mutex_);
    classes_[fleet_class].watch = std::move(watch);
  }
}

void FleetProfiles::OnNews(const std::string& fleet_class,
                           const FleetNews& news) {
  std::vector<std::string> notes;
  {
    const std::lock_guard lock(mutex_);
    if (outage_.empty()) outage_since_ = steady_clock::now();
    outage_ = std::string(news.status.message());
    if (news.status.ok()) {
      if (news.whole) {
        classes_[fleet_class].listed = true;
        std::erase_if(seen_, [&](const auto& one) {
          return one.first.starts_with(ProfilesPrefix(fleet_class));
        });
      }
      for (const FleetNews::Entry& one : news.entries) TakeEntry(one, &notes);
    }
    ++news_;
    awake_ = true;
  }
  changed_.notify_all();
  for (const std::string& note : notes) options_.log(true, note);
}

void FleetProfiles::TakeEntry(const FleetNews::Entry& one,
                              std::vector<std::string>* notes) {
  absl::string_view place = one.entry.key;
  const bool of_holder = absl::ConsumeSuffix(&place, kHolderEnd);
  if (seen_.size() >= kMostSeen && !seen_.contains(std::string(place))) return;
  Seen& seen = seen_[std::string(place)];
  const auto wait = std::uniform_int_distribution<int64_t>(
      0, options_.jitter.count())(random_);
  seen.take_over_at = steady_clock::now() + std::chrono::milliseconds(wait);
  if (of_holder) {
    seen.holder.reset();
    seen.holder_revision = one.deleted ? 0 : one.entry.revision;
    if (one.deleted) return;
    if (!one.entry.of_session) {
      notes->push_back(absl::StrCat(
          "what is at ", one.entry.key,
          " is of no node's session: it holds no profile, and is replaced"));
      return;
    }
    seen.missed = false;
    seen.look_at = steady_clock::now() + options_.holder_interval +
                   std::chrono::milliseconds(wait);
    const auto holder = DecodeFleetHolder(one.entry.value);
    seen.holder = holder.ok() ? *holder : FleetHolder{.node = "(unknown)"};
    return;
  }
  seen.profile.reset();
  seen.revision = one.deleted ? 0 : one.entry.revision;
  seen.unreadable.clear();
  if (one.deleted) return;
  if (one.entry.cut) {
    seen.unreadable = absl::StrCat("what is at ", place, " is too large");
    return;
  }
  auto profile = DecodeFleetProfile(place, one.entry.value);
  if (profile.ok()) {
    seen.profile = *std::move(profile);
  } else {
    seen.unreadable = std::string(profile.status().message());
  }
}

FleetProfiles::Standing FleetProfiles::StandingOf(const ProfileKey& key) {
  const std::string place = ProfilePlace(key);
  const std::lock_guard lock(mutex_);
  Standing standing;
  const auto watched = classes_.find(FleetClass(key));
  standing.known =
      outage_.empty() && watched != classes_.end() && watched->second.listed;
  if (!outage_.empty()) standing.silent_since = outage_since_;
  if (const auto seen = seen_.find(place); seen != seen_.end())
    standing.seen = seen->second;
  standing.held_here = held_.contains(place);
  return standing;
}

void FleetProfiles::AwaitNews() {
  std::unique_lock lock(mutex_);
  const uint64_t before = news_;
  changed_.wait_for(lock, kNewsPatience, [&] { return news_ != before; });
}

bool FleetProfiles::Publishes(const ProfileKey& key) const {
  return options_.key != nullptr && !options_.pinned(key) &&
         options_.trust
             .Check(options_.key->public_key(), options_.node, key.silicon_key)
             .ok();
}

void FleetProfiles::LookForHolders() {
  std::vector<std::pair<std::string, FleetHolder>> due;  // With their places.
  {
    const std::lock_guard lock(mutex_);
    if (!outage_.empty()) return;
    for (auto& [place, seen] : seen_) {
      if (!seen.holder || seen.holder->node == options_.node ||
          steady_clock::now() < seen.look_at)
        continue;
      seen.look_at = steady_clock::now() + options_.holder_interval;
      due.emplace_back(place, *seen.holder);
    }
  }
  for (const auto& [place, holder] : due) {
    const auto there = options_.registry->Get(NodePlace(holder.node), 0);
    if (!there.ok() && !absl::IsNotFound(there.status())) return;
    bool nobody = false;
    {
      const std::lock_guard lock(mutex_);
      const auto found = seen_.find(place);
      if (found == seen_.end() || found->second.holder != holder) continue;
      nobody = std::exchange(found->second.missed, !there.ok()) && !there.ok();
      if (nobody) found->second.holder.reset();
      ++news_;
    }
    changed_.notify_all();
    if (!nobody) continue;
    options_.log(true,
                 absl::StrCat("node ", holder.node, ", which holds ", place,
                              ", is not in the fleet: it holds no "
                              "profile, and is replaced"));
  }
}

absl::StatusOr<ProfileTurn> FleetProfiles::Await(
    JobControl* control, const JobServices::OthersWait& others_wait) {
  const JobRecord job = control->record();
  if (!IsForFleet(job)) return ProfileTurn();
  std::string waited_for;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = waits_.find(job.id); known != waits_.end())
      waited_for = known->second;
  }
  absl::StatusOr<ProfileTurn> turn =
      AwaitTurn(control, others_wait, &waited_for);
  const std::lock_guard lock(mutex_);
  if (turn.ok() && !turn->later.empty()) {
    waits_[job.id] = waited_for;
  } else {
    waits_.erase(job.id);
  }
  return turn;
}

absl::StatusOr<ProfileTurn> FleetProfiles::AwaitTurn(
    JobControl* control, const JobServices::OthersWait& others_wait,
    std::string* waited_for) {
  const JobRecord job = control->record();
  JobWait wait(control, options_.clock);
  const Time began = steady_clock::now();
  Time unknown_since = began;
  while (true) {
    RETURN_IF_ERROR(control->CheckGoOn());
    const Standing standing = StandingOf(job.key);
    const Seen& seen = standing.seen;
    // One of the same class and kernel here is under way.
    if (standing.held_here) return ForFleet();
    bool known = standing.known;
    if (known && seen.profile &&
        seen.holder == FleetHolder{options_.node, seen.profile->id}) {
      // The answer was lost, or this daemon was started again.
      Hold(job, *seen.profile, seen.revision);
      return ForFleet();
    }
    if (known && seen.holder) {
      const std::string why =
          absl::StrCat("waits for node ", seen.holder->node,
                       ", which profiles this for the fleet");
      if (std::exchange(*waited_for, seen.holder->profile) !=
          seen.holder->profile) {
        options_.log(false, absl::StrCat("job ", job.id, " (kernel ",
                                         job.kernel, ") ", why));
      }
      if (steady_clock::now() - began >= options_.look_interval &&
          others_wait())
        return ProfileTurn{.later = why};
      wait.Show(why);
    } else if (known && seen.profile && seen.profile->done &&
               seen.profile->id == *waited_for) {
      const std::string outcome =
          absl::StrCat("node ", seen.profile->done_by,
                       " profiled it for the fleet: ", seen.profile->outcome);
      if (seen.profile->failures.size() >= kMostFailures)
        return absl::FailedPreconditionError(outcome);
      return AwaitTable(control, wait, seen.profile->digest, outcome);
    } else if (known) {
      if (job.options.drift_probe) {
        const auto table = options_.table_of(job.key);
        known = table.ok();
        if (known && !table->empty()) {
          EndAsked(job.key, seen, *table);
          return AwaitTable(control, wait, *table,
                            "the fleet has a table for this environment");
        }
      }
      const bool others = seen.profile && !seen.profile->done &&
                          seen.profile->key == job.key &&
                          !DoesWhatIsAsked(job, *seen.profile);
      if (known && !Publishes(job.key)) return ProfileTurn();
      if (known && others) return ForFleet();
      if (known) {
        const absl::Status taken = Take(job, seen);
        if (taken.ok()) return ForFleet();
        known = absl::IsAborted(taken);
      }
    }
    if (known) unknown_since = steady_clock::now();
    if (!known &&
        steady_clock::now() - std::min(unknown_since, standing.silent_since) >
            options_.patience) {
      options_.log(true,
                   absl::StrCat("the fleet's registry does not answer: job ",
                                job.id, " profiles kernel ", job.kernel,
                                " without asking the other nodes"));
      return ProfileTurn();
    }
    AwaitNews();
  }
}

void FleetProfiles::EndAsked(const ProfileKey& key, const Seen& seen,
                             const std::string& digest) {
  if (!seen.profile || seen.profile->done || seen.profile->key != key) return;
  FleetProfile profile = *seen.profile;
  profile.done = true;
  profile.done_by = options_.node;
  profile.digest = digest;
  profile.outcome = "the fleet had a table for this environment";
  // Where it fails another node's job does it, or the next one here.
  options_.registry
      ->Commit({{.key = ProfilePlace(key),
                 .value = EncodeFleetProfile(profile),
                 .expected = seen.revision}})
      .IgnoreError();
}

absl::StatusOr<ProfileTurn> FleetProfiles::AwaitTable(
    JobControl* control, JobWait& wait, const std::string& digest,
    const std::string& outcome) {
  if (digest.empty()) return ProfileTurn{outcome};
  const std::string name = absl::StrCat("table ", ShortDigest(digest));
  const Time until = steady_clock::now() + options_.patience;
  while (!options_.serves(control->record().key, digest)) {
    RETURN_IF_ERROR(control->CheckGoOn());
    if (steady_clock::now() > until) {
      return ProfileTurn{absl::StrCat(
          outcome, "; ", name,
          " does not serve here yet: wavetune fleet status says why")};
    }
    wait.Show(absl::StrCat("waits for ", name, " of the fleet"));
    AwaitNews();
  }
  return ProfileTurn{absl::StrCat(outcome, "; ", name, " serves here"), digest};
}

absl::Status FleetProfiles::Take(const JobRecord& job, const Seen& seen) {
  if (!seen.unreadable.empty() && seen.revision != 0)
    options_.log(true, absl::StrCat("replaced: ", seen.unreadable));
  FleetProfile profile{
      .key = job.key,
      .node = options_.node,
      .by = job.by,
      .why = job.reason,
      .asked_at_us = job.created_at_us,
      .budget_s = job.options.budget_s,
      .samples_per_candidate = job.options.samples_per_candidate,
      .portfolio_size = job.options.portfolio_size,
      .drift_probe = job.options.drift_probe};
  const bool goes_on =
      seen.profile && !seen.profile->done && seen.profile->key == job.key;
  {
    const std::lock_guard lock(mutex_);
    profile.id = absl::StrFormat("%016x", random_());
  }
  if (goes_on) {
    profile = *seen.profile;
    std::erase_if(profile.failures, [&](const FleetProfile::Failure& failure) {
      return failure.node == options_.node;
    });
  }
  profile.begun_by = options_.node;
  ASSIGN_OR_RETURN(
      const int64_t revision,
      options_.registry->Commit(
          {{.key = HolderPlace(job.key),
            .value = EncodeFleetHolder({options_.node, profile.id}),
            .expected = seen.holder_revision,
            .of_session = true},
           {.key = ProfilePlace(job.key),
            .value = EncodeFleetProfile(profile),
            .expected = seen.revision}}));
  Hold(job, profile, revision);
  return absl::OkStatus();
}

void FleetProfiles::Hold(const JobRecord& job, const FleetProfile& profile,
                         int64_t revision) {
  const std::lock_guard lock(mutex_);
  held_[ProfilePlace(job.key)] = {
      .profile = profile, .revision = revision, .job_id = job.id};
}

void FleetProfiles::OnJob(const JobRecord& job) {
  if (!job.finished() || !IsForFleet(job)) return;
  {
    const std::lock_guard lock(mutex_);
    const std::string place = ProfilePlace(job.key);
    const auto held = held_.find(place);
    if (held != held_.end() && held->second.job_id == job.id) {
      held->second.ended = job;
      held->second.publish_until = steady_clock::now() + options_.patience;
    } else if (const auto seen = seen_.find(place);
               job.state == JobState::kCancelled && seen != seen_.end() &&
               seen->second.profile) {
      declined_.insert(seen->second.profile->id);
    }
    waits_.erase(job.id);
    awake_ = true;
  }
  changed_.notify_all();
}

void FleetProfiles::AdvanceHolding(const std::string& place) {
  Holding held;
  Seen seen;
  {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(place);
    if (found == held_.end() || !outage_.empty() ||
        steady_clock::now() < found->second.retry_at)
      return;
    held = found->second;
    seen = seen_[place];
  }
  if (seen.holder &&
      *seen.holder != FleetHolder{options_.node, held.profile.id}) {
    if (!std::exchange(held.lost, true)) {
      options_.log(true, absl::StrCat("node ", seen.holder->node,
                                      " goes on with the profile of kernel ",
                                      held.profile.key.kernel,
                                      ", as this node was out of reach"));
    }
  }
  const auto keep = [&](auto change) {
    const std::lock_guard lock(mutex_);
    if (const auto found = held_.find(place); found != held_.end())
      change(found->second);
  };
  if (held.ended) {
    // Others are to find its table when they find that it is done.
    const bool waits = !held.lost && !held.ended->digest.empty() &&
                       steady_clock::now() < held.publish_until;
    if (waits) {
      const auto table = held.profile.rollout.stages.empty()
                             ? options_.head_of(held.profile.key)
                             : options_.table_of(held.profile.key);
      if (!table.ok() || *table != held.ended->digest) return;
    }
    const absl::Status released =
        held.lost ? absl::OkStatus() : Release(place, held);
    // What was changed by others since is theirs.
    if (!released.ok() && !absl::IsAborted(released)) {
      SayRefused(held.profile, released);
      return keep(
          [](Holding& kept) { kept.retry_at = steady_clock::now() + kRetry; });
    }
    refused_.clear();
    const std::lock_guard lock(mutex_);
    held_.erase(place);
    return;
  }
  if (held.lost) {
    keep([](Holding& kept) { kept.lost = true; });
  } else if (!seen.holder && seen.revision >= held.revision) {
    // Its session ended, and nobody has taken it.
    const absl::Status taken =
        options_.registry
            ->Commit(
                {{.key = HolderPlace(held.profile.key),
                  .value = EncodeFleetHolder({options_.node, held.profile.id}),
                  .expected = seen.holder_revision,
                  .of_session = true}})
            .status();
    SayRefused(held.profile, taken);
    if (!taken.ok()) {
      keep([](Holding& kept) { kept.retry_at = steady_clock::now() + kRetry; });
    }
  }
}

void FleetProfiles::SayRefused(const FleetProfile& profile,
                               const absl::Status& status) {
  const std::string why = absl::IsUnavailable(status) || absl::IsAborted(status)
                              ? ""
                              : std::string(status.message());
  if (why.empty() || std::exchange(refused_, why) == why) return;
  options_.log(true, absl::StrCat("the fleet's registry takes nothing of the "
                                  "profile of kernel ",
                                  profile.key.kernel,
                                  " from this node, which tries again: ", why));
}

absl::Status FleetProfiles::Release(const std::string& place,
                                    const Holding& held) {
  const JobRecord& job = *held.ended;
  FleetProfile profile = held.profile;
  FleetWrite write{.key = place, .expected = held.revision};
  if (job.state == JobState::kFailed) {
    profile.failures.push_back({options_.node, job.message});
    if (profile.failures.size() >= kMostFailures) {
      profile.done = true;
      profile.outcome = absl::StrCat("it failed on ", profile.failures.size(),
                                     " nodes, last: ", job.message);
    }
  } else {
    profile.done = true;
    profile.digest = job.digest;
    profile.outcome = job.message;
  }
  profile.done_by = options_.node;
  // One that was cancelled was never asked for.
  if (job.state != JobState::kCancelled)
    write.value = EncodeFleetProfile(profile);
  return options_.registry->Commit({write, {.key = HolderPlace(profile.key)}})
      .status();
}

bool FleetProfiles::CanTakeOver(const FleetProfile& profile) {
  if (profile.done || profile.FailedOn(options_.node) ||
      !Publishes(profile.key))
    return false;
  for (const AgentDirectory::Known& known : options_.devices()) {
    const DeviceFacts& device = known.record.facts;
    // One that others use would keep the fleet waiting.
    if (!known.usable() || !IsOfClass(device, profile.key) ||
        (known.state && !known.state->busy.empty()))
      continue;
    const auto fingerprint =
        options_.kernels->Fingerprint(profile.key.kernel, device);
    return fingerprint.ok() && *fingerprint == profile.key.fingerprint &&
           !options_.is_profiling(profile.key.kernel, device.uuid);
  }
  return false;
}

void FleetProfiles::TakeOver() {
  if (options_.key == nullptr) return;
  std::vector<FleetProfile> due;
  {
    const std::lock_guard lock(mutex_);
    if (!outage_.empty()) return;
    std::set<std::string> declined;
    for (const auto& [place, seen] : seen_) {
      if (seen.profile && declined_.contains(seen.profile->id))
        declined.insert(seen.profile->id);
    }
    declined_.swap(declined);  // Without those that are gone.
    for (const auto& [place, seen] : seen_) {
      if (seen.profile && !seen.holder && !held_.contains(place) &&
          !declined_.contains(seen.profile->id) &&
          steady_clock::now() >= seen.take_over_at) {
        due.push_back(*seen.profile);
      }
    }
  }
  for (const FleetProfile& profile : due) {
    if (!CanTakeOver(profile)) continue;
    const bool begun = !profile.begun_by.empty();
    ReprofileRequest request{
        .kernel = profile.key.kernel,
        .silicon_key = profile.key.silicon_key,
        .environment_key = profile.key.environment_key,
        .reason =
            absl::StrCat(begun ? "in place of node " : "asked for on node ",
                         begun ? profile.begun_by : profile.node,
                         profile.why.empty() ? "" : ": ", profile.why),
        .by = begun ? kDaemonUser : profile.by,
        .fresh = !profile.drift_probe && profile.fresh,
        .options = {.budget_s = profile.budget_s,
                    .samples_per_candidate = profile.samples_per_candidate,
                    .portfolio_size = profile.portfolio_size,
                    .drift_probe = profile.drift_probe},
        .fingerprint = profile.key.fingerprint};
    const absl::Status queued = options_.reprofile(request);
    if (queued.ok()) continue;
    options_.log(
        true, absl::StrCat("the fleet's profile of kernel ", profile.key.kernel,
                           " cannot be done here: ", queued.message()));
    const std::lock_guard lock(mutex_);
    if (absl::IsFailedPrecondition(queued) || absl::IsInvalidArgument(queued))
      declined_.insert(profile.id);
    seen_[ProfilePlace(profile.key)].take_over_at =
        steady_clock::now() + kTakeOverRetry;
  }
}

absl::StatusOr<FleetProfile> FleetProfiles::Ask(FleetProfile profile) {
  const std::string place = ProfilePlace(profile.key);
  const auto now = options_.registry->Get(place);
  int64_t revision = 0;
  if (now.ok()) {
    revision = now->revision;
    const auto there = DecodeFleetProfile(place, now->value);
    if (absl::IsFailedPrecondition(there.status())) return there.status();
    // One that nobody does is asked for anew, as it is wanted now.
    if (there.ok() && !there->done) {
      const auto holder = options_.registry->Get(HolderPlace(profile.key));
      if (holder.ok() && holder->of_session) return *there;
      if (!holder.ok() && !absl::IsNotFound(holder.status()))
        return holder.status();
    }
  } else if (!absl::IsNotFound(now.status())) {
    return now.status();
  }
  profile.node = options_.node;
  profile.asked_at_us = options_.clock->NowUs();
  {
    const std::lock_guard lock(mutex_);
    profile.id = absl::StrFormat("%016x", random_());
  }
  RETURN_IF_ERROR(options_.registry
                      ->Commit({{.key = place,
                                 .value = EncodeFleetProfile(profile),
                                 .expected = revision}})
                      .status());
  return profile;
}

absl::StatusOr<std::vector<FleetView::Profile>> FleetProfiles::AskFor(
    const ReprofileRequest& request, const RolloutPlan& rollout) {
  if (!rollout.stages.empty()) RETURN_IF_ERROR(CheckRolloutPlan(rollout));
  if (request.options.drift_probe && request.fresh) {
    return absl::InvalidArgumentError(
        "a drift probe compares with samples of before: without --fresh");
  }
  std::map<std::string, FleetProfile> wanted;  // By place.
  for (const AgentDirectory::Known& known : options_.devices()) {
    const DeviceFacts& device = known.record.facts;
    if (!request.silicon_key.empty() &&
        request.silicon_key != SiliconKey(device)) {
      continue;
    }
    for (const std::string& kernel : options_.kernels->Names()) {
      if (!request.kernel.empty() && request.kernel != kernel) continue;
      const auto fingerprint = options_.kernels->Fingerprint(kernel, device);
      if (!fingerprint.ok()) continue;  // None of that device's backend.
      FleetProfile profile{
          .key = {kernel, *fingerprint, SiliconKey(device),
                  EnvironmentKey(device)},
          .by = request.by,
          .why = request.reason,
          .budget_s = request.options.budget_s,
          .samples_per_candidate = request.options.samples_per_candidate,
          .portfolio_size = request.options.portfolio_size,
          .drift_probe = request.options.drift_probe,
          .fresh = request.fresh,
          .rollout = rollout};
      wanted.emplace(ProfilePlace(profile.key), std::move(profile));
    }
  }
  if (wanted.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "no kernel ", request.kernel.empty() ? "at all" : request.kernel,
        " for a device that this node has, or had: wavetune kernels and "
        "wavetune devices list them"));
  }
  std::vector<FleetView::Profile> asked;
  for (auto& [place, profile] : wanted) {
    const ProfileKey key = profile.key;
    ASSIGN_OR_RETURN(FleetProfile one, Ask(std::move(profile)));
    asked.push_back(
        {.fleet_class = FleetClass(key), .profile = std::move(one)});
  }
  return asked;
}

absl::StatusOr<RolloutPlan> FleetProfiles::RolloutOf(
    const ProfileKey& key, const std::string& digest) {
  const std::string place = ProfilePlace(key);
  const std::lock_guard lock(mutex_);
  if (const auto held = held_.find(place); held != held_.end())
    return held->second.profile.rollout;
  const auto watched = classes_.find(FleetClass(key));
  if (watched == classes_.end() || !watched->second.listed) {
    return absl::UnavailableError(
        "what the fleet has asked for is not known here yet");
  }
  const auto seen = seen_.find(place);
  if (seen == seen_.end() || !seen->second.profile) return RolloutPlan();
  const FleetProfile& profile = *seen->second.profile;
  // A node that ended before it could say that it was done, too.
  const bool of_it = profile.digest == digest ||
                     (!profile.done && profile.begun_by == options_.node);
  return of_it ? profile.rollout : RolloutPlan();
}

std::vector<FleetView::Profile> FleetProfiles::View() {
  std::vector<FleetView::Profile> profiles;
  const std::lock_guard lock(mutex_);
  for (const auto& [place, seen] : seen_) {
    if (!seen.profile) continue;
    const ProfileKey& key = seen.profile->key;
    profiles.push_back(
        {.fleet_class = FleetClass(key),
         .profile = *seen.profile,
         .holder = seen.holder ? seen.holder->node : std::string()});
  }
  return profiles;
}

}  // namespace wavetune
