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
  std::filesystem::create_directories(root + "/model");
  std::filesystem::create_directories(root + "/server/registry");
  std::ofstream(root + "/model/mapping.h") << "#include <vector>\n";
  std::ofstream(root + "/model/mapping.cc")
      << "#include \"model/mapping.h\"\n\n#include "
         "\"proto/wavetune/v1/kernel.pb.h\"\n";
  std::ofstream(root + "/server/registry/promotion.cc")
      << "#include \"absl/status/status.h\"\n";
  const std::vector<SourceFile> files = ReadTree(root);
  std::filesystem::remove_all(root);

  EXPECT_THAT(files, SizeIs(3));
  const std::vector<Breach> breaches = CheckIncludes(files);
  ASSERT_THAT(breaches, SizeIs(1));
  EXPECT_EQ(breaches[0].path, "model/mapping.cc");
  EXPECT_EQ(breaches[0].line, 3);
  EXPECT_EQ(breaches[0].include, "proto/wavetune/v1/kernel.pb.h");
}

TEST(IncludeBoundaryTest,
     ModelUsesOnlyItselfAbseilOpenSslAndTheStandardLibrary) {
  EXPECT_TRUE(Allows("model/fit.cc", "\"model/fit.h\""));
  EXPECT_TRUE(Allows("model/fit.cc", "\"absl/status/statusor.h\""));
  EXPECT_TRUE(Allows("model/sha256.cc", "<openssl/evp.h>"));
  EXPECT_TRUE(Allows("model/resolve_avx2.cc", "<immintrin.h>"));
  EXPECT_TRUE(Allows("model/fit_test.cc", "<gtest/gtest.h>"));
  EXPECT_TRUE(Allows("model/fit_test.cc", "<fstream>"));
  EXPECT_TRUE(Allows("model/testing/random_table.cc", "<gtest/gtest.h>"));
  EXPECT_TRUE(Allows("model/fit_test.cc", "\"tests/lib/status_matchers.h\""));

  EXPECT_FALSE(Allows("model/fit.cc", "\"tests/lib/status_matchers.h\""));
  EXPECT_FALSE(Allows("model/fit.cc", "<gtest/gtest.h>"));
  EXPECT_FALSE(Allows("model/fit.cc", "<fstream>"));
  EXPECT_FALSE(Allows("model/fit.cc", "<thread>"));
  EXPECT_FALSE(Allows("model/fit.cc", "<unistd.h>"));
  EXPECT_FALSE(Allows("model/fit.cc", "<grpcpp/grpcpp.h>"));
  EXPECT_FALSE(Allows("model/fit.cc", "<google/protobuf/message.h>"));
  EXPECT_FALSE(Allows("model/fit.cc", "\"server/registry/job.h\""));
  EXPECT_FALSE(Allows("model/fit.cc", "\"fit.h\""));
  EXPECT_FALSE(Allows("model/fit.cc", "<zlib.h>"));
}

TEST(IncludeBoundaryTest, FoldersOfModelUseOnlyThoseTheyMay) {
  EXPECT_TRUE(Allows("model/fit/a.cc", "\"model/fit/a.h\""));
  EXPECT_TRUE(Allows("model/fit/a.cc", "\"model/table/table.h\""));
  EXPECT_TRUE(Allows("model/fit/a.cc", "\"model/status_macros.h\""));
  EXPECT_TRUE(Allows("model/plan/a.cc", "\"model/decision/decision.h\""));
  EXPECT_TRUE(Allows("model/fit/a_test.cc", "\"model/profile/profile.h\""));

  EXPECT_FALSE(Allows("model/kernel/a.h", "\"model/table/table.h\""));
  EXPECT_FALSE(Allows("model/fit/a.cc", "\"model/profile/profile.h\""));
  EXPECT_FALSE(Allows("model/decision/a.cc", "\"model/samples/sample.h\""));
  EXPECT_FALSE(Allows("model/plan/a.cc", "\"model/table_fit/fit_notes.h\""));
  EXPECT_FALSE(Allows("model/a.h", "\"model/kernel/kernel_spec.h\""));
  EXPECT_FALSE(Allows("model/new/a.h", "\"model/kernel/kernel_spec.h\""));
}

