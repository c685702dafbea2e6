// Completion: what may follow in a command line that is being typed.
//
// Shells ask the program itself, `wavetune __complete WORD...`, so that what
// they offer is what it takes; deploy/completion has their side.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLI_COMPLETION_H_
#define WAVETUNE_CLI_COMPLETION_H_

#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"

namespace wavetune::cli {

// The word that asks; no command of its own.
inline constexpr char kCompleteWord[] = "__complete";

struct Completion {
  struct Candidate {
    std::string word;
    std::string meaning;
  };
  // Sorted as the help is. Empty: the shell offers files.
  std::vector<Candidate> candidates;
  // The name of a kernel is wanted, which a daemon knows, and begins with this.
  bool kernel = false;
  std::string typed;
};

// Returns what the last of `words` (without the program's) may become: options
// where it begins with a dash, else commands. Cannot fail.
Completion Complete(const CLI::App& root, std::vector<std::string> words);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMPLETION_H_
