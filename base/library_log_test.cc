#include "base/library_log.h"

#include <string>

#include "base/log.h"
#include "gmock/gmock.h"
#include "grpc/support/log.h"
#include "gtest/gtest.h"
#include "proto/wavetune/v1/decision_service.pb.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class LibraryLogTest : public ::testing::Test {
 protected:
  LibraryLogTest() {
    FlushLog();
    SetLogFormat(LogFormat::kPlain);
    RouteLibraryLogs();
    ::testing::internal::CaptureStderr();
  }
  ~LibraryLogTest() override { FlushLog(); }

  static std::string Said() { return ::testing::internal::GetCapturedStderr(); }
};

TEST_F(LibraryLogTest, StringsThatAreNotUtf8DoNotFillTheLog) {
  // Field 1, a string of one byte that is no text.
  const std::string bytes("\x0a\x01\xe9", 3);
  v1::ResolveRequest request;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(request.ParseFromString(bytes));
  const std::string said = Said();
  EXPECT_THAT(said, StartsWith("warning: protobuf: "));
  EXPECT_THAT(said, HasSubstr("wavetune.v1.ResolveRequest.kernel"));
  EXPECT_THAT(said, Not(HasSubstr("\nwarning")));
  ::testing::internal::CaptureStderr();
  FlushLog();
  EXPECT_THAT(Said(), HasSubstr("repeated 999 times in"));
}

TEST_F(LibraryLogTest, TakesWhatGrpcLogsAndMakesItPrintable) {
  gpr_log_verbosity_init();
  gpr_log(__FILE__, __LINE__, GPR_LOG_SEVERITY_ERROR, "caf%c", '\xe9');
  EXPECT_EQ(Said(), "warning: grpc: caf\\xe9\n");
}

}  // namespace
}  // namespace wavetune
