// The check on host memory: kernels are functions.
#include "profiler_agent/measure/result_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class HostBuffer : public CheckBuffer {
 public:
  explicit HostBuffer(size_t front) : front_(front) {}
  absl::Status Write(absl::string_view whole) override {
    whole_ = std::string(whole);
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> Read() override { return whole_; }

  template <typename T>
  T* data() {
    return reinterpret_cast<T*>(whole_.data() + front_);
  }

 private:
  size_t front_;
  std::string whole_;
};

class HostMemory : public CheckMemory {
 public:
  absl::StatusOr<std::unique_ptr<CheckBuffer>> Allocate(
      const Argument& argument, size_t bytes) override {
    ++allocations_;
    if (exhausted_after_ > 0 && --exhausted_after_ == 0) {
      return absl::ResourceExhaustedError("full");
    }
    return std::make_unique<HostBuffer>(GuardsOf(argument, bytes).front);
  }

  int allocations_ = 0;
  int exhausted_after_ = 0;  // Allocations; 0: never.
};

// c[m, n] = a[m, k] * b[k, n].
struct Gemm {
  float* a;
  float* b;
  float* c;
  int m, n, k;

  // The sum of terms [begin, end) of an element.
  float Sum(int row, int column, int begin, int end) const {
    float sum = 0;
    for (int p = begin; p < end; ++p) sum += a[row * k + p] * b[p * n + column];
    return sum;
  }
  void Run() const {
    for (int row = 0; row < m; ++row) {
      for (int column = 0; column < n; ++column) {
        c[row * n + column] = Sum(row, column, 0, k);
      }
    }
  }
};

float Rounded(float value) {
  return std::bit_cast<float>(static_cast<uint32_t>(ToBfloat16(value)) << 16);
}

class ResultCheckTest : public ::testing::Test {
 protected:
  ResultCheckTest() {
    spec_.name = "gemm";
    spec_.dimensions = {{.name = "m"}, {.name = "n"}, {.name = "k"}};
    const auto dimension = Expression::OfDimension;
    const auto matrix = [&](int rows, int columns) {
      return Expression::Product({dimension(rows), dimension(columns)});
    };
    spec_.mapping = {.tiles = matrix(0, 1),
                     .iterations_per_tile = dimension(2)};
    spec_.arguments = {
        {.name = "a", .role = ArgumentRole::kInput, .size = matrix(0, 2)},
        {.name = "b", .role = ArgumentRole::kInput, .size = matrix(2, 1)},
        {.name = "c", .role = ArgumentRole::kOutput, .size = matrix(0, 1)}};
    spec_.correctness.emplace();
    spec_.correctness->work_items = matrix(0, 1);
    spec_.correctness->relative_tolerance = 1e-5;
  }

  Gemm View(const CheckBuffers& buffers) {
    const auto at = [&](size_t i) {
      return static_cast<HostBuffer*>(buffers.at(i))->data<float>();
    };
    return {at(0),
            at(1),
            at(2),
            static_cast<int>(problem_.extents[0]),
            static_cast<int>(problem_.extents[1]),
            static_cast<int>(problem_.extents[2])};
  }

  // `candidate` outlives it.
  CheckTask Task(const std::function<void(const Gemm&)>& candidate) {
    return {.spec = spec_,
            .configuration = configuration_,
            .problem = problem_,
            .candidate =
                [&](const CheckBuffers& buffers) {
                  ++launches_;
                  candidate(View(buffers));
                  return absl::OkStatus();
                },
            .reference =
                [this](const CheckBuffers& buffers) {
                  ++reference_launches_;
                  reference_(View(buffers));
                  return absl::OkStatus();
                }};
  }

  absl::Status Check(const std::function<void(const Gemm&)>& candidate) {
    launches_ = 0;
    return checker_.Check(Task(candidate));
  }

  absl::Status RunReference() {
    const std::function<void(const Gemm&)> none;
    return checker_.RunReference(Task(none));
  }

  // Checks a candidate that is right, and then does something.
  absl::Status CheckRightBut(const std::function<void(const Gemm&)>& fault) {
    return Check([&](const Gemm& gemm) {
      gemm.Run();
      fault(gemm);
    });
  }

  KernelSpec spec_;
  Configuration configuration_;
  Problem problem_ = {.extents = {5, 7, 64}};
  std::function<void(const Gemm&)> reference_ = [](const Gemm& gemm) {
    gemm.Run();
  };
  HostMemory memory_;
  ResultChecker checker_{
      {.candidate_memories = {&memory_}, .reference_memory = &memory_}};
  int launches_ = 0;
  int reference_launches_ = 0;
};

