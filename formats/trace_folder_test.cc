#include "formats/trace_folder.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "fit/plan/recording_plan.h"
#include "formats/kernel_folder.h"
#include "formats/kernel_spec.h"
#include "formats/trace_folder_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr char kRecorded[] = WAVETUNE_SOURCE_DIR "/tests/data/h200_triton_gemm";
constexpr char kGemm[] = WAVETUNE_SOURCE_DIR "/kernels/gemm_bf16";

// A small trace of a kernel with device predicates.
TraceFolder SmallTrace() {
  const KernelFolder kernel = LoadKernelFolder(kGemm).value();
  TraceFolder trace;
  trace.manifest = TraceManifest(kernel.proto, "cuda", "Recorded by a test.");
  trace.spec =
      KernelSpecFromProto(ParseManifest(trace.manifest).value()).value();
  trace.device = {.uuid = "GPU-1",
                  .label = "a GPU",
                  .backend = "cuda",
                  .architecture = "sm_90",
                  .multiprocessors = 132};
  const Configuration usable = trace.spec.default_configuration;
  trace.candidates = {{"", {.configuration = usable, .tiles_per_wave = 128}}};
  const auto sample = [&](std::vector<int64_t> extents, double latency_us) {
    Sample s{.configuration = usable,
             .problem = {.extents = std::move(extents)}};
    s.latency_us = latency_us;
    s.min_us = latency_us / 2;
    return s;
  };
  trace.anchors = {sample({128, 128, 64}, 5), sample({256, 128, 64}, 6)};
  trace.representative = {sample({1, 7168, 5120}, 7)};
  trace.exhaustive = {sample({3, 6144, 4096}, 8)};
  return trace;
}

class TraceFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    base_ = ::testing::TempDir() + "trace_folder_XXXXXX";
    ASSERT_NE(mkdtemp(base_.data()), nullptr);
    dir_ = base_ + "/gemm_bf16";
  }
  void TearDown() override { fs::remove_all(base_); }

  absl::Status Write(const TraceFolder& trace, bool replace = false) {
    auto writer = TraceFolderWriter::Open(dir_, replace);
    if (!writer.ok()) return writer.status();
    return (*writer)->Commit(trace);
  }
  absl::Status OpenStatus(const std::string& dir) {
    return TraceFolderWriter::Open(dir, false).status();
  }
  // Everything beside and in the trace's folder.
  std::vector<std::string> Names(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  std::string ReadBytes(const std::string& path) const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string LoadError() const {
    const auto loaded = LoadTraceFolder(dir_);
    return loaded.ok() ? "" : loaded.status().ToString();
  }

  std::string base_;
  std::string dir_;
};

TEST_F(TraceFolderTest, IsReadAsItWasWritten) {
  const TraceFolder trace = SmallTrace();
  ASSERT_TRUE(Write(trace).ok());
  EXPECT_THAT(Names(base_), ElementsAre("gemm_bf16"));
  const auto loaded = LoadTraceFolder(dir_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->manifest, trace.manifest);
  EXPECT_EQ(loaded->device, trace.device);
  EXPECT_EQ(loaded->candidates, trace.candidates);
  ASSERT_EQ(loaded->anchors.size(), 2u);
  EXPECT_EQ(loaded->anchors[1].latency_us, 6);
  EXPECT_EQ(loaded->anchors[1].min_us, 3);
  ASSERT_EQ(loaded->representative.size(), 1u);
  ASSERT_EQ(loaded->exhaustive.size(), 1u);
  EXPECT_EQ(loaded->exhaustive[0].problem, trace.exhaustive[0].problem);
}

TEST_F(TraceFolderTest, IsAKernelFolderOfItsOwn) {
  ASSERT_TRUE(Write(SmallTrace()).ok());
  const auto kernel = LoadKernelFolder(dir_);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_TRUE(kernel->sources.empty());
  EXPECT_NE(kernel->spec.ImplementationOf("replay"), nullptr);
  EXPECT_EQ(kernel->spec.ImplementationOf("cuda"), nullptr);
  // A device gets the space that was recorded.
  EXPECT_EQ(kernel->spec.ImplementationOf("replay")->device_predicates,
            LoadKernelFolder(kGemm)
                .value()
                .spec.ImplementationOf("cuda")
                ->device_predicates);
  EXPECT_THAT(kernel->manifest,
              ::testing::StartsWith("# Recorded by a test.\n"));
  EXPECT_TRUE(
      CheckSameKernel(kernel->spec, LoadKernelFolder(kGemm)->spec).ok());
}

TEST_F(TraceFolderTest, LinesThatSpellOutTheirParametersAreReadToo) {
  const auto trace = LoadTraceFolder(kRecorded);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->candidates.size(), 176u);
  EXPECT_GT(trace->candidates[0].candidate.tiles_per_wave, 132);
  EXPECT_EQ(trace->anchors.size(), 25359u);
  EXPECT_TRUE(trace->representative.empty());
  EXPECT_GT(trace->exhaustive.size(), 10000u);
}

