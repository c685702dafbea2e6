#include "tests/component/include_boundary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/lib/source_paths.h"

namespace wavetune::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> Messages(const std::vector<SourceFile>& files) {
  std::vector<std::string> messages;
  for (const Breach& breach : CheckIncludes(files)) {
    messages.push_back(breach.message);
  }
  return messages;
}

// True if a file at `path` may include `include` (with quotes or angle
// brackets).
bool Allows(const std::string& path, const std::string& include) {
  return CheckIncludes({{path, "#include " + include + "\n"}}).empty();
}

TEST(IncludeBoundaryTest, TheTreeKeepsItsLayers) {
  const std::vector<SourceFile> files = ReadTree(WAVETUNE_SOURCE_DIR);
  // At least this test itself: a wrong path must not pass for a clean tree.
  ASSERT_GE(files.size(), 3u);
  EXPECT_THAT(Messages(files), IsEmpty());
}

TEST(IncludeBoundaryTest, FindsABreachInATreeOnDisk) {
  std::string root = ::testing::TempDir() + "include_boundary_XXXXXX";
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  std::filesystem::create_directories(root + "/model/kernel");
  std::filesystem::create_directories(root + "/server/jobs");
  std::ofstream(root + "/model/kernel/mapping.h") << "#include <vector>\n";
  std::ofstream(root + "/model/kernel/mapping.cc")
      << "#include \"model/kernel/mapping.h\"\n\n#include "
         "\"proto/wavetune/v1/kernel.pb.h\"\n";
  std::ofstream(root + "/server/jobs/promotion.cc")
      << "#include \"absl/status/status.h\"\n";
  const std::vector<SourceFile> files = ReadTree(root);
  std::filesystem::remove_all(root);

  EXPECT_THAT(files, SizeIs(3));
  const std::vector<Breach> breaches = CheckIncludes(files);
  ASSERT_THAT(breaches, SizeIs(1));
  EXPECT_EQ(breaches[0].path, "model/kernel/mapping.cc");
  EXPECT_EQ(breaches[0].line, 3);
  EXPECT_EQ(breaches[0].include, "proto/wavetune/v1/kernel.pb.h");
}

TEST(IncludeBoundaryTest, BaseKnowsNothingOfKernels) {
  EXPECT_TRUE(Allows("base/own_files.cc", "<sys/stat.h>"));
  EXPECT_TRUE(Allows("base/digest.cc", "<openssl/evp.h>"));
  EXPECT_FALSE(Allows("base/log.cc", "\"wavetune/problem.h\""));
  EXPECT_FALSE(Allows("base/log.cc", "\"proto/wavetune/v1/types.pb.h\""));
}

TEST(IncludeBoundaryTest, PureRoomsUseOnlyThemselvesAndAbseil) {
  EXPECT_TRUE(Allows("fit/models/fit.cc", "\"fit/models/fit.h\""));
  EXPECT_TRUE(Allows("fit/models/fit.cc", "\"absl/status/statusor.h\""));
  EXPECT_TRUE(Allows("model/decide/simd/resolve_avx2.cc", "<immintrin.h>"));
  EXPECT_TRUE(Allows("fit/models/fit_test.cc", "<gtest/gtest.h>"));
  EXPECT_TRUE(Allows("fit/models/fit_test.cc", "<fstream>"));
  EXPECT_TRUE(Allows("model/testing/random_table.cc", "<gtest/gtest.h>"));
  EXPECT_TRUE(
      Allows("model/table/a_test.cc", "\"tests/lib/status_matchers.h\""));

  for (const std::string file :
       {"model/table/a.cc", "fit/models/a.cc", "usage/a.cc"}) {
    EXPECT_FALSE(Allows(file, "\"tests/lib/status_matchers.h\"")) << file;
    EXPECT_FALSE(Allows(file, "<gtest/gtest.h>")) << file;
    EXPECT_FALSE(Allows(file, "<fstream>")) << file;
    EXPECT_FALSE(Allows(file, "<thread>")) << file;
    EXPECT_FALSE(Allows(file, "<unistd.h>")) << file;
    EXPECT_FALSE(Allows(file, "<grpcpp/grpcpp.h>")) << file;
    EXPECT_FALSE(Allows(file, "<google/protobuf/message.h>")) << file;
    EXPECT_FALSE(Allows(file, "<openssl/evp.h>")) << file;
    EXPECT_FALSE(Allows(file, "\"server/jobs/job.h\"")) << file;
    EXPECT_FALSE(Allows(file, "\"formats/types.h\"")) << file;
    EXPECT_FALSE(Allows(file, "\"a.h\"")) << file;
    EXPECT_FALSE(Allows(file, "<zlib.h>")) << file;
  }
}

