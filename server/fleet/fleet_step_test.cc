#include "server/fleet/fleet_step.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wavetune {
namespace {

std::optional<FleetHead> Head(uint64_t epoch, char digest = 'd') {
  return FleetHead{.digest = std::string(64, digest), .epoch = epoch};
}

TEST(FleetStepTest, FollowsFromWhatIsKnown) {
  using enum HeadVerdict;
  using enum FleetStep;
  const struct {
    const char* what;
    HeadFacts facts;
    FleetStep step;
    FleetStep step_with_own;  // Where the node has promoted one since.
  } cases[] = {
      {"nothing at all", {}, kNothing, kPublish},
      {"the first head",
       {.verdict = kGood, .registered = Head(1)},
       kAdopt,
       kAdopt},
      {"what was accepted",
       {.verdict = kGood, .registered = Head(3), .accepted = Head(3)},
       kNothing,
       kPublish},
      {"a newer one",
       {.verdict = kGood, .registered = Head(4), .accepted = Head(3)},
       kAdopt,
       kAdopt},
      {"a newer one that cannot serve",
       {.verdict = kGood,
        .registered = Head(4),
        .unusable = true,
        .accepted = Head(3)},
       kAdopt,
       kPublish},
      {"another one of the same epoch",
       {.verdict = kGood, .registered = Head(3, 'e'), .accepted = Head(3)},
       kAdopt,
       kAdopt},
      {"an older one",
       {.verdict = kGood, .registered = Head(2), .accepted = Head(3)},
       kRestore,
       kPublish},
      {"none any more", {.accepted = Head(3)}, kRestore, kPublish},
      {"what nobody signed",
       {.verdict = kBroken, .accepted = Head(3)},
       kRestore,
       kPublish},
      {"the same, and nothing accepted",
       {.verdict = kBroken},
       kNothing,
       kPublish},
      {"a stranger's",
       {.verdict = kForeign, .accepted = Head(3)},
       kNothing,
       kNothing},
  };
  for (const auto& one : cases) {
    HeadFacts facts = one.facts;
    EXPECT_EQ(NextFleetStep(facts), one.step) << one.what;
    facts.own = true;
    EXPECT_EQ(NextFleetStep(facts), one.step_with_own) << one.what;
  }
}

TEST(FleetStepTest, WhatARevokedKeySignedStandsUntilSomethingNewerIsThere) {
  using enum HeadVerdict;
  using enum FleetStep;
  HeadFacts facts{.verdict = kBroken, .lapsed = Head(3)};
  // Somebody else may serve it.
  EXPECT_EQ(NextFleetStep(facts), kNothing);
  facts.signs_lapsed = true;
  EXPECT_EQ(NextFleetStep(facts), kSignAnew);
  EXPECT_EQ(NextFleetEpoch(facts), 4u);
  facts.own = true;
  EXPECT_EQ(NextFleetStep(facts), kPublish);
  facts.own = false;
  // The registry has lost it, or somebody puts an older one there.
  facts.verdict = kNone;
  EXPECT_EQ(NextFleetStep(facts), kSignAnew);
  facts.verdict = kGood;
  facts.registered = Head(2, 'e');
  EXPECT_EQ(NextFleetStep(facts), kSignAnew);
  facts.signs_lapsed = false;
  EXPECT_EQ(NextFleetStep(facts), kNothing);
  facts.registered = Head(4);
  EXPECT_EQ(NextFleetStep(facts), kAdopt);
  // What a misused key signed stands for nothing.
  facts = {.verdict = kBroken, .lapsed = Head(3), .misused = true};
  EXPECT_EQ(NextFleetStep(facts), kNothing);
  EXPECT_EQ(NextFleetEpoch(facts), 4u);
  facts.accepted = Head(2);
  EXPECT_EQ(NextFleetStep(facts), kRestore);
  // Nor does the last epoch that there is keep anybody from a next one.
  facts.lapsed = Head(kMostFleetEpoch);
  EXPECT_EQ(NextFleetEpoch(facts), 3u);
}

TEST(FleetStepTest, ATableThatServesForDevicesOfBeforeIsAdoptedForThoseOfNow) {
  HeadFacts facts{.verdict = HeadVerdict::kGood,
                  .registered = Head(3),
                  .accepted = Head(3),
                  .misplaced = true};
  EXPECT_EQ(NextFleetStep(facts), FleetStep::kAdopt);
  facts.trial = Head(4, 'e');
  EXPECT_EQ(NextFleetStep(facts), FleetStep::kTry);
  facts.own = true;
  EXPECT_EQ(NextFleetStep(facts), FleetStep::kPublish);
}

TEST(FleetStepTest, AnEpochFollowsAllThatAreKnown) {
  EXPECT_EQ(NextFleetEpoch({}), 1u);
  EXPECT_EQ(NextFleetEpoch({.registered = Head(2), .accepted = Head(7)}), 8u);
  EXPECT_EQ(NextFleetEpoch({.registered = Head(9), .accepted = Head(7)}), 10u);
  // That of a rollout is used up, whatever became of it.
  const HeadFacts halted{.registered = Head(9), .rollout_epoch = 10};
  EXPECT_EQ(NextFleetEpoch(halted), 11u);
  EXPECT_EQ(NewestFleetEpoch(halted), 9u);
}

TEST(FleetStepTest, ATrialIsServedUntilItsRolloutEnds) {
  HeadFacts facts{.verdict = HeadVerdict::kGood,
                  .registered = FleetHead{.digest = "d1", .epoch = 1},
                  .accepted = FleetHead{.digest = "d1", .epoch = 1},
                  .trial = FleetHead{.digest = "d2", .epoch = 2}};
  EXPECT_EQ(NextFleetStep(facts), FleetStep::kTry);
  facts.serves_trial = true;
  EXPECT_EQ(NextFleetStep(facts), FleetStep::kNothing);
  // It has become the head.
  facts.registered = facts.trial;
  facts.trial.reset();
  EXPECT_EQ(NextFleetStep(facts), FleetStep::kAdopt);
  // It was halted.
  facts.registered = facts.accepted;
  facts.stray = true;
  EXPECT_EQ(NextFleetStep(facts), FleetStep::kGoBack);
  // What a job here promotes meanwhile is this node's to publish.
  facts.own = true;
  EXPECT_EQ(NextFleetStep(facts), FleetStep::kPublish);
  // Also where nothing was published before.
  EXPECT_EQ(NextFleetStep({.trial = FleetHead{.digest = "d2", .epoch = 1}}),
            FleetStep::kTry);
  EXPECT_EQ(NextFleetStep({.stray = true}), FleetStep::kGoBack);
}

}  // namespace
}  // namespace wavetune
