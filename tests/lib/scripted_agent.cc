#include "tests/lib/scripted_agent.h"

#include "proto/convert/api_version.h"

namespace wavetune::testing {
namespace {

v1::DeviceFacts Cpu(const std::string& uuid) {
  v1::DeviceFacts facts;
  facts.set_uuid(uuid);
  facts.set_label("a CPU");
  facts.set_backend("opencl");
  facts.set_architecture("x86-64");
  facts.set_multiprocessors(4);
  return facts;
}

double LatencyUs(const v1::Configuration& configuration) {
  return 1000.0 /
         static_cast<double>(configuration.values(0) * configuration.values(1));
}

}  // namespace

ScriptedAgent::ScriptedAgent(const std::shared_ptr<grpc::Channel>& channel,
                             const std::string& uuid)
    : stub_(v1::AgentService::NewStub(channel)),
      stream_(stub_->Attach(&context_)) {
  v1::AttachRequest message;
  message.mutable_hello()->set_api_version(kApiVersion);
  message.mutable_hello()->set_agent_name("agent of " + uuid);
  *message.mutable_hello()->add_devices() = Cpu(uuid);
  stream_->Write(message);
  v1::AttachResponse answer;
  greeted_ = stream_->Read(&answer) && answer.has_hello();
  if (greeted_) thread_ = std::thread([this] { Run(); });
}

ScriptedAgent::~ScriptedAgent() {
  context_.TryCancel();
  if (thread_.joinable()) thread_.join();
  stream_->Finish();
}

bool ScriptedAgent::HasMeasured(const std::vector<int64_t>& extents) const {
  std::lock_guard lock(mutex_);
  return measured_.contains(extents);
}

void ScriptedAgent::Run() {
  v1::AttachResponse message;
  while (stream_->Read(&message)) {
    if (message.has_prepare()) Prepare(message.prepare());
    if (message.has_measure()) Measure(message.measure());
  }
}

void ScriptedAgent::Prepare(const v1::PrepareBatch& batch) {
  v1::AttachRequest report;
  for (int i = 0; i < batch.configurations_size(); ++i) {
    v1::CandidateReport* const candidate = report.mutable_candidate();
    candidate->set_batch_id(batch.batch_id());
    candidate->set_index(i);
    candidate->mutable_facts()->set_capacity(64);
    candidate->mutable_facts()->set_blocks_per_multiprocessor(16);
    stream_->Write(report);
  }
  Done(batch.batch_id());
}

void ScriptedAgent::Measure(const v1::MeasureBatch& batch) {
  v1::AttachRequest report;
  for (int i = 0; i < batch.requests_size(); ++i) {
    const double us = LatencyUs(batch.requests(i).configuration());
    report.mutable_sample()->set_batch_id(batch.batch_id());
    report.mutable_sample()->set_index(i);
    v1::Sample* const sample = report.mutable_sample()->mutable_sample();
    sample->set_latency_us(us);
    sample->set_min_us(us);
    sample->set_launches(10);
    sample->set_device_time_us(10 * us);
    stream_->Write(report);
    std::vector<int64_t> extents;
    for (const auto& dimension : batch.requests(i).problem().extents()) {
      extents.push_back(dimension.values(0));
    }
    std::lock_guard lock(mutex_);
    measured_.insert(extents);
  }
  Done(batch.batch_id());
}

void ScriptedAgent::Done(uint64_t batch_id) {
  v1::AttachRequest report;
  report.mutable_done()->set_batch_id(batch_id);
  stream_->Write(report);
}

}  // namespace wavetune::testing
