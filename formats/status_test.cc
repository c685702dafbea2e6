#include "formats/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace wavetune {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

TEST(StatusTest, KeepsCodeAndMessage) {
  const absl::Status status = absl::NotFoundError("no kernel \"gemm\"; µs");
  EXPECT_EQ(FromGrpcStatus(ToGrpcStatus(status)), status);
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
}

TEST(StatusTest, ForeignBytesAreEscaped) {
  EXPECT_EQ(ToGrpcStatus(absl::NotFoundError("caf\xe9")).error_message(),
            "caf\\xe9");
  EXPECT_EQ(FromGrpcStatus({grpc::StatusCode::NOT_FOUND, "caf\xe9"}).message(),
            "caf\\xe9");
}

TEST(StatusTest, LongMessagesFitIntoAHeader) {
  const std::string ascii(200000, 'x');
  EXPECT_THAT(ToGrpcStatus(absl::InternalError(ascii)).error_message(),
              EndsWith("xxx ... (193856 bytes more)"));
  // What is percent-encoded takes three times as much.
  std::string lines;
  for (int i = 0; i < 4000; ++i) lines += "\n";
  const std::string cut =
      ToGrpcStatus(absl::InternalError(lines)).error_message();
  EXPECT_THAT(cut, StartsWith("\n\n"));
  EXPECT_THAT(cut, EndsWith("\n ... (1952 bytes more)"));
}

}  // namespace
}  // namespace wavetune
