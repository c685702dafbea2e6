// wavetune bench --record on a fake daemon.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/bench_command_fixture.h"
#include "formats/kernel_folder.h"
#include "formats/trace_folder.h"
#include "formats/types.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "tests/lib/source_paths.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;

// Streams what a daemon would record: one candidate, one that is excluded.
class RecordCommandTest : public BenchCommandFixture {
 protected:
  RecordCommandTest() : trace_(folder_.path() + "/trace") {
    const v1::JobInfo done = daemon_->measured.back().job();
    daemon_->measured.pop_back();
    usable_ = LoadKernelFolder(WAVETUNE_SOURCE_DIR "/kernels/gemm_f32")
                  .value()
                  .spec.default_configuration;
    AddSample(v1::ANCHORS, {64, 64, 64}, 5);
    AddSample(v1::REPRESENTATIVE, {1, 576, 576}, 6);
    AddSample(v1::JUDGED, {1, 2, 3}, 10);
    AddSample(v1::JUDGED, {4, 5, 6}, 20);
    // Again, interleaved with the leaders: this one counts.
    AddSample(v1::JUDGED, {4, 5, 6}, 21);
    v1::Recording& recording =
        *daemon_->measured.emplace_back().mutable_recording();
    *recording.mutable_device() = DeviceFactsToProto(
        {.uuid = "GPU-1", .label = "a GPU", .backend = "opencl"});
    recording.set_fingerprint("abc123");
    v1::RecordedCandidate& candidate = *recording.add_candidates();
    *candidate.mutable_configuration() = ConfigurationToProto(usable_);
    candidate.mutable_facts()->set_tiles_per_wave(7);
    candidate.mutable_facts()->set_blocks_per_multiprocessor(1);
    *daemon_->measured.emplace_back().mutable_job() = done;
  }

  v1::RecordedSamples& AddSample(v1::RecordedSet set,
                                 const std::vector<int64_t>& extents,
                                 double latency_us) {
    const KernelSpec spec =
        LoadKernelFolder(WAVETUNE_SOURCE_DIR "/kernels/gemm_f32").value().spec;
    v1::RecordedSamples& recorded =
        *daemon_->measured.emplace_back().mutable_recorded();
    recorded.set_set(set);
    Sample sample{.configuration = usable_, .problem = {.extents = extents}};
    sample.latency_us = latency_us;
    sample.min_us = latency_us;
    *recorded.add_samples() = SampleToProto(spec.dimensions, sample);
    return recorded;
  }

  int Record(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"bench", "gemm_f32", "--shapes",
                                          shapes_, "--record", trace_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }

  const std::string trace_;
  Configuration usable_;
};

TEST_F(RecordCommandTest, WritesWhatTheDaemonRecorded) {
  ASSERT_EQ(Record({"--anchors", "64"}), kExitOk) << err_.str();
  const v1::MeasureRequest& request = daemon_->measure_request;
  EXPECT_TRUE(request.record());
  EXPECT_FALSE(request.fresh());
  EXPECT_EQ(request.anchors_per_candidate(), 64);
  const absl::StatusOr<TraceFolder> trace = LoadTraceFolder(trace_);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(trace->manifest, HasSubstr("abc123"));
  EXPECT_EQ(trace->device.label, "a GPU");
  ASSERT_EQ(trace->candidates.size(), 1u);
  EXPECT_EQ(trace->candidates[0].candidate.tiles_per_wave, 7);
  EXPECT_EQ(trace->anchors.size(), 1u);
  EXPECT_EQ(trace->representative.size(), 1u);
  ASSERT_EQ(trace->exhaustive.size(), 2u);
  EXPECT_EQ(trace->exhaustive[1].latency_us, 21);
  EXPECT_THAT(out_.str(), HasSubstr("recorded " + trace_ + ": 1 candidates"));
  EXPECT_THAT(out_.str(), HasSubstr("of the exhaustive best"));
}

TEST_F(RecordCommandTest, PrintsTheSameAsJson) {
  ASSERT_EQ(Record({"--json", "--fresh"}), kExitOk) << err_.str();
  EXPECT_TRUE(daemon_->measure_request.fresh());
  EXPECT_EQ(daemon_->measure_request.anchors_per_candidate(), 120);
  const Json json = Output();
  EXPECT_EQ(json["trace"]["folder"], trace_);
  EXPECT_EQ(json["trace"]["judged"], 2);
  EXPECT_EQ(json["shapes"].size(), 2u);
}

TEST_F(RecordCommandTest, MeasuresNothingWhereNothingCanBeWritten) {
  ASSERT_EQ(Record(), kExitOk) << err_.str();
  daemon_->measure_request.Clear();
  EXPECT_EQ(Record(), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("--replace"));
  std::ofstream(trace_ + "/thesis.tex") << "years of work\n";
  EXPECT_EQ(Record({"--replace"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("thesis.tex"));
  EXPECT_FALSE(daemon_->measure_request.record());
}

TEST_F(RecordCommandTest, AFailedOrInterruptedRecordingWritesNothing) {
  *daemon_->measured.back().mutable_job() = Job(9, v1::FAILED);
  EXPECT_EQ(Record(), kExitFailed);
  EXPECT_FALSE(std::filesystem::exists(trace_));
  daemon_->measure_end = absl::CancelledError("interrupted");
  EXPECT_EQ(Record(), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("the same command goes on from there"));
  EXPECT_FALSE(std::filesystem::exists(trace_));
}

TEST_F(RecordCommandTest, PairsThatAreMissingAreNamed) {
  v1::RecordedFailure& failure =
      *AddSample(v1::ANCHORS, {32, 32, 32}, 5).add_failures();
  *failure.mutable_configuration() = ConfigurationToProto(usable_);
  *failure.mutable_problem() =
      daemon_->measured.back().recorded().samples(0).problem();
  failure.set_reason("out of memory");
  std::swap(daemon_->measured.front(), daemon_->measured.back());
  EXPECT_EQ(Record(), kExitFailed);
  EXPECT_THAT(err_.str(),
              HasSubstr("lacks 1 pairs that could not be measured"));
  EXPECT_THAT(err_.str(), HasSubstr("m=32 n=32 k=32: out of memory"));
  EXPECT_TRUE(std::filesystem::exists(trace_));
}

TEST_F(RecordCommandTest, ADaemonThatDoesNotRecordIsTooOld) {
  std::erase_if(daemon_->measured, [](const v1::MeasureResponse& event) {
    return event.has_recorded() || event.has_recording();
  });
  EXPECT_EQ(Record(), kExitFailed);
  EXPECT_THAT(err_.str(), HasSubstr("older than this command; upgrade it"));
  EXPECT_FALSE(std::filesystem::exists(trace_));
}

TEST_F(RecordCommandTest, ItsOptionsNeedIt) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--replace"},
        {"--fresh"},
        {"--anchors", "50"}}) {
    std::vector<std::string> arguments = {"bench", "gemm_f32", "--shapes",
                                          shapes_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(Run(arguments), kExitUsage) << more[0];
  }
  EXPECT_EQ(Record({"--anchors", "5"}), kExitUsage);
}

}  // namespace
}  // namespace wavetune::cli
