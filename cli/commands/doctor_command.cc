// wavetune doctor.
#include <sys/statvfs.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/input_file.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/diagnosis.h"
#include "cli/commands/fleet_text.h"
#include "cli/json.h"
#include "client/src/client_settings.h"
#include "client/src/table_cache.h"
#include "client/src/table_files.h"

namespace wavetune::cli {
namespace {

constexpr int32_t kJobsLookedAt = 50;

bool IsHere(const std::string& endpoint) {
  return absl::StartsWith(endpoint, "unix:");
}

std::optional<int64_t> FreeBytes(const std::string& path) {
  struct statvfs facts {};
  if (::statvfs(path.c_str(), &facts) != 0) return std::nullopt;
  return static_cast<int64_t>(facts.f_bavail) *
         static_cast<int64_t>(facts.f_frsize);
}

bool HasEntries(const char* folder) {
  std::error_code error;
  const std::filesystem::directory_iterator it(folder, error);
  return !error && it != std::filesystem::directory_iterator();
}

// Reads what the daemon says.
absl::Status Ask(Daemon& daemon, Observations& seen) {
  ASSIGN_OR_RETURN(seen.status,
                   daemon.Ask<v1::GetStatusResponse>(v1::GetStatusRequest()));
  ASSIGN_OR_RETURN(seen.devices, daemon.Ask<v1::ListDevicesResponse>(
                                     v1::ListDevicesRequest()));
  ASSIGN_OR_RETURN(seen.kernels, daemon.Ask<v1::ListKernelsResponse>(
                                     v1::ListKernelsRequest()));
  ASSIGN_OR_RETURN(seen.tables,
                   daemon.Ask<v1::ListTablesResponse>(v1::ListTablesRequest()));
  ASSIGN_OR_RETURN(seen.jobs, ListJobs(daemon, kJobsLookedAt));
  ASSIGN_OR_RETURN(seen.fleet, FleetOf(daemon));
  return absl::OkStatus();
}

// Looks at what is on this machine.
void LookHere(Observations& seen) {
  if (!IsHere(seen.endpoint)) return;
  seen.admin_socket = DiagnoseSocket(SiblingEndpoint(seen.endpoint, "admin"));
  std::error_code ignored;
  seen.nvidia_driver =
      std::filesystem::exists("/proc/driver/nvidia/version", ignored);
  seen.opencl_driver = HasEntries("/etc/OpenCL/vendors");
  if (seen.answer.ok()) seen.free_bytes = FreeBytes(seen.status.store_path());
}

// Reads the cache of this user's clients, and changes nothing there.
void LookAtCache(Observations& seen) {
  CacheObservation& cache = seen.cache.emplace();
  const absl::StatusOr<ClientSettings> settings = ResolveSettings({});
  if (!settings.ok()) {
    cache.problem = std::string(settings.status().message());
    return;
  }
  const TableCache tables(settings->cache_dir);
  cache.folder = tables.dir();
  cache.problem = tables.problem().ok()
                      ? settings->cache_problem
                      : std::string(tables.problem().message());
  for (const v1::TableInfo& info : tables.List("")) {
    const std::string path =
        absl::StrCat(cache.folder, "/", info.digest(), ".table");
    const absl::StatusOr<std::string> payload =
        ReadTableFile(path, InputKind::kOwnFile);
    std::string damage;
    if (!payload.ok()) {
      damage = std::string(payload.status().message());
    } else if (Sha256Hex(*payload) != info.digest()) {
      damage = absl::StrCat(path, " does not have its digest");
    }
    cache.tables.push_back({info.kernel(), info.digest(), std::move(damage),
                            !tables.WhyWithdrawn(info.digest()).empty()});
  }
}

void PrintFindings(Output& out, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    out << finding.what << "\n  why  " << Lines(finding.why, "       ")
        << "\n  run  " << finding.run << "\n";
  }
  if (findings.empty()) out << "nothing is wrong that could be seen\n";
}

Json FindingsJson(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back(
        {{"what", finding.what}, {"why", finding.why}, {"run", finding.run}});
  }
  return Json{{"findings", std::move(list)}};
}

absl::Status RunDoctor(CommandContext& context) {
  Observations seen{.endpoint = context.Endpoint(),
                    .own_version = WAVETUNE_VERSION};
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  seen.answer = Ask(*daemon, seen);
  LookHere(seen);
  LookAtCache(seen);
  seen.now_us = SystemClock().NowUs();
  const std::vector<Finding> findings = Diagnose(seen);
  if (context.json) {
    PrintJson(*context.out, FindingsJson(findings));
  } else {
    PrintFindings(*context.out, findings);
  }
  if (findings.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      findings.size(), findings.size() == 1 ? " finding" : " findings"));
}

}  // namespace

void AddDoctorCommand(CommandRegistry& registry) {
  registry.Add(
      registry.root(), "doctor",
      "Looks at daemon, sockets, store, devices, tables, kernels, jobs, the "
      "fleet and this user's table cache, and says what is wrong, why, and "
      "what to run. "
      "Exits with 1 where something is.",
      {"wavetune doctor", "wavetune doctor --json"}, RunDoctor);
}

}  // namespace wavetune::cli
