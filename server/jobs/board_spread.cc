#include "server/jobs/board_spread.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "server/jobs/device_leases.h"
#include "server/jobs/job_wait.h"

namespace wavetune {
namespace {

// How often boards that cannot go on are looked at again.
constexpr std::chrono::milliseconds kBoardPoll{200};
// Parts in a row of which a board did nothing before it is not asked again.
constexpr int kFruitlessParts = 3;

// Why a board cannot take a part now.
struct Obstacle {
  enum class Kind { kNone, kAway, kOut, kHot, kBusy, kTaken };
  Kind kind = Kind::kNone;
  std::string text;
};

Obstacle WhyNotNow(const JobServices& services, bool even_if_busy,
                   const std::string& uuid) {
  const auto executor = services.executors->Find(uuid, 0);
  if (executor == nullptr) {
    const std::string why = services.executors->WhyUnusable(uuid);
    return {Obstacle::Kind::kAway, why.empty() ? "has no agent" : why};
  }
  std::string hot = executor->WhyHot();
  if (!hot.empty()) return {Obstacle::Kind::kHot, std::move(hot)};
  std::string busy = even_if_busy ? "" : executor->AwaitIdle(0);
  if (!busy.empty()) return {Obstacle::Kind::kBusy, std::move(busy)};
  const uint64_t holder = services.leases->Holder(uuid);
  if (holder == 0) return {};
  return {Obstacle::Kind::kTaken, absl::StrCat("job ", holder, " uses it")};
}

class BoardSpread {
 public:
  BoardSpread(const JobServices& services, JobControl* control,
              const BoardWork& work, std::vector<BoardWork::Part> parts)
      : services_(services),
        control_(control),
        work_(work),
        job_id_(control->record().id),
        even_if_busy_(control->record().even_if_busy),
        parts_(std::make_move_iterator(parts.begin()),
               std::make_move_iterator(parts.end())) {}

  absl::Status Run();

 private:
  struct Board {
    std::thread thread;
    bool running = false;
    bool out = false;   // Not asked again.
    bool took = false;  // A part.
    int fruitless = 0;
    std::string why;  // Of the last part that failed.
  };
  using Obstacles = std::map<std::string, Obstacle>;

  // Starts every board that can take a part; returns what keeps the others.
  Obstacles StartBoards();
  // Adds what keeps BoardWork::others. Returns whether one could be used.
  bool AddOthers(Obstacles& obstacles) const;
  void Start(const std::string& uuid);
  // Runs parts on a board until there are none, or it cannot go on.
  void Serve(const std::string& uuid);
  bool Take(const std::string& uuid, BoardWork::Part* part);
  // Asks for more parts where none is left. Holds mutex_.
  void Refill();
  // Returns whether the board may take another part.
  bool Settle(const std::string& uuid, const BoardWork::Part& part,
              const BoardWork::Outcome& outcome);
  // Whether all has been done that will be.
  bool Done();
  // Says what the job waits for. Errors: it has waited for too long.
  absl::Status ShowWaiting(const Obstacles& obstacles, JobWait& wait);
  void Fail(const absl::Status& status);

