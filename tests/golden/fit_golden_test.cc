// Fixed samples give the same plan, table and verdict everywhere: what a
// profile of a synthetic device measures, and the payload that follows from it.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/digest.h"
#include "fit/build/fit_table.h"
#include "fit/profile.h"
#include "fit/testing/synthetic_device.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/byte_io.h"
#include "model/table/table_codec.h"
#include "model/testing/kernels.h"
#include "tests/golden/golden_file.h"

namespace wavetune::testing {
namespace {

struct GoldenProfile {
  const char* name;
  KernelSpec spec;
  SyntheticDeviceOptions options;
};

std::vector<GoldenProfile> Profiles() {
  return {{"fit_gemm", GemmSpec(), {}},
          {"fit_gemm_on_two_units",
           GemmSpec(),
           {.multiprocessors = 2, .blocks = 1, .noise = 0.08}},
          {"fit_attention", CausalAttentionSpec(), {}},
          {"fit_grouped_gemm", GroupedGemmSpec(), {.noise = 0}}};
}

// Every sample in the order in which it was asked for, the latency as bits.
std::string DigestOf(const std::vector<Sample>& samples) {
  ByteWriter writer;
  for (const Sample& sample : samples) {
    for (const auto& numbers : {sample.configuration.values(),
                                absl::MakeConstSpan(sample.problem.extents),
                                absl::MakeConstSpan(sample.problem.repeated)}) {
      for (const int64_t number : numbers) {
        writer.U64(static_cast<uint64_t>(number));
      }
    }
    writer.U64(std::bit_cast<uint64_t>(sample.latency_us));
  }
  return Sha256Hex(writer.bytes());
}

TEST(FitGoldenTest, PlansAndTablesAreTheCommittedOnes) {
  std::string digests;
  for (const GoldenProfile& golden : Profiles()) {
    const SyntheticDevice device(golden.spec, golden.options);
    const ProfileInput done = Profile(device, device.Input());
    const auto fit = FitTable(done);
    ASSERT_TRUE(fit.ok()) << golden.name << ": " << fit.status();
    const std::string payload = EncodeTable(fit->table).value();
    ExpectGolden(std::string(golden.name) + ".table", payload);
    digests += std::string(golden.name) + " samples " + DigestOf(done.samples) +
               " table " + Sha256Hex(payload) + "\n";
  }
  ExpectGolden("fit_digests.txt", digests);
}

}  // namespace
}  // namespace wavetune::testing
