// wavetune fleet ...
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "cli/commands/class_text.h"
#include "cli/commands/commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/text_table.h"

namespace wavetune::cli {
namespace {

// How long a rollback may take to serve on the node that ordered it.
constexpr int kServesLooks = 100;
constexpr std::chrono::milliseconds kServesLook{100};

struct FleetOptions {
  bool fail_behind = false;
  std::string kernel;
  std::string device;
  std::string digest;
  std::string reason;
  bool dry_run = false;

  v1::FleetPlace place() const {
    v1::FleetPlace place;
    place.set_kernel(kernel);
    place.set_device_uuid(device);
    return place;
  }
};

std::string RegistryText(const v1::GetFleetResponse& fleet) {
  if (fleet.outage().empty()) return "answers";
  return absl::StrCat(fleet.never_reached() ? "NEVER REACHED" : "OUT OF REACH",
                      ", this node serves what it has: ", fleet.outage());
}

// Names of classes; those of none where they cannot be had.
ClassNames NamesOfClasses(Daemon& daemon) {
  const auto devices =
      daemon.Ask<v1::ListDevicesResponse>(v1::ListDevicesRequest());
  const auto tables =
      daemon.Ask<v1::ListTablesResponse>(v1::ListTablesRequest());
  if (!devices.ok() || !tables.ok()) return {};
  return {*devices, *tables};
}

// What became of a profile, or who does it.
std::string ProfileText(const v1::FleetProfileStatus& profile) {
  if (profile.done()) {
    return absl::StrCat(
        "done by node ", profile.done_by(), ": ",
        profile.outcome().empty() ? "it says not how" : profile.outcome());
  }
  return absl::StrCat(profile.holder().empty()
                          ? "nobody does it yet"
                          : absl::StrCat("node ", profile.holder(), " does it"),
                      profile.why().empty() ? "" : "; ", profile.why());
}

void PrintFleet(Output& out, const v1::GetFleetResponse& fleet,
                const ClassNames& names) {
  out << "node      " << fleet.node()
      << (fleet.publishes() ? "" : ", which has no key and publishes nothing")
      << "\nregistry  " << RegistryText(fleet) << "\ntables    "
      << fleet.adopted() << " adopted, " << fleet.published() << " published, "
      << fleet.lost() << " lost to another node, " << fleet.restored()
      << " given back\nrefused   " << fleet.refused_signature()
      << " by signature, " << fleet.refused_replayed()
      << " older than what was accepted, " << fleet.refused_payload()
      << " by payload\n\n";
  if (!fleet.absent().empty()) out << "ABSENT    " << fleet.absent() << "\n\n";
  for (const v1::FleetProfileStatus& profile : fleet.profiles()) {
    out << "profile   of " << profile.kernel() << " for class "
        << profile.fleet_class() << ": " << ProfileText(profile) << "\n";
    if (profile.done()) continue;
    for (const v1::FleetNodeBehind& failure : profile.failures())
      out << "          failed on " << failure.node() << ": " << failure.why()
          << "\n";
  }
  for (const v1::FleetRolloutStatus& rollout : fleet.rollouts()) {
    out << "rollout   of " << rollout.kernel() << " for class "
        << rollout.fleet_class() << ", table " << ShortDigest(rollout.digest())
        << ": ";
    if (!rollout.halted().empty()) {
      out << "HALTED: " << rollout.halted() << "\n";
    } else {
      out << "stage " << rollout.stage() + 1 << " of " << rollout.stages_size()
          << ", " << rollout.stages(rollout.stage()) << " % of the nodes"
          << (rollout.driver().empty()
                  ? ""
                  : absl::StrCat(", driven by ", rollout.driver()))
          << "\n";
    }
  }
  TextTable table({"CLASS", "DEVICE", "KERNEL", "EPOCH", "TABLE", "NODE",
                   "PUBLISHED", "BEHIND"});
  for (const v1::FleetHeadStatus& head : fleet.heads()) {
    const bool known = !head.digest().empty();
    table.AddRow({head.fleet_class(),
                  names.Of(head.silicon_key(), head.environment_key()),
                  head.kernel(), known ? absl::StrCat(head.epoch()) : "-",
                  known ? ShortDigest(head.digest()) : "-",
                  known ? head.node() : "-",
                  known ? FormatTime(head.published_at_us()) : "-",
                  head.followed_only()    ? "no device of it here any more"
                  : head.behind().empty() ? "-"
                                          : head.behind()});
  }
  table.Print(out,
              "no tables: nothing was published for a device of this "
              "node, wavetune reprofile does");
  for (const v1::FleetHeadStatus& head : fleet.heads()) {
    if (head.frozen().empty()) continue;
    out << "kernel " << head.kernel() << " of class " << head.fleet_class()
        << " is " << head.frozen() << "; wavetune fleet unfreeze "
        << head.kernel() << " ends it\n";
  }
}

std::string TablesText(const v1::FleetSpread& spread) {
  std::string text;
  for (const v1::FleetSpreadTable& table : spread.tables()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", table.nodes(), " ",
                    ShortDigest(table.digest()));
  }
  return text.empty() ? "-" : text;
}

// Names of classes by their hash: those that this node knows.
using NamesByClass = std::map<std::string, std::string>;

NamesByClass NamesByHash(Daemon& daemon) {
  const ClassNames names = NamesOfClasses(daemon);
  NamesByClass by_hash;
  const auto fleet = daemon.Ask<v1::GetFleetResponse>(v1::GetFleetRequest());
  if (!fleet.ok()) return by_hash;
  for (const v1::FleetHeadStatus& head : fleet->heads()) {
    if (!head.silicon_key().empty())
      by_hash[head.fleet_class()] =
          names.Of(head.silicon_key(), head.environment_key());
  }
  return by_hash;
}

void PrintNodes(Output& out, const v1::ListFleetNodesResponse& nodes,
                const NamesByClass& names) {
  out << "nodes     " << nodes.nodes();
  for (const v1::FleetVersion& version : nodes.versions())
    out << ", " << version.nodes() << " of version " << version.version();
  out << "\n\n";
  TextTable table(
      {"CLASS", "DEVICE", "KERNEL", "NODES TABLE", "BEHIND", "CAN PROFILE"});
  for (const v1::FleetSpread& spread : nodes.spreads()) {
    const auto name = names.find(spread.fleet_class());
    table.AddRow({spread.fleet_class(),
                  name == names.end() ? "-" : name->second, spread.kernel(),
                  TablesText(spread), absl::StrCat(spread.behind()),
                  absl::StrCat(spread.measuring())});
  }
  table.Print(out, "no tables: no node serves one of the fleet");
  const bool all_named =
      std::all_of(nodes.spreads().begin(), nodes.spreads().end(),
                  [&](const v1::FleetSpread& spread) {
                    return names.contains(spread.fleet_class());
                  });
  if (!all_named)
    out << "-: this node has no device of the class; wavetune fleet nodes on a "
           "node that has one names it\n";
  for (const v1::FleetSpread& spread : nodes.spreads()) {
    for (const v1::FleetNodeBehind& one : spread.examples()) {
      out << "behind    " << one.node() << ", kernel " << spread.kernel()
          << ": " << one.why() << "\n";
    }
  }
}

absl::Status RunFleetNodes(CommandContext& context) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  ASSIGN_OR_RETURN(
      const v1::ListFleetNodesResponse nodes,
      daemon->Ask<v1::ListFleetNodesResponse>(v1::ListFleetNodesRequest()));
  if (context.json) {
    PrintJson(*context.out, ToJson(nodes));
  } else {
    PrintNodes(*context.out, nodes, NamesByHash(*daemon));
  }
  return absl::OkStatus();
}

