// The C ABI of the shared library, beside the C++ client in one process.
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/c/test_handles.h"
#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/lcg.h"
#include "tests/lib/random_table.h"
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
using testing::Lcg;
using testing::Serve;
using testing::TinyTable;
using testing::TunerHandle;
using testing::TwoGroupTable;

class CApiTest : public ::testing::Test {
 protected:
  ClientHandle Connect() {
    return ConnectInC(node_.endpoint(), node_.cache_dir());
  }

  TunerHandle GetTuner(const std::string& kernel,
                       const wavetune_tuner_options* options = nullptr) {
    return GetTunerInC(Connect().get(), kernel, options);
  }

  Tuner CppTuner(const std::string& kernel, const TunerOptions& options) {
    return Client::Connect(
               {.endpoint = node_.endpoint(), .cache_dir = node_.cache_dir()})
        .value()
        ->GetTuner(kernel, options)
        .value();
  }

  FakeNode node_;
};

void ExpectSame(const wavetune_decision& c, const Decision& cpp) {
  ASSERT_EQ(c.value_count, cpp.configuration.size());
  for (int i = 0; i < WAVETUNE_MAX_PARAMETERS; ++i) {
    ASSERT_EQ(c.values[i], i < c.value_count ? cpp.configuration[i] : 0) << i;
  }
  EXPECT_EQ(c.latency_us, cpp.latency_us);
  EXPECT_EQ(c.relative_bound, cpp.relative_bound);
  EXPECT_EQ(c.digest_prefix, cpp.digest_prefix);
  EXPECT_EQ(c.source, static_cast<uint8_t>(cpp.source));
  EXPECT_EQ(c.reason, static_cast<uint8_t>(cpp.reason));
  EXPECT_EQ(c.candidate, cpp.candidate);
  EXPECT_EQ(c.origin, static_cast<uint8_t>(cpp.origin));
  EXPECT_EQ(c.reserved, 0);
  for (const uint8_t byte : c.reserved_tail) EXPECT_EQ(byte, 0);
}

// A decision with no byte that an answer has by chance.
wavetune_decision Garbage() {
  wavetune_decision decision;
  std::memset(&decision, 0xa5, sizeof(decision));
  return decision;
}

wavetune_decision Resolve(const wavetune_tuner* tuner, const Problem& problem) {
  wavetune_decision decision = Garbage();
  EXPECT_EQ(wavetune_tuner_resolve_repeated(
                tuner, problem.extents.data(), problem.extents.size(),
                problem.repeated.data(), problem.repeated.size(), &decision),
            WAVETUNE_OK);
  return decision;
}

