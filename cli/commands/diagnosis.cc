#include "cli/commands/diagnosis.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "cli/commands/job_text.h"
#include "cli/format.h"
#include "cli/no_table.h"
#include "model/kernel/throttling.h"

namespace wavetune::cli {
namespace {

using Findings = std::vector<Finding>;

std::string ReprofileText(const std::string& kernel) {
  return absl::StrCat("wavetune reprofile --kernel ", kernel);
}

// Returns the job that is at a kernel already, or waits to be; nullptr: none.
const v1::JobInfo* JobAt(const Observations& seen, const std::string& kernel) {
  for (const v1::JobInfo& job : seen.jobs.jobs()) {
    if (job.kernel() == kernel && !HasEnded(job)) return &job;
  }
  return nullptr;
}

// What helps a kernel, unless a job does already.
std::string HelpText(const Observations& seen, const std::string& kernel,
                     const std::string& otherwise) {
  const v1::JobInfo* const job = JobAt(seen, kernel);
  if (job == nullptr) return otherwise;
  return absl::StrCat("wavetune jobs show ", job->id(),
                      " --wait: it is at it already");
}

void LookAtDaemon(const Observations& seen, Findings& findings) {
  if (!seen.answer.ok()) {
    findings.push_back(
        {absl::StrCat("wavetuned does not answer at ", seen.endpoint),
         std::string(seen.answer.message()),
         absl::IsInvalidArgument(seen.answer)
             ? "env | grep WAVETUNE_ENDPOINT; ls -l /run/wavetune"
             : "systemctl status wavetuned; journalctl -u wavetuned"});
    return;
  }
  if (seen.status.version() != seen.own_version) {
    findings.push_back(
        {absl::StrCat("wavetuned is version ", seen.status.version(),
                      ", this command ", seen.own_version),
         "a package was upgraded and the daemon not restarted, or two versions "
         "are installed; versions that differ by more than one minor do not "
         "work together",
         "systemctl restart wavetuned wavetune-agent; which -a wavetune "
         "wavetuned"});
  }
}

void LookAtAdminSocket(const Observations& seen, Findings& findings) {
  if (!seen.admin_socket) return;
  using Kind = SocketDiagnosis::Kind;
  const SocketDiagnosis& socket = *seen.admin_socket;
  // Nothing was asked there: silence is as it should be.
  if (socket.kind == Kind::kSilent || socket.kind == Kind::kUnknown) return;
  const bool denied = socket.kind == Kind::kNoPermission;
  findings.push_back(
      {denied ? "this user may read, but not administer"
              : "nobody can administer the daemon",
       socket.text,
       denied ? "id; ls -l /run/wavetune" : "systemctl restart wavetuned"});
}

void LookAtStore(const Observations& seen, Findings& findings) {
  if (!seen.status.store_problem().empty()) {
    findings.push_back({"nothing can be stored", seen.status.store_problem(),
                        absl::StrCat("df -h ", seen.status.store_path())});
  } else if (seen.free_bytes && *seen.free_bytes < kLittleSpaceBytes) {
    // Compaction writes the store anew beside the old one.
    const bool compacts = *seen.free_bytes > 2 * seen.status.samples_bytes() +
                                                 kCompactionSpareBytes;
    findings.push_back(
        {"the store's disk is nearly full",
         absl::StrCat(FormatBytes(*seen.free_bytes), " are free at ",
                      seen.status.store_path()),
         absl::StrCat("df -h ", seen.status.store_path(),
                      compacts ? "; wavetune store compact"
                               : "; make room there: what else is on it?")});
  }
  if (seen.status.corrupt_entries() > 0) {
    findings.push_back({"entries of the store are damaged",
                        absl::StrCat(seen.status.corrupt_entries(),
                                     " were met since the daemon started, and "
                                     "count as missing"),
                        "wavetune store check"});
  }
}

std::string WhyNoDevice(const Observations& seen) {
  if (seen.nvidia_driver && seen.opencl_driver && !*seen.nvidia_driver &&
      !*seen.opencl_driver) {
    return "no driver is loaded on this machine: neither NVIDIA's nor one of "
           "OpenCL";
  }
  return "wavetune-agent does not run, or found none it may use";
}

void LookAtDevice(const v1::DeviceStatus& device, Findings& findings) {
  const std::string name = absl::StrCat("device ", device.facts().uuid(), " (",
                                        device.facts().label(), ")");
  const uint32_t reasons = device.state().throttle_reasons();
  if (!device.problem().empty()) {
    findings.push_back({name + " cannot be used", device.problem(),
                        "journalctl -u wavetune-agent"});
  } else if (device.silent_s() > 0) {
    findings.push_back(
        {name + " says nothing",
         absl::StrCat("its agent was last heard ",
                      FormatSeconds(device.silent_s()),
                      " ago: it is stopped, or the host overloaded"),
         "systemctl status wavetune-agent; uptime"});
  } else if (!device.left_out().empty()) {
    findings.push_back({name + " is left out of profiles", device.left_out(),
                        "wavetune devices; nvidia-smi -q -d PERFORMANCE"});
  } else if (!device.unrated().empty()) {
    findings.push_back({name + " is not yet rated",
                        absl::StrCat(device.unrated(),
                                     "; the next one tries again, as soon as "
                                     "nobody uses it and it is cool"),
                        "wavetune devices; wavetune reprofile --all"});
  } else if (IsThrottled(reasons)) {
    findings.push_back({name + " is throttled", ThrottleText(reasons),
                        "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER"});
  }
}

void LookAtDevices(const Observations& seen, Findings& findings) {
  bool any = false;
  for (const v1::DeviceStatus& device : seen.devices.devices()) {
    if (!device.attached()) continue;
    any = true;
    LookAtDevice(device, findings);
  }
  for (const std::string& problem : seen.devices.agent_problems()) {
    findings.push_back({"the agent may lack a device", problem,
                        "journalctl -u wavetune-agent"});
  }
  if (any) return;
  findings.push_back(
      {seen.devices.devices().empty() ? "no device was ever attached"
                                      : "no device is attached",
       absl::StrCat(WhyNoDevice(seen), "; tables are served all the same"),
       "systemctl status wavetune-agent; journalctl -u wavetune-agent"});
}

void LookAtTables(const Observations& seen, Findings& findings) {
  for (const v1::TableInfo& table : seen.tables.tables()) {
    if (!table.stale() || IsOldClass(table, seen.tables)) continue;
    findings.push_back(
        {absl::StrCat("the table of kernel ", table.kernel(), " (",
                      table.device_label(), ") is STALE; it serves on"),
         table.stale_reason(),
         HelpText(seen, table.kernel(),
                  table.unverified()
                      ? absl::StrCat("wavetune tables verify ", table.kernel())
                      : ReprofileText(table.kernel()))});
  }
  for (const v1::TableInfo& table : seen.tables.withdrawn()) {
    findings.push_back({absl::StrCat("the table of kernel ", table.kernel(),
                                     " was WITHDRAWN; its default decides"),
                        table.withdrawn(),
                        absl::StrCat("correct the kernel, then ",
                                     ReprofileText(table.kernel()))});
  }
  for (const std::string& why : seen.tables.left_out()) {
    findings.push_back({"a table cannot be read", why, "wavetune store check"});
  }
}

void LookAtKernels(const Observations& seen, Findings& findings) {
  std::vector<std::string> without;
  for (const v1::KernelStatus& kernel : seen.kernels.kernels()) {
    if (!kernel.problem().empty()) {
      findings.push_back(
          {absl::StrCat("the kernel in ", kernel.path(), " is refused"),
           kernel.problem(),
           absl::StrCat("wavetune kernels check ", kernel.path())});
    } else if (kernel.tables().empty() && kernel.withdrawn().empty()) {
      const std::string& name = kernel.spec().name();
      const v1::JobInfo* const last = LastProfile(seen.jobs, name);
      if (last == nullptr || last->state() == v1::FAILED ||
          !WasRefused(*last)) {
        without.push_back(name);
      } else {
        findings.push_back(
            {absl::StrCat("kernel ", name,
                          " has no table, as the last one was refused; its "
                          "default decides"),
             last->message(), absl::StrCat("wavetune tables rejected ", name)});
      }
    }
    for (const v1::DefaultFault& fault : kernel.default_faults()) {
      findings.push_back(
          {absl::StrCat("the default of kernel ", kernel.spec().name(),
                        " cannot be used on ", fault.device_uuid()),
           fault.reason(),
           absl::StrCat("choose another default_configuration in ",
                        kernel.path())});
    }
  }
  for (const std::string& problem : seen.kernels.problems()) {
    findings.push_back(
        {"a folder of kernels cannot be read", problem, "ls -ld the folder"});
  }
  if (without.empty()) return;
  findings.push_back(
      {absl::StrCat(without.size(),
                    without.size() == 1 ? " kernel has" : " kernels have",
                    " no table; defaults decide"),
       absl::StrJoin(without, ", "),
       without.size() == 1
           ? HelpText(seen, without.front(), ReprofileText(without.front()))
       : std::all_of(without.begin(), without.end(),
                     [&](const std::string& kernel) {
                       return JobAt(seen, kernel) != nullptr;
                     })
           ? "wavetune jobs list: jobs are at all of them already"
           : "wavetune reprofile --all"});
}

// A class job says which of its devices are busy, hot or away.
void LookAtWaiting(const v1::JobInfo& job, int64_t now_us, Findings& findings) {
  const double waited_s =
      static_cast<double>(now_us - job.waits_since_us()) * 1e-6;
  if (job.waits_for().empty() || waited_s < kLongWaitS) return;
  findings.push_back(
      {absl::StrCat("job ", job.id(), " of kernel ", job.kernel(),
                    " has waited for ", FormatSeconds(waited_s)),
       job.waits_for(),
       absl::StrCat("wavetune devices; wavetune jobs show ", job.id())});
}

// Of each kernel and device what its last job ended with.
void LookAtJobs(const Observations& seen, Findings& findings) {
  std::set<std::pair<std::string, std::string>> known;
  for (const v1::JobInfo& job : seen.jobs.jobs()) {
    if (job.state() == v1::RUNNING) LookAtWaiting(job, seen.now_us, findings);
    if (job.state() == v1::QUEUED || job.state() == v1::RUNNING) continue;
    if (!known.emplace(job.kernel(), job.device_uuid()).second) continue;
    if (job.state() != v1::FAILED) continue;
    findings.push_back({absl::StrCat("the last job of kernel ", job.kernel(),
                                     " on ", job.device_uuid(), " failed"),
                        job.message(),
                        absl::StrCat("wavetune jobs show ", job.id())});
  }
}

// One finding for all kernels that are behind for the same reason.
void LookAtHeads(const v1::GetFleetResponse& fleet, const Observations& seen,
                 Findings& findings) {
  std::map<std::string, std::set<std::string>> behind;  // Kernels by reason.
  std::set<std::string> headless;
  for (const v1::FleetHeadStatus& head : fleet.heads()) {
    if (!head.behind().empty()) {
      behind[head.behind()].insert(head.kernel());
    } else if (head.digest().empty() && !head.followed_only()) {
      headless.insert(head.kernel());
    }
  }
  for (const auto& [why, kernels] : behind) {
    findings.push_back(
        {absl::StrCat("this node is BEHIND its fleet: it does not serve its "
                      "table of ",
                      absl::StrJoin(kernels, ", ")),
         why, "wavetune fleet status; journalctl -u wavetuned | grep fleet"});
  }
  // Without a table here LookAtKernels says it.
  for (const v1::TableInfo& table : seen.tables.tables()) {
    if (headless.erase(table.kernel()) == 0) continue;
    findings.push_back(
        {absl::StrCat("the fleet has no table of kernel ", table.kernel(),
                      " for a class of this node, which has one"),
         "nobody published it, or this node refuses who did",
         absl::StrCat("wavetune fleet status; wavetune fleet publish ",
                      table.kernel())});
  }
}

// What `fleet status` shows that is not well.
void LookAtFleet(const Observations& seen, Findings& findings) {
  if (!seen.fleet) return;
  const v1::GetFleetResponse& fleet = *seen.fleet;
  if (!fleet.outage().empty()) {
    findings.push_back({absl::StrCat("the fleet's registry ",
                                     fleet.never_reached() ? "was never reached"
                                                           : "is out of reach",
                                     "; this node serves what it has"),
                        fleet.outage(),
                        "wavetune fleet status; journalctl -u wavetuned"});
  }
  if (!fleet.absent().empty()) {
    findings.push_back({"other nodes of the fleet do not see this one",
                        fleet.absent(), "wavetune fleet nodes"});
  }
  LookAtHeads(fleet, seen, findings);
  for (const v1::FleetRolloutStatus& rollout : fleet.rollouts()) {
    if (rollout.halted().empty()) continue;
    findings.push_back(
        {absl::StrCat("the fleet's rollout of table ",
                      ShortDigest(rollout.digest()), " of kernel ",
                      rollout.kernel(), " was HALTED"),
         rollout.halted(),
         "wavetune fleet status; wavetune events --kind rollout-halted"});
  }
  const int64_t refused = fleet.refused_signature() + fleet.refused_replayed() +
                          fleet.refused_payload();
  if (refused > 0) {
    findings.push_back(
        {"entries of the fleet's registry are refused",
         absl::StrCat("since the daemon started: ", fleet.refused_signature(),
                      " by signature, ", fleet.refused_replayed(),
                      " older than what was accepted, ",
                      fleet.refused_payload(), " by payload"),
         "journalctl -u wavetuned | grep fleet"});
  }
  for (const v1::FleetProfileStatus& profile : fleet.profiles()) {
    if (profile.done() || !profile.holder().empty() ||
        profile.failures().empty())
      continue;
    const v1::FleetNodeBehind& last =
        profile.failures(profile.failures_size() - 1);
    findings.push_back(
        {absl::StrCat("the fleet's profile of kernel ", profile.kernel(),
                      " was given up by ", profile.failures_size(),
                      profile.failures_size() == 1 ? " node" : " nodes",
                      " and done by none"),
         absl::StrCat("node ", last.node(), ": ", last.why()),
         "wavetune fleet status"});
  }
}

std::string RemoveText(const CacheObservation& cache,
                       const std::string& digest) {
  return absl::StrCat("rm ", cache.folder, "/", digest, ".*");
}

// What clients of this user decide with while the daemon is away.
void LookAtCache(const Observations& seen, Findings& findings) {
  if (!seen.cache) return;
  const CacheObservation& cache = *seen.cache;
  if (!cache.problem.empty()) {
    findings.push_back(
        {"clients of this user do not keep tables where they should",
         cache.problem,
         cache.folder.empty() ? "ls -ld ~/.cache; env | grep XDG_CACHE_HOME"
                              : absl::StrCat("ls -ld ", cache.folder)});
  }
  std::set<std::string> withdrawn;
  for (const v1::TableInfo& table : seen.tables.withdrawn()) {
    withdrawn.insert(table.digest());
  }
  for (const CacheObservation::Table& table : cache.tables) {
    const std::string name =
        absl::StrCat("the cached table ", ShortDigest(table.digest),
                     " of kernel ", table.kernel);
    if (!table.damage.empty()) {
      findings.push_back({name + " is damaged",
                          absl::StrCat(table.damage,
                                       "; without the daemon its default "
                                       "decides, with it it is fetched anew"),
                          RemoveText(cache, table.digest)});
    } else if (withdrawn.contains(table.digest) && !table.withdrawn) {
      findings.push_back(
          {name + " was WITHDRAWN",
           "no client of this user has heard of it; one that starts without "
           "the daemon decides with it",
           RemoveText(cache, table.digest)});
    }
  }
  if (seen.answer.ok() || !cache.tables.empty()) return;
  findings.push_back(
      {"clients of this user that start now have no table",
       cache.folder.empty() ? "none is kept"
                            : absl::StrCat("none is kept in ", cache.folder),
       "systemctl start wavetuned, or set WAVETUNE_TABLE_FILE to exported "
       "tables"});
}

}  // namespace

std::vector<Finding> Diagnose(const Observations& seen) {
  Findings findings;
  LookAtDaemon(seen, findings);
  LookAtAdminSocket(seen, findings);
  LookAtCache(seen, findings);
  if (!seen.answer.ok()) return findings;
  LookAtStore(seen, findings);
  LookAtDevices(seen, findings);
  LookAtTables(seen, findings);
  LookAtKernels(seen, findings);
  LookAtJobs(seen, findings);
  LookAtFleet(seen, findings);
  return findings;
}

}  // namespace wavetune::cli