MATCHER_P(IsWrong, text, "") {
  *result_listener << arg;
  return arg.code() == absl::StatusCode::kDataLoss &&
         ::testing::Value(std::string(arg.message()), HasSubstr(text));
}

TEST_F(ResultCheckTest, ARightKernelPassesThreeLaunchesAndOneOnCancellingData) {
  EXPECT_TRUE(Check([](const Gemm& gemm) { gemm.Run(); }).ok());
  EXPECT_EQ(launches_, 4);
}

TEST_F(ResultCheckTest, ManyOutputsAreCheckedOnRandomDataAlone) {
  problem_.extents = {1025, 1024, 1};
  EXPECT_TRUE(Check([](const Gemm& gemm) { gemm.Run(); }).ok());
  EXPECT_EQ(launches_, 3);
}

TEST_F(ResultCheckTest, SumsInAnotherOrderPass) {
  for (const int64_t k : {1, 2, 3, 64, 1001}) {
    problem_.extents = {3, 2, k};
    EXPECT_TRUE(Check([](const Gemm& gemm) {
                  for (int i = 0; i < gemm.m * gemm.n; ++i) {
                    float sum = 0;
                    for (int p = gemm.k - 1; p >= 0; --p) {
                      sum += gemm.a[i / gemm.n * gemm.k + p] *
                             gemm.b[p * gemm.n + i % gemm.n];
                    }
                    gemm.c[i] = sum;
                  }
                }).ok());
  }
}

TEST_F(ResultCheckTest, SaysWhereTheFirstWrongElementIsAndHowManyAre) {
  EXPECT_THAT(CheckRightBut([](const Gemm& gemm) {
                gemm.c[2 * gemm.n + 3] = 100;
                gemm.c[4 * gemm.n + 6] = -100;
              }),
              IsWrong("first wrong at row 2, column 3; 2 of 35"));
}

TEST_F(ResultCheckTest, OneWrongElementInAMillionFailsAtABf16Tolerance) {
  spec_.correctness->relative_tolerance = 2e-3;
  problem_.extents = {1000, 1000, 4};
  EXPECT_THAT(CheckRightBut(
                  [](const Gemm& gemm) { gemm.c[999 * gemm.n + 998] += 0.2f; }),
              IsWrong("first wrong at row 999, column 998; 1 of 1,000,000"));
}

TEST_F(ResultCheckTest, BeingOffALittleEverywhereFailsByTheNorm) {
  EXPECT_THAT(CheckRightBut([](const Gemm& gemm) {
                for (int i = 0; i < gemm.m * gemm.n; ++i) {
                  gemm.c[i] *= 1 + 4e-5f;
                }
              }),
              IsWrong("relative error 4"));
}

TEST_F(ResultCheckTest, AnUnwrittenElementFails) {
  EXPECT_THAT(Check([](Gemm gemm) {
                gemm.m -= 1;
                gemm.Run();
              }),
              IsWrong("first wrong at row 4, column 0; 7 of 35 (nan"));
}

TEST_F(ResultCheckTest, OutputsLeftAloneAfterTheFirstLaunchFail) {
  EXPECT_THAT(Check([this](const Gemm& gemm) {
                if (launches_ == 1) gemm.Run();
              }),
              IsWrong("in launch 2 of the same"));
}

TEST_F(ResultCheckTest, ARaceThatOneOfTheLaunchesLosesFails) {
  for (const int loser : {1, 2, 3, 4}) {
    EXPECT_THAT(CheckRightBut([&](const Gemm& gemm) {
                  if (launches_ == loser) gemm.c[0] = gemm.c[1];
                }),
                IsWrong("first wrong at row 0, column 0"))
        << loser;
  }
  problem_.extents = {1025, 1024, 1};  // Outputs are too many for other data.
  EXPECT_THAT(CheckRightBut([this](const Gemm& gemm) {
                if (launches_ == 3) gemm.c[0] = gemm.c[1];
              }),
              IsWrong("in launch 3 of the same"));
}

