// The C ABI: working without the daemon, and tables that take over.
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/digest.h"
#include "client/c/test_handles.h"
#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/source_paths.h"
#include "tests/lib/tiny_table.h"
#include "wavetune/client.h"
#include "wavetune/wavetune.h"

namespace wavetune {
namespace {

using testing::ClientHandle;
using testing::ConnectInC;
using testing::FakeNode;
using testing::GetTunerInC;
using ::testing::HasSubstr;
using testing::Serve;
using testing::TemporaryFolder;
using testing::TinyTable;
using testing::TunerHandle;

std::string DigestOf(const wavetune_tuner* tuner) {
  char digest[WAVETUNE_DIGEST_SIZE] = "";
  EXPECT_EQ(wavetune_tuner_digest(tuner, digest, sizeof(digest)), WAVETUNE_OK);
  return digest;
}

std::string StagedAt(const wavetune_tuner* tuner) {
  char digest[WAVETUNE_DIGEST_SIZE] = "";
  EXPECT_EQ(wavetune_tuner_staged_digest(tuner, digest, sizeof(digest)),
            WAVETUNE_OK);
  return digest;
}

// A local daemon that is not there.
class COfflineTest : public ::testing::Test {
 protected:
  COfflineTest() : endpoint_("unix:" + folder_.path() + "/no.sock") {
    options_.endpoint = endpoint_.c_str();
    options_.cache_dir = "";
  }

  TemporaryFolder folder_;
  const std::string endpoint_;
  wavetune_client_options options_ = WAVETUNE_CLIENT_OPTIONS_INIT;
};

TEST_F(COfflineTest, DecidesFromATableFile) {
  options_.table_file = WAVETUNE_SOURCE_DIR "/tests/golden/data/tiny.table";
  const ClientHandle client = ConnectInC(options_);
  const TunerHandle tuner = GetTunerInC(client.get(), "add");
  const int64_t problem[] = {1000};
  wavetune_decision decision;
  ASSERT_EQ(wavetune_tuner_resolve(tuner.get(), problem, 1, &decision),
            WAVETUNE_OK);
  EXPECT_EQ(decision.values[0], 256);
  EXPECT_EQ(decision.origin, WAVETUNE_ORIGIN_FILE);
  EXPECT_EQ(wavetune_tuner_origin(tuner.get()), WAVETUNE_ORIGIN_FILE);
}

TEST_F(COfflineTest, KnowsTheDefaultFromAManifest) {
  const std::string manifest = WAVETUNE_SOURCE_DIR "/kernels/gemm_f32";
  wavetune_tuner_options options = WAVETUNE_TUNER_OPTIONS_INIT;
  options.manifest = manifest.c_str();
  const ClientHandle client = ConnectInC(options_);
  const TunerHandle tuner = GetTunerInC(client.get(), "gemm_f32", &options);
  ASSERT_NE(tuner, nullptr);
  // The C++ client of this test has protobuf's full code, the library the lite.
  const Tuner cpp = Client::Connect({.endpoint = endpoint_, .cache_dir = ""})
                        .value()
                        ->GetTuner("gemm_f32", {.manifest = manifest})
                        .value();
  ASSERT_EQ(wavetune_tuner_parameter_count(tuner.get()),
            cpp.parameters().size());
  std::vector<int64_t> values(cpp.parameters().size());
  ASSERT_EQ(wavetune_tuner_default_configuration(tuner.get(), values.data(),
                                                 values.size()),
            WAVETUNE_OK);
  EXPECT_EQ(Configuration(absl::MakeConstSpan(values)),
            cpp.default_configuration());
}

TEST_F(COfflineTest, SaysWhereAManifestIsWrong) {
  const std::string path = folder_.path() + "/manifest.textproto";
  std::ofstream(path) << "name: \"add\"\nno_such_field: 1\n";
  wavetune_tuner_options options = WAVETUNE_TUNER_OPTIONS_INIT;
  options.manifest = path.c_str();
  const ClientHandle client = ConnectInC(options_);
  wavetune_tuner* tuner = nullptr;
  EXPECT_EQ(wavetune_client_get_tuner(client.get(), "add", &options, &tuner),
            WAVETUNE_INVALID_ARGUMENT);
  EXPECT_THAT(wavetune_last_error(), HasSubstr("line 2"));
  EXPECT_THAT(wavetune_last_error(), HasSubstr("no_such_field"));
}

TEST_F(COfflineTest, HasTheModeThatItIsGiven) {
  for (const int mode :
       {WAVETUNE_MODE_AUTO, WAVETUNE_MODE_OFFLINE, WAVETUNE_MODE_OFF}) {
    options_.mode = mode;
    EXPECT_EQ(wavetune_client_mode(ConnectInC(options_).get()), mode);
  }
  options_.mode = 4;
  wavetune_client* client = nullptr;
  EXPECT_EQ(wavetune_client_connect(&options_, &client),
            WAVETUNE_INVALID_ARGUMENT);
  EXPECT_THAT(wavetune_last_error(), HasSubstr("mode is 4"));
}

class CActivationTest : public ::testing::Test {
 protected:
  CActivationTest() {
    first_ = Serve(TinyTable());
    Table next = TinyTable();
    next.near_tie += 0.01;
    second_ = Serve(next, "GPU-1", /*promoted_at_us=*/2);
    node_.AddTable(first_);
  }

