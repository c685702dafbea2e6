#include "server/fleet/fleet_borrower.h"

#include <deque>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/types.h"

namespace wavetune {

struct FleetBorrower::Outbox {
  struct Message {
    std::string boards;
    std::string offer;
    v1::FleetBatchContent content;
  };

  void Put(Message message) {
    {
      const std::lock_guard lock(mutex);
      messages.push_back(std::move(message));
    }
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex.
  std::deque<Message> messages;
  bool stopping = false;
};

namespace {

// Without the kernel itself: each node has its own, or none.
template <typename Batch>
void KeepFingerprint(Batch& batch) {
  const std::string fingerprint = batch.kernel().fingerprint();
  batch.mutable_kernel()->Clear();
  batch.mutable_kernel()->set_fingerprint(fingerprint);
}

// Returns whether there is something in it for the lender.
bool TakeMessage(v1::AttachResponse message, v1::FleetBatchContent& content) {
  if (message.has_prepare()) {
    *content.mutable_prepare() = std::move(*message.mutable_prepare());
    KeepFingerprint(*content.mutable_prepare());
  } else if (message.has_measure()) {
    *content.mutable_measure() = std::move(*message.mutable_measure());
    KeepFingerprint(*content.mutable_measure());
  } else if (message.has_cancel()) {
    *content.mutable_cancel() = message.cancel();
  } else {
    return false;
  }
  return true;
}

uint64_t BatchOf(const v1::AttachRequest& report) {
  if (report.has_candidate()) return report.candidate().batch_id();
  if (report.has_sample()) return report.sample().batch_id();
  if (report.has_failure()) return report.failure().batch_id();
  return report.done().batch_id();  // 0 for all else, which is no batch's.
}

// What an earlier stream of the board asked for is none of the new one's.
uint64_t FirstBatchId() {
  std::random_device random;
  return (uint64_t{random()} << 32) + 1;
}

}  // namespace

FleetBorrower::FleetBorrower(Options options)
    : options_(std::move(options)), outbox_(std::make_shared<Outbox>()) {}

FleetBorrower::~FleetBorrower() { Stop(); }

void FleetBorrower::Start() {
  if (options_.key == nullptr) return;
  thread_ = std::thread([this] { Run(); });
}

void FleetBorrower::Stop() {
  {
    const std::lock_guard lock(outbox_->mutex);
    outbox_->stopping = true;
  }
  outbox_->changed.notify_all();
  if (thread_.joinable()) thread_.join();
  std::map<std::string, Profile> profiles;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [boards, profile] : profiles_)
      LoseAll(profile, "this daemon is being stopped");
    profiles.swap(profiles_);
  }
  // Their watches end without the lock, which their listeners take.
}

FleetBorrower::Counts FleetBorrower::counts() {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  for (const auto& [boards, profile] : profiles_)
    counts.borrowed += static_cast<int64_t>(profile.boards.size());
  return counts;
}

void FleetBorrower::Run() {
  auto look_at = std::chrono::steady_clock::now();
  while (true) {
    if (std::chrono::steady_clock::now() >= look_at) {
      Look();
      look_at = std::chrono::steady_clock::now() + options_.look_interval;
    }
    SendBatches();
    std::unique_lock lock(outbox_->mutex);
    outbox_->changed.wait_until(lock, look_at, [this] {
      return outbox_->stopping || !outbox_->messages.empty();
    });
    if (outbox_->stopping) return;
  }
}

void FleetBorrower::Look() {
  std::map<std::string, HeldProfile> held;
  for (HeldProfile& one : options_.held()) {
    std::string boards = BoardsPrefix(one.key, one.profile);
    held.emplace(std::move(boards), std::move(one));
  }
  std::map<std::string, Profile> ended;
  {
    const std::lock_guard lock(mutex_);
    for (auto it = profiles_.begin(); it != profiles_.end();) {
      auto& [boards, profile] = *it;
      const auto still = held.find(boards);
      if (still != held.end() && still->second.job_id == profile.held.job_id) {
        held.erase(still);
        ++it;
        continue;
      }
      LoseAll(profile, "the profile has ended");
      ended.insert(profiles_.extract(it++));
    }
    for (const auto& [boards, one] : held) profiles_[boards].held = one;
  }
  ended.clear();
  for (const auto& [boards, one] : held) {
    auto watch = options_.registry->Watch(
        boards, [this, boards = boards](const FleetNews& news) {
          OnNews(boards, news);
        });
    const std::lock_guard lock(mutex_);
    profiles_[boards].watch = std::move(watch);
  }
}

void FleetBorrower::SendBatches() {
  std::deque<Outbox::Message> messages;
  {
    const std::lock_guard lock(outbox_->mutex);
    messages.swap(outbox_->messages);
  }
  for (Outbox::Message& message : messages) {
    const std::string place = BatchPlace(message.boards, message.offer);
    const auto sent = options_.registry->Commit(
        {{.key = place,
          .value = SignBoardContent(options_.party, place, *options_.key,
                                    std::move(message.content)),
          .of_session = true}});
    if (sent.ok()) continue;
    const std::lock_guard lock(mutex_);
    const auto profile = profiles_.find(message.boards);
    if (profile == profiles_.end()) continue;
    for (const auto& [at, board] : profile->second.boards) {
      if (board.offer != message.offer) continue;
      Lose(profile->second, at, std::string(sent.status().message()));
      break;
    }
  }
}

