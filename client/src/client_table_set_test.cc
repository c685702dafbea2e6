// Ranks of one job: one digest to compare, one set to load.
#include <memory>
#include <string>

#include "base/digest.h"
#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/tiny_table.h"
#include "wavetune/client.h"

namespace wavetune {
namespace {

using testing::FakeNode;
using ::testing::HasSubstr;
using testing::Serve;
using testing::TinyTable;
using testing::TwoGroupTable;

Table WithDelta(double delta) {
  Table table = TinyTable();
  table.sub_tables[0].groups[0].models[0].segments[0].coefficients.delta =
      delta;
  return table;
}

// Two nodes of one job: theirs has newer tables of `add`.
class ClientTableSetTest : public ::testing::Test {
 protected:
  ClientTableSetTest() {
    ours_.Promote(old_);
    ours_.Promote(gemm_);
    theirs_.Promote(new_);
    theirs_.Promote(gemm_);
  }

  // A rank on our node that also knows theirs.
  std::unique_ptr<Client> Rank() {
    return Client::Connect(
               {.endpoint = ours_.endpoint() + "," + theirs_.endpoint(),
                .cache_dir = ours_.cache_dir()})
        .value();
  }
  // Rank 0 on their node: publishes its set and returns the digest.
  std::string PublishTheirs() {
    const auto client = Client::Connect({.endpoint = theirs_.endpoint(),
                                         .cache_dir = theirs_.cache_dir()})
                            .value();
    const Tuner add = client->GetTuner("add").value();
    const Tuner gemm = client->GetTuner("gemm").value();
    return client->PublishTableSet().value();
  }

  const FetchedTable old_ = Serve(WithDelta(2));
  const FetchedTable new_ = Serve(WithDelta(3));
  const FetchedTable gemm_ = Serve(TwoGroupTable());
  FakeNode ours_;
  FakeNode theirs_;
};

TEST_F(ClientTableSetTest, TheDigestIsOfTheTunersInUse) {
  const auto client = Rank();
  EXPECT_EQ(*client->TableSetDigest(), TableSetDigest({}));
  const Tuner add = client->GetTuner("add").value();
  {
    const Tuner gemm = client->GetTuner("gemm").value();
    EXPECT_EQ(*client->TableSetDigest(),
              TableSetDigest({{"add", old_.info.digest()},
                              {"gemm", gemm_.info.digest()}}));
  }
  EXPECT_EQ(client->GetTableSet()->tables().size(), 1U);
}

TEST_F(ClientTableSetTest, ATunerWithoutATableIsNoPublishableSet) {
  ours_.Retire(old_.info.digest());
  ours_.AddKernel(testing::AddKernelStatus());
  const auto client = Rank();
  EXPECT_TRUE(absl::IsFailedPrecondition(client->PublishTableSet().status()));
  const Tuner add = client->GetTuner("add").value();
  EXPECT_EQ(*client->TableSetDigest(), TableSetDigest({{"add", ""}}));
  const absl::Status status = client->PublishTableSet().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("wavetune reprofile"));
}

TEST_F(ClientTableSetTest, TwoTablesOfOneKernelAreNoSet) {
  const auto client = Rank();
  const Tuner one = client->GetTuner("add").value();
  const Tuner two =
      client->GetTuner("add", {.digest = new_.info.digest()}).value();
  EXPECT_TRUE(absl::IsFailedPrecondition(client->TableSetDigest().status()));
}

TEST_F(ClientTableSetTest, ARankLoadsTheSetOfAnotherNode) {
  const std::string digest = PublishTheirs();
  const auto client = Rank();
  const Tuner add =
      client->GetTuner("add", {.activation = ActivationPolicy::kExplicit})
          .value();
  const Tuner gemm = client->GetTuner("gemm").value();
  ASSERT_NE(*client->TableSetDigest(), digest);
  ASSERT_TRUE(absl::IsFailedPrecondition(client->ActivateTableSet(digest)));

  const absl::Status staged = client->StageTableSet(digest);
  ASSERT_TRUE(staged.ok()) << staged;
  EXPECT_EQ(add.digest(), old_.info.digest()) << "not before the step";
  const absl::Status activated = client->ActivateTableSet(digest);
  ASSERT_TRUE(activated.ok()) << activated;
  EXPECT_EQ(add.digest(), new_.info.digest());
  EXPECT_EQ(*client->TableSetDigest(), digest);
  EXPECT_TRUE(client->ActivateTableSet(digest).ok()) << "it decides already";
}

TEST_F(ClientTableSetTest, AJobIsPinnedToASetByItsDigest) {
  const std::string digest = PublishTheirs();
  const auto client =
      Client::Connect({.endpoint = ours_.endpoint() + "," + theirs_.endpoint(),
                       .cache_dir = ours_.cache_dir(),
                       .pin = digest})
          .value();
  const Tuner add = client->GetTuner("add").value();
  const Tuner gemm = client->GetTuner("gemm").value();
  EXPECT_EQ(*client->TableSetDigest(), digest);
}

TEST_F(ClientTableSetTest, AnUnknownSetChangesNothingAndSaysWhoWasAsked) {
  const auto client = Rank();
  const Tuner add = client->GetTuner("add").value();
  const absl::Status status = client->StageTableSet(std::string(64, 'a'));
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(theirs_.endpoint()));
  EXPECT_FALSE(add.staged());
}

TEST_F(ClientTableSetTest, ASetIsStagedWhollyOrNotAtAll) {
  const std::string digest = PublishTheirs();
  const auto client = Rank();
  const Tuner add = client->GetTuner("add").value();
  theirs_.Retire(new_.info.digest());  // Nobody has it any more.
  EXPECT_FALSE(client->StageTableSet(digest).ok());
  EXPECT_FALSE(add.staged());

  theirs_.Promote(new_);
  const Tuner pinned =
      client->GetTuner("add", {.digest = old_.info.digest()}).value();
  EXPECT_TRUE(absl::IsFailedPrecondition(client->StageTableSet(digest)));
  EXPECT_FALSE(add.staged()) << "the other tuner may not change";
}

TEST_F(ClientTableSetTest, AKernelOutsideOfTheSetIsNamed) {
  const auto theirs = Client::Connect({.endpoint = theirs_.endpoint(),
                                       .cache_dir = theirs_.cache_dir()})
                          .value();
  const Tuner only_gemm = theirs->GetTuner("gemm").value();
  const std::string digest = theirs->PublishTableSet().value();
  const auto client = Rank();
  const Tuner add = client->GetTuner("add").value();
  const absl::Status status = client->StageTableSet(digest);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"add\""));
}

}  // namespace
}  // namespace wavetune
