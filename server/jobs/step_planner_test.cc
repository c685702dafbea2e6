#include "server/jobs/step_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <system_error>

#include "server/jobs/job_test_support.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

MeasureItem Item(int64_t m) {
  return {.configuration = {8}, .problem = {.extents = {m}}};
}

// Plans with a function.
class StepPlannerTest : public ::testing::Test {
 protected:
  using Items = std::vector<MeasureItem>;

  StepPlannerTest() {
    input_.spec = &spec_;
    input_.candidates.resize(spec_.SpecialisationNames().size());
    services_.profiling.plan_next = [this](const ProfileInput& input,
                                           const Items& failed,
                                           const Items& pending) {
      ++plans_;
      ProfileStep step = plan_(input, failed, pending);
      step.phase = ProfilePhase::kSampling;
      return step;
    };
  }

  const KernelSpec spec_ = JobTestSpec();
  JobServices services_;
  ProfileInput input_;
  std::atomic<int> plans_ = 0;
  // Asks for a problem that follows from how much is known or pending.
  std::function<ProfileStep(const ProfileInput&, const Items&, const Items&)>
      plan_ =
          [](const ProfileInput& input, const Items&, const Items& pending) {
            const size_t known = input.samples.size() + pending.size();
            return ProfileStep{.items = {Item(static_cast<int64_t>(known))}};
          };
};

TEST_F(StepPlannerTest, TakesWhatWasPlannedBesideMeasuring) {
  StepPlanner planner(services_);
  EXPECT_THAT(planner.Next(input_, {}).items, ElementsAre(Item(0)));
  planner.PlanBeside(input_, {});
  input_.samples.resize(5);  // More than the plan knew.
  EXPECT_THAT(planner.Next(input_, {}).items, ElementsAre(Item(1)));
  EXPECT_EQ(plans_, 2);
  EXPECT_THAT(planner.Next(input_, {}).items, ElementsAre(Item(5)));
}

TEST_F(StepPlannerTest, PlansOnAThreadOfItsOwn) {
  std::promise<void> measured;
  plan_ = [&](const ProfileInput&, const Items&, const Items& pending) {
    if (!pending.empty()) measured.get_future().wait();
    return ProfileStep{.items = {Item(1)}};
  };
  StepPlanner planner(services_);
  planner.Next(input_, {});
  planner.PlanBeside(input_, {});
  EXPECT_FALSE(planner.TryNext(input_, {}).has_value());
  measured.set_value();  // Only after PlanBeside has returned.
  EXPECT_THAT(planner.Next(input_, {}).items, ElementsAre(Item(1)));
}

TEST_F(StepPlannerTest, AStepThatIsReadyFollowsBeforeTheLastIsMeasured) {
  StepPlanner planner(services_);
  planner.Next(input_, {});
  planner.PlanBeside(input_, {});
  std::optional<ProfileStep> next;
  while (!next) next = planner.TryNext(input_, {});
  EXPECT_THAT(next->items, ElementsAre(Item(1)));
  EXPECT_FALSE(planner.TryNext(input_, {}).has_value());
  EXPECT_EQ(planner.Done(1), Item(1));
  planner.PlanBeside(input_, {});  // One of two is pending.
  EXPECT_THAT(planner.Next(input_, {}).items, ElementsAre(Item(1)));
  planner.PlanBeside(input_, {});  // One anew.
  EXPECT_THAT(planner.Next(input_, {}).items, ElementsAre(Item(1)));
}

TEST_F(StepPlannerTest, PlansAnewWhereNothingCouldBePlannedBeside) {
  plan_ = [&](const ProfileInput&, const Items&, const Items& pending) {
    ProfileStep step{.awaits_pending = !pending.empty()};
    if (pending.empty()) step.items = {Item(7)};
    return step;
  };
  StepPlanner planner(services_);
  planner.Next(input_, {});
  planner.PlanBeside(input_, {});
  EXPECT_THAT(planner.Next(input_, {}).items, ElementsAre(Item(7)));
  EXPECT_EQ(plans_, 3);
}

TEST_F(StepPlannerTest, LeavesOutWhatHasFailedSince) {
  bool done = false;
  plan_ = [&](const ProfileInput&, const Items&, const Items& pending) {
    ProfileStep step;
    if (!pending.empty() || !done) step.items = {Item(1), Item(2)};
    return step;
  };
  StepPlanner planner(services_);
  planner.Next(input_, {});
  planner.PlanBeside(input_, {});
  EXPECT_THAT(planner.Next(input_, {Item(1)}).items, ElementsAre(Item(2)));
  planner.PlanBeside(input_, {});
  input_.candidates[0].push_back(
      {.configuration = {8}, .excluded_reason = "crashed"});
  done = true;
  EXPECT_THAT(planner.Next(input_, {}).items, IsEmpty());
}

TEST_F(StepPlannerTest, WithoutAThreadItPlansWhenAsked) {
  services_.start_thread = [](const std::function<void()>&) -> std::thread {
    throw std::system_error(
        std::make_error_code(std::errc::resource_unavailable_try_again));
  };
  StepPlanner planner(services_);
  planner.Next(input_, {});
  planner.PlanBeside(input_, {});
  EXPECT_EQ(plans_, 1);
  EXPECT_THAT(planner.Next(input_, {}).items, ElementsAre(Item(0)));
}

}  // namespace
}  // namespace wavetune