// Its powers overflow from 89 on.
TEST_F(ResultCheckTest, ASoftmaxThatDoesNotSubtractTheMaximumFails) {
  const auto run = [](const Gemm& gemm, bool subtracts) {
    for (int row = 0; row < gemm.m; ++row) {
      const float* const x = gemm.a + static_cast<ptrdiff_t>(row) * gemm.k;
      const float most = subtracts ? *std::max_element(x, x + gemm.k) : 0;
      float sum = 0;
      for (int p = 0; p < gemm.k; ++p) sum += std::exp(x[p] - most);
      for (int column = 0; column < gemm.n; ++column) {
        gemm.c[row * gemm.n + column] = std::exp(x[column] - most) / sum;
      }
    }
  };
  reference_ = [&](const Gemm& gemm) { run(gemm, true); };
  EXPECT_TRUE(Check([&](const Gemm& gemm) { run(gemm, true); }).ok());
  EXPECT_EQ(launches_, 4);
  EXPECT_THAT(Check([&](const Gemm& gemm) { run(gemm, false); }),
              IsWrong("(on floats from -128 to 128; "));
  // Its author says that it need not take them.
  checker_.Forget();
  spec_.arguments[0].values = FloatValues{.first = -8, .second = 8};
  spec_.arguments[1].values = FloatValues{.first = -1, .second = 1};
  EXPECT_TRUE(Check([&](const Gemm& gemm) { run(gemm, false); }).ok());
  EXPECT_EQ(launches_, 3);
}

// Where the reference itself overflows, launches on large data say nothing.
TEST_F(ResultCheckTest, WhatTheReferenceDoesNotTakeIsAskedOfNoCandidate) {
  const auto run = [](const Gemm& gemm) {
    for (int i = 0; i < gemm.m * gemm.n; ++i) {
      gemm.c[i] = std::exp(gemm.a[i] * gemm.a[i]);
    }
  };
  reference_ = run;
  int on_large = 0;
  EXPECT_TRUE(Check([&](const Gemm& gemm) {
                run(gemm);
                on_large += std::any_of(gemm.a, gemm.a + 64,
                                        [](float a) { return a > 1; });
              }).ok());
  EXPECT_EQ(launches_, 4);
  EXPECT_EQ(on_large, 0);
}

// Attention-like: rows of which one term takes all, but where two are close.
TEST_F(ResultCheckTest, ASumOfLargePowersInAnotherOrderPasses) {
  const auto run = [](const Gemm& gemm, bool backwards) {
    for (int row = 0; row < gemm.m; ++row) {
      const float* const q = gemm.a + static_cast<ptrdiff_t>(row) * gemm.k;
      std::vector<float> scores;
      for (int column = 0; column < gemm.n; ++column) {
        float score = 0;
        for (int i = 0; i < gemm.k; ++i) {
          const int p = backwards ? gemm.k - 1 - i : i;
          score += q[p] * gemm.b[p * gemm.n + column];
        }
        scores.push_back(score);
      }
      const float most = *std::max_element(scores.begin(), scores.end());
      float sum = 0;
      for (float& score : scores) sum += score = std::exp(score - most);
      for (int column = 0; column < gemm.n; ++column) {
        gemm.c[row * gemm.n + column] = scores[column] / sum;
      }
    }
  };
  spec_.correctness->relative_tolerance = 1e-4;
  reference_ = [&](const Gemm& gemm) { run(gemm, false); };
  for (const int64_t n : {64, 257, 1000}) {
    problem_.extents = {200, n, 64};
    const absl::Status status =
        Check([&](const Gemm& gemm) { run(gemm, true); });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(launches_, 4);
  }
}

// Four numbers of eight bits in each integer; c[row, column] is their products'
// sum.
class PackedCheckTest : public ResultCheckTest {
 protected:
  PackedCheckTest() {
    for (Argument& argument : spec_.arguments) {
      argument.type = ElementType::kInt32;
    }
    reference_ = [](const Gemm& gemm) { Run(gemm, 4); };
  }

  static void Run(const Gemm& gemm, int lanes) {
    const auto* const a = reinterpret_cast<const int8_t*>(gemm.a);
    const auto* const b = reinterpret_cast<const int8_t*>(gemm.b);
    for (int row = 0; row < gemm.m; ++row) {
      for (int column = 0; column < gemm.n; ++column) {
        int32_t sum = 0;
        for (int p = 0; p < gemm.k; ++p) {
          for (int lane = 0; lane < lanes; ++lane) {
            sum += a[4 * (row * gemm.k + p) + lane] *
                   b[4 * (p * gemm.n + column) + lane];
          }
        }
        reinterpret_cast<int32_t*>(gemm.c)[row * gemm.n + column] = sum;
      }
    }
  }
};

TEST_F(PackedCheckTest, AnIntegerHasAllOfItsBits) {
  const absl::Status right = Check([](const Gemm& gemm) { Run(gemm, 4); });
  EXPECT_TRUE(right.ok()) << right;
  EXPECT_EQ(launches_, 3);  // Nothing is large or cancels.
  for (const int lanes : {1, 2, 3}) {
    EXPECT_THAT(Check([&](const Gemm& gemm) { Run(gemm, lanes); }),
                IsWrong("output 'c'"))
        << lanes;
  }
}

