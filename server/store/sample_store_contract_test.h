// What every SampleStore promises. Include it, then
//
//   INSTANTIATE_TEST_SUITE_P(Fake, SampleStoreContractTest,
//                            ::testing::Values(MakeFakeSampleStore));
#ifndef WAVETUNE_SERVER_STORE_SAMPLE_STORE_CONTRACT_TEST_H_
#define WAVETUNE_SERVER_STORE_SAMPLE_STORE_CONTRACT_TEST_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/sample_store.h"
#include "server/store/store_contract_test_records.h"

namespace wavetune::testing {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Makes an empty store that may hold `limit_bytes` (0: no limit).
using SampleStoreFactory = std::shared_ptr<SampleStore> (*)(int64_t);

class SampleStoreContractTest
    : public ::testing::TestWithParam<SampleStoreFactory> {
 protected:
  const ProfileKey key_ = TestKey();
  const std::shared_ptr<SampleStore> store_ = GetParam()(0);
};

TEST_P(SampleStoreContractTest, IsEmptyAtFirst) {
  EXPECT_EQ(store_->Load(key_, 1).value(), SampleSet{});
  EXPECT_THAT(store_->Generations(key_).value(), IsEmpty());
  EXPECT_EQ(store_->GetStats()->samples, 0);
  EXPECT_EQ(store_->GetStats()->size_bytes, 0);
}

TEST_P(SampleStoreContractTest, ReturnsWhatWasAppendedInOrder) {
  const std::vector<SampleRecord> first = {TestSample(9), TestSample(2)};
  const std::vector<SampleRecord> second = {TestSample(5)};
  ASSERT_TRUE(store_->Append(key_, 1, first, {}).ok());
  ASSERT_TRUE(store_->Append(key_, 1, second, {}).ok());
  EXPECT_THAT(store_->Load(key_, 1)->samples,
              ElementsAre(TestSample(9), TestSample(2), TestSample(5)));
}

TEST_P(SampleStoreContractTest, PagesHoldEverySampleOnceInOrder) {
  const std::vector<CandidateRecord> candidates = {TestCandidate(64, "")};
  std::vector<SampleRecord> all;
  for (int i = 1; i <= 7; ++i) {
    const std::vector<SampleRecord> one = {TestSample(i)};
    // Candidates in between: they share the sequence in some stores.
    ASSERT_TRUE(store_->Append(key_, 1, one, candidates).ok());
    all.push_back(one[0]);
  }
  for (const size_t most : {1, 3, 7, 100}) {
    std::vector<SampleRecord> read;
    size_t pages = 0;
    uint64_t from = 0;
    do {
      const SamplePage page = store_->LoadPage(key_, 1, from, most).value();
      EXPECT_LE(page.samples.size(), most);
      EXPECT_FALSE(page.samples.empty());
      read.insert(read.end(), page.samples.begin(), page.samples.end());
      from = page.next;
      ++pages;
    } while (from != 0 && pages < 10);
    EXPECT_EQ(read, all);
    EXPECT_EQ(pages, (all.size() + most - 1) / most);
  }
  const SamplePage none = store_->LoadPage(key_, 2, 0, 5).value();
  EXPECT_THAT(none.samples, IsEmpty());
  EXPECT_EQ(none.next, 0u);
}

TEST_P(SampleStoreContractTest, KeepsEqualSamplesApart) {
  const std::vector<SampleRecord> same = {TestSample(1), TestSample(1)};
  ASSERT_TRUE(store_->Append(key_, 1, same, {}).ok());
  ASSERT_TRUE(store_->Append(key_, 1, same, {}).ok());
  EXPECT_EQ(store_->Load(key_, 1)->samples.size(), 4u);
}

TEST_P(SampleStoreContractTest, ReturnsTheLatestRecordOfEachCandidateSorted) {
  const std::vector<CandidateRecord> first = {TestCandidate(64, "", "b"),
                                              TestCandidate(128, "", "a"),
                                              TestCandidate(32, "", "a")};
  const std::vector<CandidateRecord> second = {TestCandidate(128, "hung", "a")};
  ASSERT_TRUE(store_->Append(key_, 1, {}, first).ok());
  ASSERT_TRUE(store_->Append(key_, 1, {}, second).ok());
  EXPECT_THAT(
      store_->Load(key_, 1)->candidates,
      ElementsAre(TestCandidate(32, "", "a"), TestCandidate(128, "hung", "a"),
                  TestCandidate(64, "", "b")));
}

TEST_P(SampleStoreContractTest, KeepsKeysAndGenerationsApart) {
  ProfileKey shifted = key_;  // The same bytes, cut elsewhere.
  shifted.kernel += shifted.fingerprint.substr(0, 1);
  shifted.fingerprint.erase(0, 1);
  ProfileKey longer = key_;
  longer.environment_key += ";x";
  const std::vector<SampleRecord> samples = {TestSample(1)};
  ASSERT_TRUE(store_->Append(key_, 1, samples, {}).ok());
  EXPECT_THAT(store_->Load(key_, 2)->samples, IsEmpty());
  EXPECT_THAT(store_->Load(shifted, 1)->samples, IsEmpty());
  EXPECT_THAT(store_->Load(longer, 1)->samples, IsEmpty());
  EXPECT_THAT(store_->Generations(shifted).value(), IsEmpty());
  EXPECT_THAT(store_->Generations(longer).value(), IsEmpty());
}

TEST_P(SampleStoreContractTest, ListsGenerationsAscending) {
  const std::vector<SampleRecord> samples = {TestSample(1)};
  const std::vector<CandidateRecord> candidates = {TestCandidate(64, "")};
  constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();
  ASSERT_TRUE(store_->Append(key_, 256, samples, {}).ok());
  ASSERT_TRUE(store_->Append(key_, kLast, samples, {}).ok());
  ASSERT_TRUE(store_->Append(key_, 1, {}, candidates).ok());
  ASSERT_TRUE(store_->Append(key_, 7, {}, {}).ok());  // Nothing to list.
  EXPECT_THAT(store_->Generations(key_).value(), ElementsAre(1, 256, kLast));
}

TEST_P(SampleStoreContractTest, PrunesAllButTheNewestGenerations) {
  const std::vector<SampleRecord> samples = {TestSample(1)};
  const std::vector<CandidateRecord> candidates = {TestCandidate(64, "")};
  for (uint64_t generation : {1, 2, 255, 256}) {
    ASSERT_TRUE(store_->Append(key_, generation, samples, candidates).ok());
  }
  const ProfileKey other = TestKey("other");
  ASSERT_TRUE(store_->Append(other, 1, samples, candidates).ok());
  const SampleStore::Stats before = store_->GetStats().value();

  ASSERT_TRUE(store_->Prune(key_, 3).ok());
  EXPECT_THAT(store_->Generations(key_).value(), ElementsAre(2, 255, 256));
  EXPECT_EQ(store_->Load(key_, 1).value(), SampleSet{});
  EXPECT_EQ(store_->Load(key_, 2)->samples.size(), 1u);
  EXPECT_EQ(store_->Load(key_, 256)->candidates.size(), 1u);
  EXPECT_EQ(store_->Load(other, 1)->samples.size(), 1u);
  EXPECT_EQ(store_->GetStats()->samples, before.samples - 1);
  EXPECT_LT(store_->GetStats()->size_bytes, before.size_bytes);

  ASSERT_TRUE(store_->Prune(key_, 3).ok());  // Nothing left to do.
  ASSERT_TRUE(store_->Prune(key_, 0).ok());
  ASSERT_TRUE(store_->Prune(other, 0).ok());
  EXPECT_THAT(store_->Generations(key_).value(), IsEmpty());
  EXPECT_EQ(store_->GetStats()->samples, 0);
  EXPECT_EQ(store_->GetStats()->size_bytes, 0);
}

TEST_P(SampleStoreContractTest, PruningNeitherCountsNorDeletesMeasuredSamples) {
  const std::vector<SampleRecord> samples = {TestSample(1)};
  for (uint64_t generation : {kMeasuredGeneration, uint64_t{1}, uint64_t{2}}) {
    ASSERT_TRUE(store_->Append(key_, generation, samples, {}).ok());
  }
  ASSERT_TRUE(store_->Prune(key_, 2).ok());
  EXPECT_THAT(store_->Generations(key_).value(),
              ElementsAre(kMeasuredGeneration, 1, 2));
  ASSERT_TRUE(store_->Prune(key_, 1).ok());
  EXPECT_THAT(store_->Generations(key_).value(),
              ElementsAre(kMeasuredGeneration, 2));
}

TEST_P(SampleStoreContractTest, ListsItsKeysAndForgetsOneWhole) {
  EXPECT_THAT(store_->Keys().value(), IsEmpty());
  const ProfileKey other = TestKey("other");
  const std::vector<CandidateRecord> candidates(5, TestCandidate(64, ""));
  for (const uint64_t generation : {kMeasuredGeneration, uint64_t{3}}) {
    SampleRecord sample = TestSample(1);
    sample.measured_at_us = 1000 * static_cast<int64_t>(10 - generation);
    const std::vector<SampleRecord> one = {sample};
    ASSERT_TRUE(store_->Append(key_, generation, one, {}).ok());
    // Behind the sample.
    ASSERT_TRUE(store_->Append(key_, generation, {}, candidates).ok());
  }
  ASSERT_TRUE(store_->Append(other, 1, {}, candidates).ok());
  const StoredKey all{.key = key_, .samples = 2, .newest_us = 10'000};
  EXPECT_THAT(store_->Keys().value(),
              ElementsAre(all, StoredKey{.key = other}));
  ASSERT_TRUE(store_->Forget(key_).ok());
  ASSERT_TRUE(store_->Forget(key_).ok()) << "nothing left to do";
  EXPECT_THAT(store_->Keys().value(), ElementsAre(StoredKey{.key = other}));
  EXPECT_EQ(store_->Load(key_, kMeasuredGeneration).value(), SampleSet{});
  EXPECT_EQ(store_->GetStats()->samples, 0);
  EXPECT_EQ(store_->LoadCandidates(other, 1)->size(), 1u);
}

TEST_P(SampleStoreContractTest, AppendsToAPrunedGenerationAnew) {
  const std::vector<SampleRecord> old = {TestSample(1), TestSample(2)};
  const std::vector<SampleRecord> anew = {TestSample(3)};
  ASSERT_TRUE(store_->Append(key_, 1, old, {}).ok());
  ASSERT_TRUE(store_->Prune(key_, 0).ok());
  ASSERT_TRUE(store_->Append(key_, 1, anew, {}).ok());
  EXPECT_THAT(store_->Load(key_, 1)->samples, ElementsAre(TestSample(3)));
}

TEST_P(SampleStoreContractTest, RefusesWhatWouldPassTheLimit) {
  const std::shared_ptr<SampleStore> small = GetParam()(2000);
  const std::vector<SampleRecord> samples = {TestSample(1)};
  ASSERT_TRUE(small->Append(key_, 1, samples, {}).ok());
  absl::Status status;
  int appended = 1;
  for (; status.ok() && appended < 100; ++appended) {
    status = small->Append(key_, 1, samples, {});
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  const SampleStore::Stats stats = small->GetStats().value();
  EXPECT_EQ(stats.limit_bytes, 2000);
  EXPECT_LE(stats.size_bytes, 2000);
  EXPECT_EQ(stats.samples, appended - 1);
  EXPECT_EQ(small->Load(key_, 1)->samples.size(),
            static_cast<size_t>(stats.samples));
}

TEST_P(SampleStoreContractTest, TakesAppendsFromSeveralThreads) {
  constexpr int kThreads = 4;
  constexpr int kAppends = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      const std::vector<SampleRecord> samples = {TestSample(1)};
      for (int n = 0; n < kAppends; ++n) {
        EXPECT_TRUE(store_->Append(key_, 1, samples, {}).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->Load(key_, 1)->samples.size(),
            static_cast<size_t>(kThreads * kAppends));
  EXPECT_EQ(store_->GetStats()->samples, kThreads * kAppends);
}

}  // namespace wavetune::testing

#endif  // WAVETUNE_SERVER_STORE_SAMPLE_STORE_CONTRACT_TEST_H_
