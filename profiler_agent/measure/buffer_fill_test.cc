#include "profiler_agent/measure/buffer_fill.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_agent/measure/buffer_values.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr size_t kSize = 4096;

// Notes what is written, as ("zeros" or "values", bytes).
class BufferFillTest : public ::testing::Test {
 protected:
  using Written = std::vector<std::pair<std::string, size_t>>;

  static Argument Of(ArgumentRole role, Zeroed zeroed = Zeroed::kNever) {
    Argument argument;
    argument.role = role;
    argument.type = ElementType::kInt32;
    argument.zeroed = zeroed;
    return argument;
  }

  Written Fill(BufferFill& fill, size_t bytes,
               std::optional<int64_t> below = std::nullopt,
               size_t size = kSize) {
    Written written;
    const absl::Status status = fill.Fill(
        bytes, size, below,
        [&](size_t own) {
          written.emplace_back("zeros", own);
          return absl::OkStatus();
        },
        [&](absl::string_view pattern, size_t own) {
          written.emplace_back("values", own);
          pattern_ = std::string(pattern);
          return result_;
        });
    EXPECT_EQ(status, result_);
    return written;
  }

  std::string pattern_;
  absl::Status result_;
};

TEST_F(BufferFillTest, WritesValuesOnceIntoAllOfAnInput) {
  BufferFill fill(Of(ArgumentRole::kInput), 7);
  EXPECT_THAT(Fill(fill, 64), ElementsAre(Pair("values", kSize)));
  EXPECT_EQ(pattern_,
            ValuePattern(Of(ArgumentRole::kInput), std::nullopt, kSize, 7));
  EXPECT_THAT(Fill(fill, 64), IsEmpty());
  EXPECT_THAT(Fill(fill, 128), IsEmpty());
}

TEST_F(BufferFillTest, WritesAgainWhereBoundOrMemoryAreOthers) {
  BufferFill fill(Of(ArgumentRole::kInput), 7);
  Fill(fill, 64, 5);
  EXPECT_EQ(pattern_, ValuePattern(Of(ArgumentRole::kInput), 5, kSize, 7));
  EXPECT_THAT(Fill(fill, 64, 9), ElementsAre(Pair("values", kSize)));
  EXPECT_EQ(pattern_, ValuePattern(Of(ArgumentRole::kInput), 9, kSize, 7));
  EXPECT_THAT(Fill(fill, 64, 9), IsEmpty());
  fill.Forget();
  EXPECT_THAT(Fill(fill, 64, 9, 2 * kSize),
              ElementsAre(Pair("values", 2 * kSize)));
  EXPECT_EQ(pattern_, ValuePattern(Of(ArgumentRole::kInput), 9, 2 * kSize, 7));
}

TEST_F(BufferFillTest, FillsWhatKernelsWriteAgainEachTime) {
  BufferFill fill(Of(ArgumentRole::kInOut), 7);
  EXPECT_THAT(Fill(fill, 64), ElementsAre(Pair("values", 64)));
  const std::string first = std::exchange(pattern_, "");
  EXPECT_THAT(Fill(fill, 128), ElementsAre(Pair("values", 128)));
  EXPECT_EQ(pattern_, first);
  // Where it rotates, all slices were written.
  Argument cold = Of(ArgumentRole::kInOut);
  cold.cold = true;
  BufferFill rotating(cold, 7);
  EXPECT_THAT(Fill(rotating, 64), ElementsAre(Pair("values", kSize)));
  EXPECT_THAT(Fill(rotating, 64), ElementsAre(Pair("values", kSize)));
}

TEST_F(BufferFillTest, ZeroesWorkspacesThatAreZeroedOnce) {
  BufferFill once(Of(ArgumentRole::kWorkspace, Zeroed::kOnce), 7);
  EXPECT_THAT(Fill(once, 64), ElementsAre(Pair("zeros", 64)));
  EXPECT_THAT(Fill(once, 64), ElementsAre(Pair("zeros", 64)));
  BufferFill each(Of(ArgumentRole::kWorkspace, Zeroed::kEveryLaunch), 7);
  EXPECT_THAT(Fill(each, 64), IsEmpty());
  BufferFill output(Of(ArgumentRole::kOutput), 7);
  EXPECT_THAT(Fill(output, 64), IsEmpty());
}

TEST_F(BufferFillTest, SaysWhyItCouldNotWrite) {
  BufferFill fill(Of(ArgumentRole::kInput), 7);
  result_ = absl::UnavailableError("the device is gone");
  Fill(fill, 64);
}

}  // namespace
}  // namespace wavetune