void FleetBorrower::OnNews(const std::string& boards, const FleetNews& news) {
  const std::lock_guard lock(mutex_);
  const auto found = profiles_.find(boards);
  if (found == profiles_.end()) return;
  Profile& profile = found->second;
  if (!news.status.ok())
    return LoseAll(profile, std::string(news.status.message()));
  if (news.whole) {
    LoseAll(profile, "the fleet's registry was away");
    profile.offers.clear();
  }
  for (const FleetNews::Entry& one : news.entries) {
    const std::string& place = one.entry.key;
    if (absl::StartsWith(place, OffersPrefix(boards))) {
      Lose(profile, place, "its node needs it, or is gone");
      profile.offers.erase(place);
      if (!one.deleted && profile.offers.size() < kMostLentBoards)
        profile.offers[place] = one.entry;
    } else if (!one.deleted &&
               absl::StartsWith(place, ReportPlace(boards, ""))) {
      TakeReport(profile, one.entry);
    }
  }
  TakeOffers(boards, profile);
}

void FleetBorrower::TakeOffers(const std::string& boards, Profile& profile) {
  std::erase_if(profile.offers, [&](const auto& offer) {
    return !profile.boards.contains(offer.first) &&
           !TakeOffer(boards, profile, offer.second);
  });
}

bool FleetBorrower::TakeOffer(const std::string& boards, Profile& profile,
                              const FleetEntry& entry) {
  const ProfileKey& key = profile.held.key;
  auto read = CheckBoardContent<v1::FleetOfferContent>(
      options_.party, entry, options_.trust, key.silicon_key);
  if (!read.ok()) {
    Refuse(&Counts::refused_signature, std::string(read.status().message()));
    return false;
  }
  const v1::FleetOfferContent& offer = read->content;
  const DeviceFacts facts = DeviceFactsFromProto(offer.device());
  if (facts.uuid.empty() || !IsOfClass(facts, key)) return false;
  for (const auto& [place, board] : profile.boards) {
    if (board.device->device().uuid != facts.uuid) continue;
    // Its node may not know of the older one, whose commit had no answer.
    if (board.revision > entry.revision) return true;
    Lose(profile, std::string(place), "it is offered anew");
    break;
  }
  Board board{.revision = entry.revision,
              .offer = offer.id(),
              .node = offer.node(),
              .public_key = std::move(read->public_key)};
  board.stream = std::make_shared<AgentDevice::Stream>();
  board.stream->lent_by = board.node;
  board.stream->agent_name = absl::StrCat("of node ", board.node);
  board.stream->heartbeat_timeout_s = options_.silence_s;
  board.stream->end = [](const absl::Status&) {};
  board.stream->next_batch_id = FirstBatchId();
  board.stream->send = [outbox = outbox_, boards,
                        offer = board.offer](v1::AttachResponse message) {
    Outbox::Message out{.boards = boards, .offer = offer};
    if (TakeMessage(std::move(message), out.content))
      outbox->Put(std::move(out));
  };
  board.stream->Touch();
  board.device = std::make_shared<AgentDevice>(facts, board.stream);
  options_.log(false,
               absl::StrCat("node ", board.node, " lends device ", facts.uuid,
                            " to job ", profile.held.job_id));
  profile.boards[entry.key] = std::move(board);
  Lend(profile);
  return true;
}

void FleetBorrower::TakeReport(Profile& profile, const FleetEntry& entry) {
  for (auto& [place, board] : profile.boards) {
    if (!absl::EndsWith(entry.key, absl::StrCat("/", board.offer))) continue;
    const auto read = CheckBoardContent<v1::FleetReportContent>(
        options_.party, entry, options_.trust, profile.held.key.silicon_key);
    if (!read.ok() || read->public_key != board.public_key) {
      return Refuse(&Counts::refused_signature,
                    read.ok() ? absl::StrCat("what is at ", entry.key,
                                             " is of another node's key")
                              : std::string(read.status().message()));
    }
    const v1::FleetReportContent& report = read->content;
    if (report.number() <= board.number) {
      return Refuse(&Counts::refused_replayed,
                    absl::StrCat("what is at ", entry.key, " was there"));
    }
    std::string why;
    if (board.number != 0 && report.number() != board.number + 1)
      why = "a report of it is missing";
    // Jobs have given it up for good.
    if (board.device->silent()) why = "it was silent for too long";
    board.number = report.number();
    board.stream->Touch();
    for (const v1::AttachRequest& one : report.reports()) {
      const auto taken = board.device->Deliver(BatchOf(one), one);
      if (!taken.ok()) why = std::string(taken.status().message());
    }
    // By value: the board's own place goes with it.
    if (!why.empty()) Lose(profile, std::string(place), why);
    return;
  }
}

void FleetBorrower::LoseAll(Profile& profile, const std::string& why) {
  while (!profile.boards.empty())
    Lose(profile, std::string(profile.boards.begin()->first), why);
}

void FleetBorrower::Lose(Profile& profile, const std::string& place,
                         const std::string& why) {
  const auto found = profile.boards.find(place);
  if (found == profile.boards.end()) return;
  Board& board = found->second;
  board.device->Close(absl::StrCat("device ", board.device->device().uuid,
                                   " of node ", board.node, " is gone: ", why));
  options_.log(false,
               absl::StrCat("device ", board.device->device().uuid, " of node ",
                            board.node, " is not lent any more: ", why));
  profile.boards.erase(found);
  Lend(profile);
}

void FleetBorrower::Lend(const Profile& profile) {
  std::vector<std::shared_ptr<AgentDevice>> devices;
  for (const auto& [place, board] : profile.boards)
    devices.push_back(board.device);
  options_.lend(profile.held.job_id, std::move(devices));
}

void FleetBorrower::Refuse(int64_t Counts::*count, const std::string& why) {
  ++(counts_.*count);
  if (std::exchange(refused_, why) != why)
    options_.log(true, absl::StrCat("of a lent board is refused: ", why));
}

}  // namespace wavetune