TEST_F(TraceFolderTest, ReadsOnlyWhatIsAskedFor) {
  ASSERT_TRUE(Write(SmallTrace()).ok());
  const auto trace = LoadTraceFolder(dir_, {.exhaustive = false});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_TRUE(trace->exhaustive.empty());
  EXPECT_FALSE(trace->representative.empty());
}

TEST_F(TraceFolderTest, ATraceIsOnlyReplacedWhenToldSo) {
  ASSERT_TRUE(Write(SmallTrace()).ok());
  std::ofstream(dir_ + "/README.md") << "where it came from\n";
  TraceFolder other = SmallTrace();
  other.device.label = "another GPU";
  const absl::Status refused = Write(other);
  EXPECT_EQ(refused.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--replace"));
  EXPECT_EQ(LoadTraceFolder(dir_)->device.label, "a GPU");
  const absl::Status replaced = Write(other, /*replace=*/true);
  ASSERT_TRUE(replaced.ok()) << replaced;
  EXPECT_EQ(LoadTraceFolder(dir_)->device.label, "another GPU");
  EXPECT_EQ(ReadBytes(dir_ + "/README.md"), "where it came from\n");
  EXPECT_THAT(Names(base_), ElementsAre("gemm_bf16"));
}

TEST_F(TraceFolderTest, WhatIsNotCommittedLeavesNothing) {
  ASSERT_TRUE(Write(SmallTrace()).ok());
  { ASSERT_TRUE(TraceFolderWriter::Open(dir_, /*replace=*/true).ok()); }
  EXPECT_THAT(Names(base_), ElementsAre("gemm_bf16"));
  EXPECT_TRUE(LoadTraceFolder(dir_).ok());
}

TEST_F(TraceFolderTest, AnEmptyFolderIsUsed) {
  fs::create_directory(dir_);
  ASSERT_TRUE(Write(SmallTrace()).ok());
  EXPECT_THAT(Names(dir_), UnorderedElementsAre(
                               "manifest.textproto", "device.textproto",
                               "candidates.csv", "anchors.csv.gz",
                               "representative.csv.gz", "exhaustive.csv.gz"));
}

TEST_F(TraceFolderTest, AFolderWithAReadmeAloneIsUsed) {
  fs::create_directory(dir_);
  std::ofstream(dir_ + "/README.md") << "to be recorded\n";
  const absl::Status status = Write(SmallTrace());
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(ReadBytes(dir_ + "/README.md"), "to be recorded\n");
  EXPECT_TRUE(LoadTraceFolder(dir_).ok());
}

TEST_F(TraceFolderTest, ATraceThatCameMeanwhileIsKept) {
  auto writer = TraceFolderWriter::Open(dir_, /*replace=*/false);
  ASSERT_TRUE(writer.ok()) << writer.status();
  TraceFolder other = SmallTrace();
  other.device.label = "another GPU";
  ASSERT_TRUE(Write(other).ok());
  EXPECT_TRUE(absl::IsAlreadyExists((*writer)->Commit(SmallTrace())));
  writer->reset();
  EXPECT_EQ(LoadTraceFolder(dir_)->device.label, "another GPU");
  EXPECT_THAT(Names(base_), ElementsAre("gemm_bf16"));
}

TEST_F(TraceFolderTest, AFolderOfSomethingElseIsNotTouched) {
  fs::create_directory(dir_);
  std::ofstream(dir_ + "/thesis.tex") << "years of work\n";
  for (const bool replace : {false, true}) {
    const absl::Status status = Write(SmallTrace(), replace);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("thesis.tex"), HasSubstr("another folder")));
  }
  EXPECT_THAT(Names(dir_), ElementsAre("thesis.tex"));
  EXPECT_THAT(Names(base_), ElementsAre("gemm_bf16"));
}

