// HelpFormatter: help texts, wrapped at a width.
//
// Examples and the footer stay as they are: they are copied.
//
// Thread safety: immutable.
#ifndef WAVETUNE_CLI_HELP_FORMATTER_H_
#define WAVETUNE_CLI_HELP_FORMATTER_H_

#include <cstddef>
#include <string>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"

namespace wavetune::cli {

// Returns the first sentence or clause of a description: what lists of commands
// have, and shells beside words.
std::string Brief(const std::string& description);

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(size_t width) : width_(width) {
    label("SUBCOMMAND", "COMMAND");
  }

  std::string make_description(const CLI::App* app) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_option(const CLI::Option* option,
                          bool is_positional) const override;

 private:
  // A row: a name, and what it means in the second column.
  std::string Row(const std::string& name, const std::string& meaning) const;

  const size_t width_;
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_HELP_FORMATTER_H_
