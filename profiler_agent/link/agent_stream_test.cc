#include "profiler_agent/link/agent_stream.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "formats/api_version.h"
#include "formats/types.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_agent/link/attach_client.h"
#include "profiler_agent/measure/fake_device.h"
#include "profiler_agent/worker/kernel_source.h"
#include "profiler_agent/worker/test_kernels.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

// The daemon's end: sends batches one after the other, each once the one before
// is done, and remembers how they ended.
class ScriptedDaemon : public MessageStream {
 public:
  void Send(v1::PrepareBatch batch) {
    batch.set_batch_id(messages_.size() + 1);
    v1::AttachResponse message;
    *message.mutable_prepare() = std::move(batch);
    messages_.push_back(std::move(message));
  }

  bool Read(v1::AttachResponse* message) override {
    if (!greeted_) {
      greeted_ = true;
      message->mutable_hello()->set_api_version(kApiVersion);
      return true;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return done_.size() == sent_; });
    if (sent_ == messages_.size()) return false;
    *message = messages_[sent_++];
    return true;
  }

  bool Write(const v1::AttachRequest& message) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (message.has_hello()) hello_ = message.hello();
    if (message.has_candidate()) ++candidates_;
    if (message.has_done()) done_.push_back(message.done());
    changed_.notify_all();
    return true;
  }

  const v1::AgentHello& hello() const { return hello_; }
  const std::vector<v1::BatchDone>& done() const { return done_; }
  size_t candidates() const { return candidates_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<v1::AttachResponse> messages_;
  bool greeted_ = false;
  size_t sent_ = 0;
  v1::AgentHello hello_;
  size_t candidates_ = 0;
  std::vector<v1::BatchDone> done_;
};

class AgentStreamTest : public ::testing::Test {
 protected:
  AgentStreamTest() {
    script_->facts.backend = "opencl";
    DeviceHostOptions options;
    options.workers.push_back(std::make_unique<FakeDevice>(script_));
    hosts_.push_back(std::make_unique<DeviceHost>(
        std::move(options),
        [this](const v1::AttachRequest& message) { relay_.Report(message); }));
  }

  absl::Status Serve(ScriptedDaemon& daemon) {
    return ServeStream(daemon, relay_, hosts_, {.agent_name = "node:1"});
  }

  // The kernel under another fingerprint.
  static v1::KernelSource Kernel(const std::string& fingerprint) {
    v1::KernelSource kernel = TestKernelSource(kColumnSum);
    kernel.set_fingerprint(fingerprint);
    return kernel;
  }
  static v1::KernelSource Named(const std::string& fingerprint) {
    v1::KernelSource kernel;
    kernel.set_fingerprint(fingerprint);
    return kernel;
  }

  v1::PrepareBatch Batch(v1::KernelSource kernel) {
    v1::PrepareBatch batch;
    batch.set_device_uuid(script_->facts.uuid);
    *batch.mutable_kernel() = std::move(kernel);
    *batch.add_configurations() = ConfigurationToProto(kColumnSumConfiguration);
    return batch;
  }

  std::shared_ptr<FakeDeviceScript> script_ =
      std::make_shared<FakeDeviceScript>();
  ReportRelay relay_;
  std::vector<std::unique_ptr<DeviceHost>> hosts_;
};

TEST_F(AgentStreamTest, ADaemonThatSendsEveryKernelWholeIsServed) {
  ScriptedDaemon daemon;
  daemon.Send(Batch(Kernel("a")));
  daemon.Send(Batch(Kernel("a")));
  ASSERT_TRUE(Serve(daemon).ok());
  EXPECT_EQ(daemon.candidates(), 2U);
}

TEST_F(AgentStreamTest, AKernelThatCameBeforeMayBeNamed) {
  ScriptedDaemon daemon;
  daemon.Send(Batch(Kernel("a")));
  daemon.Send(Batch(Named("a")));
  ASSERT_TRUE(Serve(daemon).ok());
  EXPECT_GT(daemon.hello().kept_kernels(), 1);
  EXPECT_EQ(daemon.candidates(), 2U);
  EXPECT_EQ(daemon.done().back().error(), "");
}