// The lowest of four lanes is a 2^-24th of the whole.
TEST_F(PackedCheckTest, IntegersOfIntegersAreEqualOrWrong) {
  for (const ElementType type : {ElementType::kInt32, ElementType::kInt64}) {
    checker_.Forget();
    for (Argument& argument : spec_.arguments) argument.type = type;
    problem_.extents = {4, 8, 8};
    const size_t bytes = 32 * ElementBytes(type);
    const auto copy = [=](const Gemm& gemm) {
      std::memcpy(gemm.c, gemm.a, bytes);
    };
    reference_ = copy;
    EXPECT_TRUE(Check(copy).ok());
    EXPECT_THAT(CheckRightBut([](const Gemm&) {}), IsWrong("output 'c'"));
    EXPECT_THAT(Check([&](const Gemm& gemm) {
                  copy(gemm);
                  reinterpret_cast<char*>(gemm.c)[0] ^= 1;
                }),
                IsWrong("first wrong at row 0, column 0; 1 of 32"));
  }
  // Of floats they may be rounded.
  checker_.Forget();
  spec_.arguments[0].type = ElementType::kFloat32;
  spec_.arguments[2].type = ElementType::kInt32;
  spec_.correctness->relative_tolerance = 1e-3;
  const auto rounded = [](const Gemm& gemm, int more) {
    for (int i = 0; i < gemm.m * gemm.n; ++i) {
      reinterpret_cast<int32_t*>(gemm.c)[i] =
          static_cast<int32_t>(gemm.a[i] * 10000) + more;
    }
  };
  reference_ = [&](const Gemm& gemm) { rounded(gemm, 0); };
  EXPECT_TRUE(Check([&](const Gemm& gemm) { rounded(gemm, 1); }).ok());
}

TEST_F(ResultCheckTest, AReadPastAnInputFails) {
  // Masked by a factor of zero, as vector code does it.
  EXPECT_THAT(CheckRightBut([](const Gemm& gemm) {
                gemm.c[34] += 0 * gemm.a[gemm.m * gemm.k];
              }),
              IsWrong("what is computed from outside of an input"));
}

TEST_F(ResultCheckTest, AReadBeforeAnInputFails) {
  EXPECT_THAT(
      CheckRightBut([](const Gemm& gemm) { gemm.c[0] += 0 * gemm.b[-1]; }),
      IsWrong("first wrong at row 0, column 0"));
}

TEST_F(ResultCheckTest, AWriteFarPastAnOutputFails) {
  EXPECT_THAT(
      CheckRightBut([](const Gemm& gemm) { gemm.c[35 + 3000] = 0; }),
      IsWrong("writes past the end of output 'c' at m=5 n=7 k=64: 1 element, "
              "the first 3001 elements past its last one"));
}

TEST_F(ResultCheckTest, AWriteBeforeAnOutputFails) {
  EXPECT_THAT(CheckRightBut([](const Gemm& gemm) { gemm.c[-2] = 0; }),
              IsWrong("writes before the beginning of output 'c'"));
}

TEST_F(ResultCheckTest, AWriteIntoAnInputFails) {
  EXPECT_THAT(CheckRightBut([](const Gemm& gemm) { gemm.b[7] = 0; }),
              IsWrong("writes into input 'b' at m=5 n=7 k=64: 1 element, the "
                      "first at row 1, column 0"));
}

TEST_F(ResultCheckTest, AWriteBesideAnInputFails) {
  EXPECT_THAT(CheckRightBut([](const Gemm& gemm) { gemm.a[-1] = 0; }),
              IsWrong("writes before the beginning of input 'a'"));
}

// c += a * b.
TEST_F(ResultCheckTest, AnInOutBufferBeginsEachLaunchWithItsValues) {
  spec_.arguments[2].role = ArgumentRole::kInOut;
  const auto add = [](const Gemm& gemm) {
    for (int i = 0; i < gemm.m * gemm.n; ++i) {
      gemm.c[i] += gemm.Sum(i / gemm.n, i % gemm.n, 0, gemm.k);
    }
  };
  reference_ = add;
  EXPECT_TRUE(Check(add).ok()) << Check(add);
  EXPECT_EQ(launches_, 4);
  EXPECT_THAT(Check([](const Gemm& gemm) { gemm.Run(); }),
              IsWrong("output 'c' at m=5 n=7 k=64"));
  EXPECT_THAT(Check([&](const Gemm& gemm) {
                add(gemm);
                add(gemm);
              }),
              IsWrong("output 'c' at m=5 n=7 k=64"));
  EXPECT_THAT(Check([&](const Gemm& gemm) {
                add(gemm);
                gemm.c[gemm.m * gemm.n] = 0;
              }),
              IsWrong("writes past the end of in-out buffer 'c'"));
}

