// wavetune reprofile.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/option_checks.h"
#include "base/status_macros.h"
#include "cli/advice.h"
#include "cli/commands/commands.h"
#include "cli/commands/job_text.h"
#include "cli/commands/watch_job.h"
#include "cli/format.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/workloads.h"
#include "model/table/table_check.h"

namespace wavetune::cli {
namespace {

// Between looks at what becomes of what the fleet was asked for.
constexpr std::chrono::milliseconds kFleetLook{200};

struct ReprofileOptions {
  v1::ReprofileRequest request;  // As options say; the kernel may be several.
  std::string workload;
  bool all = false;
  bool wait = false;
  bool fleet = false;
  std::vector<int> stages;
  double hold_s = 60;
};

void PrintOutcome(Output& out, const v1::JobInfo& job) {
  out << "job " << job.id() << " " << job.kernel() << " on "
      << job.device_uuid() << ": " << StateName(job.state()) << ", "
      << job.samples() << " samples, "
      << FormatMicroseconds(job.device_time_us()) << " of device time";
  if (!job.digest().empty()) out << ", table " << ShortDigest(job.digest());
  if (!job.message().empty()) out << "\n  " << Lines(job.message(), "  ");
  for (const std::string& note : job.notes()) out << "\n  note: " << note;
  out << "\n";
  PrintDrift(out, job);
}

// Returns the kernels to profile; an empty name means all.
absl::StatusOr<std::vector<std::string>> KernelsFor(
    Daemon& daemon, const ReprofileOptions& options) {
  const std::string& kernel = options.request.kernel();
  if (options.workload.empty()) return std::vector<std::string>{kernel};
  ASSIGN_OR_RETURN(const KnownWorkload workload,
                   FindWorkload(daemon, options.workload));
  ASSIGN_OR_RETURN(std::vector<std::string> serving,
                   KernelsServing(daemon, workload));
  if (kernel.empty()) return serving;
  if (std::find(serving.begin(), serving.end(), kernel) != serving.end())
    return std::vector<std::string>{kernel};
  return absl::FailedPreconditionError(absl::StrCat(
      "kernel ", kernel, " computes no layer of workload ", options.workload,
      "; these do: ", absl::StrJoin(serving, ", ")));
}

// Queues profiling of each kernel, or asks what would be done. A kernel that is
// not for this node's devices is said and left out where another one is queued.
absl::StatusOr<v1::ReprofileResponse> Queue(CommandContext& context,
                                            Daemon& daemon,
                                            const ReprofileOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> kernels,
                   KernelsFor(daemon, options));
  v1::ReprofileRequest request = options.request;
  if (options.fleet) {
    v1::FleetRolloutPlan& plan = *request.mutable_fleet();
    plan.mutable_stages()->Assign(options.stages.begin(), options.stages.end());
    plan.set_hold_s(options.hold_s);
  }
  v1::ReprofileResponse all;
  std::vector<absl::Status> refused;
  for (const std::string& kernel : kernels) {
    request.set_kernel(kernel);
    const absl::StatusOr<v1::ReprofileResponse> queued =
        daemon.Ask<v1::ReprofileResponse>(request);
    if (queued.ok()) {
      all.MergeFrom(*queued);
    } else {
      refused.push_back(queued.status());
    }
  }
  if (all.jobs().empty() && all.planned().empty() && all.asked().empty() &&
      !refused.empty()) {
    return refused.front();
  }
  for (const absl::Status& status : refused) {
    *context.err << "not queued: " << Lines(status.message(), "  ") << "\n";
  }
  return all;
}

absl::Status ShowPlanned(CommandContext& context,
                         const v1::ReprofileResponse& response) {
  if (!response.jobs().empty()) {
    return absl::UnimplementedError(
        "the daemon is an earlier one and knows no --dry-run: it has queued "
        "what was to be planned only (wavetune jobs list)");
  }
  if (!context.json) {
    PrintPlannedJobs(*context.out,
                     {response.planned().begin(), response.planned().end()});
    return absl::OkStatus();
  }
  Json list = Json::array();
  for (const v1::PlannedJob& job : response.planned()) {
    list.push_back(ToJson(job));
  }
  PrintJson(*context.out, Json{{"planned", std::move(list)}});
  return absl::OkStatus();
}

// Whether it ended on a node where it failed.
bool HasFailed(const v1::FleetProfileStatus& profile) {
  return std::any_of(profile.failures().begin(), profile.failures().end(),
                     [&](const v1::FleetNodeBehind& failure) {
                       return failure.node() == profile.done_by();
                     });
}

// Waits until what was asked for at `asked_at_us` has ended, and says how.
// Errors: ABORTED where one failed; CANCELLED where the user interrupted.
absl::Status AwaitAsked(CommandContext& context, Daemon& daemon,
                        const v1::ReprofileResponse& response,
                        int64_t asked_at_us, Json& ended) {
  std::map<std::pair<std::string, std::string>, bool> open;  // Seen under way.
  for (const v1::AskedProfile& asked : response.asked())
    open[{asked.kernel(), asked.fleet_class()}] = false;
  absl::Status outcome;
  while (!open.empty()) {
    if (InterruptRequested()) {
      return absl::CancelledError(
          "detached; what the fleet was asked for goes on: wavetune fleet "
          "status");
    }
    ASSIGN_OR_RETURN(const v1::GetFleetResponse fleet,
                     daemon.Ask<v1::GetFleetResponse>(v1::GetFleetRequest()));
    for (const v1::FleetProfileStatus& profile : fleet.profiles()) {
      const auto one = open.find({profile.kernel(), profile.fleet_class()});
      if (one == open.end()) continue;
      one->second |= !profile.done();
      // What is done may be one of before, until this node hears of the new.
      if (!profile.done() ||
          (!one->second && profile.asked_at_us() < asked_at_us))
        continue;
      open.erase(one);
      ended.push_back(ToJson(profile));
      const std::string how = absl::StrCat(
          "kernel ", profile.kernel(), ", class ", profile.fleet_class(),
          ": done by node ", profile.done_by(), ": ", profile.outcome());
      if (!context.json) *context.out << how << "\n";
      if (profile.refused() || HasFailed(profile))
        outcome.Update(absl::AbortedError(how));
    }
    if (!open.empty()) SystemClock().Sleep(kFleetLook);
  }
  return outcome;
}

absl::Status ShowAsked(CommandContext& context, Daemon& daemon,
                       const v1::ReprofileResponse& response,
                       int64_t asked_at_us, bool wait) {
  if (!response.jobs().empty()) {
    return absl::UnimplementedError(
        "the daemon is an earlier one and knows no --fleet: it profiles on "
        "this node alone (wavetune jobs list)");
  }
  Json list = Json::array();
  for (const v1::AskedProfile& asked : response.asked()) {
    list.push_back(ToJson(asked));
    if (context.json) continue;
    *context.out << "kernel " << asked.kernel() << ", class "
                 << asked.fleet_class() << ": asked for on node "
                 << asked.node() << "\n";
  }
  context.out->Flush();
  Json result{{"asked", std::move(list)}};
  absl::Status outcome;
  if (wait) {
    outcome = AwaitAsked(context, daemon, response, asked_at_us,
                         result["ended"] = Json::array());
  } else if (!context.json && !context.quiet) {
    *context.out << "follow with: wavetune fleet status\n";
  }
  if (context.json) PrintJson(*context.out, result);
  return outcome;
}

// A profile of every kernel takes the devices for hours: it is asked for.
absl::Status CheckKernelsAreNamed(const ReprofileOptions& options) {
  if (!options.request.kernel().empty() || !options.workload.empty() ||
      options.all || options.request.dry_run())
    return absl::OkStatus();
  return WithAdvice(
      absl::InvalidArgumentError(
          "say what to profile: --kernel NAME, --workload NAME, or --all for "
          "every valid kernel"),
      "wavetune reprofile --dry-run says what --all would do, and what it "
      "would cost");
}

absl::Status RunReprofile(CommandContext& context,
                          const ReprofileOptions& options) {
  RETURN_IF_ERROR(CheckKernelsAreNamed(options));
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  const int64_t asked_at_us = SystemClock().NowUs();
  ASSIGN_OR_RETURN(const v1::ReprofileResponse response,
                   Queue(context, *daemon, options));
  if (options.request.dry_run()) return ShowPlanned(context, response);
  if (options.fleet) {
    return ShowAsked(context, *daemon, response, asked_at_us, options.wait);
  }
  std::vector<v1::JobInfo> jobs(response.jobs().begin(), response.jobs().end());
  if (!context.json) {
    for (const v1::JobInfo& job : jobs) {
      *context.out << "job " << job.id() << " " << job.kernel() << " on "
                   << job.device_uuid() << ": " << StateName(job.state());
      // The sockets are local, so that both clocks are one.
      if (job.created_at_us() < asked_at_us)
        *context.out << " (already there, with its own options; no second one "
                        "is queued)";
      *context.out << "\n";
    }
    context.out->Flush();
  }
  absl::Status outcome;
  if (options.wait) {
    for (v1::JobInfo& job : jobs) {
      ASSIGN_OR_RETURN(job, WatchUntilEnd(context, *daemon, job.id()));
      if (!context.json) PrintOutcome(*context.out, job);
      outcome.Update(Outcome(job));
    }
  } else if (!context.json && !context.quiet && !jobs.empty()) {
    *context.out << "follow with: wavetune jobs show " << jobs[0].id()
                 << " --wait\n";
  }
  if (context.json) {
    Json list = Json::array();
    for (const v1::JobInfo& job : jobs) list.push_back(ToJson(job));
    PrintJson(*context.out, Json{{"jobs", std::move(list)}});
  }
  return outcome;
}

}  // namespace