absl::Status RunFleetStatus(CommandContext& context,
                            const FleetOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  ASSIGN_OR_RETURN(const v1::GetFleetResponse fleet,
                   daemon->Ask<v1::GetFleetResponse>(v1::GetFleetRequest()));
  if (fleet.node().empty()) {
    return absl::FailedPreconditionError(
        "this node is in no fleet: start wavetuned with --fleet "
        "(docs/fleet.md)");
  }
  if (context.json) {
    PrintJson(*context.out, ToJson(fleet));
  } else {
    PrintFleet(*context.out, fleet, NamesOfClasses(*daemon));
  }
  if (!options.fail_behind) return absl::OkStatus();
  if (!fleet.outage().empty())
    return absl::UnavailableError("the registry is out of reach");
  for (const v1::FleetHeadStatus& head : fleet.heads()) {
    if (!head.behind().empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "kernel ", head.kernel(), " is behind: ", head.behind()));
    }
  }
  return absl::OkStatus();
}

// What is the fleet's now.
template <typename Response>
std::string NameOf(const std::string& kernel, const Response& response) {
  return absl::StrCat("table ", ShortDigest(response.digest()), " of kernel ",
                      kernel, " is the fleet's for class ",
                      response.fleet_class(), ", epoch ", response.epoch());
}

