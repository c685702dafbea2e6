#include "profiler_agent/measure/measured_buffers.h"

#include <cstring>
#include <memory>
#include <set>

#include "gtest/gtest.h"
#include "model/testing/kernels.h"
#include "profiler_agent/measure/usual_check_memory.h"

namespace wavetune {
namespace {

struct HostBytes {
  std::shared_ptr<std::string> bytes;

  char* get() const { return bytes == nullptr ? nullptr : bytes->data(); }
  explicit operator bool() const { return bytes != nullptr; }
};

// A driver of the host's memory, and what it was asked for.
struct HostSession {
  using Memory = HostBytes;
  using Slice = char*;
  static constexpr bool kRestoresOnDevice = true;
  static constexpr bool kTellsWhatIsFree = true;

  struct State {
    size_t free = size_t{1} << 20;
    int allocations = 0;
    size_t from_host = 0;  // Bytes.
  };
  State* state;
};

absl::StatusOr<size_t> AllocatableNow(const HostSession& session) {
  return session.state->free;
}

absl::Status TooLittleMemory(const HostSession& /*session*/, size_t bytes) {
  return absl::ResourceExhaustedError(absl::StrCat(bytes, " bytes"));
}

absl::StatusOr<HostBytes> AllocateMemory(const HostSession& session,
                                         size_t bytes) {
  HostSession::State* const state = session.state;
  if (bytes > state->free) return TooLittleMemory(session, bytes);
  ++state->allocations;
  state->free -= bytes;
  return HostBytes{std::shared_ptr<std::string>(
      new std::string(bytes, '?'), [state](const std::string* memory) {
        state->free += memory->size();
        delete memory;
      })};
}

absl::StatusOr<char*> SliceOf(const HostSession& /*session*/, char* memory,
                              size_t offset, size_t /*bytes*/) {
  return memory + offset;
}

absl::Status CopyToDevice(const HostSession& session, char* memory,
                          absl::string_view content) {
  session.state->from_host += content.size();
  std::memcpy(memory, content.data(), content.size());
  return absl::OkStatus();
}

absl::StatusOr<std::string> CopyToHost(const HostSession& /*session*/,
                                       char* memory, size_t bytes) {
  return std::string(memory, bytes);
}

absl::Status CopyOnDevice(const HostSession& /*session*/, char* from, char* to,
                          size_t offset, size_t bytes) {
  std::memcpy(to + offset, from, bytes);
  return absl::OkStatus();
}

absl::Status WriteZeros(const HostSession& /*session*/, char* memory,
                        size_t bytes) {
  std::memset(memory, 0, bytes);
  return absl::OkStatus();
}

absl::Status Finish(const HostSession& /*session*/) { return absl::OkStatus(); }

// One that only tells what it allows at once.
struct AllowingSession : HostSession {
  static constexpr bool kTellsWhatIsFree = false;
};

absl::StatusOr<size_t> AllocatableNow(const AllowingSession& /*session*/) {
  return 4 * 4096;
}

constexpr size_t kSlice = 4096;

class MeasuredBuffersTest : public ::testing::Test {
 protected:
  RotatingBuffer<HostSession> Buffer(bool cold) {
    return {session_, facts_, {.name = "a", .cold = cold}, /*seed=*/1};
  }

  // How many slices the next launches get.
  static size_t SlicesOf(RotatingBuffer<HostSession>& buffer) {
    std::set<const char*> slices;
    for (int i = 0; i < 20; ++i) slices.insert(buffer.Next().value());
    return slices.size();
  }

