#include "server/rpc/usage_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/types.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "model/testing/kernels.h"
#include "server/jobs/job_queue_fixture.h"
#include "server/store/fake_usage_store.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

// A GEMM and an attention kernel on one known device, no agent.
class UsageHandlerTest : public JobQueueFixture {
 protected:
  UsageHandlerTest() {
    kernels_.Add(attention_);
    EXPECT_TRUE(agents_.Load().ok());
  }

  // A report of 1000 decisions for one problem.
  v1::ReportUsageRequest Request() const {
    v1::ReportUsageRequest request;
    request.set_interval_s(30);
    v1::ReportedUsage* const usage = request.add_kernels();
    usage->set_kernel(spec_.name);
    usage->set_silicon_key(SiliconKey(facts_));
    usage->mutable_counts()->set_fitted(900);
    usage->mutable_counts()->set_extrapolated(100);
    *usage->add_problems() = Used({.extents = {16, 4096, 4096}}, 600);
    return request;
  }
  v1::UsedProblem Used(const Problem& problem, double decisions) const {
    v1::UsedProblem used;
    *used.mutable_problem() = ProblemToProto(spec_.dimensions, problem);
    used.set_decisions(decisions);
    return used;
  }

  absl::Status Report(const v1::ReportUsageRequest& request,
                      const std::string& user = "1000",
                      const std::string& process = "fd:7",
                      double connected_s = kInfinity) {
    response_.Clear();
    const UsageHandler::Peer peer{user, process, connected_s};
    if (absl::Status turn = handler_.TakeTurn(peer); !turn.ok()) return turn;
    return handler_.ReportUsage(request, peer, &response_);
  }
  // A report of so many decisions; returns for how many it counted.
  double CountsFor(double decisions, const std::string& user = "1000",
                   const std::string& process = "fd:7",
                   double connected_s = kInfinity) {
    v1::ReportUsageRequest request = Request();
    request.mutable_kernels(0)->clear_problems();
    request.mutable_kernels(0)->mutable_counts()->set_fitted(decisions / 2);
    request.mutable_kernels(0)->mutable_counts()->set_extrapolated(decisions /
                                                                   2);
    const double before = Decisions();
    EXPECT_TRUE(Report(request, user, process, connected_s).ok());
    return Decisions() - before;
  }
  double Decisions() {
    const auto record = ledger_.Find(spec_.name, SiliconKey(facts_));
    return record ? record->total().total() : 0;
  }
  v1::GetUsageResponse Get(int problems = 0) {
    v1::GetUsageRequest request;
    request.set_problems(problems);
    v1::GetUsageResponse response;
    EXPECT_TRUE(handler_.GetUsage(request, &response).ok());
    return response;
  }
  // The reason for which one thing was left out.
  std::string LeftOut(const v1::ReportUsageRequest& request) {
    const absl::Status status = Report(request);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(response_.left_out(), 1);
    return response_.reasons_size() == 1 ? response_.reasons(0) : "";
  }

  const KernelSpec attention_ = testing::CausalAttentionSpec();
  const DeviceFacts facts_ = testing::H200();
  FakeUsageStore usage_store_;
  AgentDirectory agents_{&devices_, &clock_};
  UsageLedger ledger_{&usage_store_, &clock_, {}, Warn()};
  UsageTopUps top_ups_{{.ledger = &ledger_,
                        .jobs = &StartQueue(),
                        .tables = &tables_,
                        .kernels = &kernels_,
                        .executors = &agents_,
                        .clock = &clock_},
                       {}};
  UsageHandler handler_{{.ledger = &ledger_,
                         .top_ups = &top_ups_,
                         .tables = &tables_,
                         .devices = &agents_,
                         .kernels = &kernels_,
                         .clock = &clock_}};
  v1::ReportUsageResponse response_;
};

