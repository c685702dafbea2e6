#include "cli/evaluate/trace_fit.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "fit/plan/plan_next.h"
#include "formats/trace_candidates.h"
#include "model/kernel/measure_item.h"
#include "model/table/table_codec.h"

namespace wavetune::cli {

namespace {

// A whole profile from recorded samples.
struct TraceProfile {
  std::vector<Sample> samples;       // That the plan asked for.
  std::vector<MeasureItem> missing;  // That were not recorded.
};

// A step takes as long as its planning, whatever it has of samples, and those
// of a phase have equally many: phases are shown one by one.
void ShowStep(Progress* progress, const ProfileStep& step, size_t samples) {
  if (progress == nullptr) return;
  const bool refines = step.phase >= ProfilePhase::kRefining;
  progress->Update(refines ? "profile from the recording, refined"
                           : "profile from the recording",
                   static_cast<int64_t>(samples), step.samples_planned,
                   refines ? Progress::kByRate : Progress::kUnknown);
}

// Runs PlanNext on `input`, whose samples are ignored, with `recorded` as the
// device, until nothing is left to measure. Of one pair the first sample
// counts. Errors: CANCELLED.
absl::StatusOr<TraceProfile> ProfileFromTrace(
    ProfileInput input, const std::vector<Sample>& recorded,
    Progress* progress) {
  std::map<std::pair<Configuration, Problem>, const Sample*> samples;
  for (const Sample& sample : recorded) {
    samples.try_emplace({sample.configuration, sample.problem}, &sample);
  }
  TraceProfile profile;
  input.samples.clear();
  for (;;) {
    if (InterruptRequested()) return absl::CancelledError("interrupted");
    const ProfileStep step = PlanNext(input, profile.missing);
    ShowStep(progress, step, input.samples.size());
    if (step.items.empty()) break;
    for (const MeasureItem& item : step.items) {
      const auto found = samples.find({item.configuration, item.problem});
      if (found == samples.end()) {
        profile.missing.push_back(item);
      } else {
        input.samples.push_back(*found->second);
      }
    }
  }
  if (progress != nullptr) progress->Finish();
  profile.samples = std::move(input.samples);
  return profile;
}

// Empty where nothing is missing.
std::string MissingNote(size_t missing) {
  if (missing == 0) return "";
  return absl::StrCat(
      missing,
      " planned samples were not recorded: the planner or the manifest has "
      "changed since; record the kernel again, or fit every anchor (report "
      "--all-anchors, evaluate without --profile)");
}

}  // namespace

double TraceFit::SamplesPerCandidate() const {
  return static_cast<double>(samples.size()) /
         static_cast<double>(std::max<size_t>(candidates, 1));
}

std::vector<Sample> FittableSamples(const TraceFolder& trace,
                                    TraceSamples from) {
  std::vector<Sample> samples = trace.anchors;
  if (from != TraceSamples::kAnchors)
    samples.insert(samples.end(), trace.representative.begin(),
                   trace.representative.end());
  return samples;
}

absl::StatusOr<TraceFit> FitTrace(const TraceFolder& trace,
                                  const TraceFitOptions& options) {
  if (trace.anchors.empty())
    return absl::NotFoundError(
        "there are no anchors to fit (anchors.csv.gz of a trace): record the "
        "kernel again");
  ProfileInput input;
  input.spec = &trace.spec;
  input.fingerprint = Sha256Hex(trace.manifest);
  input.device = trace.device;
  input.candidates = UsableBySpecialisation(trace.spec, trace.candidates);
  input.samples = FittableSamples(trace, options.from);
  input.options = options.profile;
  std::string note;
  if (options.from == TraceSamples::kPlanned) {
    ASSIGN_OR_RETURN(TraceProfile profile,
                     ProfileFromTrace(input, input.samples, options.progress));
    input.samples = std::move(profile.samples);
    note = MissingNote(profile.missing.size());
  }
  absl::StatusOr<FitResult> result = FitTable(input);
  if (!result.ok())
    return absl::Status(result.status().code(),
                        absl::StrCat(result.status().message(),
                                     note.empty() ? "" : "; ", note));
  TraceFit fit;
  ASSIGN_OR_RETURN(const std::string payload, EncodeTable(result->table));
  ASSIGN_OR_RETURN(fit.table, CompiledTable::Create(payload));
  fit.report = std::move(result->report);
  if (!note.empty()) fit.report.notes.push_back(note);
  fit.samples = std::move(input.samples);
  for (const std::vector<Candidate>& own : input.candidates)
    fit.candidates += own.size();
  return fit;
}

}  // namespace wavetune::cli
