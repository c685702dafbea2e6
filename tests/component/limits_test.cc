// What no client may do to a real daemon: memory as the system counts it.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <future>
#include <sstream>
#include <string>

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

}  // namespace
}  // namespace wavetune::testing