TEST_F(CApiTest, AnswersWhatCppAnswersForTablesAndProblemsOfEveryKind) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Lcg random(seed);
    const Table table = RandomTable(random);
    const FetchedTable served = Serve(table);
    node_.AddTable(served);
    for (const SubTable& sub : table.sub_tables) {
      const std::string digest = served.info.digest();
      wavetune_tuner_options options = WAVETUNE_TUNER_OPTIONS_INIT;
      options.digest = digest.c_str();
      options.specialisation = sub.specialisation.c_str();
      const TunerHandle tuner = GetTuner(table.kernel, &options);
      ASSERT_NE(tuner, nullptr);
      const Tuner cpp =
          CppTuner(table.kernel,
                   {.specialisation = sub.specialisation, .digest = digest});
      for (int i = 0; i < 200; ++i) {
        const Problem problem = RandomProblem(random, table);
        ExpectSame(Resolve(tuner.get(), problem), cpp.Resolve(problem.View()));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(CApiTest, ResolvesWithoutARepeatedDimension) {
  node_.AddTable(Serve(TinyTable()));
  const TunerHandle tuner = GetTuner("add");
  const int64_t extents[] = {1000};
  wavetune_decision decision = Garbage();
  ASSERT_EQ(wavetune_tuner_resolve(tuner.get(), extents, 1, &decision),
            WAVETUNE_OK);
  EXPECT_EQ(decision.values[0], 256);
  EXPECT_EQ(decision.latency_us, 3);  // 2 + 0.25 * 4 tiles
  EXPECT_EQ(decision.source, WAVETUNE_SOURCE_FITTED);
  EXPECT_EQ(decision.origin, WAVETUNE_ORIGIN_DAEMON);
}

TEST_F(CApiTest, AnIllegalProblemIsAnAnswerWithAReason) {
  node_.AddTable(Serve(TinyTable()));
  const TunerHandle tuner = GetTuner("add");
  EXPECT_EQ(Resolve(tuner.get(), {.extents = {0}}).reason,
            WAVETUNE_REASON_EXTENT_OUT_OF_RANGE);
  EXPECT_EQ(Resolve(tuner.get(), {.extents = {-1}}).source,
            WAVETUNE_SOURCE_DEFAULT);
  EXPECT_EQ(Resolve(tuner.get(), {.extents = {1, 2}}).reason,
            WAVETUNE_REASON_WRONG_DIMENSION_COUNT);
  wavetune_decision decision = Garbage();
  EXPECT_EQ(wavetune_tuner_resolve(tuner.get(), nullptr, 0, &decision),
            WAVETUNE_OK);
  EXPECT_EQ(decision.reason, WAVETUNE_REASON_WRONG_DIMENSION_COUNT);
  EXPECT_EQ(decision.values[0], 256);
}

TEST_F(CApiTest, KnowsWhatTheCppTunerKnows) {
  for (const Table& table : {TinyTable(), TwoGroupTable()}) {
    node_.AddTable(Serve(table));
    const TunerHandle tuner = GetTuner(table.kernel);
    const Tuner cpp = CppTuner(table.kernel, {});
    EXPECT_STREQ(wavetune_tuner_kernel(tuner.get()), cpp.kernel().c_str());
    const size_t parameters = wavetune_tuner_parameter_count(tuner.get());
    ASSERT_EQ(parameters, cpp.parameters().size());
    for (size_t i = 0; i < parameters; ++i) {
      const char* name = wavetune_tuner_parameter_name(tuner.get(), i);
      EXPECT_STREQ(name, cpp.parameters()[i].c_str());
      EXPECT_EQ(wavetune_tuner_parameter_index(tuner.get(), name),
                static_cast<int>(i));
    }
    EXPECT_EQ(wavetune_tuner_parameter_index(tuner.get(), "no such"), -1);
    EXPECT_EQ(wavetune_tuner_parameter_name(tuner.get(), parameters), nullptr);

    const size_t dimensions = wavetune_tuner_dimension_count(tuner.get());
    ASSERT_EQ(dimensions, cpp.dimensions().size());
    for (size_t i = 0; i < dimensions; ++i) {
      EXPECT_STREQ(wavetune_tuner_dimension_name(tuner.get(), i),
                   cpp.dimensions()[i].name.c_str());
      int64_t minimum = -1;
      int64_t maximum = -1;
      EXPECT_EQ(
          wavetune_tuner_dimension_range(tuner.get(), i, &minimum, &maximum),
          WAVETUNE_OK);
      EXPECT_EQ(minimum, cpp.dimensions()[i].min);
      EXPECT_EQ(maximum, cpp.dimensions()[i].max);
    }
    EXPECT_EQ(wavetune_tuner_dimension_name(tuner.get(), dimensions), nullptr);
    EXPECT_EQ(wavetune_tuner_repeated_dimension(tuner.get()), -1);

    std::array<char, WAVETUNE_DIGEST_SIZE> digest;
    ASSERT_EQ(wavetune_tuner_digest(tuner.get(), digest.data(), digest.size()),
              WAVETUNE_OK);
    EXPECT_EQ(digest.data(), cpp.digest());
    EXPECT_EQ(wavetune_tuner_origin(tuner.get()), WAVETUNE_ORIGIN_DAEMON);
    EXPECT_EQ(wavetune_tuner_stale(tuner.get()), 0);
  }
}

TEST_F(CApiTest, SaysWhatMakesATableStale) {
  FetchedTable table = Serve(TwoGroupTable());
  table.info.set_stale(true);
  table.info.set_stale_reason("driver \"1\", now \"2\"");
  node_.AddTable(table);
  const TunerHandle tuner = GetTuner("gemm");
  EXPECT_EQ(wavetune_tuner_stale(tuner.get()), 1);
  std::array<char, 64> text;
  size_t length = 0;
  ASSERT_EQ(wavetune_tuner_stale_reason(tuner.get(), text.data(), text.size(),
                                        &length),
            WAVETUNE_OK);
  EXPECT_STREQ(text.data(), "driver \"1\", now \"2\"");
  EXPECT_EQ(length, 19u);
  ASSERT_EQ(wavetune_tuner_stale_reason(tuner.get(), text.data(), 7, nullptr),
            WAVETUNE_OK);
  EXPECT_STREQ(text.data(), "driver");
  EXPECT_EQ(wavetune_tuner_stale_reason(tuner.get(), nullptr, 0, &length),
            WAVETUNE_OK);
  EXPECT_EQ(wavetune_tuner_stale_reason(tuner.get(), nullptr, 1, nullptr),
            WAVETUNE_INVALID_ARGUMENT);
  EXPECT_EQ(wavetune_tuner_stale_reason(nullptr, text.data(), 7, nullptr),
            WAVETUNE_INVALID_ARGUMENT);
}

TEST_F(CApiTest, ListsThePortfolioAndTheDefault) {
  node_.AddTable(Serve(TwoGroupTable()));
  const TunerHandle tuner = GetTuner("gemm");
  const std::vector<Configuration> expected =
      CppTuner("gemm", {}).configurations();
  const size_t parameters = wavetune_tuner_parameter_count(tuner.get());
  size_t count = 0;
  ASSERT_EQ(wavetune_tuner_configurations(tuner.get(), nullptr, 0, &count),
            WAVETUNE_OK);
  ASSERT_EQ(count, expected.size());
  std::vector<int64_t> values((count + 1) * parameters, -7);
  ASSERT_EQ(wavetune_tuner_configurations(tuner.get(), values.data(), count + 1,
                                          &count),
            WAVETUNE_OK);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(Configuration(absl::MakeConstSpan(values.data() + i * parameters,
                                                parameters)),
              expected[i]);
  }
  EXPECT_EQ(values.back(), -7);

  std::vector<int64_t> chosen(parameters);
  ASSERT_EQ(wavetune_tuner_default_configuration(tuner.get(), chosen.data(),
                                                 chosen.size()),
            WAVETUNE_OK);
  EXPECT_EQ(Configuration(absl::MakeConstSpan(chosen)),
            CppTuner("gemm", {}).default_configuration());
}

TEST_F(CApiTest, ABufferThatIsTooSmallStaysAsItWas) {
  node_.AddTable(Serve(TwoGroupTable()));
  const TunerHandle tuner = GetTuner("gemm");
  std::vector<int64_t> values(wavetune_tuner_parameter_count(tuner.get()), -7);
  const std::vector<int64_t> before = values;
  size_t count = 0;
  EXPECT_EQ(
      wavetune_tuner_configurations(tuner.get(), values.data(), 1, &count),
      WAVETUNE_RESOURCE_EXHAUSTED);
  EXPECT_GT(count, 1u);
  EXPECT_THAT(wavetune_last_error(), HasSubstr("at least"));
  EXPECT_EQ(wavetune_tuner_default_configuration(tuner.get(), values.data(),
                                                 values.size() - 1),
            WAVETUNE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(values, before);
  char digest[WAVETUNE_DIGEST_SIZE] = "as it was";
  EXPECT_EQ(wavetune_tuner_digest(tuner.get(), digest, sizeof(digest) - 1),
            WAVETUNE_RESOURCE_EXHAUSTED);
  EXPECT_STREQ(digest, "as it was");
}

TEST_F(CApiTest, NamesTheRepeatedDimension) {
  Lcg random(3);
  const Table table =
      RandomTable(random, testing::TableKind::kGroupedGemm, /*portfolio=*/4);
  node_.AddTable(Serve(table));
  wavetune_tuner_options options = WAVETUNE_TUNER_OPTIONS_INIT;
  options.specialisation = table.sub_tables[0].specialisation.c_str();
  const TunerHandle tuner = GetTuner(table.kernel, &options);
  const int index = wavetune_tuner_repeated_dimension(tuner.get());
  ASSERT_GE(index, 0);
  EXPECT_TRUE(table.dimensions[static_cast<size_t>(index)].repeated);
}

TEST_F(CApiTest, ATunerOutlivesItsClientAndItsDaemon) {
  node_.AddTable(Serve(TinyTable()));
  ClientHandle client = Connect();
  wavetune_tuner* made = nullptr;
  ASSERT_EQ(wavetune_client_get_tuner(client.get(), "add", nullptr, &made),
            WAVETUNE_OK);
  const TunerHandle tuner(made);
  client = nullptr;
  node_.Stop();
  EXPECT_EQ(Resolve(tuner.get(), {.extents = {1000}}).latency_us, 3);
}

TEST_F(CApiTest, SaysThatATableCameFromTheCache) {
  node_.AddTable(Serve(TinyTable()));
  GetTuner("add");
  node_.Stop();
  const TunerHandle tuner = GetTuner("add");
  EXPECT_EQ(wavetune_tuner_origin(tuner.get()), WAVETUNE_ORIGIN_CACHE);
  EXPECT_EQ(Resolve(tuner.get(), {.extents = {1000}}).origin,
            WAVETUNE_ORIGIN_CACHE);
}

TEST_F(CApiTest, AFailureSaysWhatIsKnownAndLeavesTheOutput) {
  node_.AddTable(Serve(TinyTable()));
  const ClientHandle client = Connect();
  auto* const before = reinterpret_cast<wavetune_tuner*>(0x10);
  wavetune_tuner* tuner = before;
  wavetune_tuner_options options = WAVETUNE_TUNER_OPTIONS_INIT;
  options.specialisation = "causal";
  EXPECT_EQ(wavetune_client_get_tuner(client.get(), "add", &options, &tuner),
            WAVETUNE_NOT_FOUND);
  EXPECT_EQ(tuner, before);
  EXPECT_THAT(wavetune_last_error(), HasSubstr("causal"));
  options.specialisation = "";
  options.fingerprint = "00";
  EXPECT_EQ(wavetune_client_get_tuner(client.get(), "add", &options, &tuner),
            WAVETUNE_INVALID_ARGUMENT);
  EXPECT_THAT(wavetune_last_error(), HasSubstr("too short"));
}

TEST_F(CApiTest, OptionsReachTheClient) {
  wavetune_client* client = nullptr;
  wavetune_client_options options = WAVETUNE_CLIENT_OPTIONS_INIT;
  options.timeout_s = -1;
  EXPECT_EQ(wavetune_client_connect(&options, &client),
            WAVETUNE_INVALID_ARGUMENT);
  EXPECT_THAT(wavetune_last_error(), HasSubstr("timeout_s is -1"));
  EXPECT_EQ(client, nullptr);

  Table other = TinyTable();
  other.silicon_key = "backend=replay;mp=8";
  node_.AddTable(Serve(TinyTable(), "GPU-1"));
  node_.AddTable(Serve(other, "GPU-9"));
  wavetune_tuner* tuner = nullptr;
  EXPECT_EQ(wavetune_client_get_tuner(Connect().get(), "add", nullptr, &tuner),
            WAVETUNE_FAILED_PRECONDITION);
  wavetune_tuner_options device = WAVETUNE_TUNER_OPTIONS_INIT;
  device.device = "GPU-9";
  const TunerHandle found = GetTuner("add", &device);
  char digest[WAVETUNE_DIGEST_SIZE];
  ASSERT_EQ(wavetune_tuner_digest(found.get(), digest, sizeof(digest)),
            WAVETUNE_OK);
  EXPECT_EQ(digest, Serve(other).info.digest());
}

TEST_F(CApiTest, ErrorsAreTheThreadsOwnAndOutliveSuccesses) {
  EXPECT_EQ(wavetune_client_connect(nullptr, nullptr),
            WAVETUNE_INVALID_ARGUMENT);
  EXPECT_THAT(wavetune_last_error(), HasSubstr("`client` is NULL"));
  std::thread([] { EXPECT_STREQ(wavetune_last_error(), ""); }).join();
  Connect();
  EXPECT_THAT(wavetune_last_error(), HasSubstr("`client` is NULL"));
}

TEST_F(CApiTest, OptionsOfAnotherHeaderAreReadOrRefusedAsAWhole) {
  const std::string endpoint = node_.endpoint();
  // A newer header's: one member more.
  struct {
    wavetune_client_options known;
    const char* added;
  } newer = {WAVETUNE_CLIENT_OPTIONS_INIT, nullptr};
  newer.known.struct_size = sizeof(newer);
  newer.known.endpoint = endpoint.c_str();
  wavetune_client* client = nullptr;
  EXPECT_EQ(wavetune_client_connect(&newer.known, &client), WAVETUNE_OK);
  wavetune_client_close(client);
  client = nullptr;
  newer.added = "something that must not be ignored";
  EXPECT_EQ(wavetune_client_connect(&newer.known, &client),
            WAVETUNE_INVALID_ARGUMENT);
  EXPECT_THAT(wavetune_last_error(), HasSubstr("newer libwavetune.so"));
  // Never set, or nonsense.
  for (const size_t size : {size_t{0}, size_t{8}, size_t{1} << 40}) {
    wavetune_client_options options = WAVETUNE_CLIENT_OPTIONS_INIT;
    options.struct_size = size;
    EXPECT_EQ(wavetune_client_connect(&options, &client),
              WAVETUNE_INVALID_ARGUMENT);
    EXPECT_THAT(wavetune_last_error(), HasSubstr("_INIT"));
  }
  EXPECT_EQ(client, nullptr);
}

TEST_F(CApiTest, OptionsOfTheFirstHeaderAreReadAsFarAsTheyGo) {
  const std::string endpoint = node_.endpoint();
  wavetune_client_options options = WAVETUNE_CLIENT_OPTIONS_INIT;
  options.struct_size = offsetof(wavetune_client_options, no_usage_feedback);
  options.endpoint = endpoint.c_str();
  options.reserved = 7;  // Not the caller's: its struct ends before.
  EXPECT_NE(ConnectInC(options), nullptr);
  options.struct_size = sizeof(options);
  wavetune_client* client = nullptr;
  EXPECT_EQ(wavetune_client_connect(&options, &client),
            WAVETUNE_INVALID_ARGUMENT);
  EXPECT_THAT(wavetune_last_error(), HasSubstr("reserved"));
}

TEST_F(CApiTest, AClientReportsItsUseUnlessToldOtherwise) {
  unsetenv("WAVETUNE_USAGE");
  node_.AddTable(Serve(TinyTable()));
  const std::string endpoint = node_.endpoint();
  wavetune_client_options options = WAVETUNE_CLIENT_OPTIONS_INIT;
  options.endpoint = endpoint.c_str();
  options.cache_dir = "";
  for (const int no_usage_feedback : {1, 0}) {
    options.no_usage_feedback = no_usage_feedback;
    ClientHandle client = ConnectInC(options);
    const TunerHandle tuner = GetTunerInC(client.get(), "add");
    for (int i = 0; i < 7; ++i) Resolve(tuner.get(), {{1000}, {}});
    client = nullptr;  // Reports what is left.
    EXPECT_EQ(node_.reported_decisions(), no_usage_feedback != 0 ? 0 : 7);
  }
}

TEST_F(CApiTest, ANullIsRefusedOrNothing) {
  node_.AddTable(Serve(TinyTable()));
  const ClientHandle client = Connect();
  const TunerHandle handle = GetTuner("add");
  const wavetune_tuner* const tuner = handle.get();
  wavetune_tuner* out = nullptr;
  wavetune_decision decision = Garbage();
  const wavetune_decision before = decision;
  const int64_t one[] = {1};
  int64_t value = 0;
  size_t count = 0;
  char digest[WAVETUNE_DIGEST_SIZE];
  const std::vector<wavetune_status> refusals = {
      wavetune_client_get_tuner(nullptr, "add", nullptr, &out),
      wavetune_client_get_tuner(client.get(), nullptr, nullptr, &out),
      wavetune_client_get_tuner(client.get(), "add", nullptr, nullptr),
      wavetune_tuner_resolve(nullptr, one, 1, &decision),
      wavetune_tuner_resolve(tuner, nullptr, 1, &decision),
      wavetune_tuner_resolve(tuner, one, 1, nullptr),
      wavetune_tuner_resolve_repeated(nullptr, one, 1, one, 1, &decision),
      wavetune_tuner_resolve_repeated(tuner, nullptr, 1, one, 1, &decision),
      wavetune_tuner_resolve_repeated(tuner, one, 1, nullptr, 1, &decision),
      wavetune_tuner_resolve_repeated(tuner, one, 1, one, 1, nullptr),
      wavetune_tuner_dimension_range(nullptr, 0, &value, &value),
      wavetune_tuner_dimension_range(tuner, 0, nullptr, &value),
      wavetune_tuner_dimension_range(tuner, 0, &value, nullptr),
      wavetune_tuner_configurations(nullptr, &value, 1, &count),
      wavetune_tuner_configurations(tuner, nullptr, 1, &count),
      wavetune_tuner_configurations(tuner, &value, 1, nullptr),
      wavetune_tuner_default_configuration(nullptr, &value, 1),
      wavetune_tuner_default_configuration(tuner, nullptr, 1),
      wavetune_tuner_digest(nullptr, digest, sizeof(digest)),
      wavetune_tuner_digest(tuner, nullptr, sizeof(digest)),
      wavetune_tuner_set_prepared(nullptr, &value, 1),
      wavetune_tuner_set_prepared(handle.get(), nullptr, 1),
      wavetune_tuner_staged_digest(nullptr, digest, sizeof(digest)),
      wavetune_tuner_staged_digest(tuner, nullptr, sizeof(digest)),
      wavetune_tuner_staged_unprepared(nullptr, "", &value, 1, &count),
      wavetune_tuner_staged_unprepared(tuner, nullptr, &value, 1, &count),
      wavetune_tuner_activate(nullptr, ""),
      wavetune_tuner_activate(handle.get(), nullptr),
      wavetune_client_table_set_digest(nullptr, digest, sizeof(digest)),
      wavetune_client_table_set_digest(client.get(), nullptr, sizeof(digest)),
      wavetune_client_publish_table_set(nullptr, digest, sizeof(digest)),
      wavetune_client_publish_table_set(client.get(), nullptr, sizeof(digest)),
      wavetune_client_stage_table_set(nullptr, ""),
      wavetune_client_stage_table_set(client.get(), nullptr),
      wavetune_client_activate_table_set(nullptr, ""),
      wavetune_client_activate_table_set(client.get(), nullptr),
      wavetune_client_last_problem(nullptr),
  };
  for (size_t i = 0; i < refusals.size(); ++i) {
    EXPECT_EQ(refusals[i], WAVETUNE_INVALID_ARGUMENT) << i;
  }
  EXPECT_EQ(out, nullptr);
  // Padding stays as it was, too.
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
  EXPECT_EQ(std::memcmp(&decision, &before, sizeof(before)), 0);

  wavetune_client_close(nullptr);
  wavetune_tuner_close(nullptr);
  EXPECT_STREQ(wavetune_tuner_kernel(nullptr), "");
  EXPECT_EQ(wavetune_tuner_parameter_count(nullptr), 0u);
  EXPECT_EQ(wavetune_tuner_parameter_name(nullptr, 0), nullptr);
  EXPECT_EQ(wavetune_tuner_parameter_index(nullptr, "BLOCK"), -1);
  EXPECT_EQ(wavetune_tuner_parameter_index(tuner, nullptr), -1);
  EXPECT_EQ(wavetune_tuner_dimension_count(nullptr), 0u);
  EXPECT_EQ(wavetune_tuner_dimension_name(nullptr, 0), nullptr);
  EXPECT_EQ(wavetune_tuner_repeated_dimension(nullptr), -1);
  EXPECT_EQ(wavetune_tuner_origin(nullptr), WAVETUNE_ORIGIN_DEFAULTS);
  EXPECT_EQ(wavetune_tuner_stale(nullptr), 0);
  EXPECT_EQ(wavetune_tuner_step_boundary(nullptr), 0);
  EXPECT_EQ(wavetune_client_step_boundary(nullptr), 0);
  EXPECT_EQ(wavetune_client_mode(nullptr), WAVETUNE_MODE_UNSPECIFIED);
  EXPECT_EQ(wavetune_client_watching(nullptr), 0);
  EXPECT_EQ(wavetune_tuner_dimension_range(tuner, 1, &value, &value),
            WAVETUNE_OUT_OF_RANGE);
}

TEST_F(CApiTest, SaysItsVersions) {
  EXPECT_EQ(wavetune_c_api_version(),
            WAVETUNE_C_API_VERSION_MAJOR << 16 | WAVETUNE_C_API_VERSION_MINOR);
  EXPECT_THAT(wavetune_version(),
              ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST_F(CApiTest, NamesEveryStatus) {
  EXPECT_STREQ(wavetune_status_name(WAVETUNE_OK), "OK");
  EXPECT_STREQ(wavetune_status_name(WAVETUNE_NOT_FOUND), "NOT_FOUND");
  EXPECT_STREQ(wavetune_status_name(WAVETUNE_DATA_LOSS), "DATA_LOSS");
  for (const int other : {-1, 16, 1000}) {
    EXPECT_STREQ(wavetune_status_name(static_cast<wavetune_status>(other)),
                 "UNKNOWN");
  }
}

}  // namespace
}  // namespace wavetune