TEST_F(UsageHandlerTest, ShowsWhatWasReported) {
  ASSERT_TRUE(Report(Request()).ok());
  EXPECT_EQ(response_.problems_taken(), 1);
  EXPECT_EQ(response_.left_out(), 0);
  const v1::GetUsageResponse usage = Get();
  EXPECT_EQ(usage.reports(), 1);
  EXPECT_TRUE(usage.refines());
  ASSERT_EQ(usage.kernels_size(), 1);
  const v1::KernelUsage& gemm = usage.kernels(0);
  EXPECT_EQ(gemm.kernel(), spec_.name);
  EXPECT_EQ(gemm.silicon_key(), SiliconKey(facts_));
  EXPECT_EQ(gemm.device_label(), facts_.label);
  EXPECT_EQ(gemm.counts().fitted(), 900);
  EXPECT_EQ(gemm.counts().extrapolated(), 100);
  EXPECT_EQ(gemm.decisions_with_table(), 0);
  ASSERT_EQ(gemm.problems_size(), 1);
  EXPECT_EQ(gemm.problems(0).decisions(), 600);
  EXPECT_EQ(
      ProblemFromProto(spec_.dimensions, gemm.problems(0).problem()).value(),
      (Problem{.extents = {16, 4096, 4096}}));
}

TEST_F(UsageHandlerTest, CountsDecisionsWithTheTableThatServes) {
  const ProfileKey key{spec_.name, std::string(64, 'f'), SiliconKey(facts_),
                       EnvironmentKey(facts_)};
  const auto promoted = tables_.Promote(
      {.key = key},
      EncodeTable(FixedTable(spec_, key, spec_.default_configuration, 5))
          .value());
  ASSERT_TRUE(promoted.ok()) << promoted.status();
  v1::ReportUsageRequest request = Request();
  request.mutable_kernels(0)->set_digest(std::string(64, 'a'));
  ASSERT_TRUE(Report(request).ok());
  EXPECT_EQ(Get().kernels(0).decisions_with_table(), 0);
  request.mutable_kernels(0)->set_digest(promoted->digest);
  ASSERT_TRUE(Report(request).ok());
  EXPECT_EQ(Get().kernels(0).decisions_with_table(), 1000);
  EXPECT_DOUBLE_EQ(Get().kernels(0).uncertain_share(), 0.1);
  EXPECT_EQ(Get().kernels(0).digest(), promoted->digest);
}

TEST_F(UsageHandlerTest, FindsTheDeviceByUuidKeyOrBecauseThereIsOne) {
  v1::ReportUsageRequest request = Request();
  request.mutable_kernels(0)->clear_silicon_key();
  ASSERT_TRUE(Report(request).ok());
  EXPECT_EQ(response_.left_out(), 0);
  request.mutable_kernels(0)->set_device_uuid(facts_.uuid);
  ASSERT_TRUE(Report(request).ok());
  EXPECT_EQ(response_.left_out(), 0);
  EXPECT_EQ(Get().kernels(0).counts().fitted(), 1800);
  DeviceFacts other = facts_;
  other.uuid = "GPU-other";
  other.architecture = "sm_80";
  ASSERT_TRUE(devices_.Put({.facts = other}).ok());
  ASSERT_TRUE(agents_.Load().ok());
  request.mutable_kernels(0)->clear_device_uuid();
  EXPECT_THAT(LeftOut(request), HasSubstr("names no device"));
}

TEST_F(UsageHandlerTest, LeavesOutWhatItDoesNotKnow) {
  v1::ReportUsageRequest request = Request();
  request.mutable_kernels(0)->set_kernel("convolution");
  EXPECT_THAT(LeftOut(request), HasSubstr("convolution"));
  request = Request();
  request.mutable_kernels(0)->set_silicon_key("another");
  EXPECT_THAT(LeftOut(request), HasSubstr("another"));
  request = Request();
  request.mutable_kernels(0)->set_device_uuid("GPU-9");
  EXPECT_THAT(LeftOut(request), HasSubstr("GPU-9"));
  request = Request();
  request.mutable_kernels(0)->set_specialisation("causal");
  EXPECT_THAT(LeftOut(request), HasSubstr("causal"));
  EXPECT_EQ(Get().kernels_size(), 0);
  // The others of the report are taken.
  *request.add_kernels() = Request().kernels(0);
  EXPECT_THAT(LeftOut(request), HasSubstr("causal"));
  EXPECT_EQ(Get().kernels_size(), 1);
}