TEST_F(ResultCheckTest, ValuesOfAnInOutBufferAreTermsOfItsSums) {
  spec_.arguments[2].role = ArgumentRole::kInOut;
  std::vector<bool> on_magnitudes;
  reference_ = [&](const Gemm& gemm) {
    on_magnitudes.push_back(std::all_of(gemm.c, gemm.c + gemm.m * gemm.n,
                                        [](float c) { return c >= 0; }));
    gemm.c[0] += 1;
  };
  EXPECT_TRUE(Check([](const Gemm& gemm) { gemm.c[0] += 1; }).ok());
  // Random, cancelling and large data; of the last with others close by.
  EXPECT_THAT(on_magnitudes,
              ElementsAre(false, true, false, true, false, false));
}

// An integer that is counted up is no integer that was left unwritten.
TEST_F(ResultCheckTest, AReferenceMayAddToAnIntegerInOutBuffer) {
  spec_.arguments[2].role = ArgumentRole::kInOut;
  spec_.arguments[2].type = ElementType::kInt32;
  const auto count = [](const Gemm& gemm) {
    for (int i = 0; i < gemm.m * gemm.n; ++i) {
      ++reinterpret_cast<int32_t*>(gemm.c)[i];
    }
  };
  reference_ = count;
  EXPECT_TRUE(Check(count).ok()) << Check(count);
  EXPECT_FALSE(Check([&](const Gemm& gemm) {
                 count(gemm);
                 ++reinterpret_cast<int32_t*>(gemm.c)[3];
               }).ok());
}

// A workspace in place of b, which the kernel does not read.
class WorkspaceCheckTest : public ResultCheckTest {
 protected:
  WorkspaceCheckTest() {
    spec_.arguments[1].role = ArgumentRole::kWorkspace;
    reference_ = [](const Gemm& gemm) { CopyRows(gemm); };
  }

  // c[row][column] = a[row][0].
  static void CopyRows(const Gemm& gemm) {
    for (int i = 0; i < gemm.m * gemm.n; ++i) {
      gemm.c[i] = gemm.a[i / gemm.n * gemm.k];
    }
  }
  // Adds up in the workspace, and leaves what it added there.
  static void AddUpInWorkspace(const Gemm& gemm) {
    for (int i = 0; i < gemm.m * gemm.n; ++i) {
      gemm.b[0] += gemm.a[i / gemm.n * gemm.k];
      gemm.c[i] = gemm.b[0];
      gemm.b[0] -= gemm.c[i];
    }
    gemm.b[0] = 1;
  }
};

TEST_F(WorkspaceCheckTest, IsZeroAtEachLaunchAndWhatItHoldsIsNotCompared) {
  EXPECT_TRUE(Check(AddUpInWorkspace).ok()) << Check(AddUpInWorkspace);
}

TEST_F(WorkspaceCheckTest, ThatIsZeroedOnceMustBeLeftZero) {
  spec_.arguments[1].zeroed = Zeroed::kOnce;
  EXPECT_THAT(Check(AddUpInWorkspace),
              IsWrong("leaves workspace 'b' at m=5 n=7 k=64 not zero: 1 "
                      "element, the first at row 0, column 0; it is zeroed "
                      "once: put zeros back, or declare zeroed: "
                      "EVERY_LAUNCH"));
  const auto tidy = [](const Gemm& gemm) {
    AddUpInWorkspace(gemm);
    gemm.b[0] = 0;
  };
  EXPECT_TRUE(Check(tidy).ok()) << Check(tidy);
}

TEST_F(WorkspaceCheckTest, ThatIsNeverZeroedHoldsPoison) {
  spec_.arguments[1].zeroed = Zeroed::kNever;
  EXPECT_THAT(Check(AddUpInWorkspace), IsWrong("(nan where"));
  const auto sound = [](const Gemm& gemm) {
    gemm.b[0] = 0;
    AddUpInWorkspace(gemm);
  };
  EXPECT_TRUE(Check(sound).ok()) << Check(sound);
}

