// Decisions inside CUDA graphs on a real GPU of compute capability 9.0, while
// tables are swapped; skipped where there is none.
//
// Exports the kernel itself, which needs NVRTC. WAVETUNE_REPLAYS: how often a
// graph is replayed.
#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "client/src/fake_node.h"
#include "formats/kernel_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_agent/commands/export_command.h"
#include "tests/gpu/device_gemm.h"
#include "tests/lib/environment.h"
#include "tests/lib/export_tables.h"
#include "tests/lib/source_paths.h"
#include "wavetune/client.h"
#include "wavetune/exported_kernel.h"

namespace wavetune::testing {
namespace {

namespace fs = std::filesystem;

// Rounding to bfloat16 is 2^-9 at most.
constexpr double kTolerance = 4e-3;

// Where the binary was built; elsewhere the working directory is a checkout.
std::string KernelFolderPath() {
  const std::string built = WAVETUNE_SOURCE_DIR "/kernels/gemm_bf16";
  return fs::is_directory(built) ? built : "kernels/gemm_bf16";
}

std::string WhyNoGpu() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    return "no NVIDIA GPU";
  cudaDeviceProp properties;
  CheckCuda(cudaGetDeviceProperties(&properties, 0), "asking for the GPU");
  if (properties.major == 9 && properties.minor == 0) return "";
  return std::string(properties.name) + " has no compute capability 9.0";
}

int Replays() {
  return static_cast<int>(testing::NumberFrom("WAVETUNE_REPLAYS", 1000));
}

// A graph that can be launched.
class Graph {
 public:
  // Captures what `enqueue` puts into the stream.
  template <typename Enqueue>
  Graph(cudaStream_t stream, Enqueue enqueue) : stream_(stream) {
    CheckCuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
              "beginning a capture");
    enqueue();
    cudaGraph_t graph = nullptr;
    CheckCuda(cudaStreamEndCapture(stream, &graph), "ending a capture");
    CheckCuda(cudaGraphInstantiate(&executable_, graph, 0),
              "instantiating a graph");
    CheckCuda(cudaGraphDestroy(graph), "destroying a graph");
  }
  ~Graph() { cudaGraphExecDestroy(executable_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void Replay() const {
    CheckCuda(cudaGraphLaunch(executable_, stream_), "launching a graph");
    CheckCuda(cudaStreamSynchronize(stream_), "waiting for a graph");
  }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t executable_ = nullptr;
};

class GraphCaptureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = WhyNoGpu();
    if (!why.empty()) GTEST_SKIP() << why;
    const auto folder = LoadKernelFolder(KernelFolderPath());
    ASSERT_TRUE(folder.ok()) << folder.status();
    for (size_t favourite : {0, 2}) {
      tables_.push_back(Serve(FavouringTable(folder->spec, std::string(64, 'a'),
                                             GemmConfigurations(), favourite)));
      node_.AddTable(tables_.back());
    }
    auto client = Client::Connect(
        {.endpoint = node_.endpoint(), .cache_dir = node_.cache_dir()});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    Swap(0);
    CheckCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
              "making a stream");
    LoadKernel();
    // Edges in every dimension; one row; one that only the portable
    // configuration takes.
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{100, 1024, 1024},
                                  {1, 520, 4104},
                                  {777, 640, 512},
                                  {33, 71, 41}}) {
      gemms_.push_back(std::make_unique<DeviceGemm>(m, n, k));
    }
  }
  void TearDown() override {
    gemms_.clear();
    kernel_.reset();
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  void LoadKernel() {
    const std::string dir = scratch_.path() + "/export";
    const std::string table = scratch_.path() + "/gemm.table";
    std::ofstream(table, std::ios::binary) << tables_[0].payload;
    std::ostringstream out;
    const absl::Status status =
        RunExportCommand({.kernel_dir = KernelFolderPath(),
                          .table_path = table,
                          .out_dir = dir,
                          .threads = 8,
                          .ignore_fingerprint = true},
                         out);
    if (absl::IsUnavailable(status)) GTEST_SKIP() << status.message();
    ASSERT_TRUE(status.ok()) << status;
    auto kernel = ExportedKernel::Load(dir);
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    kernel_ = *std::move(kernel);
  }

  // Table number `index` decides from now on. Any thread.
  void Swap(size_t index) {
    const auto tuner = client_->GetTuner(
        "gemm_bf16", {.digest = tables_[index].info.digest()});
    ASSERT_TRUE(tuner.ok()) << tuner.status();
    const std::lock_guard<std::mutex> lock(mutex_);
    tuner_ = *tuner;
  }
  Tuner CurrentTuner() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return *tuner_;
  }

  // Decides and launches every problem.
  std::vector<Decision> LaunchAll() {
    std::vector<Decision> decisions;
    for (const auto& gemm : gemms_) {
      gemm->Poison(stream_);
      decisions.push_back(CurrentTuner().Resolve(gemm->problem()));
      const absl::Status status = kernel_->Launch(
          stream_, decisions.back(), gemm->problem(), gemm->buffers());
      EXPECT_TRUE(status.ok()) << status;
    }
    return decisions;
  }

  std::vector<std::string> Results() const {
    std::vector<std::string> results;
    for (const auto& gemm : gemms_) results.push_back(gemm->Result());
    return results;
  }
  void ExpectRight(const std::vector<std::string>& results) const {
    for (size_t i = 0; i < gemms_.size(); ++i)
      EXPECT_LT(gemms_[i]->RelativeError(results[i]), kTolerance)
          << "problem " << i;
  }

  FakeNode node_;
  TemporaryFolder scratch_;
  std::vector<FetchedTable> tables_;
  std::unique_ptr<Client> client_;
  std::mutex mutex_;
  std::optional<Tuner> tuner_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<ExportedKernel> kernel_;
  std::vector<std::unique_ptr<DeviceGemm>> gemms_;
};