TEST(IncludeBoundaryTest, WireUsesOnlyModelAndProto) {
  EXPECT_TRUE(Allows("proto/convert/kernel.cc", "\"model/kernel/mapping.h\""));
  EXPECT_TRUE(
      Allows("proto/convert/kernel.cc", "\"proto/wavetune/v1/kernel.pb.h\""));
  EXPECT_TRUE(Allows("proto/convert/status.cc", "<grpcpp/support/status.h>"));
  EXPECT_FALSE(Allows("proto/convert/kernel.cc", "\"server/registry/job.h\""));
  EXPECT_FALSE(Allows("proto/convert/kernel.cc", "\"client/tuner.h\""));
}

TEST(IncludeBoundaryTest, RegistryUsesOnlyModel) {
  EXPECT_TRUE(Allows("server/registry/job.cc", "\"model/fit/fit.h\""));
  EXPECT_TRUE(Allows("server/registry/job.cc", "<mutex>"));
  EXPECT_FALSE(Allows("server/registry/job.cc", "\"server/options.h\""));
  EXPECT_FALSE(
      Allows("server/registry/job.cc", "\"proto/wavetune/v1/kernel.pb.h\""));
  EXPECT_FALSE(Allows("server/registry/job.cc", "<grpcpp/grpcpp.h>"));
}

TEST(IncludeBoundaryTest, ServerClientAndAgentNeverIncludeEachOther) {
  const std::vector<std::string> components = {"server", "client",
                                               "profiler_agent/worker"};
  for (const std::string& from : components) {
    EXPECT_TRUE(Allows(from + "/a.cc", "\"proto/convert/status.h\"")) << from;
    for (const std::string& to : components) {
      EXPECT_EQ(Allows(from + "/a.cc", "\"" + to + "/b.h\""), from == to)
          << from << " -> " << to;
      EXPECT_EQ(Allows(from + "/a_test.cc", "\"" + to + "/b.h\""), from == to)
          << from << " -> " << to;
    }
    EXPECT_TRUE(Allows("tests/component/a_test.cc", "\"" + from + "/b.h\""));
  }
}

TEST(IncludeBoundaryTest, TheAgentsLogicDoesNotReachIntoBackends) {
  EXPECT_TRUE(
      Allows("profiler_agent/stopping_rule.cc", "\"profiler_agent/clock.h\""));
  EXPECT_FALSE(Allows("profiler_agent/stopping_rule.cc",
                      "\"profiler_agent/opencl/device.h\""));
  EXPECT_FALSE(Allows("profiler_agent/stopping_rule.cc",
                      "\"proto/wavetune/v1/agent.pb.h\""));
  EXPECT_TRUE(Allows("profiler_agent/opencl/device.cc",
                     "\"profiler_agent/stopping_rule.h\""));
  EXPECT_TRUE(
      Allows("profiler_agent/main.cc", "\"profiler_agent/worker/worker.h\""));
}

TEST(IncludeBoundaryTest, LibrariesStayInTheirAdapters) {
  EXPECT_TRUE(Allows("server/rocksdb_table_store.cc", "<rocksdb/db.h>"));
  EXPECT_TRUE(
      Allows("server/rocksdb_table_store_test.cc", "\"rocksdb/env.h\""));
  EXPECT_FALSE(Allows("server/table_store.cc", "<rocksdb/db.h>"));
  EXPECT_FALSE(Allows("tests/component/restart_test.cc", "<rocksdb/db.h>"));

  EXPECT_TRUE(Allows("profiler_agent/cuda/cuda_device.cc", "<cuda.h>"));
  EXPECT_TRUE(Allows("cuda_launch/launch_config.h", "<cuda.h>"));
  EXPECT_FALSE(Allows("profiler_agent/worker/worker.cc", "<cuda.h>"));
  EXPECT_FALSE(Allows("profiler_agent/worker/worker.cc", "<nvrtc.h>"));
  EXPECT_FALSE(Allows("profiler_agent/worker/worker.cc", "<nvml.h>"));
  EXPECT_FALSE(Allows("profiler_agent/worker/worker.cc", "<cuda_runtime.h>"));

  EXPECT_TRUE(Allows("profiler_agent/opencl/device.cc", "<CL/opencl.hpp>"));
  EXPECT_FALSE(Allows("profiler_agent/replay/device.cc", "<CL/cl.h>"));
}

TEST(IncludeBoundaryTest, CodeBuiltForThreadSanitizerLocksWithStdMutex) {
  const std::string mutex = "\"absl/synchronization/mutex.h\"";
  EXPECT_FALSE(Allows("model/tables.cc", mutex));
  EXPECT_FALSE(Allows("server/registry/job.cc", mutex));
  EXPECT_FALSE(Allows("profiler_agent/clock.cc", mutex));
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