// The least integer may be what makes a result right.
TEST_F(WorkspaceCheckTest,
       ThatIsNeverZeroedHoldsOtherIntegersInTheSecondLaunch) {
  spec_.arguments[1].zeroed = Zeroed::kNever;
  spec_.arguments[1].type = ElementType::kInt32;
  EXPECT_THAT(Check([](const Gemm& gemm) {
                CopyRows(gemm);
                const int32_t held = *reinterpret_cast<int32_t*>(gemm.b);
                if (held != std::numeric_limits<int32_t>::min()) gemm.c[0] = 9;
              }),
              IsWrong("in launch 2 of the same"));
}

TEST_F(WorkspaceCheckTest, AWriteBesideItFails) {
  EXPECT_THAT(Check([](const Gemm& gemm) {
                CopyRows(gemm);
                gemm.b[gemm.k * gemm.n + 9] = 0;
              }),
              IsWrong("writes past the end of workspace 'b' at m=5 n=7 k=64: "
                      "1 element, the first 10 elements past its last one"));
}

// Two configurations of equal sizes whose bound differs.
TEST_F(ResultCheckTest, WhatIsKeptIsOfTheSameBound) {
  spec_.arguments[1].type = ElementType::kInt32;
  spec_.arguments[1].below = Expression::OfParameter(0);
  std::vector<int32_t> largest;
  reference_ = [&](const Gemm& gemm) {
    const auto* const b = reinterpret_cast<const int32_t*>(gemm.b);
    largest.push_back(*std::max_element(b, b + gemm.k * gemm.n));
    std::fill_n(gemm.c, gemm.m * gemm.n, 1.0f);
  };
  for (const int64_t below : {11, 13}) {
    configuration_ = {below};
    EXPECT_TRUE(Check([](const Gemm& gemm) {
                  std::fill_n(gemm.c, gemm.m * gemm.n, 1.0f);
                }).ok());
    EXPECT_EQ(largest.back(), below - 1);
  }
}

// At a tolerance at which random data hides what bf16 loses of two halves.
TEST_F(ResultCheckTest, SplitSumsThatFailOnlyWhereTheyCancelFail) {
  spec_.correctness->relative_tolerance = 5e-3;
  problem_.extents = {16, 16, 256};
  EXPECT_THAT(Check([](const Gemm& gemm) {
                for (int i = 0; i < gemm.m * gemm.n; ++i) {
                  const int row = i / gemm.n;
                  const int column = i % gemm.n;
                  gemm.c[i] =
                      Rounded(gemm.Sum(row, column, 0, gemm.k / 2)) +
                      Rounded(gemm.Sum(row, column, gemm.k / 2, gemm.k));
                }
              }),
              IsWrong("on inputs whose partial sums cancel"));
}

TEST_F(ResultCheckTest, TheReferenceRunsOnceForAllCandidatesOfAProblem) {
  EXPECT_TRUE(Check([](const Gemm& gemm) { gemm.Run(); }).ok());
  const int launches = reference_launches_;
  EXPECT_EQ(launches, 6);  // Three kinds of data, each with others beside.
  EXPECT_TRUE(Check([](const Gemm& gemm) { gemm.Run(); }).ok());
  EXPECT_EQ(reference_launches_, launches);
  problem_.extents = {5, 7, 65};
  EXPECT_TRUE(Check([](const Gemm& gemm) { gemm.Run(); }).ok());
  EXPECT_EQ(reference_launches_, 2 * launches);
}

// What becomes of the process on data that a candidate is checked on is then
// the reference's fault.
TEST_F(ResultCheckTest, TheReferenceRunsOnAllDataBeforeACandidateDoes) {
  std::vector<ReferenceUse> uses;
  checker_.reference_watch().Observe([&](ReferenceUse use) {
    if (use != ReferenceUse::kNone) uses.push_back(use);
  });
  EXPECT_TRUE(RunReference().ok());
  EXPECT_EQ(reference_launches_, 6);
  EXPECT_TRUE(Check([](const Gemm& gemm) { gemm.Run(); }).ok());
  EXPECT_EQ(reference_launches_, 6);
  EXPECT_EQ(uses,
            std::vector<ReferenceUse>(3, ReferenceUse::kBeforeCandidates));
}

TEST_F(ResultCheckTest, TheReferenceAloneRunsOnNoDataThatIsNotChecked) {
  problem_.extents = {1025, 1024, 1};
  EXPECT_TRUE(RunReference().ok());
  EXPECT_EQ(reference_launches_, 2);
}

