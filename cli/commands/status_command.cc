// wavetune status, wavetune devices.
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/fleet_text.h"
#include "cli/commands/job_text.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/text_table.h"
#include "model/kernel/throttling.h"
#include "proto/wavetune/v1/usage_service.pb.h"

namespace wavetune::cli {
namespace {

double Total(const v1::SourceCounts& counts) {
  return counts.fitted() + counts.wide_bound() + counts.extrapolated() +
         counts.stale() + counts.default_configuration();
}

std::string Count(double decisions) {
  return absl::StrFormat("%.0f", decisions);
}

void AddCounts(const std::string& kernel, const std::string& device,
               const v1::SourceCounts& counts, const std::string& uncertain,
               const std::string& refined, TextTable* table) {
  const double total = Total(counts);
  const auto share = [total](double decisions) {
    return total > 0 ? FormatPercent(decisions / total) : std::string("-");
  };
  table->AddRow({kernel, device, Count(total), share(counts.fitted()),
                 share(counts.wide_bound()), share(counts.extrapolated()),
                 share(counts.stale()), share(counts.default_configuration()),
                 uncertain, refined});
}

void AddKernel(const v1::KernelUsage& usage, TextTable* table) {
  const std::string device =
      usage.device_label().empty() ? usage.silicon_key() : usage.device_label();
  const std::string uncertain = usage.decisions_with_table() > 0
                                    ? FormatPercent(usage.uncertain_share())
                                    : "-";
  AddCounts(usage.kernel(), device, usage.counts(), uncertain,
            FormatTime(usage.refined_at_us()), table);
  if (usage.specialisations_size() < 2) return;
  for (const v1::SpecialisationUsage& one : usage.specialisations()) {
    AddCounts(absl::StrCat("  ", one.specialisation()), "", one.counts(), "",
              "", table);
  }
}

// Prints decisions by source, a row per kernel and kind of device (and per
// specialisation, where there are several), and the problems asked for most.
void PrintUsage(Output& out, const v1::GetUsageResponse& usage) {
  TextTable counts({"USE OF", "DEVICE", "DECISIONS", "FITTED", "WIDE BOUND",
                    "EXTRAPOLATED", "STALE", "DEFAULT", "UNCERTAIN NOW",
                    "REFINED"});
  TextTable problems({"ASKED FOR", "DECISIONS", "SHARE", "PROBLEM"});
  for (const v1::KernelUsage& kernel : usage.kernels()) {
    AddKernel(kernel, &counts);
    const double total = Total(kernel.counts());
    for (const v1::UsedProblem& used : kernel.problems()) {
      problems.AddRow(
          {kernel.kernel(), Count(used.decisions()),
           total > 0 ? FormatPercent(used.decisions() / total) : "-",
           FormatProblem(used.problem())});
    }
  }
  counts.Print(out, "no use reported yet");
  if (usage.kernels().empty()) return;
  out << "\n";
  problems.Print(out, "no problems reported yet");
}

// Jobs shown in `status`.
constexpr int32_t kRecentJobs = 5;

void PrintDaemon(Output& out, const v1::GetStatusResponse& status,
                 const std::optional<v1::GetFleetResponse>& fleet,
                 const std::string& endpoint) {
  out << "daemon   wavetuned " << status.version() << " at " << endpoint
      << ", up " << FormatSeconds(status.uptime_s()) << ", "
      << FormatBytes(status.resident_bytes()) << " resident, "
      << status.watchers() << " watchers\n"
      << "store    " << status.store_path() << ", id " << status.store_id()
      << ", schema " << status.schema_version() << ", revision "
      << status.revision() << "\n"
      << "samples  " << status.samples() << " ("
      << FormatBytes(status.samples_bytes()) << ")";
  if (status.corrupt_entries() > 0)
    out << ", " << status.corrupt_entries()
        << " CORRUPT ENTRIES skipped: the daemon's log names them";
  if (!status.store_problem().empty())
    out << "\nNOTHING CAN BE STORED: " << status.store_problem();
  out << "\ndevices  " << status.devices_attached() << " attached of "
      << status.devices_known() << " known\n"
      << "kernels  " << status.kernels() << "\n"
      << "jobs     " << status.jobs_running() << " running, "
      << status.jobs_queued() << " queued\n"
      << "tables   " << status.tables();
  if (!status.table_set_digest().empty())
    out << ", set " << ShortDigest(status.table_set_digest());
  if (status.tables_withdrawn() > 0)
    out << ", " << status.tables_withdrawn()
        << " WITHDRAWN: their kernels compute wrong results";
  if (fleet) out << "\nfleet    " << FleetLine(*fleet);
  out << "\n";
}

std::string Clock(const v1::DeviceState& state) {
  return state.sm_clock_mhz() > 0 ? absl::StrCat(state.sm_clock_mhz(), " MHz")
                                  : "-";
}

std::string Utilisation(const v1::DeviceState& state) {
  return state.has_utilisation_percent()
             ? absl::StrCat(state.utilisation_percent(), "%")
             : "-";
}

std::string Others(const v1::DeviceState& state) {
  return state.has_other_processes() ? absl::StrCat(state.other_processes())
                                     : "-";
}

// "attached, throttled (hardware thermal slowdown), busy", "attached, left out
// of profiles: it is hot: ..." or "silent for 34 s".
std::string StateOf(const v1::DeviceStatus& device) {
  if (!device.problem().empty())
    return absl::StrCat("unusable: ", device.problem());
  if (!device.attached()) return "not attached";
  if (device.silent_s() > 0)
    return absl::StrCat("silent for ", static_cast<int64_t>(device.silent_s()),
                        " s: is its agent stopped, or the host overloaded?");
  const v1::DeviceState& state = device.state();
  std::string text = "attached";
  if (IsThrottled(state.throttle_reasons()))
    absl::StrAppend(&text, ", throttled (",
                    ThrottleText(state.throttle_reasons()), ")");
  if (!state.busy().empty()) absl::StrAppend(&text, ", busy");
  if (!device.left_out().empty())
    absl::StrAppend(&text, ", left out of profiles: ", device.left_out());
  if (!device.unrated().empty())
    absl::StrAppend(&text, ", not yet rated: ", device.unrated());
  return text;
}

void PrintDevices(Output& out, const v1::ListDevicesResponse& devices) {
  TextTable table({"UUID", "LABEL", "BACKEND", "ARCH", "MP", "MEMORY", "MIG",
                   "DRIVER", "CLOCK", "UTIL", "OTHERS", "STATE"});
  for (const v1::DeviceStatus& device : devices.devices()) {
    const v1::DeviceFacts& facts = device.facts();
    table.AddRow(
        {facts.uuid(), facts.label(), facts.backend(), facts.architecture(),
         absl::StrCat(facts.multiprocessors()),
         facts.memory_bytes() == 0 ? "-" : FormatBytes(facts.memory_bytes()),
         facts.partition().empty() ? "-" : facts.partition(), facts.driver(),
         Clock(device.state()), Utilisation(device.state()),
         Others(device.state()), StateOf(device)});
  }
  table.Print(out, "no devices: start wavetune-agent on this node");
  for (const std::string& problem : devices.agent_problems()) {
    out << "! " << problem << "\n";
  }
}

struct StatusOptions {
  bool fail_stale = false;
};

absl::Status RunStatus(CommandContext& context, const StatusOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  ASSIGN_OR_RETURN(v1::GetStatusResponse status,
                   daemon->Ask<v1::GetStatusResponse>(v1::GetStatusRequest()));
  ASSIGN_OR_RETURN(
      v1::ListDevicesResponse devices,
      daemon->Ask<v1::ListDevicesResponse>(v1::ListDevicesRequest()));
  ASSIGN_OR_RETURN(v1::ListJobsResponse jobs, ListJobs(*daemon, kRecentJobs));
  ASSIGN_OR_RETURN(
      v1::ListTablesResponse tables,
      daemon->Ask<v1::ListTablesResponse>(v1::ListTablesRequest()));
  ASSIGN_OR_RETURN(
      v1::ListKernelsResponse kernels,
      daemon->Ask<v1::ListKernelsResponse>(v1::ListKernelsRequest()));
  // An older daemon knows of no use.
  absl::StatusOr<v1::GetUsageResponse> usage =
      daemon->Ask<v1::GetUsageResponse>(v1::GetUsageRequest());
  if (absl::IsUnimplemented(usage.status())) usage = v1::GetUsageResponse();
  RETURN_IF_ERROR(usage.status());
  ASSIGN_OR_RETURN(const std::optional<v1::GetFleetResponse> fleet,
                   FleetOf(*daemon));
  Output& out = *context.out;
  if (context.json) {
    Json json = ToJson(status);
    json["endpoint"] = context.Endpoint();
    json["device_list"] = ToJson(devices)["devices"];
    json["job_list"] = ToJson(jobs)["jobs"];
    json["table_list"] = ToJson(tables)["tables"];
    json["withdrawn_list"] = ToJson(tables)["withdrawn"];
    json["left_out_list"] = ToJson(tables)["left_out"];
    json["usage"] = ToJson(*usage);
    if (fleet) json["fleet"] = ToJson(*fleet);
    PrintJson(out, json);
    return options.fail_stale ? CheckStale(tables) : absl::OkStatus();
  }
  PrintDaemon(out, status, fleet, context.Endpoint());
  out << "\n";
  PrintDevices(out, devices);
  out << "\n";
  PrintTableList(out, tables);
  PrintKernelFaults(out, kernels);
  out << "\n";
  PrintJobList(out, jobs);
  out << "\n";
  PrintUsage(out, *usage);
  return options.fail_stale ? CheckStale(tables) : absl::OkStatus();
}

absl::Status RunDevices(CommandContext& context) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  ASSIGN_OR_RETURN(
      v1::ListDevicesResponse devices,
      daemon->Ask<v1::ListDevicesResponse>(v1::ListDevicesRequest()));
  if (context.json) {
    PrintJson(*context.out, ToJson(devices));
    return absl::OkStatus();
  }
  PrintDevices(*context.out, devices);
  return absl::OkStatus();
}

}  // namespace

void AddStatusCommands(CommandRegistry& registry) {
  auto options = std::make_shared<StatusOptions>();
  CLI::App* status = registry.Add(
      registry.root(), "status",
      "Shows the daemon, its store, devices, tables, recent jobs, and how "
      "good decisions were for what was asked for.",
      {"wavetune status", "wavetune status --json",
       "wavetune status --fail-stale"},
      [options](CommandContext& context) {
        return RunStatus(context, *options);
      });
  status->add_flag("--fail-stale", options->fail_stale,
                   "Exit with 4 where a table is stale, or cannot be read");
  registry.Add(
      registry.root(), "devices",
      "Lists the devices seen so far, with what they do right now: clock, "
      "utilisation (WaveTune's included), other processes.",
      {"wavetune devices", "wavetune devices --json"}, RunDevices);
}

}  // namespace wavetune::cli
