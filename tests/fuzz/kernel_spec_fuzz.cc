// A kernel's spec as the agent and the worker get it, in binary: any message
// is refused with a reason, or is a kernel whose problems map.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "formats/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "proto/wavetune/v1/kernel.pb.h"
#include "tests/fuzz/parse_quietly.h"
#include "tests/fuzz/require.h"

namespace wavetune {
namespace {

void MapProblems(const KernelSpec& spec) {
  for (const WeightedProblem& known : spec.representative_problems) {
    const Coordinates at =
        MapProblem(spec.Of(known.problem.specialisation)
                       .MappingOf(known.problem.specialisation),
                   known.problem.View(), spec.default_configuration);
    Require(at.tiles >= 1 && at.iterations > 0, "a problem without work");
    Require(at.row_fill > 0 && at.row_fill <= 1, "fill of rows");
  }
}

}  // namespace
}  // namespace wavetune

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wavetune::v1::KernelSpec proto;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!wavetune::ParseQuietly(bytes, &proto)) return 0;
  const auto spec = wavetune::KernelSpecFromProto(proto);
  if (!spec.ok()) {
    wavetune::Require(!spec.status().message().empty(), "no reason is given");
    return 0;
  }
  wavetune::MapProblems(*spec);
  return 0;
}
