#include "base/library_log.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "grpc/support/log.h"
#include "gtest/gtest.h"
#include "proto/wavetune/v1/decision_service.pb.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class LibraryLogTest : public ::testing::Test {
 protected:
  LibraryLogTest() {
    FlushLibraryLogs();
    RouteLibraryLogs([this](LibraryLogLevel, absl::string_view text) {
      lines_.emplace_back(text);
    });
  }
  ~LibraryLogTest() override {
    FlushLibraryLogs();
    RouteLibraryLogs(nullptr);
  }

  std::vector<std::string> lines_;
};

TEST_F(LibraryLogTest, StringsThatAreNotUtf8DoNotFillTheLog) {
  // Field 1, a string of one byte that is no text.
  const std::string bytes("\x0a\x01\xe9", 3);
  v1::ResolveRequest request;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(request.ParseFromString(bytes));
  EXPECT_THAT(lines_, ElementsAre(AllOf(
                          StartsWith("protobuf: "),
                          HasSubstr("wavetune.v1.ResolveRequest.kernel"))));
  FlushLibraryLogs();
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_THAT(lines_[1], HasSubstr("repeated 999 times in"));
}

TEST_F(LibraryLogTest, TakesWhatGrpcLogsAndMakesItPrintable) {
  gpr_log_verbosity_init();
  gpr_log(__FILE__, __LINE__, GPR_LOG_SEVERITY_ERROR, "caf%c", '\xe9');
  EXPECT_THAT(lines_, ElementsAre("grpc: caf\\xe9"));
}

}  // namespace
}  // namespace wavetune
