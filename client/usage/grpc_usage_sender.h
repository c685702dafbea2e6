// GrpcUsageSender: reports of use to the daemon's UsageService.
#ifndef WAVETUNE_CLIENT_USAGE_GRPC_USAGE_SENDER_H_
#define WAVETUNE_CLIENT_USAGE_GRPC_USAGE_SENDER_H_

#include <memory>

#include "client/usage/usage_sender.h"
#include "grpcpp/channel.h"
#include "proto/wavetune/v1/usage_service.pb.h"

namespace wavetune {

// Returns the report as it is sent. Cannot fail.
v1::ReportUsageRequest UsageBatchToProto(const UsageBatch& batch);

// Returns a sender over `channel` (the reader socket). Thread-safe.
std::unique_ptr<UsageSender> MakeGrpcUsageSender(
    const std::shared_ptr<grpc::Channel>& channel);

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_USAGE_GRPC_USAGE_SENDER_H_
