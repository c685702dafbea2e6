// wavetune fleet ...
#include <string>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/text_table.h"

namespace wavetune::cli {
namespace {

struct FleetOptions {
  bool fail_behind = false;
};

void PrintFleet(std::ostream& out, const v1::GetFleetResponse& fleet) {
  out << "node      " << fleet.node()
      << (fleet.publishes() ? "" : ", which has no key and publishes nothing")
      << "\nregistry  "
      << (fleet.outage().empty() ? "answers"
                                 : absl::StrCat("OUT OF REACH, this node "
                                                "serves what it has: ",
                                                fleet.outage()))
      << "\ntables    " << fleet.adopted() << " adopted, " << fleet.published()
      << " published, " << fleet.lost() << " lost to another node, "
      << fleet.restored() << " given back\nrefused   "
      << fleet.refused_signature() << " by signature, "
      << fleet.refused_replayed() << " older than what was accepted, "
      << fleet.refused_payload() << " by payload\n\n";
  if (!fleet.absent().empty()) out << "ABSENT    " << fleet.absent() << "\n\n";
  for (const v1::FleetProfileStatus& profile : fleet.profiles()) {
    if (profile.done()) continue;
    out << "profile   of " << profile.kernel() << " for class "
        << profile.fleet_class() << ": "
        << (profile.holder().empty()
                ? "nobody does it yet"
                : absl::StrCat("node ", profile.holder(), " does it"))
        << (profile.why().empty() ? "" : "; ") << profile.why() << "\n";
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
  TextTable table(
      {"CLASS", "KERNEL", "EPOCH", "TABLE", "NODE", "PUBLISHED", "BEHIND"});
  for (const v1::FleetHeadStatus& head : fleet.heads()) {
    const bool known = !head.digest().empty();
    table.AddRow({head.fleet_class(), head.kernel(),
                  known ? absl::StrCat(head.epoch()) : "-",
                  known ? ShortDigest(head.digest()) : "-",
                  known ? head.node() : "-",
                  known ? FormatTime(head.published_at_us()) : "-",
                  head.behind().empty() ? "-" : head.behind()});
  }
  table.Print(out,
              "no tables: nothing was published for a device of this "
              "node, wavetune reprofile does");
}

std::string TablesText(const v1::FleetSpread& spread) {
  std::string text;
  for (const v1::FleetSpreadTable& table : spread.tables()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", table.nodes(), " ",
                    ShortDigest(table.digest()));
  }
  return text.empty() ? "-" : text;
}

void PrintNodes(std::ostream& out, const v1::ListFleetNodesResponse& nodes) {
  out << "nodes     " << nodes.nodes();
  for (const v1::FleetVersion& version : nodes.versions())
    out << ", " << version.nodes() << " of version " << version.version();
  out << "\n\n";
  TextTable table({"CLASS", "KERNEL", "NODES TABLE", "BEHIND", "CAN PROFILE"});
  for (const v1::FleetSpread& spread : nodes.spreads()) {
    table.AddRow({spread.fleet_class(), spread.kernel(), TablesText(spread),
                  absl::StrCat(spread.behind()),
                  absl::StrCat(spread.measuring())});
  }
  table.Print(out, "no tables: no node serves one of the fleet");
  for (const v1::FleetSpread& spread : nodes.spreads()) {
    for (const v1::FleetNodeBehind& one : spread.examples()) {
      out << "behind    " << one.node() << ", kernel " << spread.kernel()
          << ": " << one.why() << "\n";
    }
  }
}

absl::Status RunFleetNodes(CommandContext& context) {
  ASSIGN_OR_RETURN(DaemonConnection daemon, context.Connect());
  ASSIGN_OR_RETURN(const v1::ListFleetNodesResponse nodes,
                   daemon.status->ListFleetNodes());
  if (context.json) {
    PrintJson(*context.out, ToJson(nodes));
  } else {
    PrintNodes(*context.out, nodes);
  }
  return absl::OkStatus();
}

absl::Status RunFleetStatus(CommandContext& context,
                            const FleetOptions& options) {
  ASSIGN_OR_RETURN(DaemonConnection daemon, context.Connect());
  ASSIGN_OR_RETURN(const v1::GetFleetResponse fleet, daemon.status->GetFleet());
  if (fleet.node().empty()) {
    return absl::FailedPreconditionError(
        "this node is in no fleet: start wavetuned with --fleet "
        "(docs/fleet.md)");
  }
  if (context.json) {
    PrintJson(*context.out, ToJson(fleet));
  } else {
    PrintFleet(*context.out, fleet);
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
}

}  // namespace wavetune::cli
