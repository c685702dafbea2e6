// PlainLink: calls to a daemon without gRPC, for processes that cannot use it
// (client/http2/http2_call.h). Each is on a connection of its own, with a
// deadline, and all can be cut off.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_CLIENT_SRC_PLAIN_LINK_H_
#define WAVETUNE_CLIENT_SRC_PLAIN_LINK_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/http2/http2_call.h"
#include "client/src/fork_guard.h"
#include "client/usage/usage_sender.h"

namespace wavetune {

class PlainLink {
 public:
  PlainLink(std::string endpoint, double timeout_s)
      : endpoint_(std::move(endpoint)),
        timeout_us_(static_cast<int64_t>(timeout_s * 1e6)) {}

  // Does one call; `method`: "TableService/GetTable". Returns the answer.
  // Errors: as Http2Call::Run; DATA_LOSS for an answer that is none.
  template <typename Response, typename Request>
  absl::StatusOr<Response> Do(const char* method, const Request& request) {
    Response response;
    bool parsed = false;
    absl::Status status =
        Run(method, request.SerializeAsString(), timeout_us_,
            [&](absl::string_view message) {
              parsed = response.ParseFromArray(
                  message.data(), static_cast<int>(message.size()));
              return true;
            });
    if (!status.ok()) return status;
    if (!parsed) return absl::DataLossError("the daemon's answer is none");
    return response;
  }

  // Gives every message of a stream, which has no deadline, to `on_message`
  // until it ends, or that returns false.
  absl::Status Stream(const char* method, const std::string& request,
                      const Http2Call::OnMessage& on_message) {
    return Run(method, request, /*timeout_us=*/0, on_message);
  }

  // Ends all calls, now and from now on, as CANCELLED.
  void Cancel();

  // From now on calls return this.
  void Refuse(absl::Status why);

 private:
  absl::Status Run(const char* method, const std::string& request,
                   int64_t timeout_us, const Http2Call::OnMessage& on_message);

  const std::string endpoint_;
  const int64_t timeout_us_;
  ForkSafeMutex mutex_;
  // Guarded by mutex_.
  std::set<Http2Call*> running_;
  bool cancelled_ = false;
  absl::Status refusal_;
};

// Returns what sends reports of use without gRPC.
std::unique_ptr<UsageSender> MakePlainUsageSender(const std::string& endpoint);

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_PLAIN_LINK_H_
