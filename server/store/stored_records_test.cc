#include "server/store/stored_records.h"

#include <set>
#include <string>

#include "base/copy_fields.h"
#include "base/digest.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "proto/wavetune/v1/admin_service.pb.h"
#include "proto/wavetune/v1/store.pb.h"
#include "server/store/store_contract_test_records.h"

namespace wavetune::testing {
namespace {

TEST(StoredRecordsTest, EveryRecordComesBackAsItWas) {
  EXPECT_EQ(DecodeStoredDevice(EncodeStoredDevice(TestDevice("GPU"))).value(),
            TestDevice("GPU"));
  EXPECT_EQ(DecodeStoredSample(EncodeStoredSample(TestSample(1))).value(),
            TestSample(1));
  EXPECT_EQ(DecodeStoredCandidate(
                EncodeStoredCandidate(TestCandidate(8, "hung", "x")))
                .value(),
            TestCandidate(8, "hung", "x"));
  EXPECT_EQ(DecodeStoredJob(EncodeStoredJob(TestJob())).value(), TestJob());
  EXPECT_EQ(
      DecodeStoredTableRecord(EncodeStoredTableRecord(TestTable(TestKey())))
          .value(),
      TestTable(TestKey()));
  const GenerationRecord generation = {
      .samples = 1, .size_bytes = 2, .next_sequence = 3};
  EXPECT_EQ(DecodeStoredGeneration(EncodeStoredGeneration(generation)).value(),
            generation);
}

TEST(StoredRecordsTest, EveryMeasuredNumberIsStored) {
  SampleRecord record = TestSample(1);
#define WAVETUNE_SET(field) \
  record.sample.field = static_cast<decltype(record.sample.field)>(3);
  WAVETUNE_MEASURED_FIELDS(WAVETUNE_SET)
#undef WAVETUNE_SET
  EXPECT_EQ(DecodeStoredSample(EncodeStoredSample(record)).value(), record);
}

TEST(StoredRecordsTest, EveryOptionOfARequestIsStored) {
  // What says which jobs are meant, and how they queue.
  const std::set<std::string> others = {
      "kernel", "device_uuid", "silicon_key", "single_device", "fresh",
      "drift",  "dry_run",     "priority",    "reason",        "fleet"};
  v1::ReprofileRequest request;
  const google::protobuf::Reflection& reflection = *request.GetReflection();
  for (int i = 0; i < request.GetDescriptor()->field_count(); ++i) {
    const auto* const field = request.GetDescriptor()->field(i);
    using Field = google::protobuf::FieldDescriptor;
    if (others.contains(field->name())) continue;
    if (field->cpp_type() == Field::CPPTYPE_BOOL) {
      reflection.SetBool(&request, field, true);
    } else if (field->cpp_type() == Field::CPPTYPE_INT32) {
      reflection.SetInt32(&request, field, 3);
    } else if (field->cpp_type() == Field::CPPTYPE_DOUBLE) {
      reflection.SetDouble(&request, field, 3);
    } else {
      ASSERT_EQ(field->cpp_type(), Field::CPPTYPE_STRING) << field->name();
      reflection.SetString(&request, field, "3");
    }
  }
  JobRecord record;
  TAKE_FIELDS(request, record.options, WAVETUNE_REQUESTED_OPTIONS);
  record = DecodeStoredJob(EncodeStoredJob(record)).value();
  v1::ReprofileRequest stored;
  GIVE_FIELDS(record.options, stored, WAVETUNE_REQUESTED_OPTIONS);
  EXPECT_EQ(stored.DebugString(), request.DebugString());
}

TEST(StoredRecordsTest, ASampleOfAnEarlierDaemonHasNoClockAndNoThrottling) {
  v1::StoredSample stored;
  stored.set_format(kStoredFormat);
  stored.add_configuration(64);
  stored.add_extents(1);
  stored.set_latency_us(5);
  const absl::StatusOr<SampleRecord> record =
      DecodeStoredSample(stored.SerializeAsString());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->sample.sm_clock_mhz, 0);
  EXPECT_EQ(record->sample.throttle_reasons, 0U);
  EXPECT_FALSE(record->sample.throttled);
}

TEST(StoredRecordsTest, EveryStateAndPhaseOfAJobComesBack) {
  JobRecord job = TestJob();
  for (int state = 0; state <= 4; ++state) {
    for (int phase = 0; phase <= 9; ++phase) {
      job.state = static_cast<JobState>(state);
      job.phase = static_cast<JobPhase>(phase);
      EXPECT_EQ(DecodeStoredJob(EncodeStoredJob(job)).value(), job);
    }
  }
}

// It refitted with some of the samples of before: the table did not hold.
TEST(StoredRecordsTest, ADriftProbeOfAnEarlierDaemonThatRefittedIsAProfile) {
  v1::StoredJob stored;
  ASSERT_TRUE(stored.ParseFromString(EncodeStoredJob(TestJob())));
  stored.mutable_drift()->set_action(2);
  const absl::StatusOr<JobRecord> job =
      DecodeStoredJob(stored.SerializeAsString());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->drift->action, DriftAction::kProfile);
}

TEST(StoredRecordsTest, ATableIsVerifiedAgainstItsDigest) {
  TableRecord record = TestTable(TestKey());
  record.digest = Sha256Hex("payload");
  EXPECT_EQ(DecodeStoredTable(EncodeStoredTable(record, "payload"))->payload,
            "payload");
  EXPECT_EQ(
      DecodeStoredTable(EncodeStoredTable(record, "other")).status().code(),
      absl::StatusCode::kDataLoss);
}

TEST(StoredRecordsTest, RefusesGarbageAndNoFormat) {
  for (const std::string& bytes :
       {std::string(), std::string("garbage"), std::string(100, '\xff')}) {
    EXPECT_EQ(DecodeStoredSample(bytes).status().code(),
              absl::StatusCode::kDataLoss);
    EXPECT_EQ(DecodeStoredJob(bytes).status().code(),
              absl::StatusCode::kDataLoss);
    EXPECT_EQ(DecodeStoredTable(bytes).status().code(),
              absl::StatusCode::kDataLoss);
  }
}

TEST(StoredRecordsTest, SaysThatAFormatIsNewer) {
  v1::StoredJob job;
  job.set_format(kStoredFormat + 1);
  const absl::Status status = DecodeStoredJob(job.SerializeAsString()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "StoredJob has format 2, this program knows 1: upgrade the daemon "
            "to use it");
}

TEST(StoredRecordsTest, RefusesWhatARecordCannotHold) {
  v1::StoredSample sample;
  sample.set_format(kStoredFormat);
  for (int i = 0; i <= kMaxParameters; ++i) sample.add_configuration(i);
  EXPECT_EQ(DecodeStoredSample(sample.SerializeAsString()).status().code(),
            absl::StatusCode::kDataLoss);
  v1::StoredJob job;
  job.set_format(kStoredFormat);
  job.set_kind(1);
  job.set_state(99);
  EXPECT_EQ(DecodeStoredJob(job.SerializeAsString()).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST(StoredRecordsTest, AnyPrefixOfARecordIsHandled) {
  const std::string bytes = EncodeStoredJob(TestJob());
  for (size_t size = 0; size < bytes.size(); ++size) {
    DecodeStoredJob(absl::string_view(bytes).substr(0, size)).IgnoreError();
  }
}

}  // namespace
}  // namespace wavetune::testing
