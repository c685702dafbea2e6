// ScriptedAgent: an agent with one made-up CPU that answers every batch at
// once: larger values of the first two parameters are faster.
//
//   ScriptedAgent agent(channel_of_the_agent_socket, "CPU-1");
//   ASSERT_TRUE(agent.greeted());
//
// Leaves when it is destroyed. Thread safety: thread-safe.
#ifndef WAVETUNE_TESTS_LIB_SCRIPTED_AGENT_H_
#define WAVETUNE_TESTS_LIB_SCRIPTED_AGENT_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "proto/wavetune/v1/agent_service.grpc.pb.h"

namespace wavetune::testing {

class ScriptedAgent {
 public:
  ScriptedAgent(const std::shared_ptr<grpc::Channel>& channel,
                const std::string& uuid);
  ~ScriptedAgent();

  // The daemon has taken the device.
  bool greeted() const { return greeted_; }
  // Whether a problem was measured: extents in the order of the manifest.
  bool HasMeasured(const std::vector<int64_t>& extents) const;

 private:
  using Stream =
      grpc::ClientReaderWriter<v1::AttachRequest, v1::AttachResponse>;

  void Run();
  void Prepare(const v1::PrepareBatch& batch);
  void Measure(const v1::MeasureBatch& batch);
  void Done(uint64_t batch_id);

  grpc::ClientContext context_;
  const std::unique_ptr<v1::AgentService::Stub> stub_;
  const std::unique_ptr<Stream> stream_;
  bool greeted_ = false;
  std::thread thread_;
  mutable std::mutex mutex_;
  std::set<std::vector<int64_t>> measured_;  // Guarded by mutex_.
};

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_SCRIPTED_AGENT_H_
