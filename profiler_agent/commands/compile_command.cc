#include "profiler_agent/commands/compile_command.h"

#include <algorithm>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "formats/kernel_folder.h"
#include "model/kernel/backend_traits.h"
#include "model/kernel/correctness_problems.h"
#include "model/kernel/device_implementation.h"
#include "model/kernel/device_space.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/specialisation_spaces.h"
#include "nlohmann/json.hpp"
#include "profiler_agent/measure/prepare_batch.h"
#include "profiler_agent/worker/kernel_source.h"
#include "profiler_agent/worker/remote_device.h"

namespace wavetune {
namespace {

using Json = nlohmann::ordered_json;
using Workers = std::vector<std::unique_ptr<Device>>;

std::vector<Configuration> ChooseConfigurations(
    const SpecialisationSpace& space, const CompileCommandOptions& options) {
  if (options.all) return space.space.configurations;
  return SampleSpace(space.space.configurations,
                     static_cast<size_t>(std::max(options.sample, 1)),
                     space.spec->default_configuration);
}

// Returns the parameters' values that some space has, but none of its sample.
std::vector<std::string> ValuesLeftOut(
    const std::vector<SpecialisationSpace>& spaces,
    const CompileCommandOptions& options) {
  std::vector<std::string> all;
  for (const SpecialisationSpace& space : spaces) {
    for (std::string& value :
         ValuesLeftOut(*space.spec, space.space.configurations,
                       ChooseConfigurations(space, options))) {
      if (spaces.size() > 1) {
        absl::StrAppend(&value, " [",
                        absl::StrJoin(space.specialisations, ", "), "]");
      }
      all.push_back(std::move(value));
    }
  }
  return all;
}

// Where the workers look for the device: of an architecture that is a compiler.
AgentDevicesOptions DevicesOptions(const CompileCommandOptions& options) {
  AgentDevicesOptions devices = options.devices;
  if (options.guard_pages) {
    devices.backends = BackendsThat(&BackendAbilities::has_guard_pages);
    devices.backend.guard_pages = true;
  }
  if (options.architecture.empty()) return devices;
  devices.backends = BackendsThat(&BackendAbilities::compiles_alone);
  devices.backend.compile_only_architecture = options.architecture;
  return devices;
}

// Finds the wanted device and puts workers in front of it.
absl::StatusOr<Workers> OpenDevice(const CompileCommandOptions& options,
                                   const KernelSpec& spec) {
  const AgentDevicesOptions devices = DevicesOptions(options);
  std::vector<std::string> seen;
  for (const std::string& backend : devices.backends) {
    if (!IsBuiltIn(backend)) {
      seen.push_back(absl::StrCat(backend, ": not built in"));
      continue;
    }
    const std::vector<std::string> command = WorkerCommand(devices, backend);
    RemoteDevice scout({.command = command});
    const absl::StatusOr<Backend::Enumeration> found = scout.Enumerate();
    if (!found.ok()) {
      seen.push_back(absl::StrCat(backend, ": ", found.status().message()));
      continue;
    }
    if (found->devices.empty()) {
      seen.push_back(absl::StrCat(backend, ": ", found->note));
    }
    for (const DeviceFacts& facts : found->devices) {
      seen.push_back(
          absl::StrCat(facts.uuid, " (", facts.label, ", ", backend, ")"));
      const bool runs =
          ImplementationFor(spec, facts).implementation != nullptr;
      const bool fits = options.device_uuid.empty()
                            ? runs
                            : facts.uuid == options.device_uuid;
      if (!fits) {
        if (LacksCompiler(spec, facts)) {
          absl::StrAppend(&seen.back(), ": ",
                          NoImplementation(spec, facts).message());
        }
        continue;
      }
      if (options.guard_pages &&
          !absl::StartsWith(facts.architecture, "cpu-")) {
        seen.back() += ": no CPU, which guard pages need";
        continue;
      }
      Workers workers;
      const int wanted = PrepareWorkers(devices.prepare_workers, 1);
      for (int i = 0; i < wanted; ++i)
        workers.push_back(std::make_unique<RemoteDevice>(
            RemoteDeviceOptions{.command = command,
                                .facts = facts,
                                .cache_dir = devices.backend.cache_dir,
                                .prepare_nice = devices.prepare_nice,
                                .prepare_timeout = devices.prepare_timeout}));
      return workers;
    }
  }
  return absl::UnavailableError(absl::StrCat(
      options.device_uuid.empty()
          ? absl::StrCat("no device runs kernel \"", spec.name, "\"")
          : absl::StrCat("no device \"", options.device_uuid, "\""),
      "; this machine has: ",
      seen.empty() ? "none" : absl::StrJoin(seen, ", ")));
}

// Where a candidate is checked, for people.
struct CheckedAt {
  std::vector<std::string> declared;
  std::vector<std::string> edges;
};

CheckedAt WhereChecked(const KernelSpec& spec, const PrepareBatch& batch,
                       const Configuration& configuration) {
  CheckedAt checked;
  if (!batch.check_edges || !spec.correctness.has_value()) return checked;
  const std::vector<Problem>& declared = batch.correctness_problems;
  const absl::StatusOr<std::vector<Problem>> found = CandidateProblems(
      spec, batch.kernel.specialisation, configuration, declared);
  if (!found.ok()) return checked;  // The candidate's failure says it.
  for (Problem problem : *found) {
    const bool is_declared =
        std::find(declared.begin(), declared.end(), problem) != declared.end();
    problem.specialisation.clear();  // Said elsewhere on the line.
    (is_declared ? checked.declared : checked.edges)
        .push_back(FormatProblem(spec, problem));
  }
  return checked;
}

Json CandidateJson(const KernelSpec& spec, const std::string& specialisation,
                   const Candidate& candidate, const CheckedAt& checked_at,
                   bool compiled_only) {
  Json values = Json::object();
  for (size_t i = 0; i < spec.parameters.size(); ++i)
    values[spec.parameters[i].name] =
        candidate.configuration[static_cast<int>(i)];
  Json json = {{"specialisation", specialisation},
               {"configuration", std::move(values)},
               {compiled_only ? "compiled" : "correct", !candidate.excluded()},
               {"reason", candidate.excluded_reason}};
  if (compiled_only) return json;  // Nothing more is known without a device.
  json["checked_at"] = {{"declared", checked_at.declared},
                        {"edges", checked_at.edges}};
  json["capacity"] = candidate.tiles_per_wave;
  json["registers"] = candidate.registers;
  json["shared_memory_bytes"] = candidate.shared_memory_bytes;
  return json;
}

void PrintCandidate(std::ostream& out, const KernelSpec& spec,
                    const std::string& specialisation,
                    const Candidate& candidate, bool compiled_only) {
  out << (candidate.excluded() ? "REFUSED  " : "ok       ")
      << FormatConfiguration(spec, candidate.configuration);
  if (!specialisation.empty()) out << " [" << specialisation << "]";
  if (candidate.excluded()) {
    out << ": " << candidate.excluded_reason;
  } else if (!compiled_only) {
    out << "  capacity " << candidate.tiles_per_wave << ", "
        << candidate.shared_memory_bytes << " bytes of local memory";
  }
  out << std::endl;  // As it goes: a slow compiler is watched.
}

// Prints where candidates are checked from here on, where that is new.
void PrintCheckedAt(std::ostream& out, const CheckedAt& checked_at,
                    CheckedAt& printed) {
  if (checked_at.declared != printed.declared) {
    out << "checked at the declared "
        << absl::StrJoin(checked_at.declared, "; ") << "\n";
  }
  if (checked_at.edges != printed.edges) {
    out << "checked at the edges " << absl::StrJoin(checked_at.edges, "; ")
        << "\n";
  }
  printed = checked_at;
}

// What became of all candidates.
struct Outcome {
  int compiled = 0;
  int refused = 0;
  int64_t not_meant = 0;  // For the device, and so left out.
  // Parameters' values that no candidate of the sample has.
  std::vector<std::string> values_left_out;
  size_t workers = 1;  // That compiled side by side.
  Json candidates = Json::array();
};

void PrintOutcome(std::ostream& out, const CompileCommandOptions& options,
                  const KernelSpec& spec, const DeviceFacts& facts,
                  Outcome outcome) {
  const bool compiled_only = !options.architecture.empty();
  if (options.json) {
    out << Json{{"kernel", spec.name},
                {"device_uuid", facts.uuid},
                {compiled_only ? "compiled" : "correct", outcome.compiled},
                {"refused", outcome.refused},
                {"not_meant_for_device", outcome.not_meant},
                {"values_left_out", outcome.values_left_out},
                {"workers", outcome.workers},
                {"candidates", std::move(outcome.candidates)}}
               .dump(2, ' ', false, Json::error_handler_t::replace)
        << "\n";
    return;
  }
  out << outcome.compiled << " of " << outcome.compiled + outcome.refused
      << " candidates compiled"
      << (compiled_only ? " for " : " and gave correct results on ")
      << (compiled_only ? options.architecture
                        : absl::StrCat(facts.label, " (", facts.uuid, ")"))
      << "\n";
  if (outcome.not_meant > 0) {
    out << outcome.not_meant << " configurations are not meant for "
        << facts.architecture
        << ": the manifest's device_predicates keep them from it\n";
  }
  if (!outcome.values_left_out.empty()) {
    out << "the sample has no candidate with "
        << absl::StrJoin(outcome.values_left_out, ", ")
        << ": give a larger --sample, or --all\n";
  }
}

}  // namespace

absl::StatusOr<int> RunCompileCommand(const CompileCommandOptions& options,
                                      std::ostream& out) {
  ASSIGN_OR_RETURN(KernelFolder folder, LoadKernelFolder(options.kernel_dir));
  ASSIGN_OR_RETURN(Workers workers, OpenDevice(options, folder.spec));
  const DeviceFacts& facts = workers.front()->facts();
  ASSIGN_OR_RETURN(const KernelSpec spec, SpecForDevice(folder.spec, facts));
  std::vector<Device*> devices;
  for (const std::unique_ptr<Device>& worker : workers)
    devices.push_back(worker.get());

  v1::KernelSource source = KernelSourceOf(folder);
  source.set_fingerprint(folder.Fingerprint(facts));
  ASSIGN_OR_RETURN(const LoadedKernel kernel, LoadedKernelFromProto(source));

  Outcome outcome{.not_meant = CountNotMeantFor(folder.spec, facts),
                  .workers = workers.size()};
  const Clock::Duration start = SystemClock().SteadyNow();
  const bool compiled_only = !options.architecture.empty();
  CheckedAt printed;
  const std::vector<SpecialisationSpace> spaces = EnumerateSpaces(spec);
  for (const std::string& name : spec.SpecialisationNames()) {
    PrepareBatch batch;
    batch.kernel = kernel.Of(name);
    batch.configurations = ChooseConfigurations(SpaceOf(spaces, name), options);
    batch.check_edges =
        TraitsOf(facts.backend).language != KernelLanguage::kRecording &&
        !compiled_only;
    if (batch.check_edges) {
      batch.correctness_problems = DeclaredCorrectnessProblems(spec, name);
    }
    RETURN_IF_ERROR(RunPrepareBatch(
        devices, batch,
        [&](size_t, const Candidate& candidate) {
          ++(candidate.excluded() ? outcome.refused : outcome.compiled);
          const CheckedAt checked_at =
              WhereChecked(spec, batch, candidate.configuration);
          if (options.json) {
            outcome.candidates.push_back(CandidateJson(
                spec, name, candidate, checked_at, compiled_only));
            outcome.candidates.back()["finished_s"] =
                ToSeconds(SystemClock().SteadyNow() - start);
          } else {
            PrintCheckedAt(out, checked_at, printed);
            PrintCandidate(out, spec, name, candidate, compiled_only);
          }
        },
        std::stop_token()));
  }
  outcome.values_left_out = ValuesLeftOut(spaces, options);
  const int refused = outcome.refused;
  PrintOutcome(out, options, spec, facts, std::move(outcome));
  return refused;
}

}  // namespace wavetune