TEST_F(UsageHandlerTest, LeavesOutIllegalProblems) {
  v1::ReportUsageRequest request = Request();
  const std::vector<std::function<void(v1::Problem&)>> faults = {
      [](v1::Problem& p) { p.mutable_extents(0)->set_values(0, 0); },
      [](v1::Problem& p) { p.mutable_extents(0)->set_values(0, -5); },
      [](v1::Problem& p) {
        p.mutable_extents(0)->set_values(0,
                                         std::numeric_limits<int64_t>::max());
      },
      [](v1::Problem& p) { p.mutable_extents(0)->add_values(3); },
      [](v1::Problem& p) { p.mutable_extents(0)->set_dimension("x"); },
      [](v1::Problem& p) { p.mutable_extents()->RemoveLast(); },
      [](v1::Problem& p) { p.clear_extents(); },
      [](v1::Problem& p) { p.set_specialisation("causal"); }};
  for (const auto& fault : faults) {
    request = Request();
    fault(*request.mutable_kernels(0)->mutable_problems(0)->mutable_problem());
    EXPECT_NE(LeftOut(request), "");
    EXPECT_EQ(response_.problems_taken(), 0);
  }
  EXPECT_EQ(Get().kernels(0).problems_size(), 0);
}

TEST_F(UsageHandlerTest, NamesAFewReasonsOnly) {
  v1::ReportUsageRequest request = Request();
  for (int i = 0; i < 40; ++i) {
    *request.mutable_kernels(0)->add_problems() =
        Used({.extents = {0, 1, 1}}, 1);
  }
  ASSERT_TRUE(Report(request).ok());
  EXPECT_EQ(response_.left_out(), 40);
  EXPECT_EQ(response_.reasons_size(), 8);
}

TEST_F(UsageHandlerTest, RefusesWhatIsNoNumber) {
  using Fault = std::function<void(v1::ReportUsageRequest&, double)>;
  const std::vector<Fault> faults = {
      [](auto& r, double d) {
        r.mutable_kernels(0)->mutable_counts()->set_fitted(d);
      },
      [](auto& r, double d) {
        r.mutable_kernels(0)->mutable_counts()->set_wide_bound(d);
      },
      [](auto& r, double d) {
        r.mutable_kernels(0)->mutable_counts()->set_extrapolated(d);
      },
      [](auto& r, double d) {
        r.mutable_kernels(0)->mutable_counts()->set_stale(d);
      },
      [](auto& r, double d) {
        r.mutable_kernels(0)->mutable_counts()->set_default_configuration(d);
      },
      [](auto& r, double d) {
        r.mutable_kernels(0)->mutable_problems(0)->set_decisions(d);
      },
      [](auto& r, double d) {
        r.mutable_kernels(0)->mutable_problems(0)->set_overcount(d);
      },
      [](auto& r, double d) { r.set_interval_s(d); }};
  for (const Fault& fault : faults) {
    for (const double number : {kNan, kInfinity, -1.0, 1e13}) {
      v1::ReportUsageRequest request = Request();
      fault(request, number);
      const absl::Status status = Report(request);
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status << number;
    }
  }
  EXPECT_EQ(Get().kernels_size(), 0);
}

TEST_F(UsageHandlerTest, RefusesWhatIsTooLarge) {
  const std::string long_name(2000, 'x');
  const std::vector<std::function<void(v1::ReportUsageRequest&)>> faults = {
      [](auto& r) {
        for (int i = 0; i < 64; ++i) *r.add_kernels() = r.kernels(0);
      },
      [](auto& r) {
        auto& usage = *r.mutable_kernels(0);
        for (int i = 0; i < 64; ++i) *usage.add_problems() = usage.problems(0);
      },
      [&](auto& r) { r.mutable_kernels(0)->set_kernel(long_name); },
      [](auto& r) { r.mutable_kernels(0)->clear_kernel(); },
      [&](auto& r) { r.mutable_kernels(0)->set_device_uuid(long_name); },
      [&](auto& r) { r.mutable_kernels(0)->set_silicon_key(long_name); },
      [&](auto& r) { r.mutable_kernels(0)->set_specialisation(long_name); },
      [](auto& r) { r.mutable_kernels(0)->set_digest("abc"); },
      [](auto& r) { r.mutable_kernels(0)->set_digest(std::string(64, 'g')); },
      [&](auto& r) {
        r.mutable_kernels(0)
            ->mutable_problems(0)
            ->mutable_problem()
            ->mutable_extents(0)
            ->set_dimension(long_name);
      },
      [](auto& r) {
        auto& extents = *r.mutable_kernels(0)
                             ->mutable_problems(0)
                             ->mutable_problem()
                             ->mutable_extents(0);
        for (int i = 0; i < 1024; ++i) extents.add_values(1);
      },
      [](auto& r) {
        auto& problem =
            *r.mutable_kernels(0)->mutable_problems(0)->mutable_problem();
        for (int i = 0; i < 14; ++i) problem.add_extents();
      }};
  for (size_t i = 0; i < faults.size(); ++i) {
    v1::ReportUsageRequest request = Request();
    faults[i](request);
    const absl::Status status = Report(request);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << i << ": " << status;
    EXPECT_LT(status.message().size(), 300u);
  }
  EXPECT_EQ(Get().kernels_size(), 0);
}

