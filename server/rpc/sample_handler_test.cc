#include "server/rpc/sample_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "model/testing/kernels.h"
#include "server/jobs/fake_profiling.h"
#include "server/store/fake_stores.h"
#include "server/store/faulty_stores.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

class SampleHandlerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto payload = EncodeTable(
        FixedTable(spec_, key_, spec_.default_configuration, /*latency=*/10));
    request_.set_digest(tables_.Promote({.key = key_}, *payload)->digest);
  }

  SampleRecord Record(int64_t m) const {
    SampleRecord record;
    record.sample.configuration = spec_.default_configuration;
    record.sample.problem.extents = {m, 64, 64};
    record.sample.latency_us = 5;
    record.device_uuid = "GPU-1";
    return record;
  }
  CandidateRecord Compiled() const {
    return {.candidate = {.configuration = spec_.default_configuration,
                          .tiles_per_wave = 264}};
  }
  void Append(uint64_t generation, int samples, int64_t first_m = 1) {
    std::vector<SampleRecord> records;
    for (int i = 0; i < samples; ++i) records.push_back(Record(first_m + i));
    ASSERT_TRUE(samples_.Append(key_, generation, records, {Compiled()}).ok());
  }

  const KernelSpec spec_ = testing::GemmSpec();
  const ProfileKey key_{spec_.name, std::string(64, 'a'),
                        SiliconKey(testing::H200()),
                        EnvironmentKey(testing::H200())};
  FakeTableStore store_;
  FakeSampleStore fake_samples_;
  FaultySampleStore samples_{&fake_samples_};
  TableCatalog tables_{&store_, [](const std::string&) {}};
  FakeClock clock_;
  SampleHandler handler_{&tables_, &samples_, &clock_};
  v1::ListSamplesRequest request_;
};

TEST_F(SampleHandlerTest, ListsEveryGenerationAndWhatWasMeasured) {
  Append(1, 3);
  Append(2, 4, /*first_m=*/100);
  Append(kMeasuredGeneration, 2, /*first_m=*/500);
  auto listing = handler_.ListSamples(request_);
  ASSERT_TRUE(listing.ok()) << listing.status();
  v1::ListSamplesResponse response;
  ASSERT_TRUE((*listing)->Next(&response).value());
  ASSERT_EQ(response.candidates_size(), 1);
  EXPECT_EQ(response.candidates(0).facts().tiles_per_wave(), 264);
  ASSERT_EQ(response.profiled_size(), 7);
  EXPECT_EQ(response.profiled(0).problem().extents(0).values(0), 1);
  EXPECT_EQ(response.profiled(3).problem().extents(0).values(0), 100);
  EXPECT_EQ(response.profiled(0).device_uuid(), "GPU-1");
  ASSERT_EQ(response.measured_size(), 2);
  EXPECT_EQ(response.measured(1).problem().extents(0).values(0), 501);
  EXPECT_FALSE((*listing)->Next(&response).value());
  EXPECT_EQ(response.profiled_size(), 0);
}

TEST_F(SampleHandlerTest, CutsALongReasonBetweenTwoCharacters) {
  CandidateRecord excluded = Compiled();
  // The 600th byte is the middle of a quotation mark of three bytes.
  excluded.candidate.excluded_reason =
      std::string(599, 'x') + "\u2019" + std::string(100, 'y');
  ASSERT_TRUE(samples_.Append(key_, 1, {Record(7)}, {excluded}).ok());
  auto listing = handler_.ListSamples(request_);
  ASSERT_TRUE(listing.ok()) << listing.status();
  v1::ListSamplesResponse response;
  ASSERT_TRUE((*listing)->Next(&response).value());
  ASSERT_EQ(response.candidates_size(), 1);
  EXPECT_EQ(response.candidates(0).excluded_reason(),
            std::string(599, 'x') + "...");
}

TEST_F(SampleHandlerTest, SplitsWhatIsLarge) {
  const int many = 2 * static_cast<int>(SampleListing::kPerMessage) + 1;
  Append(1, many);
  auto listing = handler_.ListSamples(request_);
  ASSERT_TRUE(listing.ok()) << listing.status();
  int messages = 0;
  int samples = 0;
  v1::ListSamplesResponse response;
  while ((*listing)->Next(&response).value()) {
    ++messages;
    samples += response.profiled_size();
  }
  EXPECT_EQ(samples, many);
  EXPECT_EQ(messages, 3);
}

