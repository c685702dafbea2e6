// ScriptedAgent: an agent on a daemon's socket whose device is made up. For
// tests.
#ifndef WAVETUNE_SERVER_AGENTS_SCRIPTED_AGENT_H_
#define WAVETUNE_SERVER_AGENTS_SCRIPTED_AGENT_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "formats/api_version.h"
#include "proto/wavetune/v1/agent_service.grpc.pb.h"

namespace wavetune {

inline v1::DeviceFacts CpuFacts(const std::string& uuid) {
  v1::DeviceFacts facts;
  facts.set_uuid(uuid);
  facts.set_label("a CPU");
  facts.set_backend("opencl");
  facts.set_architecture("x86-64");
  facts.set_multiprocessors(4);
  return facts;
}

// Larger blocks and steps are faster.
inline double ScriptedLatencyUs(const v1::Configuration& configuration) {
  return 1000.0 /
         static_cast<double>(configuration.values(0) * configuration.values(1));
}

// An agent that answers every batch at once.
class ScriptedAgent {
 public:
  ScriptedAgent(const std::shared_ptr<grpc::Channel>& channel,
                const std::string& uuid, int32_t api_version = kApiVersion)
      : stub_(v1::AgentService::NewStub(channel)),
        stream_(stub_->Attach(&context_)) {
    v1::AttachRequest message;
    message.mutable_hello()->set_api_version(api_version);
    message.mutable_hello()->set_agent_name("agent of " + uuid);
    *message.mutable_hello()->add_devices() = CpuFacts(uuid);
    stream_->Write(message);
    v1::AttachResponse answer;
    greeted_ = stream_->Read(&answer) && answer.has_hello();
    if (greeted_) thread_ = std::thread([this] { Run(); });
  }
  ~ScriptedAgent() { Leave(); }

  bool greeted() const { return greeted_; }
  int64_t measured() const { return measured_.load(); }
  // Whether a problem was measured: extents in the order of the manifest.
  bool HasMeasured(const std::vector<int64_t>& extents) const {
    std::lock_guard lock(mutex_);
    return problems_.contains(extents);
  }

  grpc::Status Leave() {
    if (left_) return grpc::Status::OK;
    left_ = true;
    if (greeted_) context_.TryCancel();
    if (thread_.joinable()) thread_.join();
    return stream_->Finish();
  }

 private:
  using AttachStream =
      grpc::ClientReaderWriter<v1::AttachRequest, v1::AttachResponse>;

  void Run() {
    v1::AttachResponse message;
    while (stream_->Read(&message)) {
      if (message.has_prepare()) Prepare(message.prepare());
      if (message.has_measure()) Measure(message.measure());
    }
  }
  void Prepare(const v1::PrepareBatch& batch) {
    v1::AttachRequest report;
    for (int i = 0; i < batch.configurations_size(); ++i) {
      report.mutable_candidate()->set_batch_id(batch.batch_id());
      report.mutable_candidate()->set_index(i);
      report.mutable_candidate()->mutable_facts()->set_tiles_per_wave(64);
      report.mutable_candidate()
          ->mutable_facts()
          ->set_blocks_per_multiprocessor(16);
      stream_->Write(report);
    }
    Done(batch.batch_id());
  }
  void Measure(const v1::MeasureBatch& batch) {
    v1::AttachRequest report;
    for (int i = 0; i < batch.requests_size(); ++i) {
      const double us = ScriptedLatencyUs(batch.requests(i).configuration());
      report.mutable_sample()->set_batch_id(batch.batch_id());
      report.mutable_sample()->set_index(i);
      v1::Sample* const sample = report.mutable_sample()->mutable_sample();
      sample->set_latency_us(us);
      sample->set_min_us(us);
      sample->set_launches(10);
      sample->set_device_time_us(10 * us);
      stream_->Write(report);
      measured_.fetch_add(1);
      Remember(batch.requests(i).problem());
    }
    Done(batch.batch_id());
  }
  void Remember(const v1::Problem& problem) {
    std::vector<int64_t> extents;
    for (const v1::Problem::Extents& dimension : problem.extents()) {
      extents.push_back(dimension.values(0));
    }
    std::lock_guard lock(mutex_);
    problems_.insert(std::move(extents));
  }
  void Done(uint64_t batch_id) {
    v1::AttachRequest report;
    report.mutable_done()->set_batch_id(batch_id);
    stream_->Write(report);
  }

  grpc::ClientContext context_;
  const std::unique_ptr<v1::AgentService::Stub> stub_;
  const std::unique_ptr<AttachStream> stream_;
  bool greeted_ = false;
  bool left_ = false;
  std::atomic<int64_t> measured_ = 0;
  mutable std::mutex mutex_;
  std::set<std::vector<int64_t>> problems_;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_AGENTS_SCRIPTED_AGENT_H_
