#include "server/rpc/request_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "proto/wavetune/v1/decision_service.pb.h"
#include "proto/wavetune/v1/table_service.pb.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

constexpr RequestBounds kBounds{.wire_bytes = 1 << 20, .parsed_bytes = 4 << 20};

absl::Status Check(const std::string& bytes,
                   const RequestBounds& bounds = kBounds) {
  google::protobuf::io::ArrayInputStream input(bytes.data(),
                                               static_cast<int>(bytes.size()));
  return CheckRequest(*v1::ResolveRequest::descriptor(), bytes.size(), &input,
                      bounds);
}

std::string Repeated(const std::string& bytes, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += bytes;
  return all;
}

v1::ResolveRequest Request(int problems, int values) {
  v1::ResolveRequest request;
  request.set_kernel("gemm");
  for (int i = 0; i < problems; ++i) {
    v1::Problem* const problem = request.add_problems();
    problem->set_specialisation("causal");
    v1::Problem::Extents* const extents = problem->add_extents();
    extents->set_dimension("rows");
    for (int v = 0; v < values; ++v) extents->add_values(v);
  }
  return request;
}

TEST(RequestBoundsTest, TakesWhatClientsSend) {
  EXPECT_TRUE(Check("").ok());
  EXPECT_TRUE(Check(Request(1, 3).SerializeAsString()).ok());
  EXPECT_TRUE(Check(Request(4096, 1).SerializeAsString()).ok());
}

TEST(RequestBoundsTest, TheEstimateIsNeverBelowWhatParsingTakes) {
  for (const auto& [problems, values] :
       {std::pair(1, 1), std::pair(1, 10000), std::pair(1000, 1),
        std::pair(100, 100)}) {
    const v1::ResolveRequest request = Request(problems, values);
    const std::string bytes = request.SerializeAsString();
    EXPECT_FALSE(Check(bytes, {.wire_bytes = bytes.size(),
                               .parsed_bytes =
                                   request.SpaceUsedLong() - sizeof(request)})
                     .ok())
        << problems << " problems of " << values << " values";
  }
}

TEST(RequestBoundsTest, RefusesEmptySubmessages) {
  // Field 4, a problem of no bytes.
  const absl::Status status = Check(Repeated({'\x22', '\x00'}, 100'000));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("too many entries"));
}

TEST(RequestBoundsTest, RefusesUnknownFields) {
  // Field 15: a number; and a group with nothing in it.
  EXPECT_EQ(Check(Repeated({'\x78', '\x01'}, 200'000)).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Check(Repeated({'\x7b', '\x7c'}, 200'000)).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(RequestBoundsTest, RefusesManyPackedNumbers) {
  EXPECT_EQ(Check(Request(1, 500'000).SerializeAsString()).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(RequestBoundsTest, RefusesWhatIsTooLongUnread) {
  const absl::Status status = Check(std::string((1 << 20) + 1, '\xff'));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("at most 1 MiB"));
}

TEST(RequestBoundsTest, RefusesWhatIsNoMessage) {
  const std::string bytes = Request(2, 2).SerializeAsString();
  EXPECT_TRUE(
      absl::IsInvalidArgument(Check(bytes.substr(0, bytes.size() - 1))));
  EXPECT_TRUE(absl::IsInvalidArgument(Check("\xff\xff\xff\xff\xff\xff\xff")));
}

}  // namespace
}  // namespace wavetune
