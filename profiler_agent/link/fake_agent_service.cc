#include "profiler_agent/link/fake_agent_service.h"

#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"

namespace wavetune {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

}  // namespace

FakeAgentService::FakeAgentService(const std::string& path, int api_version)
    : api_version_(api_version) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

FakeAgentService::~FakeAgentService() {
  server_->Shutdown(std::chrono::system_clock::now());
}

void FakeAgentService::Refuse(const grpc::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  refusal_ = status;
}

bool FakeAgentService::WaitForRefusals(int count) {
  return WaitFor([&] { return refusals_ >= count; });
}

std::optional<v1::AgentHello> FakeAgentService::WaitForAgent() {
  WaitFor([this] { return hello_.has_value(); });
  const std::lock_guard<std::mutex> lock(mutex_);
  return hello_;
}

void FakeAgentService::Send(const v1::AttachResponse& message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stream_ != nullptr) stream_->Write(message);
}

std::optional<v1::AttachRequest> FakeAgentService::Next() {
  if (!WaitFor([this] { return !received_.empty(); })) return std::nullopt;
  const std::lock_guard<std::mutex> lock(mutex_);
  v1::AttachRequest message = std::move(received_.front());
  received_.pop_front();
  return message;
}

bool FakeAgentService::WaitForHeartbeat() {
  return WaitFor([this] { return heartbeats_ > 0; });
}

grpc::Status FakeAgentService::Attach(
    grpc::ServerContext* /*context*/,
    grpc::ServerReaderWriter<v1::AttachResponse, v1::AttachRequest>* stream) {
  v1::AttachRequest message;
  if (!stream->Read(&message) || !message.has_hello()) {
    return {grpc::StatusCode::FAILED_PRECONDITION, "hello comes first"};
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!refusal_.ok()) {
      ++refusals_;
      changed_.notify_all();
      return refusal_;
    }
  }
  v1::AttachResponse hello;
  hello.mutable_hello()->set_api_version(api_version_);
  hello.mutable_hello()->set_program_version("fake");
  stream->Write(hello);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stream_ = stream;
    hello_ = message.hello();
    changed_.notify_all();
  }
  while (stream->Read(&message)) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (message.has_heartbeat()) {
      ++heartbeats_;
    } else {
      received_.push_back(message);
    }
    changed_.notify_all();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  stream_ = nullptr;
  hello_.reset();
  return grpc::Status::OK;
}

bool FakeAgentService::WaitFor(const std::function<bool()>& condition) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, kPatience, condition);
}

}  // namespace wavetune
