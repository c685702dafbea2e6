// wavetune store backup|check|compact|retention|restore.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/format.h"
#include "cli/json.h"

namespace wavetune::cli {
namespace {

// Returns the last message of the work that `request` asks for. Progress goes
// to `err`: on a terminal only, as a script reads the result. Errors: the
// daemon's.
absl::StatusOr<v1::StoreProgress> Follow(
    CommandContext& context, const google::protobuf::Message& request) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  v1::StoreProgress last;
  RETURN_IF_ERROR(daemon->Follow<v1::StoreProgress>(
      request, [&](const v1::StoreProgress& progress) {
        last = progress;
        if (progress.done() || !context.terminal) return;
        for (const std::string& line : progress.lines())
          *context.err << line << "\n";
      }));
  return last;
}

absl::Status RunStoreWork(CommandContext& context,
                          const google::protobuf::Message& request) {
  ASSIGN_OR_RETURN(const v1::StoreProgress last, Follow(context, request));
  if (context.json) {
    PrintJson(*context.out, ToJson(last));
  } else {
    for (const std::string& line : last.lines()) *context.out << line << "\n";
  }
  if (last.faults() == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(last.faults(),
                   " faults: restore a backup (wavetune store restore says "
                   "how), or profile what is missing"));
}

// Of a check, which says what the daily look would do, that alone.
absl::Status RunRetention(CommandContext& context) {
  constexpr absl::string_view kPrefix = "the daily look ";
  ASSIGN_OR_RETURN(const v1::StoreProgress last,
                   Follow(context, v1::CheckStoreRequest()));
  std::vector<std::string> lines;
  for (const std::string& line : last.lines()) {
    if (absl::StartsWith(line, kPrefix))
      lines.push_back(line.substr(kPrefix.size()));
  }
  if (context.json) {
    PrintJson(*context.out, Json{{"would", lines}});
    return absl::OkStatus();
  }
  for (const std::string& line : lines) *context.out << line << "\n";
  if (lines.empty()) *context.out << "nothing is old enough to go\n";
  return absl::OkStatus();
}

struct StoreOptions {
  std::string from;
  bool dry_run = false;
};

// Nothing can be put in the place of a store that is in use.
absl::Status RunRestore(CommandContext& context, const StoreOptions& options) {
  std::string store = "/var/lib/wavetune";
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  const absl::StatusOr<v1::GetStatusResponse> status =
      daemon->Ask<v1::GetStatusResponse>(v1::GetStatusRequest());
  if (status.ok()) store = status->store_path();
  if (context.json) {
    PrintJson(
        *context.out,
        Json{{"daemon_runs", status.ok()},
             {"store", store},
             {"command", absl::StrCat("wavetuned restore --from ", options.from,
                                      " --store ", store)}});
    return absl::OkStatus();
  }
  *context.out << (status.ok()
                       ? "a store is restored while no daemon uses it: stop "
                         "this one first\n"
                       : "no daemon answers; where the store is another one, "
                         "give its folder\n")
               << "  systemctl stop wavetuned\n"
               << "  mv " << store << " " << store << ".before\n"
               << "  wavetuned restore --from " << options.from << " --store "
               << store << "\n"
               << "  chown -R --reference=" << store << ".before " << store
               << "\n"
               << "  systemctl start wavetuned\n";
  return absl::OkStatus();
}

}  // namespace

void AddStoreCommands(CommandRegistry& registry) {
  CLI::App* store = registry.AddGroup(
      "store",
      "Backs up, checks and compacts the daemon's store while it runs.");
  registry.Add(store, "backup",
               "Adds a backup to the daemon's folder for backups "
               "(wavetuned --backup-dir) and lists those that are kept.",
               {"wavetune store backup", "wavetune store backup --json"},
               [](CommandContext& context) {
                 return RunStoreWork(context, v1::BackUpStoreRequest());
               });
  registry.Add(store, "check",
               "Reads everything that is stored and says what is damaged.",
               {"wavetune store check"}, [](CommandContext& context) {
                 return RunStoreWork(context, v1::CheckStoreRequest());
               });
  registry.Add(store, "compact",
               "Rewrites the store's files, so that what was deleted takes no "
               "space.",
               {"wavetune store compact"}, [](CommandContext& context) {
                 return RunStoreWork(context, v1::CompactStoreRequest());
               });
  auto options = std::make_shared<StoreOptions>();
  CLI::App* retention = registry.Add(
      store, "retention",
      "Says what the daemon's daily look forgets (wavetuned "
      "--keep-tables-days, ...); it reads the whole store for that.",
      {"wavetune store retention --dry-run"}, RunRetention);
  retention->add_flag("--dry-run", options->dry_run,
                      "Change nothing; so it is without, too");
  CLI::App* restore =
      registry.Add(store, "restore", "Says how to restore a backup.",
                   {"wavetune store restore --from /backup/wavetune"},
                   [options](CommandContext& context) {
                     return RunRestore(context, *options);
                   });
  restore->add_option("--from", options->from, "Folder of the backups")
      ->required();
}

}  // namespace wavetune::cli