absl::Status RunPublish(CommandContext& context, const FleetOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  v1::PublishToFleetRequest request;
  *request.mutable_place() = options.place();
  request.set_reason(options.reason);
  ASSIGN_OR_RETURN(const v1::PublishToFleetResponse response,
                   daemon->Ask<v1::PublishToFleetResponse>(request));
  if (context.json) {
    PrintJson(*context.out, ToJson(response));
  } else {
    *context.out << NameOf(options.kernel, response)
                 << ": every node of the class follows\n";
  }
  return absl::OkStatus();
}

absl::Status RunFreeze(CommandContext& context, const FleetOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  v1::FreezeInFleetRequest request;
  *request.mutable_place() = options.place();
  request.set_reason(options.reason);
  ASSIGN_OR_RETURN(const v1::FreezeInFleetResponse response,
                   daemon->Ask<v1::FreezeInFleetResponse>(request));
  if (context.json) {
    PrintJson(*context.out, ToJson(response));
  } else {
    *context.out << "the fleet's table of kernel " << options.kernel
                 << " is frozen: jobs go on, but none moves it until wavetune "
                    "fleet unfreeze "
                 << options.kernel << "\n";
  }
  return absl::OkStatus();
}

absl::Status RunUnfreeze(CommandContext& context, const FleetOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  v1::UnfreezeInFleetRequest request;
  *request.mutable_place() = options.place();
  ASSIGN_OR_RETURN(const v1::UnfreezeInFleetResponse response,
                   daemon->Ask<v1::UnfreezeInFleetResponse>(request));
  if (context.json) {
    PrintJson(*context.out, ToJson(response));
  } else {
    *context.out << "the fleet's table of kernel " << options.kernel
                 << " is not frozen any more: what jobs promoted meanwhile is "
                    "published now\n";
  }
  return absl::OkStatus();
}

// Waits until this node has taken what it ordered. Errors: DEADLINE_EXCEEDED
// with why it has not.
absl::Status AwaitHead(Daemon& daemon, const std::string& kernel,
                       const v1::RollBackFleetResponse& ordered) {
  std::string behind;
  for (int look = 0; look < kServesLooks; ++look) {
    if (look > 0) SystemClock().Sleep(kServesLook);
    ASSIGN_OR_RETURN(const v1::GetFleetResponse fleet,
                     daemon.Ask<v1::GetFleetResponse>(v1::GetFleetRequest()));
    for (const v1::FleetHeadStatus& head : fleet.heads()) {
      if (head.kernel() != kernel ||
          head.fleet_class() != ordered.fleet_class())
        continue;
      behind = head.behind();
      if (head.epoch() >= ordered.epoch() && behind.empty())
        return absl::OkStatus();
    }
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "the fleet has it, and this node does not serve it yet",
      behind.empty() ? "" : ": ", behind, ": see wavetune fleet status"));
}

void PrintRollBack(Output& out, const FleetOptions& options,
                   const v1::RollBackFleetResponse& response) {
  if (options.dry_run) {
    out << "would "
        << (response.halted()
                ? "halt the rollout that is under way, keep "
                : absl::StrCat("take ", ShortDigest(response.replaced()),
                               " back, serve "))
        << "table " << ShortDigest(response.digest()) << " of kernel "
        << options.kernel << " on every node of class "
        << response.fleet_class() << ", and freeze it\n";
    return;
  }
  if (response.halted()) out << "the rollout that was under way is halted; ";
  out << NameOf(options.kernel, response);
  if (response.halted()) out << " as before";
  if (!response.replaced().empty())
    out << ", in the place of " << ShortDigest(response.replaced());
  out << ", and frozen: jobs go on, but none moves it until wavetune fleet "
         "unfreeze "
      << options.kernel << "\n";
}

