#include "server/fleet/fleet_lender.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "formats/types.h"
#include "server/fleet/lent_batch.h"

namespace wavetune {
namespace {

using std::chrono::steady_clock;

// Of one message, whatever their time.
constexpr size_t kMostReports = 1000;
// Senders of batches for one offer: the registry was away as often.
constexpr size_t kMostSenders = 64;

uint64_t BatchIdOf(const v1::FleetBatchContent& batch) {
  if (batch.has_prepare()) return batch.prepare().batch_id();
  return batch.has_measure() ? batch.measure().batch_id()
                             : batch.cancel().batch_id();
}

}  // namespace

struct FleetLender::Board {
  std::string uuid;
  ProfileKey key;
  std::string boards;  // BoardsPrefix.
  std::string holder;  // Who does the profile.
  std::string offer;   // Its id.
  std::string place;   // Of the offer.
  int64_t revision = 0;
  std::unique_ptr<FleetRegistry::WatchHandle> watch;
  std::thread thread;
  CompiledCandidates compiled;  // Of the thread's own.

  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex.
  std::string given_up;  // Why it is to be taken back; empty: it is not.
  bool ended = false;    // The thread does nothing any more.
  std::optional<v1::FleetBatchContent> next;
  uint64_t running = 0;                           // Batch.
  uint64_t cancelled = 0;                         // The same.
  std::shared_ptr<MeasurementExecutor> executor;  // Of it.
  std::map<uint32_t, uint32_t> last;  // Batch of each sender (batch ids).

