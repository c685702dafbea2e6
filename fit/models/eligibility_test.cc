#include "fit/models/eligibility.h"

#include <gtest/gtest.h>

#include <vector>

namespace wavetune {
namespace {

CandidateState Measured(int anchors, int asked_for) {
  CandidateState candidate;
  candidate.universal = true;
  for (int i = 0; i < anchors + asked_for; ++i) {
    Observation observation;
    observation.latency_us = 1;
    observation.representative = i >= anchors;
    candidate.observations.push_back(observation);
  }
  return candidate;
}

// Anchors of a candidate of few tiles a wave are often problems that clients
// ask for.
TEST(EligibleCandidatesTest, AnchorsThatAreAskedForCount) {
  SpecialisationState state;
  state.candidates = {Measured(18, 0), Measured(8, 8)};
  EXPECT_EQ(EligibleCandidates(state), (std::vector<bool>{true, true}));
}

TEST(EligibleCandidatesTest, WhatScreeningDroppedIsLeftOut) {
  SpecialisationState state;
  state.candidates = {Measured(18, 40), Measured(8, 0), Measured(4, 4)};
  EXPECT_EQ(EligibleCandidates(state), (std::vector<bool>{true, false, false}));
}

TEST(EligibleCandidatesTest, WithoutAnchorsTheProblemsCount) {
  SpecialisationState state;
  state.candidates = {Measured(0, 20), Measured(0, 9)};
  EXPECT_EQ(EligibleCandidates(state), (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace wavetune
