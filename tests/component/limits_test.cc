// What no client may do to a real daemon: memory as the system counts it.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/lib/node_fixture.h"

namespace wavetune::testing {
namespace {

class LimitsTest : public NodeFixture {
 protected:
  // Most memory that the daemon ever had, in MiB.
  int64_t PeakMib() {
    std::istringstream status(
        ReadText("/proc/" + std::to_string(daemon().pid()) + "/status"));
    std::string name;
    int64_t kib = 0;
    while (status >> name) {
      if (name == "VmHWM:" && status >> kib) return kib >> 10;
    }
    return -1;
  }

  // Sends the same many times at once, on a few connections; returns how often
  // each answer came.
  std::map<grpc::StatusCode, int> SendAtOnce(const std::string& method,
                                             const std::string& bytes,
                                             int times) {
    constexpr int kConnections = 8;
    std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
    for (int i = 0; i < kConnections; ++i) {
      grpc::ChannelArguments own;
      own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      stubs.push_back(std::make_unique<grpc::GenericStub>(
          grpc::CreateCustomChannel("unix:" + Path("reader.sock"),
                                    grpc::InsecureChannelCredentials(), own)));
    }
    struct Call {
      grpc::ClientContext context;
      grpc::ByteBuffer request;
      grpc::ByteBuffer response;
      std::promise<grpc::StatusCode> done;
    };
    const grpc::Slice slice(bytes);
    std::vector<std::unique_ptr<Call>> calls;
    for (int i = 0; i < times; ++i) {
      Call& call = *calls.emplace_back(std::make_unique<Call>());
      call.request = grpc::ByteBuffer(&slice, 1);
      stubs[i % kConnections]->UnaryCall(
          &call.context, "/wavetune.v1." + method, {}, &call.request,
          &call.response, [&call](const grpc::Status& status) {
            call.done.set_value(status.error_code());
          });
    }
    std::map<grpc::StatusCode, int> answers;
    for (const auto& call : calls) ++answers[call->done.get_future().get()];
    return answers;
  }

  grpc::StatusCode Send(const std::string& method, const std::string& bytes) {
    grpc::GenericStub stub(grpc::CreateChannel(
        "unix:" + Path("reader.sock"), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::StatusCode> done;
    stub.UnaryCall(&context, "/wavetune.v1." + method, {}, &request, &response,
                   [&](const grpc::Status& status) {
                     done.set_value(status.error_code());
                   });
    return done.get_future().get();
  }
};

TEST_F(LimitsTest, SixtyMegabytesOfEmptyProblemsTakeSomeTensOfMebibytes) {
  StartDaemon();
  const int64_t before = PeakMib();
  std::string request;
  for (int i = 0; i < 30'000'000; ++i) request.append("\x22\x00", 2);
  EXPECT_EQ(Send("DecisionService/Resolve", request),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  // As many as the socket takes, and none of them parsed.
  EXPECT_EQ(Send("DecisionService/Resolve", request.substr(0, 4'000'000)),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_LT(PeakMib() - before, 96);
}

TEST_F(LimitsTest, HundredsOfReportsOfEmptyPartsAtOnceAreNotHeldParsed) {
  StartDaemon();
  [[maybe_unused]] const int64_t before = PeakMib();
  std::string report;
  for (int i = 0; i < 200'000; ++i) report.append("\x0a\x00", 2);
  for (const size_t size : {400'000, 200'000}) {
    // The larger ones pass what one may take; of the others some wait, and
    // those have more kernels than a report may.
    std::map<grpc::StatusCode, int> answers =
        SendAtOnce("UsageService/ReportUsage", report.substr(0, size), 480);
    EXPECT_EQ(answers[grpc::StatusCode::OK], 0);
    EXPECT_GT(answers[grpc::StatusCode::RESOURCE_EXHAUSTED], 0);
    EXPECT_EQ(answers[grpc::StatusCode::RESOURCE_EXHAUSTED] +
                  answers[grpc::StatusCode::INVALID_ARGUMENT],
              480);
  }
#ifndef __SANITIZE_ADDRESS__  // It keeps 256 MiB of what was freed.
  EXPECT_LT(PeakMib() - before, 192);
#endif
  EXPECT_EQ(Send("UsageService/GetUsage", ""), grpc::StatusCode::OK);
}

}  // namespace
}  // namespace wavetune::testing