TEST_F(ResultCheckTest, WhatACandidateLeavesBehindIsNoOthersFault) {
  float* input = nullptr;
  EXPECT_TRUE(CheckRightBut([&](const Gemm& gemm) { input = gemm.a; }).ok());
  // Of the large data, whose turn comes last, as a stray write would.
  input[0] += 1;
  EXPECT_TRUE(Check([](const Gemm& gemm) { gemm.Run(); }).ok());
}

TEST_F(ResultCheckTest, WhatIsKeptMakesWayWhereMemoryIsShort) {
  EXPECT_TRUE(Check([](const Gemm& gemm) { gemm.Run(); }).ok());
  problem_.extents = {5, 7, 65};
  memory_.exhausted_after_ = 2;
  EXPECT_TRUE(Check([](const Gemm& gemm) { gemm.Run(); }).ok());
}

TEST_F(ResultCheckTest, AReferenceThatReadsOutsideOfAnInputIsBroken) {
  reference_ = [](const Gemm& gemm) {
    gemm.Run();
    gemm.c[3] += gemm.a[gemm.m * gemm.k];
  };
  const absl::Status status = Check([](const Gemm& gemm) { gemm.Run(); });
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("the reference kernel is broken"),
                    HasSubstr("not finite at row 0, column 3")));
}

TEST_F(ResultCheckTest, AReferenceThatWritesIntoAnInputIsBroken) {
  reference_ = [](const Gemm& gemm) {
    gemm.Run();
    gemm.a[0] = 0;
  };
  EXPECT_EQ(Check([](const Gemm& gemm) { gemm.Run(); }).code(),
            absl::StatusCode::kUnimplemented);
}

TEST_F(ResultCheckTest, AReferenceThatLeavesAnIntegerUnwrittenIsBroken) {
  spec_.arguments[2].type = ElementType::kInt32;
  const auto columns = [](int first, int last) {
    return [=](const Gemm& gemm) {
      auto* const c = reinterpret_cast<int32_t*>(gemm.c);
      for (int i = 0; i < gemm.m * gemm.n; ++i) {
        if (i % gemm.n >= first && i % gemm.n < last) c[i] = i % gemm.n - 3;
      }
    };
  };
  reference_ = columns(0, 7);
  EXPECT_TRUE(Check(columns(0, 7)).ok());
  checker_.Forget();
  reference_ = columns(0, 5);
  const absl::Status part = Check(columns(0, 5));
  EXPECT_EQ(part.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(part.message()),
              HasSubstr("output 'c' is as it was before at row 0, column 5"));
  reference_ = [](const Gemm&) {};
  EXPECT_EQ(Check(reference_).code(), absl::StatusCode::kUnimplemented);
}

TEST_F(ResultCheckTest, AReferenceThatAddsToAnIntegerOutputIsBroken) {
  problem_.extents = {4, 8, 2};
  for (const ElementType type : {ElementType::kInt32, ElementType::kInt64}) {
    spec_.arguments[2].type = type;
    reference_ = [&](const Gemm& gemm) {
      for (int i = 0; i < gemm.m * gemm.n; ++i) {
        if (type == ElementType::kInt32) {
          reinterpret_cast<uint32_t*>(gemm.c)[i] += 2;
        } else {
          reinterpret_cast<uint64_t*>(gemm.c)[i] += 2;
        }
      }
    };
    EXPECT_EQ(Check(reference_).code(), absl::StatusCode::kUnimplemented);
  }
}

TEST_F(ResultCheckTest, AReferenceThatLeavesAPartOfAnIntegerUnwrittenIsBroken) {
  problem_.extents = {4, 8, 2};
  for (const ElementType type : {ElementType::kInt32, ElementType::kInt64}) {
    spec_.arguments[2].type = type;
    const size_t bytes = ElementBytes(type);
    for (size_t part = 1; part < bytes; part *= 2) {
      for (size_t at = 0; at < bytes; at += part) {
        reference_ = [&](const Gemm& gemm) {
          auto* const c = reinterpret_cast<char*>(gemm.c);
          for (size_t i = 0; i < 32 * bytes; ++i) {
            if (i / bytes != 9 || i % bytes / part != at / part) c[i] = 1;
          }
        };
        const absl::Status status = Check(reference_);
        EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
        EXPECT_THAT(std::string(status.message()),
                    HasSubstr("as it was before at row 1, column 1"))
            << part << " bytes at " << at << " of " << bytes;
      }
    }
  }
}

