// A daemon measures and records for people.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "server/daemon_fixture.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

class DaemonMeasuringTest : public DaemonFixture {};

TEST_F(DaemonMeasuringTest, MeasuresAndStreamsTheResults) {
  const auto agent = Attach("CPU-1");
  Reprofile();
  v1::MeasureRequest request;
  request.set_kernel("copy");
  request.set_exhaustive(true);
  for (const auto& [n, k] : {std::pair{33, 100}, std::pair{5000, 77}}) {
    *request.add_problems() = Problem(n, k).problems(0);
  }
  v1::Rival& rival = *request.add_rivals();
  rival.set_problem(1);
  rival.set_name("another's file");
  rival.mutable_configuration()->add_values(32);
  rival.mutable_configuration()->add_values(4);
  const auto admin = Stub<v1::AdminService>("admin.sock");
  grpc::ClientContext context;
  const auto reader = admin->Measure(&context, request);
  v1::MeasureResponse message;
  std::vector<v1::MeasuredProblem> results;
  v1::JobInfo last;
  while (reader->Read(&message)) {
    if (message.has_result()) results.push_back(message.result());
    if (message.has_job()) last = message.job();
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(last.state(), v1::SUCCEEDED) << last.message();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].all_size(), 4);
  EXPECT_EQ(results[0].best().configuration().values(0), 32);
  EXPECT_EQ(results[1].problem().extents(0).values(0), 5000);

  ASSERT_EQ(results[1].vendor_baselines_size(), 1);
  EXPECT_EQ(results[1].vendor_baselines(0).library(), "another's file");
  EXPECT_GT(results[1].vendor_baselines(0).latency_us(), 0);

  const auto refusal = [&](const v1::MeasureRequest& bad) {
    grpc::ClientContext bad_context;
    const auto refused = admin->Measure(&bad_context, bad);
    EXPECT_FALSE(refused->Read(&message));
    return refused->Finish();
  };
  for (const int rounds : {-1, 101}) {
    v1::MeasureRequest bad = request;
    bad.set_rounds(rounds);
    EXPECT_EQ(refusal(bad).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(refusal(bad).error_message(), HasSubstr("rounds must be"));
  }
  const auto refused_rival = [&](const auto& change) {
    v1::MeasureRequest bad = request;
    change(bad);
    const grpc::Status status = refusal(bad);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  };
  EXPECT_THAT(
      refused_rival([](auto& bad) { bad.mutable_rivals(0)->set_problem(2); }),
      HasSubstr("a rival is of problem 2, and 2 are named"));
  EXPECT_THAT(refused_rival([](auto& bad) {
                bad.mutable_rivals(0)->set_name(std::string(65, 'x'));
              }),
              HasSubstr("a rival's name has 65 bytes: give 1 to 64"));
  EXPECT_THAT(refused_rival([](auto& bad) {
                bad.mutable_rivals(0)->clear_configuration();
              }),
              HasSubstr("values"));
  EXPECT_THAT(refused_rival([](auto& bad) {
                for (int i = 0; i < 8; ++i) *bad.add_rivals() = bad.rivals(0);
              }),
              HasSubstr("problem 1 has more than 8 rivals"));
  request.mutable_problems(0)->clear_extents();
  EXPECT_EQ(refusal(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(DaemonMeasuringTest, RecordsAndStreamsEverySample) {
  const auto agent = Attach("CPU-1");
  v1::MeasureRequest request;
  request.set_kernel("copy");
  request.set_record(true);
  request.set_anchors_per_candidate(40);
  *request.add_problems() = Problem(33, 100).problems(0);
  const auto admin = Stub<v1::AdminService>("admin.sock");
  grpc::ClientContext context;
  const auto reader = admin->Measure(&context, request);
  v1::MeasureResponse message;
  std::map<v1::RecordedSet, int> samples;
  v1::Recording recording;
  v1::JobInfo last;
  while (reader->Read(&message)) {
    if (message.has_recorded()) {
      samples[message.recorded().set()] += message.recorded().samples_size();
    }
    if (message.has_recording()) recording = message.recording();
    if (message.has_job()) last = message.job();
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(last.state(), v1::SUCCEEDED) << last.message();
  EXPECT_GT(samples[v1::ANCHORS], 4 * 20);
  // Those of the exhaustive pass, and the leaders again.
  EXPECT_EQ(samples[v1::JUDGED], 4 + 4);
  ASSERT_EQ(recording.candidates_size(), 4);
  EXPECT_EQ(recording.candidates(0).facts().tiles_per_wave(), 64);
  EXPECT_EQ(recording.device().uuid(), "CPU-1");
  EXPECT_FALSE(recording.fingerprint().empty());

  const auto refusal = [&](int anchors, bool record) {
    request.set_anchors_per_candidate(anchors);
    request.set_record(record);
    request.set_exhaustive(true);
    grpc::ClientContext other;
    const auto refused = admin->Measure(&other, request);
    EXPECT_FALSE(refused->Read(&message));
    return refused->Finish();
  };
  EXPECT_EQ(refusal(5, true).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(refusal(5000, true).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(refusal(40, false).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace wavetune