  std::mutex telling;
  // Guarded by telling.
  uint64_t number = 0;
  Time told_at{};
};

FleetLender::FleetLender(Options options) : options_(std::move(options)) {}

FleetLender::~FleetLender() { Stop(); }

void FleetLender::Start() {
  if (options_.key == nullptr) return;
  looks_.Start(options_.look_interval, [this] { Look(); });
  LookSoon();
}

void FleetLender::Stop() {
  looks_.Stop();
  // All first: what they run ends side by side.
  for (auto& [uuid, board] : lent_boards_) {
    const std::lock_guard lock(board->mutex);
    GiveUp(*board, "this daemon is being stopped");
  }
  for (auto& [uuid, board] : lent_boards_) {
    board->thread.join();
    board->watch = nullptr;
  }
  lent_boards_.clear();
}

FleetLender::Counts FleetLender::counts() const {
  return {.lent = lent_.load(),
          .refused_signature = refused_signature_.load(),
          .refused_replayed = refused_replayed_.load()};
}

void FleetLender::LookSoon() { looks_.RunSoon(std::chrono::milliseconds(0)); }

void FleetLender::Look() {
  std::map<std::string, Profile> profiles;
  for (const FleetView::Profile& seen : options_.profiles()) {
    const FleetProfile& profile = seen.profile;
    if (seen.holder.empty() || seen.holder == options_.party.node ||
        profile.done)
      continue;
    const std::string boards = BoardsPrefix(profile.key, profile.id);
    const auto known = profiles_.find(boards);
    if (known != profiles_.end() && known->second.holder == seen.holder) {
      profiles[boards] = known->second;
    } else {
      profiles[boards] = {profile.key, seen.holder,
                          steady_clock::now() + Random(options_.jitter)};
    }
  }
  profiles_.swap(profiles);
  const std::map<std::string, std::shared_ptr<Board>> lent = lent_boards_;
  for (const auto& [uuid, board] : lent) Tend(*board);
  for (auto& [boards, profile] : profiles_) {
    if (steady_clock::now() >= profile.offer_at) Offer(boards, profile);
  }
  lent_.store(static_cast<int64_t>(lent_boards_.size()));
}

std::chrono::milliseconds FleetLender::Random(std::chrono::milliseconds most) {
  return std::chrono::milliseconds(
      std::uniform_int_distribution<int64_t>(0, most.count())(random_));
}

void FleetLender::Tend(Board& board) {
  const auto profile = profiles_.find(board.boards);
  const bool over =
      profile == profiles_.end() || profile->second.holder != board.holder;
  std::string why;
  if (over) {
    why = "its profile is done, or goes on elsewhere";
  } else if (!IsFree(board.uuid)) {
    why = "it is needed here, or cannot be used now";
  } else if (!IsOffered(board)) {
    why = "the fleet does not know of it any more";
  }
  bool ended = false;
  {
    const std::lock_guard lock(board.mutex);
    if (!why.empty()) GiveUp(board, why);
    why = board.given_up;
    ended = board.ended;
  }
  if (ended) {
    // One that is free for another profile is so at once.
    if (!over)
      not_before_[board.uuid] = steady_clock::now() + options_.retry_interval;
    return TakeBack(board, why);
  }
  Time told_at;
  {
    const std::lock_guard lock(board.telling);
    told_at = board.told_at;
  }
  if (why.empty() && steady_clock::now() - told_at >= options_.sign_interval)
    Tell(board, {});
}

bool FleetLender::IsFree(const std::string& uuid) const {
  for (const AgentDirectory::Known& known : options_.devices()) {
    if (known.record.facts.uuid != uuid) continue;
    const auto executor = options_.executors->Find(uuid, 0);
    return known.usable() && executor != nullptr &&
           executor->WhyHot().empty() && executor->AwaitIdle(0).empty() &&
           options_.leases->Holder(uuid) == 0;
  }
  return false;
}

bool FleetLender::IsOffered(const Board& board) const {
  const auto offer = options_.registry->Get(board.place);
  return offer.ok() && offer->revision == board.revision;
}

std::vector<DeviceFacts> FleetLender::FreeBoards(const ProfileKey& key) const {
  std::vector<DeviceFacts> boards;
  for (const AgentDirectory::Known& known : options_.devices()) {
    const DeviceFacts& device = known.record.facts;
    const auto not_before = not_before_.find(device.uuid);
    if (!IsOfClass(device, key) || lent_boards_.contains(device.uuid) ||
        (not_before != not_before_.end() &&
         steady_clock::now() < not_before->second) ||
        !IsFree(device.uuid))
      continue;
    const auto fingerprint = options_.kernels->Fingerprint(key.kernel, device);
    if (fingerprint.ok() && *fingerprint == key.fingerprint)
      boards.push_back(device);
  }
  return boards;
}

void FleetLender::Offer(const std::string& boards, Profile& profile) {
  if (!options_.trust
           .Check(options_.key->public_key(), options_.party.node,
                  profile.key.silicon_key)
           .ok())
    return;
  std::vector<DeviceFacts> free = FreeBoards(profile.key);
  if (free.empty()) return;
  const auto listing = options_.registry->List(OffersPrefix(boards));
  if (!listing.ok()) return LookLater(profile);
  std::set<std::string> taken;
  for (const FleetEntry& entry : listing->entries) {
    const bool frees =
        IsLeftOver(entry, profile.key) &&
        options_.registry
            ->Commit({{.key = entry.key, .expected = entry.revision}})
            .ok();
    if (!frees) taken.insert(entry.key);
  }
  for (size_t i = 0; i < kMostLentBoards && !free.empty(); ++i) {
    const std::string place = OfferPlace(boards, i);
    if (taken.contains(place)) continue;
    const absl::Status offered = OfferOne(boards, profile, place, free.back());
    if (offered.ok()) {
      free.pop_back();
    } else if (!absl::IsAborted(offered)) {
      break;  // Nobody answers; it may be there all the same.
    }
  }
  if (!free.empty()) LookLater(profile);
}

void FleetLender::LookLater(Profile& profile) {
  // Nodes that found out together look at different times from now on.
  profile.offer_at = steady_clock::now() + options_.retry_interval +
                     Random(options_.retry_interval);
}

bool FleetLender::IsLeftOver(const FleetEntry& entry,
                             const ProfileKey& key) const {
  const auto read = CheckBoardContent<v1::FleetOfferContent>(
      options_.party, entry, options_.trust, key.silicon_key);
  return read.ok() && read->content.node() == options_.party.node &&
         std::none_of(lent_boards_.begin(), lent_boards_.end(),
                      [&](const auto& lent) {
                        return lent.second->revision == entry.revision;
                      });
}

absl::Status FleetLender::OfferOne(const std::string& boards,
                                   const Profile& profile,
                                   const std::string& place,
                                   const DeviceFacts& device) {
  auto board = std::make_shared<Board>();
  board->uuid = device.uuid;
  board->key = profile.key;
  board->boards = boards;
  board->holder = profile.holder;
  board->offer = absl::StrFormat("%016x", random_());
  board->place = place;
  board->told_at = steady_clock::now();
  try {
    board->thread = std::thread([this, board] { Serve(board); });
  } catch (const std::system_error& error) {
    options_.log(true, absl::StrCat("no thread to lend device ", device.uuid,
                                    " with: ", error.what()));
    return absl::ResourceExhaustedError(error.what());
  }
  v1::FleetOfferContent content;
  content.set_id(board->offer);
  *content.mutable_device() = DeviceFactsToProto(device);
  const auto offered = options_.registry->Commit(
      {{.key = place,
        .value = SignBoardContent(options_.party, place, *options_.key,
                                  std::move(content)),
        .expected = 0,
        .of_session = true}});
  if (!offered.ok()) {
    {
      const std::lock_guard lock(board->mutex);
      GiveUp(*board, "it could not be offered");
    }
    board->thread.join();
    return offered.status();
  }
  board->revision = *offered;
  board->watch = options_.registry->Watch(
      BatchPlace(boards, board->offer),
      [this, weak = std::weak_ptr(board)](const FleetNews& news) {
        if (const auto lent = weak.lock()) OnNews(*lent, news);
      });
  lent_boards_[device.uuid] = std::move(board);
  options_.log(false, absl::StrCat("device ", device.uuid, " is lent to node ",
                                   profile.holder, ", which profiles kernel ",
                                   profile.key.kernel));
  return absl::OkStatus();
}

void FleetLender::TakeBack(Board& board, const std::string& why) {
  board.thread.join();
  board.watch = nullptr;
  // What is not deleted goes with the profile, or the session.
  options_.registry->Commit({{.key = board.place, .expected = board.revision}})
      .IgnoreError();
  options_.registry
      ->Commit({{.key = BatchPlace(board.boards, board.offer)},
                {.key = ReportPlace(board.boards, board.offer)}})
      .IgnoreError();
  options_.log(false, absl::StrCat("device ", board.uuid,
                                   " is not lent any more: ", why));
  lent_boards_.erase(std::string(board.uuid));
}

void FleetLender::OnNews(Board& board, const FleetNews& news) {
  const std::lock_guard lock(board.mutex);
  if (!news.status.ok())
    return GiveUp(board, std::string(news.status.message()));
  for (const FleetNews::Entry& one : news.entries) {
    if (!one.deleted) TakeBatch(board, one.entry, news.whole);
  }
}

void FleetLender::TakeBatch(Board& board, const FleetEntry& entry,
                            bool listed) {
  auto read = CheckBoardContent<v1::FleetBatchContent>(
      options_.party, entry, options_.trust, board.key.silicon_key);
  if (!read.ok()) {
    ++refused_signature_;
    return GiveUp(board, absl::StrCat("what is wanted of it is refused: ",
                                      read.status().message()));
  }
  const uint64_t id = BatchIdOf(read->content);
  const auto cancel = [&](uint64_t batch) {
    board.cancelled = batch;
    if (batch == board.running && board.executor != nullptr)
      board.executor->CancelBatch();
  };
  if (read->content.has_cancel()) return cancel(id);
  uint32_t& last = board.last[static_cast<uint32_t>(id >> 32)];
  if (static_cast<uint32_t>(id) <= last) {
    if (!listed) ++refused_replayed_;  // Else it is there still.
    return;
  }
  last = static_cast<uint32_t>(id);
  if (board.last.size() > kMostSenders)
    return GiveUp(board, "it was lost sight of too often");
  if (board.running != 0) cancel(board.running);  // Nobody waits for it.
  board.next = std::move(read->content);
  board.changed.notify_all();
}

void FleetLender::GiveUp(Board& board, const std::string& why) {
  if (!board.given_up.empty()) return;
  board.given_up = why;
  if (board.executor != nullptr) board.executor->CancelBatch();
  board.changed.notify_all();
}

void FleetLender::Serve(const std::shared_ptr<Board>& board) {
  while (true) {
    v1::FleetBatchContent batch;
    {
      std::unique_lock lock(board->mutex);
      board->changed.wait(lock, [&] {
        return !board->given_up.empty() || board->next.has_value();
      });
      if (!board->given_up.empty()) break;
      batch = *std::move(board->next);
      board->next.reset();
      board->running = BatchIdOf(batch);
    }
    std::vector<v1::AttachRequest> reports;
    const absl::Status status = RunBatch(board, batch, reports);
    v1::BatchDone* const done = reports.emplace_back().mutable_done();
    done->set_batch_id(BatchIdOf(batch));
    done->set_error(std::string(status.message()));
    Tell(*board, std::move(reports));
    const std::lock_guard lock(board->mutex);
    board->running = 0;
    const bool only_cancelled =
        absl::IsCancelled(status) && board->cancelled == BatchIdOf(batch);
    if (!status.ok() && !only_cancelled)
      GiveUp(*board, std::string(status.message()));
  }
  {
    const std::lock_guard lock(board->mutex);
    board->ended = true;
  }
  LookSoon();
}

absl::Status FleetLender::RunBatch(const std::shared_ptr<Board>& board,
                                   const v1::FleetBatchContent& batch,
                                   std::vector<v1::AttachRequest>& reports) {
  const DeviceLease lease =
      options_.leases->TryLend(board->uuid, [weak = std::weak_ptr(board)] {
        const auto lent = weak.lock();
        if (lent == nullptr) return;
        const std::lock_guard lock(lent->mutex);
        GiveUp(*lent, "a job here wants it");
      });
  const auto executor = options_.executors->Find(board->uuid, 0);
  if (lease == nullptr || executor == nullptr) {
    return absl::UnavailableError(lease == nullptr ? "a job there has it"
                                                   : "it has no agent there");
  }
  if (!IsOfClass(executor->device(), board->key))
    return absl::UnavailableError("it is of another class now");
  ASSIGN_OR_RETURN(
      const auto kernel,
      options_.kernels->Get(board->key.kernel, executor->device()));
  const auto go_on = [&] {
    const std::lock_guard lock(board->mutex);
    return board->given_up.empty() && board->cancelled != BatchIdOf(batch);
  };
  {
    const std::lock_guard lock(board->mutex);
    board->executor = executor;
  }
  Time told_at{};
  absl::Status status = absl::CancelledError("it was cancelled");
  if (go_on())
    status = RunLentBatch(
        *executor, *kernel, batch, board->compiled,
        [&](v1::AttachRequest report) {
          if (report.message_case() != v1::AttachRequest::MESSAGE_NOT_SET)
            reports.push_back(std::move(report));
          const Time now = steady_clock::now();
          if (!reports.empty() && (now - told_at >= options_.report_interval ||
                                   reports.size() >= kMostReports)) {
            told_at = now;
            if (!Tell(*board, std::exchange(reports, {}))) return false;
          }
          return go_on();
        });
  // What is cancelled from now on is none of the job's that gets the lease.
  const std::lock_guard lock(board->mutex);
  board->executor = nullptr;
  return status;
}

bool FleetLender::Tell(Board& board, std::vector<v1::AttachRequest> reports) {
  absl::Status told;
  {
    const std::lock_guard lock(board.telling);
    v1::FleetReportContent content;
    content.set_number(++board.number);
    for (v1::AttachRequest& report : reports)
      *content.add_reports() = std::move(report);
    const std::string place = ReportPlace(board.boards, board.offer);
    told = options_.registry
               ->Commit({{.key = place,
                          .value = SignBoardContent(options_.party, place,
                                                    *options_.key,
                                                    std::move(content)),
                          .of_session = true}})
               .status();
    board.told_at = steady_clock::now();
  }
  if (told.ok()) return true;
  const std::lock_guard lock(board.mutex);
  GiveUp(board, std::string(told.message()));
  return false;
}

}  // namespace wavetune
