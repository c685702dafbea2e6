// UsageSender: where reports of use go. client/usage/grpc_usage_sender.h talks
// to the daemon; tests use FakeUsageSender.
#ifndef WAVETUNE_CLIENT_USAGE_USAGE_SENDER_H_
#define WAVETUNE_CLIENT_USAGE_USAGE_SENDER_H_

#include "absl/status/status.h"
#include "client/usage/usage_batch.h"

namespace wavetune {

class UsageSender {
 public:
  virtual ~UsageSender() = default;

  // Sends a batch; blocks for at most `timeout_s`. Errors: UNIMPLEMENTED where
  // the daemon knows no reports (an older one); what else went wrong: the
  // batch did not arrive.
  virtual absl::Status Send(const UsageBatch& batch, double timeout_s) = 0;

  // Ends a Send that is in progress on another thread, as CANCELLED. Later ones
  // are sent. Cannot fail.
  virtual void CutOff() = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_USAGE_USAGE_SENDER_H_
