// wavetune jobs list|show|cancel.
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/option_checks.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/job_text.h"
#include "cli/commands/watch_job.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/lookup.h"
#include "model/kernel/configuration_text.h"

namespace wavetune::cli {
namespace {

struct JobsOptions {
  uint64_t id = 0;
  int32_t limit = 20;
  bool wait = false;
};

absl::Status RunJobsList(CommandContext& context, const JobsOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  ASSIGN_OR_RETURN(v1::ListJobsResponse jobs, ListJobs(*daemon, options.limit));
  if (context.json) {
    PrintJson(*context.out, ToJson(jobs));
  } else {
    PrintJobList(*context.out, jobs);
  }
  return absl::OkStatus();
}

// Names values where the daemon still knows the kernel.
std::vector<std::string> ParametersOf(Daemon& daemon,
                                      const std::string& kernel) {
  absl::StatusOr<KnownKernel> known = FindKernel(daemon, kernel);
  return known.ok() ? ParameterNames(known->spec) : std::vector<std::string>();
}

void PrintExcluded(Output& out, const v1::JobInfo& job,
                   const std::vector<std::string>& parameters) {
  out << "excluded     " << job.excluded_size() << " candidates";
  if (job.wrong_candidates() > 0)
    out << ", " << job.wrong_candidates() << " of them with WRONG RESULTS";
  out << "\n";
  for (const v1::ExcludedCandidate& excluded : job.excluded()) {
    const Configuration configuration(absl::MakeConstSpan(
        excluded.configuration().values().data(),
        static_cast<size_t>(excluded.configuration().values_size())));
    out << "  " << FormatConfiguration(parameters, configuration) << ": "
        << Lines(excluded.reason(), "    ") << "\n";
  }
}

std::string DeviceLine(const v1::JobInfo& job) {
  if (job.device_uuids_size() < 2) return job.device_uuid();
  return absl::StrCat(DevicesText(job), ": ",
                      absl::StrJoin(job.device_uuids(), ", "));
}

void PrintJob(Output& out, const v1::JobInfo& job,
              const std::vector<std::string>& parameters) {
  out << "job          " << job.id() << " (" << job.kind() << ")\n"
      << "kernel       " << job.kernel() << "\n"
      << "device       " << DeviceLine(job) << "\n"
      << "reason       " << job.reason() << "\n";
  if (job.priority() != 0) out << "priority     " << job.priority() << "\n";
  if (!job.by().empty()) out << "by           " << UserText(job.by()) << "\n";
  out << "state        " << StateName(job.state()) << "\n"
      << "phase        " << PhaseName(job.phase());
  if (job.total() > 0) out << ", " << job.done() << " of " << job.total();
  if (!HasEnded(job) && job.seconds_left() >= 0)
    out << ", " << FormatSeconds(job.seconds_left()) << " left";
  if (!job.waits_for().empty())
    out << "\nwaits        since " << FormatTime(job.waits_since_us());
  out << "\nsamples      " << job.samples();
  if (job.throttled_samples() > 0)
    out << ", " << job.throttled_samples() << " of a throttled device";
  out << "\n"
      << "device time  " << FormatMicroseconds(job.device_time_us()) << "\n"
      << "created      " << FormatTime(job.created_at_us()) << "\n"
      << "finished     " << FormatTime(job.finished_at_us()) << "\n";
  if (!job.digest().empty()) out << "table        " << job.digest() << "\n";
  if (!job.message().empty())
    out << "message      " << Lines(job.message(), "             ") << "\n";
  PrintDrift(out, job);
  for (const std::string& note : job.notes())
    out << "note         " << note << "\n";
  if (job.used_problems() > 0) {
    out << "used         " << job.used_problems() << " problems that clients"
        << (job.has_fleet_demand()
                ? absl::StrCat(" of ", job.fleet_demand().nodes(), " nodes")
                : "")
        << " ask for are measured and weighted\n";
  }
  if (job.workload_problems() > 0) {
    out << "workloads    " << job.workload_problems() << " problems of "
        << (job.has_fleet_demand()
                ? absl::StrCat("the fleet's ", job.fleet_demand().workloads())
                : "declared")
        << " workloads are representative ones\n";
  }
  if (job.not_meant_for_device() > 0) {
    out << "not meant    " << job.not_meant_for_device()
        << " configurations: the manifest's device_predicates keep them from "
           "this device\n";
  }
  if (job.excluded_size() > 0) PrintExcluded(out, job, parameters);
}

absl::Status RunJobsShow(CommandContext& context, const JobsOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  v1::GetJobRequest request;
  request.set_id(options.id);
  ASSIGN_OR_RETURN(const v1::GetJobResponse found,
                   daemon->Ask<v1::GetJobResponse>(request));
  v1::JobInfo job = found.job();
  if (options.wait && !HasEnded(job)) {
    ASSIGN_OR_RETURN(job, WatchUntilEnd(context, *daemon, options.id));
  }
  if (context.json) {
    PrintJson(*context.out, ToJson(job));
  } else {
    PrintJob(*context.out, job,
             job.excluded_size() > 0 ? ParametersOf(*daemon, job.kernel())
                                     : std::vector<std::string>());
  }
  return options.wait ? Outcome(job) : absl::OkStatus();
}

absl::Status RunCancel(CommandContext& context, const JobsOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  v1::CancelJobRequest request;
  request.set_id(options.id);
  ASSIGN_OR_RETURN(const v1::CancelJobResponse response,
                   daemon->Ask<v1::CancelJobResponse>(request));
  const v1::JobInfo& job = response.job();
  if (context.json) {
    PrintJson(*context.out, ToJson(job));
  } else {
    *context.out << "job " << job.id() << ": "
                 << (HasEnded(job) ? StateName(job.state())
                                   : "ends with the current batch; its samples "
                                     "are kept")
                 << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

void AddJobsCommands(CommandRegistry& registry) {
  auto options = std::make_shared<JobsOptions>();
  CLI::App* jobs =
      registry.AddGroup("jobs", "Lists, shows and cancels the daemon's jobs.");
  CLI::App* list = registry.Add(
      jobs, "list", "Lists jobs, newest first.",
      {"wavetune jobs list", "wavetune jobs list --limit 100 --json"},
      [options](CommandContext& context) {
        return RunJobsList(context, *options);
      });
  list->add_option("--limit", options->limit, "Most jobs to list")
      ->check(NumberIn(1, 1e6))
      ->capture_default_str();
  CLI::App* show = registry.Add(
      jobs, "show",
      "Shows one job: phase, samples, device time, excluded candidates.",
      {"wavetune jobs show 12", "wavetune jobs show 12 --wait"},
      [options](CommandContext& context) {
        return RunJobsShow(context, *options);
      });
  show->add_option("ID", options->id, "The job")->required();
  show->add_flag("--wait", options->wait,
                 "Show progress until it ends; exit code as of "
                 "wavetune reprofile --wait");
  CLI::App* cancel = registry.Add(
      jobs, "cancel", "Cancels a job; what it measured is kept.",
      {"wavetune jobs cancel 12"}, [options](CommandContext& context) {
        return RunCancel(context, *options);
      });
  cancel->add_option("ID", options->id, "The job")->required();
}

}  // namespace wavetune::cli