TEST_F(UsageHandlerTest, LimitsTheRateOfReports) {
  for (int i = 0; i < UsageHandler::kReportsAtOnce; ++i) {
    ASSERT_TRUE(Report({}).ok());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(Report({})));
  clock_.Advance(0.1);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Report({}).ok()) << i;
  EXPECT_TRUE(absl::IsResourceExhausted(Report({})));
}

TEST_F(UsageHandlerTest, OneUsersReportsKeepNobodyElsesOut) {
  for (int i = 0; i < UsageHandler::kReportsAtOnce; ++i) {
    ASSERT_TRUE(Report({}, "1000", absl::StrCat("fd:", i)).ok());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(Report({}, "1000", "fd:5000")));
  EXPECT_TRUE(Report({}, "1001").ok());
}

TEST_F(UsageHandlerTest, AReportCountsForWhatAProcessCanHaveDecided) {
  const double most =
      UsageHandler::kLongestIntervalS * UsageHandler::kDecisionsPerSecond;
  EXPECT_DOUBLE_EQ(CountsFor(1e12), most);
  ASSERT_EQ(response_.reasons_size(), 1);
  EXPECT_THAT(response_.reasons(0),
              HasSubstr("1e+12 decisions count as 3.3e+07: a process makes"));
  EXPECT_EQ(response_.left_out(), 0);
  EXPECT_EQ(CountsFor(1e12), 0);  // At once again: none.
  clock_.Advance(2);
  EXPECT_NEAR(CountsFor(1e12), 2 * UsageHandler::kDecisionsPerSecond, 1e4);
  // What is possible counts as it is.
  clock_.Advance(30);
  const double before = Decisions();
  EXPECT_NEAR(CountsFor(450'000), 450'000, 1e-9 * before);
  EXPECT_EQ(response_.reasons_size(), 0);
}

TEST_F(UsageHandlerTest, ProblemsAreBelievedAsFarAsCounts) {
  v1::ReportUsageRequest request = Request();
  request.mutable_kernels(0)->mutable_problems(0)->set_decisions(1e12);
  request.mutable_kernels(0)->mutable_problems(0)->set_overcount(1e11);
  ASSERT_TRUE(Report(request).ok());
  const v1::UsedProblem problem = Get().kernels(0).problems(0);
  EXPECT_DOUBLE_EQ(problem.decisions(), 3.3e7);
  EXPECT_DOUBLE_EQ(problem.overcount(), 3.3e6);
}

TEST_F(UsageHandlerTest, ManyProcessesOfAUserHaveABoundTogether) {
  double total = 0;
  for (int i = 0; i < 100; ++i) {
    total += CountsFor(1e12, "1000", absl::StrCat("fd:", i));
  }
  EXPECT_NEAR(total, 3.3e7, 1);
  EXPECT_NEAR(CountsFor(1e12, "1001"), 3.3e7, 1);
}

TEST_F(UsageHandlerTest, AFirstReportCountsForWhatWasDecidedSinceConnecting) {
  EXPECT_NEAR(CountsFor(1e12, "1000", "fd:7", /*connected_s=*/4), 5e6, 1);
  ASSERT_EQ(response_.reasons_size(), 1);
  EXPECT_THAT(response_.reasons(0), HasSubstr("since it connected"));
  // However long it has been connected, it reports every half minute.
  EXPECT_NEAR(CountsFor(1e12, "1001", "fd:8", /*connected_s=*/3600), 3.3e7, 1);
  // A name that another connection had before.
  EXPECT_NEAR(CountsFor(10, "1002", "fd:9", /*connected_s=*/3600), 10, 1);
  EXPECT_NEAR(CountsFor(1e12, "1002", "fd:9", /*connected_s=*/0), 1e6, 1);
}

TEST_F(UsageHandlerTest, ConnectingAnewGainsNothing) {
  double at_once = 0;
  for (int i = 0; i < 100; ++i) {
    at_once +=
        CountsFor(1e12, "1000", absl::StrCat("fd:", i), /*connected_s=*/0);
  }
  EXPECT_NEAR(at_once, 1e6, 1);
  // Kept open, new, or both: a second counts once.
  clock_.Advance(10);
  double later = 0;
  for (int i = 0; i < 200; ++i) {
    later += CountsFor(1e12, "1000", absl::StrCat("fd:", i),
                       /*connected_s=*/i < 100 ? 10 : 0);
  }
  EXPECT_NEAR(later, 10e6, 1e4);
}

TEST_F(UsageHandlerTest, HonestReportsCountWhole) {
  // A server that decides for 60 layers of five GEMMs at 50 steps a second,
  // and sixteen of them that report in the same moment.
  constexpr double kOfHalfAMinute = 450'000;
  for (int i = 0; i < 16; ++i) {
    EXPECT_NEAR(CountsFor(kOfHalfAMinute, "1000", absl::StrCat("fd:", i),
                          /*connected_s=*/30),
                kOfHalfAMinute, 1);
  }
  // Its daemon was started anew a moment ago.
  EXPECT_NEAR(CountsFor(kOfHalfAMinute, "1001", "fd:77", /*connected_s=*/0.01),
              kOfHalfAMinute, 1);
  EXPECT_EQ(response_.reasons_size(), 0);
}

TEST_F(UsageHandlerTest, ShowsAsManyProblemsAsWanted) {
  v1::ReportUsageRequest request = Request();
  for (int64_t m = 1; m <= 30; ++m) {
    *request.mutable_kernels(0)->add_problems() =
        Used({.extents = {m, 64, 64}}, static_cast<double>(m));
  }
  ASSERT_TRUE(Report(request).ok());
  EXPECT_EQ(Get().kernels(0).problems_size(), 10);
  EXPECT_EQ(Get(3).kernels(0).problems_size(), 3);
  EXPECT_EQ(Get(256).kernels(0).problems_size(), 31);
  for (const int wrong : {-1, 257}) {
    v1::GetUsageRequest get;
    get.set_problems(wrong);
    v1::GetUsageResponse response;
    EXPECT_TRUE(absl::IsInvalidArgument(handler_.GetUsage(get, &response)));
  }
}

TEST_F(UsageHandlerTest, ShowsNoProblemsOfAKernelThatHasChangedOrGone) {
  ledger_.Add({.kernel = spec_.name,
               .silicon_key = SiliconKey(facts_),
               .counts = {.fitted = 5},
               .problems = {{{.extents = {1, 2}}, 5, 0}}});
  ledger_.Add({.kernel = "gone",
               .silicon_key = "elsewhere",
               .counts = {.fitted = 4},
               .problems = {{{.extents = {1, 2}}, 4, 0}}});
  const v1::GetUsageResponse usage = Get();
  ASSERT_EQ(usage.kernels_size(), 2);
  EXPECT_EQ(usage.kernels(0).problems_size(), 0);
  EXPECT_EQ(usage.kernels(1).kernel(), "gone");
  EXPECT_EQ(usage.kernels(1).problems_size(), 0);
}

TEST_F(UsageHandlerTest, CountsSpecialisationsApart) {
  v1::ReportUsageRequest request;
  for (const char* name : {"full", "causal", "full"}) {
    v1::ReportedUsage* const usage = request.add_kernels();
    usage->set_kernel(attention_.name);
    usage->set_specialisation(name);
    usage->mutable_counts()->set_fitted(10);
  }
  ASSERT_TRUE(Report(request).ok());
  const v1::GetUsageResponse all = Get();
  ASSERT_EQ(all.kernels_size(), 1);
  const v1::KernelUsage& usage = all.kernels(0);
  ASSERT_EQ(usage.specialisations_size(), 2);
  EXPECT_EQ(usage.specialisations(0).specialisation(), "causal");
  EXPECT_EQ(usage.specialisations(0).counts().fitted(), 10);
  EXPECT_EQ(usage.specialisations(1).counts().fitted(), 20);
  EXPECT_EQ(usage.counts().fitted(), 30);
}

}  // namespace
}  // namespace wavetune