  ClientHandle Client() {
    return ConnectInC(node_.endpoint(), node_.cache_dir());
  }

  TunerHandle MakeTuner(wavetune_client* client, int activation) {
    wavetune_tuner_options options = WAVETUNE_TUNER_OPTIONS_INIT;
    options.activation = activation;
    TunerHandle tuner = GetTunerInC(client, "add", &options);
    EXPECT_EQ(DigestOf(tuner.get()), first_.info.digest());
    return tuner;
  }

  // Waits for what the watch brings; false after a generous deadline.
  static bool Eventually(const std::function<bool()>& condition) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  // Serves the second table and waits until the tuner has it staged.
  void Stage(const wavetune_tuner* tuner) {
    node_.Promote(second_);
    ASSERT_TRUE(
        Eventually([&] { return StagedAt(tuner) == second_.info.digest(); }));
  }

  FakeNode node_;
  FetchedTable first_;
  FetchedTable second_;
};

TEST_F(CActivationTest, AnExplicitTunerKeepsItsTableUntilToldOtherwise) {
  const ClientHandle client = Client();
  const TunerHandle tuner =
      MakeTuner(client.get(), WAVETUNE_ACTIVATION_EXPLICIT);
  EXPECT_EQ(StagedAt(tuner.get()), "");
  EXPECT_EQ(wavetune_tuner_activate(tuner.get(), second_.info.digest().c_str()),
            WAVETUNE_NOT_FOUND);
  Stage(tuner.get());
  EXPECT_EQ(DigestOf(tuner.get()), first_.info.digest());
  EXPECT_EQ(wavetune_tuner_step_boundary(tuner.get()), 0);

  ASSERT_EQ(wavetune_tuner_activate(tuner.get(), second_.info.digest().c_str()),
            WAVETUNE_OK)
      << wavetune_last_error();
  EXPECT_EQ(DigestOf(tuner.get()), second_.info.digest());
  const int64_t problem[] = {1000};
  wavetune_decision decision;
  ASSERT_EQ(wavetune_tuner_resolve(tuner.get(), problem, 1, &decision),
            WAVETUNE_OK);
  EXPECT_EQ(decision.digest_prefix, DigestPrefix(second_.info.digest()));
}

TEST_F(CActivationTest, AnAutomaticTunerWaitsForWhatIsNotPrepared) {
  const ClientHandle client = Client();
  const TunerHandle tuner =
      MakeTuner(client.get(), WAVETUNE_ACTIVATION_AUTOMATIC);
  Stage(tuner.get());
  int64_t unprepared[4] = {};
  size_t count = 0;
  ASSERT_EQ(
      wavetune_tuner_staged_unprepared(
          tuner.get(), second_.info.digest().c_str(), unprepared, 4, &count),
      WAVETUNE_OK)
      << wavetune_last_error();
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(unprepared[0], 256);
  EXPECT_EQ(
      wavetune_tuner_staged_unprepared(
          tuner.get(), first_.info.digest().c_str(), unprepared, 4, &count),
      WAVETUNE_NOT_FOUND);
  EXPECT_THAT(wavetune_last_error(), HasSubstr(second_.info.digest()));

  ASSERT_EQ(wavetune_tuner_set_prepared(tuner.get(), unprepared, count),
            WAVETUNE_OK);
  EXPECT_TRUE(Eventually(
      [&] { return DigestOf(tuner.get()) == second_.info.digest(); }));
}

TEST_F(CActivationTest, ATableTakesOverThatTheTunersOptionsSayIsPrepared) {
  const ClientHandle client = Client();
  const int64_t prepared[] = {256};
  wavetune_tuner_options options = WAVETUNE_TUNER_OPTIONS_INIT;
  options.prepared = prepared;
  options.prepared_count = 1;
  options.prepared_parameters = 1;
  const TunerHandle tuner = GetTunerInC(client.get(), "add", &options);
  EXPECT_EQ(DigestOf(tuner.get()), first_.info.digest());
  node_.Promote(second_);
  EXPECT_TRUE(Eventually(
      [&] { return DigestOf(tuner.get()) == second_.info.digest(); }));
}

TEST_F(CActivationTest, PreparedConfigurationsOfAnotherKernelAreRefused) {
  const ClientHandle client = Client();
  const int64_t prepared[] = {256, 4};
  wavetune_tuner_options options = WAVETUNE_TUNER_OPTIONS_INIT;
  options.prepared = prepared;
  options.prepared_count = 1;
  options.prepared_parameters = 2;
  wavetune_tuner* tuner = nullptr;
  EXPECT_EQ(wavetune_client_get_tuner(client.get(), "add", &options, &tuner),
            WAVETUNE_INVALID_ARGUMENT);
  EXPECT_THAT(wavetune_last_error(),
              HasSubstr("prepared_parameters is 2; kernel \"add\" has 1"));
  options.prepared = nullptr;
  options.prepared_parameters = 1;
  EXPECT_EQ(wavetune_client_get_tuner(client.get(), "add", &options, &tuner),
            WAVETUNE_INVALID_ARGUMENT);
  EXPECT_THAT(wavetune_last_error(), HasSubstr("`prepared` is NULL"));
  EXPECT_EQ(tuner, nullptr);
}

TEST_F(CActivationTest, AClientMovesItsTunersAtAStepBoundary) {
  const ClientHandle client = Client();
  const TunerHandle tuner =
      MakeTuner(client.get(), WAVETUNE_ACTIVATION_STEP_BOUNDARY);
  Stage(tuner.get());
  EXPECT_EQ(DigestOf(tuner.get()), first_.info.digest());
  EXPECT_EQ(wavetune_client_step_boundary(client.get()), 1);
  EXPECT_EQ(DigestOf(tuner.get()), second_.info.digest());
  EXPECT_EQ(wavetune_client_step_boundary(client.get()), 0);
  EXPECT_TRUE(
      Eventually([&] { return wavetune_client_watching(client.get()) == 1; }));
}

TEST_F(CActivationTest, APinnedTunerRefusesToMove) {
  const ClientHandle client = Client();
  const TunerHandle tuner = MakeTuner(client.get(), WAVETUNE_ACTIVATION_PINNED);
  EXPECT_EQ(wavetune_tuner_activate(tuner.get(), second_.info.digest().c_str()),
            WAVETUNE_FAILED_PRECONDITION);
  EXPECT_EQ(DigestOf(tuner.get()), first_.info.digest());
}

TEST_F(CActivationTest, ANumberThatIsNoActivationIsRefused) {
  const ClientHandle client = Client();
  wavetune_tuner_options options = WAVETUNE_TUNER_OPTIONS_INIT;
  options.activation = -1;
  wavetune_tuner* tuner = nullptr;
  EXPECT_EQ(wavetune_client_get_tuner(client.get(), "add", &options, &tuner),
            WAVETUNE_INVALID_ARGUMENT);
  EXPECT_THAT(wavetune_last_error(), HasSubstr("activation is -1"));
}

TEST_F(CActivationTest, RanksAgreeOnTheDigestOfATableSet) {
  const ClientHandle rank0 = Client();
  const TunerHandle tuner0 =
      MakeTuner(rank0.get(), WAVETUNE_ACTIVATION_EXPLICIT);
  const ClientHandle rank1 = Client();
  const TunerHandle tuner1 =
      MakeTuner(rank1.get(), WAVETUNE_ACTIVATION_EXPLICIT);
  Stage(tuner0.get());
  ASSERT_EQ(
      wavetune_tuner_activate(tuner0.get(), second_.info.digest().c_str()),
      WAVETUNE_OK);

  char set[WAVETUNE_DIGEST_SIZE] = "";
  char other[WAVETUNE_DIGEST_SIZE] = "";
  ASSERT_EQ(wavetune_client_publish_table_set(rank0.get(), set, sizeof(set)),
            WAVETUNE_OK)
      << wavetune_last_error();
  EXPECT_EQ(set, TableSetDigest({{"add", second_.info.digest()}}));
  ASSERT_EQ(wavetune_client_table_set_digest(rank1.get(), other, sizeof(other)),
            WAVETUNE_OK);
  EXPECT_STRNE(set, other);

  ASSERT_EQ(wavetune_client_stage_table_set(rank1.get(), set), WAVETUNE_OK)
      << wavetune_last_error();
  EXPECT_EQ(DigestOf(tuner1.get()), first_.info.digest());
  ASSERT_EQ(wavetune_client_activate_table_set(rank1.get(), set), WAVETUNE_OK)
      << wavetune_last_error();
  EXPECT_EQ(DigestOf(tuner1.get()), second_.info.digest());
  ASSERT_EQ(wavetune_client_table_set_digest(rank1.get(), other, sizeof(other)),
            WAVETUNE_OK);
  EXPECT_STREQ(set, other);
  EXPECT_EQ(wavetune_client_stage_table_set(rank1.get(), "0123"),
            WAVETUNE_NOT_FOUND);
}

}  // namespace
}  // namespace wavetune