TEST_F(TraceFolderTest, AFileInItsPlaceIsRefused) {
  std::ofstream(dir_) << "a file\n";
  EXPECT_THAT(std::string(OpenStatus(dir_).message()), HasSubstr("is a file"));
  EXPECT_EQ(OpenStatus(dir_ + "/below").code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(OpenStatus("").code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TraceFolderTest, AFolderThatCannotBeWrittenToIsRefusedBeforehand) {
  const absl::Status missing = OpenStatus(base_ + "/no/such/trace");
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(
      std::string(missing.message()),
      AllOf(HasSubstr(base_ + "/no/such"), HasSubstr("make the folder")));
  if (geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  fs::permissions(base_, fs::perms::owner_read | fs::perms::owner_exec);
  const absl::Status denied = OpenStatus(dir_);
  fs::permissions(base_, fs::perms::owner_all);
  EXPECT_EQ(denied.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(denied.message()),
              HasSubstr("choose a folder that you may write to"));
}

TEST_F(TraceFolderTest, ATruncatedFileIsNamed) {
  ASSERT_TRUE(Write(SmallTrace()).ok());
  const std::string path = dir_ + "/anchors.csv.gz";
  fs::resize_file(path, fs::file_size(path) - 10);
  EXPECT_THAT(LoadError(), AllOf(HasSubstr("DATA_LOSS"), HasSubstr(path),
                                 HasSubstr("damaged")));
}

TEST_F(TraceFolderTest, AMalformedLineIsNamedWithItsNumber) {
  ASSERT_TRUE(Write(SmallTrace()).ok());
  fs::remove(dir_ + "/anchors.csv.gz");
  const std::string path = dir_ + "/anchors.csv";
  std::ofstream(path) << "candidate,m,n,k,latency_us\n0,128,128,64,5\n"
                         "0,128,128,many,5\n";
  EXPECT_THAT(LoadError(),
              HasSubstr(path + ": trace line 3: column 'k': 'many'"));
  std::ofstream(dir_ + "/candidates.csv") << "candidate\n";
  EXPECT_THAT(LoadError(), HasSubstr("candidates.csv: trace line 1: column"));
}

TEST_F(TraceFolderTest, WithoutMeasurementsItSaysHowToRecordThem) {
  ASSERT_TRUE(Write(SmallTrace()).ok());
  for (const char* name : {"anchors", "representative", "exhaustive"}) {
    fs::remove(dir_ + "/" + name + ".csv.gz");
  }
  EXPECT_THAT(LoadError(),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("--record")));
  fs::remove(dir_ + "/device.textproto");
  EXPECT_THAT(LoadError(), HasSubstr("device.textproto"));
  fs::remove(dir_ + "/manifest.textproto");
  EXPECT_THAT(LoadError(), HasSubstr("manifest.textproto"));
}

// The recording that the project wants to keep: gemm_bf16 on an H200 with 102
// judged shapes. Latencies are noise, which compresses worst.
TEST_F(TraceFolderTest, AWholeRecordingOfAGpuFitsIntoThreeMegabytes) {
  TraceFolder trace = SmallTrace();
  ProfileInput input{.spec = &trace.spec, .device = trace.device};
  input.candidates.emplace_back();
  trace.candidates.clear();
  for (const Configuration& c : EnumerateConfigurations(trace.spec)) {
    const Candidate candidate{.configuration = c, .tiles_per_wave = 132};
    trace.candidates.push_back({"", candidate});
    input.candidates[0].push_back(candidate);
  }
  uint64_t state = 1;
  const auto noise = [&state] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state >> 40) / (1 << 24);
  };
  const auto measure = [&](const MeasureItem& item) {
    Sample sample{.configuration = item.configuration, .problem = item.problem};
    sample.min_us = 3 + 300 * noise();
    sample.relative_spread = 0.05 * noise();
    sample.latency_us = sample.min_us * (1 + sample.relative_spread);
    return sample;
  };
  const auto plan = PlanRecording(input);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::map<Configuration, int> anchors;
  trace.anchors.clear();
  for (const MeasureItem& item : plan->anchors) {
    ++anchors[item.configuration];
    trace.anchors.push_back(measure(item));
  }
  EXPECT_EQ(anchors.size(), trace.candidates.size());
  for (const auto& [configuration, count] : anchors) {
    EXPECT_GE(count, 100) << FormatConfiguration(trace.spec, configuration);
  }
  trace.representative.clear();
  for (const MeasureItem& item : plan->representatives) {
    trace.representative.push_back(measure(item));
  }
  trace.exhaustive.clear();
  for (int64_t i = 0; i < 102; ++i) {
    for (const TraceCandidate& c : trace.candidates) {
      trace.exhaustive.push_back(measure(
          {c.candidate.configuration, {.extents = {i * 37, 6144, 4096}}}));
    }
  }
  ASSERT_TRUE(Write(trace).ok());
  int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(dir_)) {
    bytes += static_cast<int64_t>(entry.file_size());
  }
  EXPECT_LE(bytes, 3 << 20);
  RecordProperty("bytes", static_cast<int>(bytes));
  RecordProperty("anchors", static_cast<int>(trace.anchors.size()));
  RecordProperty("representative",
                 static_cast<int>(trace.representative.size()));
}

TEST_F(TraceFolderTest, SaysWhatOfAnotherKernelDiffers) {
  const KernelSpec recorded = SmallTrace().spec;
  KernelSpec kernel = recorded;
  kernel.representative_problems.clear();
  EXPECT_TRUE(CheckSameKernel(recorded, kernel).ok());
  kernel.parameters[0].values.push_back(7);
  EXPECT_THAT(std::string(CheckSameKernel(recorded, kernel).message()),
              AllOf(HasSubstr("other parameters"), HasSubstr("record")));
  kernel = recorded;
  kernel.dimensions[0].max = 5;
  EXPECT_THAT(std::string(CheckSameKernel(recorded, kernel).message()),
              HasSubstr("other dimensions"));
  kernel = recorded;
  kernel.mapping.rows.reset();
  EXPECT_THAT(std::string(CheckSameKernel(recorded, kernel).message()),
              AllOf(HasSubstr("other mappings"), Not(HasSubstr("parameters"))));
}

}  // namespace
}  // namespace wavetune