void AddReprofileCommand(CommandRegistry& registry) {
  auto options = std::make_shared<ReprofileOptions>();
  CLI::App* command = registry.Add(
      registry.root(), "reprofile",
      "Queues profiling: measures, fits and, if it is better, promotes a "
      "table.",
      {"wavetune reprofile --kernel gemm_f32 --wait",
       absl::StrCat("wavetune reprofile --kernel gemm_f32 --device GPU-1 ",
                    "--budget 60 --reason 'new driver'"),
       "wavetune reprofile --kernel gemm_f32 --refit-only --portfolio 8",
       "wavetune reprofile --workload llama --wait",
       "wavetune reprofile --all --dry-run",
       "wavetune reprofile --kernel gemm_f32 --fleet --stages 10,50,100",
       "wavetune reprofile --kernel gemm_f32 --drift --dry-run"},
      [options](CommandContext& context) {
        return RunReprofile(context, *options);
      });
  v1::ReprofileRequest* const request = &options->request;
  const auto flag = [command, request](const char* name,
                                       void (v1::ReprofileRequest::*set)(bool),
                                       const char* help) {
    return command->add_flag_callback(
        name, [request, set] { (request->*set)(true); }, help);
  };
  const auto number = [command, request]<typename Number>(
                          const char* name,
                          void (v1::ReprofileRequest::*set)(Number),
                          const char* help) {
    return command->add_option_function<Number>(
        name, [request, set](Number value) { (request->*set)(value); }, help);
  };
  CLI::Option* const kernel =
      command->add_option("--kernel", *request->mutable_kernel(), "Kernel");
  CLI::Option* const workload =
      command->add_option("--workload", options->workload,
                          "Kernels that serve layers of this workload; with "
                          "--kernel, if that one does");
  command->add_flag("--all", options->all, "Every valid kernel")
      ->excludes(kernel)
      ->excludes(workload);
  CLI::Option* const device =
      command->add_option("--device", *request->mutable_device_uuid(),
                          "Device UUID: the job uses this one alone. Default: "
                          "one job for each class of attached devices, spread "
                          "over all of the class that are idle");
  command
      ->add_option("--class", *request->mutable_silicon_key(),
                   "Only devices of this class: their silicon key, as "
                   "`wavetune devices --json` has it")
      ->excludes(device);
  flag("--single-device", &v1::ReprofileRequest::set_single_device,
       "The job keeps to one device of its class");
  number("--priority", &v1::ReprofileRequest::set_priority,
         "Jobs of a higher one go first, -100 to 100; none that runs "
         "is interrupted. Default: 0")
      ->check(NumberIn(-100, 100));
  number("--budget", &v1::ReprofileRequest::set_budget_s,
         "Device time per job in seconds; default: the daemon's")
      ->check(NumberIn(kBudgetRange));
  command->add_option("--reason", *request->mutable_reason(),
                      "Why; shown in jobs");
  number("--samples-per-candidate",
         &v1::ReprofileRequest::set_samples_per_candidate,
         "Largest average number of samples; default: 32")
      ->check(NumberIn(1, 10000));
  number("--portfolio", &v1::ReprofileRequest::set_portfolio_size,
         "Largest number of candidates in the table; default: the "
         "kernel's (portfolio_size of its manifest)")
      ->check(NumberIn(1, static_cast<int>(kMaxPortfolio)));
  CLI::Option* refit =
      flag("--refit-only", &v1::ReprofileRequest::set_refit_only,
           "Fit stored samples again, measure nothing");
  flag("--fresh", &v1::ReprofileRequest::set_fresh,
       "Compile and measure everything anew, in a new generation of "
       "samples; older ones are kept")
      ->excludes(refit);
  flag("--even-if-busy", &v1::ReprofileRequest::set_even_if_busy,
       "Measure while others use the device, too; otherwise the "
       "job waits. A waiting job with the same options goes on");
  flag("--promote-although-wrong",
       &v1::ReprofileRequest::set_promote_although_wrong,
       "Promote the candidates that passed their checks, also "
       "where more than a quarter of all compute wrong results");
  flag("--promote-although-slower",
       &v1::ReprofileRequest::set_promote_although_slower,
       "Promote also where the kernel as it is now is slower than "
       "the one that the serving table was measured with");
  flag("--drift", &v1::ReprofileRequest::set_drift,
       "After a driver, runtime or power limit changed: a drift probe of "
       "at most 64 samples decides whether the table is carried "
       "over or profiled anew")
      ->excludes(refit)
      ->excludes("--fresh");
  flag("--dry-run", &v1::ReprofileRequest::set_dry_run,
       "Queue nothing; say what would be done, and what it would "
       "cost");
  command->add_flag("--wait", options->wait,
                    "Show progress until the end; exit code 1 where no table "
                    "came of it, as where it was refused. Ctrl-C detaches, the "
                    "job goes on");
  CLI::Option* const fleet = command->add_flag(
      "--fleet", options->fleet,
      "One node of each class profiles, for the whole fleet (docs/fleet.md); "
      "of the classes of devices that this node has, or had");
  fleet->excludes(device)
      ->excludes(refit)
      ->excludes("--dry-run")
      ->excludes("--single-device")
      ->excludes("--priority")
      ->excludes("--even-if-busy")
      ->excludes("--promote-although-wrong")
      ->excludes("--promote-although-slower");
  command
      ->add_option("--stages", options->stages,
                   "With --fleet: percent of the nodes that get the table, one "
                   "after the other: 10,50,100; without, all at once")
      ->delimiter(',')
      ->needs(fleet);
  command
      ->add_option("--hold", options->hold_s,
                   "With --stages: seconds for which the nodes of a stage must "
                   "be well before the next one")
      ->needs(fleet)
      ->capture_default_str();
}

}  // namespace wavetune::cli
