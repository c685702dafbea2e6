// Fuzz target: a trace's candidates and lines, separated by a line "---".
//
// Any bytes must be refused cleanly or give values that are in range, and what
// was read must be written in a form that reads the same.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/trace.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"
#include "tests/fuzz/require.h"

namespace wavetune {
namespace {

constexpr absl::string_view kSeparator = "---\n";

const KernelSpec& Spec() {
  static const auto* const spec = new KernelSpec(testing::TritonGemmSpec());
  return *spec;
}

void CheckSamples(const std::vector<Sample>& samples) {
  for (const Sample& sample : samples) {
    Require(std::isfinite(sample.latency_us) && sample.latency_us > 0,
            "latency of a sample");
    Require(std::isfinite(sample.relative_spread), "spread of a sample");
    Require(CheckProblem(Spec(), sample.problem).ok(), "legal problem");
    Require(InSpace(Spec(), sample.configuration),
            "configuration of the space");
  }
}

void CheckRoundTrip(const std::vector<TraceCandidate>& candidates,
                    const std::vector<Sample>& samples) {
  const auto again = ParseTraceCandidates(
      Spec(), testing::H200(), FormatTraceCandidates(Spec(), candidates));
  Require(again.ok() && again->size() == candidates.size(),
          "candidates read again");
  const std::string csv = FormatTrace(Spec(), candidates, samples);
  const auto read = ParseTrace(Spec(), testing::H200(), csv, &candidates);
  Require(read.ok() && read->samples.size() == samples.size(),
          "samples read again");
  Require(FormatTrace(Spec(), candidates, read->samples) == csv, "round trip");
}

}  // namespace
}  // namespace wavetune

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wavetune;  // NOLINT(google-build-using-namespace)
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t at = text.find(kSeparator);
  const absl::string_view first = text.substr(0, at);
  const absl::string_view second = at == absl::string_view::npos
                                       ? absl::string_view()
                                       : text.substr(at + kSeparator.size());
  const auto candidates = ParseTraceCandidates(Spec(), testing::H200(), first);
  const auto trace = ParseTrace(Spec(), testing::H200(), second,
                                candidates.ok() ? &*candidates : nullptr);
  if (!trace.ok()) return 0;
  CheckSamples(trace->samples);
  if (!candidates.ok()) return 0;
  // Lines that spell out their parameters may name others.
  for (const Sample& sample : trace->samples) {
    bool listed = false;
    for (const TraceCandidate& c : *candidates) {
      listed |= !c.candidate.excluded() &&
                c.candidate.configuration == sample.configuration;
    }
    if (!listed) return 0;
  }
  CheckRoundTrip(*candidates, trace->samples);
  return 0;
}
