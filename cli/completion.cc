#include "cli/completion.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/help_formatter.h"

namespace wavetune::cli {
namespace {

bool TakesValue(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

// Returns what has this name and takes a value; nullptr: nothing does.
const CLI::Option* TakerOf(const CLI::App& command, const std::string& name) {
  const CLI::Option* const option = command.get_option_no_throw(name);
  return option != nullptr && TakesValue(*option) ? option : nullptr;
}

const CLI::App* Inner(const CLI::App& command, const std::string& name) {
  for (const CLI::App* one :
       command.get_subcommands([](const CLI::App*) { return true; })) {
    if (one->get_name() == name) return one;
  }
  return nullptr;
}

}  // namespace

Completion Complete(const CLI::App& root, std::vector<std::string> words) {
  // Bash splits "--kernel=x" in three.
  if (!words.empty() && words.back() == "=") words.emplace_back();
  words.erase(std::remove(words.begin(), words.end(), "="), words.end());
  if (!words.empty() && words.front() == "help") words.erase(words.begin());
  if (words.empty()) words.emplace_back();
  const std::string typed = words.back();
  words.pop_back();

  const CLI::App* command = &root;
  const CLI::Option* taker = nullptr;  // What the next word is a value of.
  size_t positionals = 0;
  for (const std::string& word : words) {
    if (taker != nullptr) {
      taker = nullptr;
    } else if (absl::StartsWith(word, "-")) {
      taker = TakerOf(*command, word);
    } else if (const CLI::App* inner = Inner(*command, word)) {
      command = inner;
    } else {
      ++positionals;
    }
  }

  Completion result;
  result.typed = typed;
  const auto offer = [&](const std::string& word, const std::string& meaning) {
    if (absl::StartsWith(word, typed))
      result.candidates.push_back({word, Brief(meaning)});
  };
  if (taker != nullptr) {
    result.kernel = taker->check_lname("kernel");
  } else if (absl::StartsWith(typed, "-")) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames())
        offer(absl::StrCat("--", name), option->get_description());
    }
  } else {
    for (const CLI::App* one :
         command->get_subcommands([](const CLI::App*) { return true; }))
      offer(one->get_name(), one->get_description());
    const std::vector<const CLI::Option*> taken = command->get_options(
        [](const CLI::Option* option) { return option->get_positional(); });
    result.kernel = positionals == 0 && !taken.empty() &&
                    taken.front()->get_name(/*positional=*/true) == "KERNEL";
  }
  return result;
}

}  // namespace wavetune::cli