  HostSession::State state_;
  const HostSession session_{&state_};
  // Cold is 16 KiB.
  const DeviceFacts facts_{.memory_bytes = 1, .last_level_cache_bytes = 4096};
};

TEST_F(MeasuredBuffersTest, AColdBufferGetsAnotherSliceForEachLaunch) {
  RotatingBuffer<HostSession> cold = Buffer(true);
  ASSERT_TRUE(cold.Reserve(kSlice, std::nullopt).ok());
  EXPECT_EQ(SlicesOf(cold), 5u);
  RotatingBuffer<HostSession> warm = Buffer(false);
  ASSERT_TRUE(warm.Reserve(kSlice, std::nullopt).ok());
  EXPECT_EQ(SlicesOf(warm), 1u);
}

TEST_F(MeasuredBuffersTest, RotatesOverLessUntilThereIsRoom) {
  state_.free = 4 * kSlice;  // The other arguments need the other half.
  RotatingBuffer<HostSession> buffer = Buffer(true);
  ASSERT_TRUE(buffer.Reserve(kSlice, std::nullopt).ok());
  EXPECT_EQ(SlicesOf(buffer), 2u);
  state_.free += kSlice;  // Not worth filling it anew.
  ASSERT_TRUE(buffer.Reserve(kSlice, std::nullopt).ok());
  EXPECT_EQ(state_.allocations, 1);
  state_.free += size_t{1} << 20;
  ASSERT_TRUE(buffer.Reserve(kSlice, std::nullopt).ok());
  EXPECT_EQ(state_.allocations, 2);
  EXPECT_EQ(SlicesOf(buffer), 5u);
}

TEST_F(MeasuredBuffersTest, WhatIsAllowedAtOnceDoesNotGrow) {
  const AllowingSession session{{&state_}};
  const Argument argument{.name = "a", .cold = true};
  for (const size_t slice : {kSlice, 3 * kSlice}) {
    RotatingBuffer<AllowingSession> buffer(session, facts_, argument, 1);
    state_.allocations = 0;
    ASSERT_TRUE(buffer.Reserve(slice, std::nullopt).ok());
    ASSERT_TRUE(buffer.Reserve(slice, std::nullopt).ok());
    EXPECT_EQ(state_.allocations, 1) << slice;
  }
}

TEST_F(MeasuredBuffersTest, OneSliceIsEnoughWhereThereIsNoMore) {
  state_.free = kSlice;
  RotatingBuffer<HostSession> buffer = Buffer(true);
  ASSERT_TRUE(buffer.Reserve(kSlice, std::nullopt).ok());
  EXPECT_EQ(SlicesOf(buffer), 1u);
  EXPECT_EQ(buffer.Reserve(2 * kSlice, std::nullopt).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(state_.free, kSlice);  // It gave up what it had.
}

// A pattern is below 2^22 elements; over a bus the rest would take longer.
TEST_F(MeasuredBuffersTest, ALongBufferIsFilledOnTheDevice) {
  state_.free = size_t{128} << 20;
  constexpr size_t kBytes = size_t{20} << 20;
  RotatingBuffer<HostSession> buffer = Buffer(false);
  ASSERT_TRUE(buffer.Reserve(kBytes, std::nullopt).ok());
  const size_t pattern = state_.from_host;
  EXPECT_LT(pattern, kBytes);
  const char* const slice = buffer.Next().value();
  EXPECT_EQ(std::memcmp(slice, slice + pattern, kBytes - pattern), 0);
  ASSERT_TRUE(buffer.Reserve(kBytes, std::nullopt).ok());
  EXPECT_EQ(state_.from_host, pattern);  // It is still there.
}

TEST_F(MeasuredBuffersTest, AllBuffersOfAKernelAreThereOrNone) {
  const KernelSpec spec = testing::GemmSpec();
  MeasuredBuffers<HostSession> buffers(session_, facts_);
  const Problem problem{.extents = {64, 64, 64}};
  ASSERT_TRUE(buffers.Reserve(spec, spec.default_configuration, problem).ok());
  const auto slices = buffers.Next();
  ASSERT_TRUE(slices.ok());
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    const bool scalar = spec.arguments[i].role == ArgumentRole::kScalar;
    EXPECT_EQ(slices->contains(i), !scalar) << i;
    if (scalar) continue;
    EXPECT_EQ(buffers.bytes(i), 64u * 64 * 4) << i;
  }
  const Problem large{.extents = {4096, 4096, 64}};
  EXPECT_EQ(buffers.Reserve(spec, spec.default_configuration, large).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(state_.free, size_t{1} << 20);
}

TEST_F(MeasuredBuffersTest, CheckedBuffersArePutBackFromACopyOnTheDevice) {
  UsualCheckMemory<HostSession> memory(session_);
  const Argument argument{.name = "out", .role = ArgumentRole::kOutput};
  const auto buffer = memory.Allocate(argument, 64);
  ASSERT_TRUE(buffer.ok());
  const Guards guards = memory.GuardsOf(argument, 64);
  const std::string whole(guards.front + 64 + guards.behind, 'p');
  ASSERT_TRUE((*buffer)->Restore(whole).ok());
  auto* const own =
      static_cast<SessionCheckBuffer<HostSession>*>(buffer->get());
  std::memset(own->argument(), 'k', 64);
  EXPECT_EQ((*buffer)->Read().value().substr(guards.front, 65),
            std::string(64, 'k') + "p");
  ASSERT_TRUE((*buffer)->Restore(whole).ok());
  EXPECT_EQ((*buffer)->Read().value(), whole);
  EXPECT_EQ(state_.from_host, whole.size());
}

}  // namespace
}  // namespace wavetune
