#include "client/src/plain_link.h"

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/call_scope.h"
#include "client/usage/grpc_usage_sender.h"

namespace wavetune {
namespace {

constexpr char kPackage[] = "/wavetune.v1.";

class PlainUsageSender : public UsageSender {
 public:
  explicit PlainUsageSender(std::string endpoint)
      : endpoint_(std::move(endpoint)) {}

  absl::Status Send(const UsageBatch& batch, double timeout_s) override {
    Http2Call call(endpoint_);
    SetCurrent(&call);
    absl::Status status =
        call.Run(absl::StrCat(kPackage, "UsageService/ReportUsage"),
                 UsageBatchToProto(batch).SerializeAsString(),
                 static_cast<int64_t>(timeout_s * 1e6),
                 [](absl::string_view) { return true; });
    SetCurrent(nullptr);
    return status;
  }

  void CutOff() override {
    std::lock_guard lock(mutex_);
    if (current_ != nullptr) current_->Cancel();
  }

 private:
  void SetCurrent(Http2Call* call) {
    std::lock_guard lock(mutex_);
    current_ = call;
  }

  const std::string endpoint_;
  ForkSafeMutex mutex_;
  Http2Call* current_ = nullptr;  // Guarded by mutex_.
};

}  // namespace

absl::Status PlainLink::Run(const char* method, const std::string& request,
                            int64_t timeout_us,
                            const Http2Call::OnMessage& on_message) {
  Http2Call call(endpoint_);
  {
    std::lock_guard lock(mutex_);
    if (!refusal_.ok() && !cancelled_) return refusal_;
    running_.insert(&call);
    if (cancelled_) call.Cancel();
  }
  const CallScope::Call in_scope([&call] { call.Cancel(); });
  absl::Status status =
      call.Run(absl::StrCat(kPackage, method), request, timeout_us, on_message);
  std::lock_guard lock(mutex_);
  running_.erase(&call);
  return status;
}

void PlainLink::Cancel() {
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  for (Http2Call* const call : running_) call->Cancel();
}

void PlainLink::Refuse(absl::Status why) {
  std::lock_guard lock(mutex_);
  refusal_ = std::move(why);
}

std::unique_ptr<UsageSender> MakePlainUsageSender(const std::string& endpoint) {
  return std::make_unique<PlainUsageSender>(endpoint);
}

}  // namespace wavetune