TEST(IncludeBoundaryTest, FoldersOfModelAndFitUseOnlyThoseTheyMay) {
  EXPECT_TRUE(Allows("model/decide/a.cc", "\"model/table/table.h\""));
  EXPECT_TRUE(Allows("model/decide/simd/a.cc", "\"model/decide/a.h\""));
  EXPECT_TRUE(Allows("fit/models/a.cc", "\"fit/samples/a.h\""));
  EXPECT_TRUE(Allows("fit/models/a.cc", "\"base/status_macros.h\""));
  EXPECT_TRUE(Allows("fit/plan/a.cc", "\"wavetune/decision.h\""));
  EXPECT_TRUE(Allows("fit/plan/a.cc", "\"fit/profile.h\""));
  EXPECT_TRUE(Allows("fit/models/a_test.cc", "\"fit/build/fit_notes.h\""));

  EXPECT_FALSE(Allows("model/kernel/a.h", "\"model/table/table.h\""));
  EXPECT_FALSE(Allows("model/decide/a.cc", "\"fit/samples/sample.h\""));
  EXPECT_FALSE(Allows("fit/samples/a.cc", "\"fit/profile.h\""));
  EXPECT_FALSE(Allows("fit/models/a.cc", "\"fit/build/fit_notes.h\""));
  EXPECT_FALSE(Allows("fit/plan/a.cc", "\"fit/build/fit_notes.h\""));
  EXPECT_FALSE(Allows("model/a.h", "\"model/kernel/kernel_spec.h\""));
  EXPECT_FALSE(Allows("model/new/a.h", "\"model/kernel/kernel_spec.h\""));
}

TEST(IncludeBoundaryTest, TheApiStandsOnNothingOfOurs) {
  const std::string api = "client/include/wavetune/tuner.h";
  EXPECT_TRUE(Allows(api, "\"wavetune/decision.h\""));
  EXPECT_TRUE(Allows(api, "\"absl/status/status.h\""));
  EXPECT_FALSE(Allows(api, "\"model/table/table.h\""));
  EXPECT_FALSE(Allows(api, "\"client/src/table_slot.h\""));
  EXPECT_FALSE(Allows(api, "<grpcpp/grpcpp.h>"));
  for (const std::string file : {"server/jobs/a.cc", "profiler_agent/link/a.cc",
                                 "fit/plan/a.cc", "model/kernel/a.h"}) {
    EXPECT_TRUE(Allows(file, "\"wavetune/problem.h\"")) << file;
    EXPECT_FALSE(Allows(file, "\"wavetune/tuner.h\"")) << file;
  }
}

TEST(IncludeBoundaryTest, FormatsAreForClientsToo) {
  EXPECT_TRUE(Allows("formats/kernel.cc", "\"model/kernel/mapping.h\""));
  EXPECT_TRUE(Allows("formats/kernel.cc", "\"proto/wavetune/v1/kernel.pb.h\""));
  EXPECT_TRUE(Allows("formats/status.cc", "<grpcpp/support/status.h>"));
  EXPECT_FALSE(Allows("formats/kernel.cc", "\"fit/profile.h\""));
  EXPECT_FALSE(Allows("formats/kernel.cc", "\"server/jobs/job.h\""));
  EXPECT_FALSE(Allows("formats/kernel.cc", "\"wavetune/tuner.h\""));
  EXPECT_FALSE(Allows("client/src/tuner.cc", "\"fit/profile.h\""));
  EXPECT_FALSE(Allows("profiler_agent/link/a.cc", "\"fit/profile.h\""));
}

TEST(IncludeBoundaryTest, TheDaemonsLogicIsPure) {
  for (const std::string folder : {"catalog", "jobs", "store", "usage"}) {
    const std::string file = "server/" + folder + "/a.cc";
    EXPECT_TRUE(Allows(file, "\"fit/profile.h\"")) << file;
    EXPECT_TRUE(Allows(file, "\"server/store/records.h\"")) << file;
    EXPECT_TRUE(Allows(file, "<mutex>")) << file;
    EXPECT_FALSE(Allows(file, "\"server/daemon.h\"")) << file;
    EXPECT_FALSE(Allows(file, "\"server/rpc/services.h\"")) << file;
    EXPECT_FALSE(Allows(file, "\"formats/types.h\"")) << file;
    EXPECT_FALSE(Allows(file, "\"proto/wavetune/v1/kernel.pb.h\"")) << file;
    EXPECT_FALSE(Allows(file, "<grpcpp/grpcpp.h>")) << file;
  }
  EXPECT_TRUE(Allows("server/store/stored_records.cc",
                     "\"proto/wavetune/v1/store.pb.h\""));
  EXPECT_TRUE(Allows("server/catalog/disk_kernel_catalog.cc",
                     "\"formats/kernel_folder.h\""));
}