TEST_F(ResultCheckTest, AReferenceThatAddsToAHalfOfAnIntegerIsBroken) {
  spec_.arguments[2].type = ElementType::kInt64;
  problem_.extents = {4, 8, 2};
  for (const int added : {0, 1}) {
    reference_ = [&](const Gemm& gemm) {
      auto* const halves = reinterpret_cast<uint32_t*>(gemm.c);
      for (int i = 0; i < gemm.m * gemm.n; ++i) {
        halves[2 * i + added] += 2;
        halves[2 * i + 1 - added] = 0;
      }
    };
    EXPECT_EQ(Check(reference_).code(), absl::StatusCode::kUnimplemented);
  }
}

// The second launch finds another poison; there is no other for it.
TEST_F(ResultCheckTest, AnUnwrittenIntegerWhoseRightValueIsPoisonFails) {
  problem_.extents = {4, 8, 2};
  for (const ElementType type : {ElementType::kInt32, ElementType::kInt64}) {
    checker_.Forget();
    spec_.arguments[2].type = type;
    const auto least_but = [&](int left_alone) {
      return [=](const Gemm& gemm) {
        for (int i = 0; i < gemm.m * gemm.n; ++i) {
          if (i == left_alone) continue;
          if (type == ElementType::kInt32) {
            reinterpret_cast<int32_t*>(gemm.c)[i] =
                std::numeric_limits<int32_t>::min();
          } else {
            reinterpret_cast<int64_t*>(gemm.c)[i] =
                std::numeric_limits<int64_t>::min();
          }
        }
      };
    };
    reference_ = least_but(-1);
    EXPECT_THAT(
        Check(least_but(19)),
        IsWrong("(in launch 2 of the same; launches before it were right, and "
                "found other values in integer outputs)"));
    EXPECT_EQ(launches_, 2);
    EXPECT_TRUE(Check(least_but(-1)).ok());
    EXPECT_EQ(launches_, 4);
  }
}

// The least integer is as good a result as any.
TEST_F(ResultCheckTest, AReferenceMayComputeTheIntegerThatIsPoison) {
  spec_.arguments[2].type = ElementType::kInt32;
  reference_ = [](const Gemm& gemm) {
    std::fill_n(reinterpret_cast<int32_t*>(gemm.c), gemm.m * gemm.n,
                std::numeric_limits<int32_t>::min());
  };
  EXPECT_TRUE(Check(reference_).ok());
}

TEST_F(ResultCheckTest, IntegersCostOneMoreRunOfTheReferenceFloatsNone) {
  const auto zeros = [](const Gemm& gemm) {
    std::fill_n(gemm.c, gemm.m * gemm.n, 0.0f);
  };
  reference_ = zeros;
  EXPECT_TRUE(Check(zeros).ok());
  EXPECT_EQ(reference_launches_, 6);
  checker_.Forget();
  reference_launches_ = 0;
  spec_.arguments[2].type = ElementType::kInt32;
  EXPECT_TRUE(Check(zeros).ok());
  EXPECT_EQ(reference_launches_, 7);
}

TEST_F(ResultCheckTest, AReferenceThatOverflowsWhereAllIsLargeStillChecks) {
  reference_ = [](const Gemm& gemm) {
    gemm.Run();
    for (int i = 0; i < gemm.m * gemm.n; ++i) {
      gemm.c[i] = std::exp(gemm.c[i] * 8) / std::exp(gemm.c[i] * 8);
    }
  };
  const auto ones = [](const Gemm& gemm) {
    std::fill(gemm.c, gemm.c + gemm.m * gemm.n, 1.0f);
  };
  EXPECT_TRUE(Check(ones).ok());
}

TEST_F(ResultCheckTest, AKernelThatIsNoSumPasses) {
  // Softmax-like: nothing is exact, and magnitudes mean little.
  const auto run = [](const Gemm& gemm, bool backwards) {
    for (int row = 0; row < gemm.m; ++row) {
      for (int column = 0; column < gemm.n; ++column) {
        float sum = 0;
        float weighted = 0;
        for (int i = 0; i < gemm.k; ++i) {
          const int p = backwards ? gemm.k - 1 - i : i;
          const float weight = std::exp(gemm.a[row * gemm.k + p]);
          sum += weight;
          weighted += weight * gemm.b[p * gemm.n + column];
        }
        gemm.c[row * gemm.n + column] = weighted / sum;
      }
    }
  };
  reference_ = [&](const Gemm& gemm) { run(gemm, false); };
  for (const int64_t k : {1, 7, 500}) {
    problem_.extents = {1, 1, k};
    EXPECT_TRUE(Check([&](const Gemm& gemm) { run(gemm, true); }).ok());
  }
}

}  // namespace
}  // namespace wavetune
