// OptionSources: an option's value comes from the command line, else from the
// environment, else from the configuration file, else it is the default.
//
// The file is one for daemon and agent:
//
//   # What stands after a '#' at a line's beginning, or after a space, is a
//   # comment.
//   [daemon]
//   budget = 60
//   kernels-dir = /usr/share/wavetune/kernels
//   kernels-dir = /srv/kernels   # may stand again
//
// It names paths that programs run from and groups that are let in, so only
// root and the process's user may be able to change it. CLI11 would apply it
// before the environment, so its values go to the options that are still
// without one once CLI11 has parsed (docs/decisions/0057).
//
//   CLI::App app;
//   Declare(app, arguments);
//   OptionSources sources(app, "daemon", "WAVETUNE_");
//   app.parse(argc, argv);
//   RETURN_IF_ERROR(sources.ApplyFile());
//   std::cout << sources.Text();       // --print-config
//
// Thread safety: one thread. Includes CLI11.
#ifndef WAVETUNE_BASE_OPTION_SOURCES_H_
#define WAVETUNE_BASE_OPTION_SOURCES_H_

#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace wavetune {

// Where the units look for it (deploy/systemd).
inline constexpr char kConfigPath[] = "/etc/wavetune/wavetune.conf";
// The sections of the file: a program takes one, and knows the others.
inline const std::vector<std::string>& ConfigSections() {
  static const std::vector<std::string> sections = {"daemon", "agent"};
  return sections;
}

class OptionSources {
 public:
  // Takes all options of `app` itself (not of its subcommands) that have a
  // long name, but those of `not_in_file` and help and version. Gives each of
  // them that has none a variable of the environment, `prefix` + its name.
  // Declares --config, --print-config and --check-config. A flag whose
  // default is true says so itself (default_str). Before parsing; `app`
  // outlives it.
  OptionSources(CLI::App& app, std::string section, absl::string_view prefix,
                const std::vector<std::string>& not_in_file = {});

  // Gives options without a value what the file of --config says, after
  // parsing; a key without a value says nothing. Without --config does nothing.
  // Errors: as ReadOwnInputFile; INVALID_ARGUMENT with path and line for an
  // unknown section or key. INVALID_ARGUMENT with the path for a value that its
  // option does not take, also where a flag or variable wins.
  absl::Status ApplyFile();

  // Whether only the configuration is wanted, not the program.
  bool print() const { return print_; }
  bool check() const { return check_; }
  const std::string& path() const { return path_; }

  // Returns the section as a file would say it, with the source of each value
  // as a comment. What it says can be read as a file again.
  std::string Text() const;

  // Returns each option's value as text, by its name without dashes; lists one
  // a line.
  std::map<std::string, std::string> Values() const;

 private:
  struct Taken {
    std::string name;
    CLI::Option* option;
    bool from_file;  // Its value is the file's.
  };

  Taken* Find(const std::string& key);
  absl::Status ApplyText(absl::string_view text);
  // Takes a line without its comment into `section`, or `values`.
  absl::Status TakeLine(absl::string_view line, std::string& section,
                        std::map<Taken*, std::vector<std::string>>& values);
  absl::Status ApplyValues(Taken& taken,
                           const std::vector<std::string>& values);
  std::string SourceOf(const Taken& taken) const;

  CLI::App& app_;
  const std::string section_;
  std::vector<Taken> taken_;
  std::string path_;
  bool print_ = false;
  bool check_ = false;
};

// Declares the options of a service's log, --log-level and --log-format: what
// ParseLogLevel and ParseLogFormat take. The texts have the defaults.
void DeclareLogOptions(CLI::App& app, std::string* level, std::string* format);

// The names of the options whose values differ.
struct ConfigChange {
  std::vector<std::string> taken;        // Now in use.
  std::vector<std::string> for_restart;  // In use after the next start.
};

// Compares what OptionSources::Values has returned before and now. `reloadable`
// are the options that may change while the program runs.
ConfigChange CompareConfig(const std::map<std::string, std::string>& before,
                           const std::map<std::string, std::string>& now,
                           const std::vector<std::string>& reloadable);

// Returns what to say of it: "log-level is now debug; store takes a restart".
std::string TextOf(const ConfigChange& change,
                   const std::map<std::string, std::string>& now);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_OPTION_SOURCES_H_