TEST(IncludeBoundaryTest, ServerClientAndAgentNeverIncludeEachOther) {
  const std::vector<std::string> components = {"server", "client",
                                               "profiler_agent/worker"};
  for (const std::string& from : components) {
    EXPECT_TRUE(Allows(from + "/a.cc", "\"formats/status.h\"")) << from;
    for (const std::string& to : components) {
      EXPECT_EQ(Allows(from + "/a.cc", "\"" + to + "/b.h\""), from == to)
          << from << " -> " << to;
      EXPECT_EQ(Allows(from + "/a_test.cc", "\"" + to + "/b.h\""), from == to)
          << from << " -> " << to;
    }
    EXPECT_TRUE(Allows("tests/component/a_test.cc", "\"" + from + "/b.h\""));
    EXPECT_FALSE(Allows(from + "/a.cc", "\"cli/format.h\"")) << from;
  }
  EXPECT_TRUE(Allows("cli/question.cc", "\"wavetune/client.h\""));
  EXPECT_FALSE(Allows("cli/question.cc", "\"server/daemon.h\""));
}

TEST(IncludeBoundaryTest, MeasuringDoesNotReachIntoBackends) {
  EXPECT_TRUE(Allows("profiler_agent/measure/stopping_rule.cc",
                     "\"profiler_agent/measure/clock.h\""));
  EXPECT_FALSE(Allows("profiler_agent/measure/stopping_rule.cc",
                      "\"profiler_agent/opencl/device.h\""));
  EXPECT_FALSE(Allows("profiler_agent/measure/stopping_rule.cc",
                      "\"proto/wavetune/v1/agent.pb.h\""));
  EXPECT_TRUE(Allows("profiler_agent/opencl/device.cc",
                     "\"profiler_agent/measure/stopping_rule.h\""));
  EXPECT_TRUE(
      Allows("profiler_agent/main.cc", "\"profiler_agent/worker/worker.h\""));
}

TEST(IncludeBoundaryTest, LibrariesStayInTheirAdapters) {
  EXPECT_TRUE(Allows("server/store/rocksdb_table_store.cc", "<rocksdb/db.h>"));
  EXPECT_TRUE(
      Allows("server/store/rocksdb_table_store_test.cc", "\"rocksdb/env.h\""));
  EXPECT_FALSE(Allows("server/store/table_store.cc", "<rocksdb/db.h>"));
  EXPECT_FALSE(Allows("tests/component/restart_test.cc", "<rocksdb/db.h>"));

  EXPECT_TRUE(Allows("profiler_agent/cuda/cuda_device.cc", "<cuda.h>"));
  EXPECT_TRUE(Allows("launch/launch_config.h", "<cuda.h>"));
  EXPECT_FALSE(Allows("profiler_agent/worker/worker.cc", "<cuda.h>"));
  EXPECT_FALSE(Allows("profiler_agent/worker/worker.cc", "<nvrtc.h>"));
  EXPECT_FALSE(Allows("profiler_agent/worker/worker.cc", "<nvml.h>"));
  EXPECT_FALSE(Allows("profiler_agent/worker/worker.cc", "<cuda_runtime.h>"));

  EXPECT_TRUE(Allows("server/metrics/daemon_metrics.cc",
                     "\"prometheus/collectable.h\""));
  EXPECT_FALSE(Allows("server/daemon.cc", "<prometheus/exposer.h>"));
  EXPECT_FALSE(
      Allows("server/rpc/call_durations.cc", "\"prometheus/histogram.h\""));
  EXPECT_TRUE(Allows("profiler_agent/opencl/device.cc", "<CL/opencl.hpp>"));
  EXPECT_FALSE(Allows("profiler_agent/replay/device.cc", "<CL/cl.h>"));
}

TEST(IncludeBoundaryTest, CodeBuiltForThreadSanitizerLocksWithStdMutex) {
  const std::string mutex = "\"absl/synchronization/mutex.h\"";
  EXPECT_FALSE(Allows("model/table/tables.cc", mutex));
  EXPECT_FALSE(Allows("server/jobs/job.cc", mutex));
  EXPECT_FALSE(Allows("profiler_agent/measure/clock.cc", mutex));
  EXPECT_TRUE(Allows("server/service.cc", mutex));
}

TEST(IncludeBoundaryTest, ReadsEverySpellingOfAnInclude) {
  const std::vector<Breach> breaches =
      CheckIncludes({{"model/a.cc",
                      "  #  include   <zlib.h>\n#include\"server/a.h\"\n// "
                      "#include <zlib.h>\n"}});
  EXPECT_THAT(breaches,
              ElementsAre(Field(&Breach::line, 1), Field(&Breach::line, 2)));
  EXPECT_THAT(breaches, Each(Field(&Breach::path, "model/a.cc")));
}

}  // namespace
}  // namespace wavetune::testing