TEST_F(SampleHandlerTest, AMessageGoesOnIntoTheNextGeneration) {
  const int some = static_cast<int>(SampleListing::kPerMessage) - 100;
  Append(1, some);
  Append(2, some);
  Append(kMeasuredGeneration, some);
  auto listing = handler_.ListSamples(request_);
  ASSERT_TRUE(listing.ok()) << listing.status();
  std::vector<int> sizes;
  v1::ListSamplesResponse response;
  while ((*listing)->Next(&response).value()) {
    sizes.push_back(response.candidates_size() + response.profiled_size() +
                    response.measured_size());
  }
  const int full = static_cast<int>(SampleListing::kPerMessage);
  EXPECT_THAT(sizes,
              ::testing::ElementsAre(full, full, 1 + 3 * some - 2 * full));
}

TEST_F(SampleHandlerTest, SaysThatTheStoreCannotBeRead) {
  Append(1, 2 * static_cast<int>(SampleListing::kPerMessage));
  samples_.reads().Fail(absl::InternalError("I/O error"));
  EXPECT_TRUE(absl::IsInternal(handler_.ListSamples(request_).status()));
  samples_.reads().Heal();
  auto listing = handler_.ListSamples(request_);
  ASSERT_TRUE(listing.ok()) << listing.status();
  v1::ListSamplesResponse response;
  EXPECT_TRUE((*listing)->Next(&response).value());
  samples_.reads().Fail(absl::InternalError("I/O error"));
  EXPECT_TRUE(absl::IsInternal((*listing)->Next(&response).status()));
}

TEST_F(SampleHandlerTest, WithoutSamplesTheListIsEmpty) {
  auto listing = handler_.ListSamples(request_);
  ASSERT_TRUE(listing.ok()) << listing.status();
  v1::ListSamplesResponse response;
  EXPECT_FALSE((*listing)->Next(&response).value());
}

TEST_F(SampleHandlerTest, ATableFromElsewhereHasTheCandidatesOfMeasuringJobs) {
  Append(kMeasuredGeneration, 1);
  auto listing = handler_.ListSamples(request_);
  ASSERT_TRUE(listing.ok()) << listing.status();
  v1::ListSamplesResponse response;
  ASSERT_TRUE((*listing)->Next(&response).value());
  EXPECT_EQ(response.candidates_size(), 1);
  EXPECT_EQ(response.profiled_size(), 0);
  EXPECT_EQ(response.measured_size(), 1);
}

TEST_F(SampleHandlerTest, ATableThatIsNotThereIsAnError) {
  EXPECT_TRUE(absl::IsInvalidArgument(handler_.ListSamples({}).status()));
  v1::ListSamplesRequest unknown;
  unknown.set_digest(std::string(64, 'f'));
  EXPECT_TRUE(absl::IsNotFound(handler_.ListSamples(unknown).status()));
}

TEST_F(SampleHandlerTest, AReaderThatNeverReadsGivesItsPlaceToTheNext) {
  Append(1, 3 * static_cast<int>(SampleListing::kPerMessage));
  std::vector<std::shared_ptr<SampleListing>> open;
  v1::ListSamplesResponse response;
  for (size_t i = 0; i < SampleHandler::kMaxListings; ++i) {
    open.push_back(handler_.ListSamples(request_).value());
    EXPECT_TRUE(open.back()->Next(&response).value());
    clock_.Advance(0.2);
  }
  EXPECT_TRUE(
      absl::IsResourceExhausted(handler_.ListSamples(request_).status()));
  clock_.Advance(0.5);  // The first has waited for 1.3 s, the second for 1.1.
  EXPECT_TRUE(open[1]->Next(&response).value());
  const auto next = handler_.ListSamples(request_);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_TRUE((*next)->Next(&response).value());
  EXPECT_TRUE(open[1]->Next(&response).value());
  const absl::Status told = open[0]->Next(&response).status();
  EXPECT_TRUE(absl::IsResourceExhausted(told));
  EXPECT_THAT(std::string(told.message()), HasSubstr("others waited to list"));
}

TEST_F(SampleHandlerTest, FewListAtATime) {
  Append(1, 1);
  std::vector<std::shared_ptr<SampleListing>> open;
  for (size_t i = 0; i < SampleHandler::kMaxListings; ++i) {
    auto listing = handler_.ListSamples(request_);
    ASSERT_TRUE(listing.ok()) << listing.status();
    open.push_back(*std::move(listing));
  }
  const absl::Status refused = handler_.ListSamples(request_).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("try again"));
  open.pop_back();
  EXPECT_TRUE(handler_.ListSamples(request_).ok());
}

}  // namespace
}  // namespace wavetune
