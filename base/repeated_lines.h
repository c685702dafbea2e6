// RepeatedLines: what a log does not say a thousand times.
//
//   for (const std::string& line : lines.Admit("utf8", text, now_us))
//   Write(line);
//
// The first line of a kind is written; those of the same kind that follow
// within the interval are counted, and then summed up in one line: "...
// repeated 1,234 times in 10 s". Where there are too many kinds, those beyond
// are: "... and 1,234 more lines in 10 s".
//
// Why kinds: who provokes a line often chooses some of its text, so equal texts
// are not what makes a repetition. A kind is the place that the line comes
// from.
//
// Memory: bounded, whatever comes. Thread safety: for one thread at a time.
#ifndef WAVETUNE_BASE_REPEATED_LINES_H_
#define WAVETUNE_BASE_REPEATED_LINES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace wavetune {

class RepeatedLines {
 public:
  static constexpr int64_t kIntervalUs = 10'000'000;
  // Kinds told apart; what comes beyond is of one kind.
  static constexpr size_t kMaxKinds = 64;
  // Bytes of a text in a summary; longer ones are cut off.
  static constexpr size_t kMaxBytes = 1024;

  // Returns the lines to write now: none, or a summary of earlier ones, the
  // text, or both. `now_us` never goes back. Cannot fail.
  std::vector<std::string> Admit(absl::string_view kind, absl::string_view text,
                                 int64_t now_us);

  // Returns the summaries whose interval is over. Cannot fail.
  std::vector<std::string> Due(int64_t now_us);

  // Returns all summaries, however young: at the end.
  std::vector<std::string> Rest(int64_t now_us);

  // Whether lines wait to be summed up.
  bool pending() const;

 private:
  struct Seen {
    std::string text;
    int64_t since_us = 0;
    int64_t repeats = 0;
  };

  std::vector<std::string> Take(int64_t now_us, int64_t least_age_us);

  std::map<std::string, Seen> seen_;  // By kind.
};

}  // namespace wavetune

#endif  // WAVETUNE_BASE_REPEATED_LINES_H_
