#include "model/kernel/space_sample.h"

#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/kernel_validation.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// A parameter that varies slowest of many: evenly spread samples miss values of
// those that vary fastest.
KernelSpec WideSpec() {
  KernelSpec spec;
  spec.parameters = {{.name = "A", .values = {1, 2, 3}},
                     {.name = "B", .values = {1, 2, 3, 4}},
                     {.name = "C", .values = {10, 20, 30, 40, 50, 60}}};
  spec.default_configuration = {2, 2, 20};
  return spec;
}

TEST(SampleSpaceTest, BeginsWithTheDefault) {
  EXPECT_EQ(SampleSpace(WideSpec(), 5)[0], Configuration({2, 2, 20}));
  EXPECT_THAT(SampleSpace(WideSpec(), 1), SizeIs(1));
}

TEST(SampleSpaceTest, SeesEveryValueAsSoonAsItCan) {
  const KernelSpec spec = WideSpec();
  const std::vector<Configuration> space = EnumerateConfigurations(spec);
  // The longest list has six values.
  for (size_t size = 6; size < space.size(); ++size) {
    const std::vector<Configuration> sample = SampleSpace(spec, size);
    EXPECT_THAT(sample, SizeIs(size));
    EXPECT_THAT(ValuesLeftOut(spec, space, sample), IsEmpty()) << size;
    EXPECT_THAT(std::set<Configuration>(sample.begin(), sample.end()),
                SizeIs(size));
  }
}

TEST(SampleSpaceTest, SaysWhichValuesASmallSampleLeavesOut) {
  const KernelSpec spec = WideSpec();
  const std::vector<Configuration> space = EnumerateConfigurations(spec);
  EXPECT_THAT(ValuesLeftOut(spec, space, SampleSpace(spec, 1)), SizeIs(10));
  EXPECT_THAT(ValuesLeftOut(spec, space, SampleSpace(spec, 5)),
              ::testing::ElementsAre("C=60"));
}

TEST(SampleSpaceTest, AWholeSpaceIsNotASample) {
  const KernelSpec spec = WideSpec();
  EXPECT_EQ(SampleSpace(spec, 72), EnumerateConfigurations(spec));
  EXPECT_EQ(SampleSpace(spec, 1000), EnumerateConfigurations(spec));
}

TEST(SampleSpaceTest, ConstraintsKeepValuesFromTheSpaceNotFromTheSample) {
  const KernelSpec spec = testing::GemmSpec();
  const std::vector<Configuration> space = EnumerateConfigurations(spec);
  EXPECT_THAT(ValuesLeftOut(spec, space, SampleSpace(spec, 6)), IsEmpty());
}

}  // namespace
}  // namespace wavetune
