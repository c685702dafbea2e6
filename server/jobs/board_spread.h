// SpreadOverBoards: has boards do parts of a job's work, each on a thread of
// its own, until all parts are done.
//
// An idle board takes the next part, or one that it chooses. One that is lost,
// used by others, hot or taken by another job gives back what it has not done,
// and is asked again when it can be used. While no board can, the job says what
// it waits for.
//
// Thread safety: one call at a time for a job; `boards` and `run` are called
// from threads of the call.
#ifndef WAVETUNE_SERVER_JOBS_BOARD_SPREAD_H_
#define WAVETUNE_SERVER_JOBS_BOARD_SPREAD_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_services.h"
#include "server/store/records.h"

namespace wavetune {

struct BoardWork {
  using Part = std::vector<size_t>;

  // What became of a part on a board.
  struct Outcome {
    absl::Status status;
    std::vector<size_t> left;  // Items of the part that are not done.
    bool enough = false;       // Nobody need go on: the budget is spent.
  };

  // Which devices may take parts now, by UUID, used by others or not. The
  // first are asked first.
  std::function<std::vector<std::string>()> boards;
  // Does a part on a board. Errors: UNAVAILABLE, CANCELLED, RESOURCE_EXHAUSTED:
  // the board cannot go on now; others end the call, unless the board is none
  // of `boards` any more.
  std::function<Outcome(const std::string& uuid, const Part& part)> run;
  // Returns which of the parts that are left a board takes next. Must not call
  // anything of the spread's.
  std::function<size_t(const std::string& uuid, const std::deque<Part>& left)>
      choose =
          [](const std::string&, const std::deque<Part>&) { return size_t{0}; };
  // Returns further parts where an idle board finds none left while others are
  // at theirs; nothing: there are none yet. As `choose`.
  std::function<std::vector<Part>()> more = [] { return std::vector<Part>(); };
  // Ends what a board runs.
  std::function<void(const std::string& uuid)> cancel;
  // Who is none of `boards`, and should be asked where none of them can go on:
  // the call returns with parts left once one of these could be used. The job
  // says what keeps them as well.
  std::function<std::vector<std::string>()> others = [] {
    return std::vector<std::string>();
  };
  // Each board does one part at most, and the call ends with the last that
  // could begin.
  bool once = false;
  // With `once`: waits until one board has done its part.
  bool at_least_one = true;
};

// Errors: CANCELLED; those of `run`; UNAVAILABLE where no board has an agent
// for JobServices::agent_wait_s, or all keep going away; FAILED_PRECONDITION
// where all stay hot for JobServices::hot_wait_s.
absl::Status SpreadOverBoards(const JobServices& services, JobControl* control,
                              const BoardWork& work,
                              std::vector<BoardWork::Part> parts);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_BOARD_SPREAD_H_
