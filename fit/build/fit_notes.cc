#include "fit/build/fit_notes.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace wavetune {
namespace {

// Severities. A kernel that does not follow waves is above all others, the
// worse the higher.
constexpr double kDoesNotFollowWaves = 10;
constexpr double kSomeProblemsHaveNoCandidate = 5;
constexpr double kContradictoryMeasurements = 4;
constexpr double kThrottledMeasurements = 3;
constexpr double kProfilesDisagree = 2.5;
constexpr double kUncalibratedBounds = 2;
constexpr double kRowsWithoutSamples = 1;

// Beyond this the wave form does not describe the kernel, whatever the noise.
constexpr double kPoorFit = 0.15;

int SegmentsWithoutSamples(const std::vector<CandidateModel>& models,
                           const std::vector<size_t>& members) {
  int count = 0;
  for (const size_t i : members) {
    for (const auto& row : models[i].quality) {
      for (const SegmentQuality& quality : row) count += quality.own == 0;
    }
  }
  return count;
}

double MeanResidual(const std::vector<CandidateModel>& models,
                    const std::vector<size_t>& members) {
  double sum = 0;
  double n = 0;
  for (const size_t i : members) {
    for (const auto& row : models[i].quality) {
      for (const SegmentQuality& quality : row) {
        sum += quality.residuals;
        n += quality.own;
      }
    }
  }
  return n > 0 ? sum / n : 0;
}

FitNote NoteOnBounds(const std::string& prefix, const BoundRule& rule) {
  if (rule.scores > 0) {
    return {absl::StrFormat(
        "%serror bounds are calibrated on %d held-out predictions: %.2f times "
        "a segment's uncertainty",
        prefix, rule.scores, rule.factor)};
  }
  return {absl::StrFormat(
              "%serror bounds are %.2f times a segment's uncertainty: too few "
              "representative problems were measured to calibrate them",
              prefix, rule.factor),
          kUncalibratedBounds};
}

FitNote NoteOnEarlier(const ProfileState& state) {
  if (state.earlier.agree) {
    return {absl::StrFormat(
        "%d samples of earlier profiles fitted, too: at %d repeated "
        "measurements the median latency is %.3f times theirs",
        state.earlier_samples, state.earlier.pairs,
        state.earlier.median_ratio)};
  }
  return {
      absl::StrFormat(
          "samples of earlier profiles left out: at %d repeated measurements "
          "the median latency is %.3f times theirs; at least 30 that agree "
          "within 2 %% in the median and 10 %% in the quartiles are needed",
          state.earlier.pairs, state.earlier.median_ratio),
      kProfilesDisagree};
}

}  // namespace

std::vector<std::string> Warnings(std::vector<FitNote> notes) {
  std::erase_if(notes, [](const FitNote& note) { return note.severity <= 0; });
  std::stable_sort(notes.begin(), notes.end(),
                   [](const FitNote& a, const FitNote& b) {
                     return a.severity > b.severity;
                   });
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(notes.size(), kMostWarnings); ++i) {
    texts.push_back(std::move(notes[i].text));
  }
  if (notes.size() > kMostWarnings) {
    texts.push_back(absl::StrCat(
        notes.size() - kMostWarnings,
        " more, of less weight: `wavetune evaluate` of a recorded trace shows "
        "all"));
  }
  return texts;
}

std::vector<FitNote> NotesOnSamples(const ProfileState& state) {
  std::vector<FitNote> notes;
  if (!state.input->earlier_samples.empty()) {
    notes.push_back(NoteOnEarlier(state));
  }
  const SelectionCounts& counts = state.counts;
  const auto add = [&](int64_t count, const char* what, double severity = 0) {
    if (count > 0) notes.push_back({absl::StrCat(count, " ", what), severity});
  };
  add(state.unmatched_samples,
      "samples dropped: of candidates that are unknown or excluded, or of "
      "problems that are not the kernel's");
  add(counts.absurd,
      "samples dropped: latency not a number, not positive, below 1 ns or "
      "above 1,000 s",
      kContradictoryMeasurements);
  add(counts.contradictory,
      "samples dropped: several times slower or faster than comparable "
      "launches "
      "of their candidate",
      kContradictoryMeasurements);
  add(counts.merged,
      "repeated samples merged into the median of their problem");
  add(counts.suspect,
      "samples doubted (suspect, or in contradiction to one other): they weigh "
      "a tenth");
  add(counts.throttled,
      "of these were taken while the device was throttled, and again when they "
      "were measured again",
      kThrottledMeasurements);
  return notes;
}

std::string NotePrefix(const SpecialisationState& specialisation) {
  return specialisation.name.empty()
             ? ""
             : absl::StrCat("[", specialisation.name, "] ");
}

std::vector<FitNote> NotesOnTable(const SpecialisationState& specialisation,
                                  const std::vector<CandidateModel>& models,
                                  const std::vector<bool>& eligible,
                                  const std::vector<size_t>& members,
                                  const SubTable& sub_table,
                                  const BoundRule& rule) {
  const std::string prefix = NotePrefix(specialisation);
  const auto enough = std::count(eligible.begin(), eligible.end(), true);
  std::vector<FitNote> notes = {
      {absl::StrCat(prefix, "portfolio of ", members.size(), " candidates in ",
                    sub_table.groups.size(), " rows, of ", enough,
                    " candidates with enough samples and ",
                    specialisation.candidates.size(), " that compiled")}};
  notes.push_back(NoteOnBounds(prefix, rule));
  const int pooled = SegmentsWithoutSamples(models, members);
  if (pooled > 0) {
    notes.push_back(
        {absl::StrCat(prefix, pooled,
                      " segments of the portfolio have no samples of their "
                      "own: they share those of the neighbouring regimes, and "
                      "answers there "
                      "are extrapolated"),
         kRowsWithoutSamples});
  }
  if (sub_table.wary) {
    notes.push_back({absl::StrCat(
        prefix,
        "bounds are wide: beyond what was measured the default answers, unless "
        "a row is faster by more than its bound")});
  }
  const double residual = MeanResidual(models, members);
  if (residual > kPoorFit) {
    notes.push_back(
        {absl::StrFormat(
             "%sthe wave model misses these samples by %.0f %% on average: the "
             "kernel's latency does not follow waves, or the samples are very "
             "noisy; bounds are wide",
             prefix, residual * 100),
         kDoesNotFollowWaves + residual});
  }
  const bool universal = std::any_of(
      members.begin(), members.end(),
      [&](size_t i) { return specialisation.candidates[i].universal; });
  if (!universal) {
    notes.push_back({absl::StrCat(prefix,
                                  "no member of the portfolio is legal for "
                                  "every problem: where none is, "
                                  "decisions answer the default configuration"),
                     kSomeProblemsHaveNoCandidate});
  }
  if (!specialisation.representatives_given) {
    notes.push_back({absl::StrCat(
        prefix,
        "no representative problems: the portfolio was chosen for a "
        "spread along the wave structure")});
  }
  return notes;
}

}  // namespace wavetune