  const JobServices& services_;
  JobControl* const control_;
  const BoardWork& work_;
  const uint64_t job_id_;
  const bool even_if_busy_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::deque<BoardWork::Part> parts_;
  std::map<std::string, Board> boards_;
  int running_ = 0;
  // Boards that run and have no part, but will look for one: no more of them
  // are started than there are parts.
  size_t unoccupied_ = 0;
  int finished_ = 0;
  bool stopping_ = false;
  absl::Status failure_;
  // Of the wait that goes on: until then a board was busy, for which there is
  // no limit. Of the job's thread.
  double excused_s_ = 0;
};

BoardSpread::Obstacles BoardSpread::StartBoards() {
  Obstacles obstacles;
  for (const std::string& uuid : work_.boards()) {
    {
      std::lock_guard lock(mutex_);
      if (running_ > 0) Refill();
      const Board& board = boards_[uuid];
      if (stopping_ || parts_.size() <= unoccupied_) break;
      if (board.running || (work_.once && board.took)) continue;
      if (board.out) {
        obstacles[uuid] = {Obstacle::Kind::kOut, board.why};
        continue;
      }
    }
    Obstacle obstacle = WhyNotNow(services_, even_if_busy_, uuid);
    if (obstacle.kind == Obstacle::Kind::kNone) {
      Start(uuid);
    } else {
      obstacles[uuid] = std::move(obstacle);
    }
  }
  return obstacles;
}

bool BoardSpread::AddOthers(Obstacles& obstacles) const {
  for (const std::string& uuid : work_.others()) {
    Obstacle obstacle = WhyNotNow(services_, even_if_busy_, uuid);
    if (obstacle.kind == Obstacle::Kind::kNone) return true;
    obstacles[uuid] = std::move(obstacle);
  }
  return false;
}

void BoardSpread::Start(const std::string& uuid) {
  std::thread before;
  {
    std::lock_guard lock(mutex_);
    Board& board = boards_[uuid];
    before = std::move(board.thread);
    board.running = true;
    ++running_;
    ++unoccupied_;
  }
  if (before.joinable()) before.join();
  try {
    std::thread thread = services_.start_thread([this, uuid] { Serve(uuid); });
    std::lock_guard lock(mutex_);
    boards_[uuid].thread = std::move(thread);
  } catch (const std::system_error& error) {
    services_.warn(absl::StrCat("no thread for device ", uuid, " of job ",
                                job_id_, ": ", error.what()));
    Serve(uuid);  // On this one, then.
  }
}

void BoardSpread::Serve(const std::string& uuid) {
  for (;;) {
    const DeviceLease lease = services_.leases->TryTake(uuid, job_id_);
    BoardWork::Part part;
    if (lease == nullptr || !Take(uuid, &part)) break;
    const bool goes_on = Settle(uuid, part, work_.run(uuid, part));
    std::lock_guard lock(mutex_);
    ++unoccupied_;
    if (!goes_on) break;
  }
  std::lock_guard lock(mutex_);
  --unoccupied_;
  boards_[uuid].running = false;
  --running_;
  changed_.notify_all();
}

void BoardSpread::Refill() {
  if (stopping_ || !parts_.empty() || work_.once) return;
  for (BoardWork::Part& part : work_.more()) parts_.push_back(std::move(part));
}

bool BoardSpread::Take(const std::string& uuid, BoardWork::Part* part) {
  std::lock_guard lock(mutex_);
  Refill();
  Board& board = boards_[uuid];
  if (stopping_ || parts_.empty() || (work_.once && board.took)) return false;
  const auto next =
      parts_.begin() + static_cast<ptrdiff_t>(work_.choose(uuid, parts_));
  *part = std::move(*next);
  parts_.erase(next);
  --unoccupied_;
  board.took = true;
  return true;
}

bool BoardSpread::Settle(const std::string& uuid, const BoardWork::Part& part,
                         const BoardWork::Outcome& outcome) {
  const absl::Status go_on = control_->CheckGoOn();
  if (!go_on.ok()) {
    Fail(go_on);
    return false;
  }
  const absl::Status& status = outcome.status;
  const bool pauses = absl::IsResourceExhausted(status);
  const bool lost = absl::IsUnavailable(status) || absl::IsCancelled(status);
  bool other_device = false;
  if (!status.ok() && !pauses && !lost) {
    const std::vector<std::string> boards = work_.boards();
    other_device =
        std::find(boards.begin(), boards.end(), uuid) == boards.end();
    if (!other_device) {
      Fail(status);
      return false;
    }
  }
  std::lock_guard lock(mutex_);
  Board& board = boards_[uuid];
  if (outcome.enough) stopping_ = true;
  if (status.ok()) {
    ++finished_;
    board.fruitless = 0;
    return !outcome.enough;
  }
  if (!work_.once && !outcome.left.empty()) parts_.push_front(outcome.left);
  board.why = std::string(status.message());
  board.fruitless =
      outcome.left.size() < part.size() || pauses ? 0 : board.fruitless + 1;
  board.out = other_device || board.fruitless >= kFruitlessParts;
  return false;
}

void BoardSpread::Fail(const absl::Status& status) {
  std::vector<std::string> running;
  {
    std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = status;
    stopping_ = true;
    for (const auto& [uuid, board] : boards_) {
      if (board.running) running.push_back(uuid);
    }
  }
  for (const std::string& uuid : running) work_.cancel(uuid);
}

bool BoardSpread::Done() {
  std::lock_guard lock(mutex_);
  if (running_ > 0) return false;
  return stopping_ || parts_.empty() ||
         (work_.once && (finished_ > 0 || !work_.at_least_one));
}

absl::Status BoardSpread::ShowWaiting(const Obstacles& obstacles,
                                      JobWait& wait) {
  const auto any = [&](Obstacle::Kind kind) {
    return std::any_of(obstacles.begin(), obstacles.end(),
                       [&](const auto& o) { return o.second.kind == kind; });
  };
  const std::string list = absl::StrJoin(
      obstacles, "; ", [](std::string* out, const auto& obstacle) {
        absl::StrAppend(out, obstacle.first, ": ", obstacle.second.text);
      });
  const std::string text =
      absl::StrCat("waiting for a device of its class: ",
                   list.empty() ? "none has an agent" : list);
  const bool busy = any(Obstacle::Kind::kBusy);
  if (busy || any(Obstacle::Kind::kTaken)) {
    wait.Show(absl::StrCat(
        text, busy ? "; reprofile with --even-if-busy to measure anyway" : ""));
    excused_s_ = wait.WaitedS();
    return absl::OkStatus();
  }
  const bool hot = any(Obstacle::Kind::kHot);
  if (!hot && !list.empty() && !any(Obstacle::Kind::kAway)) {
    return absl::UnavailableError(absl::StrCat(
        "every device of its class went away ", kFruitlessParts,
        " times without reporting anything (", list,
        "): look at the agent's log on their host, then reprofile again; what "
        "was measured is kept"));
  }
  const double limit_s = hot ? services_.hot_wait_s : services_.agent_wait_s;
  const double left_s = limit_s - (wait.WaitedS() - excused_s_);
  if (left_s > 0) {
    wait.Show(absl::StrCat(text, "; gives up in ", DurationText(left_s)));
    return absl::OkStatus();
  }
  const std::string why = absl::StrCat(
      "no device of its class could be used for ", DurationText(limit_s), " (",
      list.empty() ? "none has an agent" : list, "): ",
      hot ? "look at their cooling" : "look at the agent's log on their host",
      ", then reprofile again; what was measured is kept");
  return hot ? absl::FailedPreconditionError(why) : absl::UnavailableError(why);
}

absl::Status BoardSpread::Run() {
  JobWait wait(control_, services_.clock);
  for (;;) {
    const absl::Status go_on = control_->CheckGoOn();
    if (!go_on.ok()) Fail(go_on);
    Obstacles obstacles = StartBoards();
    if (Done()) break;
    std::unique_lock lock(mutex_);
    if (running_ > 0) {
      lock.unlock();
      wait.End();
      excused_s_ = 0;
      lock.lock();
      changed_.wait_for(lock, kBoardPoll);
      continue;
    }
    lock.unlock();
    if (AddOthers(obstacles)) break;
    const absl::Status waited = ShowWaiting(obstacles, wait);
    if (!waited.ok()) Fail(waited);
    services_.clock->Sleep(kBoardPoll);
  }
  for (auto& [uuid, board] : boards_) {
    if (board.thread.joinable()) board.thread.join();
  }
  return failure_;
}

}  // namespace

absl::Status SpreadOverBoards(const JobServices& services, JobControl* control,
                              const BoardWork& work,
                              std::vector<BoardWork::Part> parts) {
  return BoardSpread(services, control, work, std::move(parts)).Run();
}

}  // namespace wavetune