TEST_F(GraphCaptureTest, EveryExportedConfigurationComputesTheProduct) {
  for (const Configuration& configuration : kernel_->configurations()) {
    for (const auto& gemm : gemms_) {
      gemm->Poison(stream_);
      const absl::Status status = kernel_->Launch(
          stream_, configuration, gemm->problem(), gemm->buffers());
      if (absl::IsInvalidArgument(status)) continue;  // Not legal for it.
      ASSERT_TRUE(status.ok()) << status;
      CheckCuda(cudaStreamSynchronize(stream_), "waiting");
      EXPECT_LT(gemm->RelativeError(gemm->Result()), kTolerance);
    }
  }
}

TEST_F(GraphCaptureTest, ReplaysWhatWasDecidedWhileTablesAreSwapped) {
  std::atomic<bool> done = false;
  std::atomic<int> swaps = 0;
  std::thread swapper([&] {
    while (!done) Swap(static_cast<size_t>(++swaps % 2));
  });
  std::vector<Decision> decisions;
  const Graph graph(stream_, [&] { decisions = LaunchAll(); });
  graph.Replay();
  const std::vector<std::string> first = Results();
  ExpectRight(first);
  int wrong = 0;
  const int swaps_before = swaps;
  for (int i = 0; i < Replays(); ++i) {
    graph.Replay();
    wrong += Results() != first ? 1 : 0;  // To the last bit.
  }
  done = true;
  swapper.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(swaps - swaps_before, 10);
  for (const Decision& decision : decisions)
    EXPECT_NE(decision.source, DecisionSource::kDefault);
  std::printf("%d replays, %d swaps meanwhile, %d wrong\n", Replays(),
              swaps - swaps_before, wrong);
}

TEST_F(GraphCaptureTest, EachCaptureDecidesByTheTableOfItsTime) {
  std::vector<std::vector<Decision>> decisions;
  for (size_t i = 0; i < 20; ++i) {
    Swap(i % 2);
    const Graph graph(stream_, [&] { decisions.push_back(LaunchAll()); });
    Swap((i + 1) % 2);
    graph.Replay();
    ExpectRight(Results());
    EXPECT_EQ(decisions[i], decisions[i % 2]);
  }
  EXPECT_EQ(decisions[0][0].configuration, GemmConfigurations()[0]);
  EXPECT_EQ(decisions[1][0].configuration, GemmConfigurations()[2]);
}

TEST_F(GraphCaptureTest, ARefusedLaunchLeavesTheCaptureSound) {
  const DeviceGemm& gemm = *gemms_[0];
  const Graph graph(stream_, [&] {
    EXPECT_FALSE(
        kernel_
            ->Launch(stream_, Configuration{1}, gemm.problem(), gemm.buffers())
            .ok());
    EXPECT_FALSE(
        kernel_->Launch(stream_, GemmConfigurations()[0], {0, 1, 1}, {}).ok());
    LaunchAll();
  });
  graph.Replay();
  ExpectRight(Results());
}

TEST_F(GraphCaptureTest, LaunchesRightWhileTablesAreSwapped) {
  std::atomic<bool> done = false;
  std::thread swapper([&] {
    for (size_t i = 0; !done; ++i) Swap(i % 2);
  });
  for (int i = 0; i < 100; ++i) {
    LaunchAll();
    CheckCuda(cudaStreamSynchronize(stream_), "waiting");
    ExpectRight(Results());
  }
  done = true;
  swapper.join();
}

}  // namespace
}  // namespace wavetune::testing