TEST_F(AgentStreamTest, AKernelThatNeverCameIsAskedFor) {
  ScriptedDaemon daemon;
  daemon.Send(Batch(Named("a")));
  daemon.Send(Batch(Kernel("a")));
  ASSERT_TRUE(Serve(daemon).ok());
  EXPECT_TRUE(daemon.done()[0].kernel_unknown());
  EXPECT_THAT(daemon.done()[0].error(), HasSubstr("kernel a is not kept"));
  EXPECT_FALSE(daemon.done()[1].kernel_unknown());
  EXPECT_EQ(daemon.candidates(), 1U);
}

TEST_F(AgentStreamTest, KernelsOfAnEarlierStreamAreForgotten) {
  ScriptedDaemon first;
  first.Send(Batch(Kernel("a")));
  ASSERT_TRUE(Serve(first).ok());
  ScriptedDaemon second;
  second.Send(Batch(Named("a")));
  ASSERT_TRUE(Serve(second).ok());
  EXPECT_TRUE(second.done()[0].kernel_unknown());
}

TEST_F(AgentStreamTest, TheKernelNamedLongestAgoMakesRoom) {
  ScriptedDaemon daemon;
  for (size_t i = 0; i < KeptKernels::kMost; ++i) {
    daemon.Send(Batch(Kernel(std::to_string(i))));
  }
  daemon.Send(Batch(Named("0")));
  daemon.Send(Batch(Kernel("one more")));
  daemon.Send(Batch(Named("0")));
  daemon.Send(Batch(Named("1")));
  ASSERT_TRUE(Serve(daemon).ok());
  const std::vector<v1::BatchDone>& done = daemon.done();
  EXPECT_FALSE(done[done.size() - 2].kernel_unknown());
  EXPECT_TRUE(done.back().kernel_unknown());
}

TEST_F(AgentStreamTest, ABatchForAnUnknownDeviceBringsItsKernel) {
  ScriptedDaemon daemon;
  v1::PrepareBatch stray = Batch(Kernel("a"));
  stray.set_device_uuid("GPU-other");
  daemon.Send(stray);
  daemon.Send(Batch(Named("a")));
  ASSERT_TRUE(Serve(daemon).ok());
  EXPECT_THAT(daemon.done()[0].error(), HasSubstr("no device GPU-other"));
  EXPECT_FALSE(daemon.done()[0].kernel_unknown());
  EXPECT_EQ(daemon.candidates(), 1U);
}

TEST_F(AgentStreamTest, AKernelThatMakesNoSenseEndsItsBatchOnly) {
  ScriptedDaemon daemon;
  v1::KernelSource broken = Kernel("a");
  broken.mutable_spec()->clear_mapping();
  daemon.Send(Batch(broken));
  daemon.Send(Batch(Kernel("a")));
  ASSERT_TRUE(Serve(daemon).ok());
  EXPECT_NE(daemon.done()[0].error(), "");
  EXPECT_FALSE(daemon.done()[0].kernel_unknown());
  EXPECT_EQ(daemon.candidates(), 1U);
}

// A folder that changed under its name has another fingerprint; a daemon that
// errs is believed.
TEST(KeptKernelsTest, AnotherKernelUnderAFingerprintTakesItsPlace) {
  KeptKernels kernels;
  v1::KernelSource source = TestKernelSource(kColumnSum);
  const auto first = kernels.Take(source);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(kernels.Take(source).value(), *first);  // Not bound again.
  source.mutable_files(0)->set_content("changed");
  const auto second = kernels.Take(source);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(*second, *first);
  v1::KernelSource named;
  named.set_fingerprint(source.fingerprint());
  EXPECT_EQ(kernels.Take(named).value(), *second);
}

TEST(KeptKernelsTest, AKernelWithoutFingerprintIsNotKept) {
  KeptKernels kernels;
  v1::KernelSource source = TestKernelSource(kColumnSum);
  source.clear_fingerprint();
  EXPECT_NE(kernels.Take(source).value(), kernels.Take(source).value());
  EXPECT_TRUE(
      absl::IsInvalidArgument(kernels.Take(v1::KernelSource()).status()));
}

TEST(CheckEndpointTest, ASchemeIsRefusedWithWhatIsLegal) {
  EXPECT_TRUE(CheckEndpoint("/run/agent.sock").ok());
  const absl::Status status = CheckEndpoint("tcp://host:1");
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(status.message(), HasSubstr("legal is the path of a socket"));
}

}  // namespace
}  // namespace wavetune