absl::Status RunRollBack(CommandContext& context, const FleetOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  v1::RollBackFleetRequest request;
  *request.mutable_place() = options.place();
  request.set_digest(options.digest);
  request.set_reason(options.reason);
  request.set_dry_run(options.dry_run);
  ASSIGN_OR_RETURN(const v1::RollBackFleetResponse response,
                   daemon->Ask<v1::RollBackFleetResponse>(request));
  if (context.json) {
    PrintJson(*context.out, ToJson(response));
  } else {
    PrintRollBack(*context.out, options, response);
  }
  if (options.dry_run) return absl::OkStatus();
  RETURN_IF_ERROR(AwaitHead(*daemon, options.kernel, response));
  if (!context.json)
    *context.out << "it serves here; every node of the class follows\n";
  return absl::OkStatus();
}

void AddPlace(CLI::App* command, const std::shared_ptr<FleetOptions>& options) {
  command->add_option("KERNEL", options->kernel, "Kernel")->required();
  command->add_option("--device", options->device,
                      "UUID of a device of the class, where the devices of "
                      "this node are of several");
}

void AddReason(CLI::App* command,
               const std::shared_ptr<FleetOptions>& options) {
  command->add_option("--reason,--why", options->reason, "Why; kept and shown");
}

void AddFleetControls(CommandRegistry& registry, CLI::App* fleet,
                      const std::shared_ptr<FleetOptions>& options) {
  CLI::App* const publish = registry.Add(
      fleet, "publish",
      "Makes what serves here the fleet's table, also where it was imported, "
      "shipped or rolled back to",
      {"wavetune fleet publish gemm_f32",
       "wavetune fleet publish gemm_f32 --device GPU-1 --reason 'from the "
       "lab'"},
      [options](CommandContext& context) {
        return RunPublish(context, *options);
      });
  AddPlace(publish, options);
  AddReason(publish, options);
  CLI::App* const freeze = registry.Add(
      fleet, "freeze",
      "Keeps the fleet's table of a kernel: no node publishes another",
      {"wavetune fleet freeze gemm_f32 --reason 'release week'"},
      [options](CommandContext& context) {
        return RunFreeze(context, *options);
      });
  AddPlace(freeze, options);
  AddReason(freeze, options);
  CLI::App* const unfreeze = registry.Add(
      fleet, "unfreeze", "Ends a freeze, also that of a rollback",
      {"wavetune fleet unfreeze gemm_f32"}, [options](CommandContext& context) {
        return RunUnfreeze(context, *options);
      });
  AddPlace(unfreeze, options);
  CLI::App* const rollback = registry.Add(
      fleet, "rollback",
      "Makes an earlier table of the fleet serve on every node of the class, "
      "or halts the rollout that is under way, and freezes it",
      {"wavetune fleet rollback gemm_f32 --reason 'slower in production'",
       "wavetune fleet rollback gemm_f32 --dry-run",
       "wavetune fleet rollback gemm_f32 --to 3f9a04c1d2e5"},
      [options](CommandContext& context) {
        return RunRollBack(context, *options);
      });
  AddPlace(rollback, options);
  rollback->add_option("--to", options->digest,
                       "Digest, or its first digits, of a table that was the "
                       "fleet's; default: the one before what it has");
  rollback->add_flag("--dry-run", options->dry_run,
                     "Say what would serve, and change nothing");
  AddReason(rollback, options);
}

}  // namespace

void AddFleetCommands(CommandRegistry& registry) {
  CLI::App* const fleet =
      registry.AddGroup("fleet", "Tables of a whole fleet (docs/fleet.md)");
  auto options = std::make_shared<FleetOptions>();
  CLI::App* const status = registry.Add(
      fleet, "status",
      "Shows what the fleet serves for the devices of this node, and where "
      "this node is behind and why",
      {"wavetune fleet status", "wavetune fleet status --fail-behind --json"},
      [options](CommandContext& context) {
        return RunFleetStatus(context, *options);
      });
  registry.Add(fleet, "nodes",
               "Shows what the nodes of the fleet serve, how many are behind "
               "and why",
               {"wavetune fleet nodes", "wavetune fleet nodes --json"},
               [](CommandContext& context) { return RunFleetNodes(context); });
  status->add_flag("--fail-behind", options->fail_behind,
                   "Exit code 1 where the registry is out of reach or a "
                   "kernel is behind");
  AddFleetControls(registry, fleet, options);
}

}  // namespace wavetune::cli
