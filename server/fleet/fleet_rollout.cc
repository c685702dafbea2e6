#include "server/fleet/fleet_rollout.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/copy_fields.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "proto/wavetune/v1/fleet.pb.h"
#include "server/fleet/fleet_head.h"
#include "server/fleet/registry_bounds.h"
#include "server/fleet/signed_content.h"

namespace wavetune {
namespace {

constexpr int32_t kRolloutFormat = 1;
constexpr char kPlanPurpose[] = "rollout";
constexpr char kStagePurpose[] = "stage";
constexpr size_t kMostStages = 20;
constexpr double kMostHoldS = 86400;
// Of the nodes that serve a table on trial, those that may be unwell.
constexpr double kMostUnwell = 0.1;

}  // namespace

std::string RolloutsPrefix(absl::string_view fleet_class) {
  return absl::StrCat("trials/", fleet_class, "/");
}

std::string RolloutPlace(const ProfileKey& key) {
  return absl::StrCat(RolloutsPrefix(FleetClass(key)), key.kernel);
}

std::string DriverPlace(const ProfileKey& key) {
  return absl::StrCat(RolloutPlace(key), "/driver");
}

namespace {

absl::Status IsNoRollout(absl::string_view place) {
  return absl::DataLossError(
      absl::StrCat("what is at ", place, " is no rollout"));
}

std::string Encode(const std::string& plan, const std::string& stage) {
  v1::FleetRollout message;
  message.set_format(kRolloutFormat);
  message.set_plan(plan);
  message.set_stage(stage);
  return message.SerializeAsString();
}

// What a stage is of: the plan as it was signed, whoever signed it.
std::string PlanDigest(const std::string& signed_plan) {
  v1::FleetEnvelope envelope;
  envelope.ParseFromString(signed_plan);  // ReadPlan has looked at it.
  return Sha256Hex(envelope.content());
}

// Errors: as ReadRollout.
absl::StatusOr<SignedRollout> ReadPlan(absl::string_view place,
                                       const std::string& bytes) {
  ASSIGN_OR_RETURN(const SignedContent read,
                   ReadSignedContent(kPlanPurpose, place, bytes));
  v1::FleetRolloutContent content;
  if (!ParseEntry(place, read.content, kMostParsedBytes, &content).ok())
    return IsNoRollout(place);
  SignedRollout result{
      .rollout = {.head = HeadFromProto(content.head()),
                  .plan = {{content.stages().begin(), content.stages().end()},
                           content.hold_s()},
                  .head_revision = content.head_revision(),
                  .signed_plan = bytes},
      .plan_key = read.public_key};
  const FleetRollout& rollout = result.rollout;
  if (!IsHead(rollout.head) || RolloutPlace(rollout.head.key) != place ||
      !CheckRolloutPlan(rollout.plan).ok())
    return IsNoRollout(place);
  return result;
}

// Adds the stage that a rollout is in. Errors: as ReadRollout.
absl::Status ReadStage(absl::string_view place, const std::string& bytes,
                       SignedRollout& result) {
  ASSIGN_OR_RETURN(const SignedContent read,
                   ReadSignedContent(kStagePurpose, place, bytes));
  v1::FleetStageContent content;
  FleetRollout& rollout = result.rollout;
  if (!ParseEntry(place, read.content, kMostParsedBytes, &content).ok() ||
      content.plan() != PlanDigest(rollout.signed_plan) ||
      content.stage() < 0 ||
      static_cast<size_t>(content.stage()) >= rollout.plan.stages.size())
    return IsNoRollout(place);
  TAKE_FIELDS(content, rollout, stage, stage_since_us, threshold, halted, node);
  result.stage_key = read.public_key;
  return absl::OkStatus();
}

}  // namespace

std::string SignRollout(FleetRollout& rollout, const SigningKey& key) {
  v1::FleetRolloutContent content;
  *content.mutable_head() = HeadToProto(rollout.head);
  content.mutable_stages()->Assign(rollout.plan.stages.begin(),
                                   rollout.plan.stages.end());
  content.set_hold_s(rollout.plan.hold_s);
  content.set_head_revision(rollout.head_revision);
  rollout.signed_plan =
      SignContent(kPlanPurpose, content.SerializeAsString(), key);
  return Encode(rollout.signed_plan, "");
}

std::string SignStage(const FleetRollout& rollout, const SigningKey& key) {
  v1::FleetStageContent content;
  content.set_plan(PlanDigest(rollout.signed_plan));
  GIVE_FIELDS(rollout, content, node, stage, stage_since_us, threshold, halted);
  return Encode(rollout.signed_plan,
                SignContent(kStagePurpose, content.SerializeAsString(), key));
}

absl::StatusOr<SignedRollout> ReadRollout(absl::string_view place,
                                          absl::string_view bytes) {
  v1::FleetRollout message;
  if (!ParseEntry(place, bytes, kMostParsedBytes, &message).ok())
    return IsNoRollout(place);
  if (message.format() > kRolloutFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat("the rollout at ", place, " has format ", message.format(),
                     ", this program knows ", kRolloutFormat,
                     ": upgrade this node's wavetuned"));
  }
  ASSIGN_OR_RETURN(SignedRollout result, ReadPlan(place, message.plan()));
  // Who drives it sets the stage again.
  if (!message.stage().empty()) {
    const absl::Status stage = ReadStage(place, message.stage(), result);
    result.stage_refused = std::string(stage.message());
  }
  return result;
}

absl::Status CheckRolloutPlan(const RolloutPlan& plan) {
  const std::vector<int32_t>& stages = plan.stages;
  if (stages.empty() || stages.size() > kMostStages || stages.front() < 1 ||
      stages.back() != 100 ||
      std::adjacent_find(stages.begin(), stages.end(),
                         std::greater_equal<>()) != stages.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("stages are percent of the nodes, ascending, the last one "
                     "100, at most ",
                     kMostStages, " of them: 10,50,100"));
  }
  if (!(plan.hold_s >= 0 && plan.hold_s <= kMostHoldS)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a stage is held for 0 to ", kMostHoldS, " seconds"));
  }
  return absl::OkStatus();
}

uint32_t RolloutNumber(absl::string_view digest, absl::string_view node) {
  uint32_t hash = 2166136261U;  // FNV-1a.
  for (const absl::string_view part : {digest, node}) {
    for (const char c : part) {
      hash ^= static_cast<unsigned char>(c);
      hash *= 16777619U;
    }
  }
  return hash;
}

uint32_t RolloutThreshold(absl::string_view digest, int32_t percent,
                          absl::Span<const std::string> nodes) {
  if (percent >= 100) return UINT32_MAX;
  if (nodes.empty()) return 0;
  std::vector<uint32_t> numbers;
  for (const std::string& node : nodes)
    numbers.push_back(RolloutNumber(digest, node));
  std::sort(numbers.begin(), numbers.end());
  const size_t taken = (nodes.size() * static_cast<size_t>(percent) + 99) / 100;
  return numbers[std::max<size_t>(taken, 1) - 1];
}

std::vector<std::string> NodesOfRollout(const FleetHead& head,
                                        absl::Span<const FleetNode> nodes) {
  const std::string fleet_class = FleetClass(head.key);
  std::vector<std::string> names;
  for (const FleetNode& node : nodes) {
    if (node.node != head.node &&
        std::find(node.classes.begin(), node.classes.end(), fleet_class) !=
            node.classes.end())
      names.push_back(node.node);
  }
  return names;
}

RolloutStep NextRolloutStep(const FleetRollout& rollout,
                            absl::Span<const FleetNode> nodes,
                            double in_stage_s) {
  const FleetHead& head = rollout.head;
  const std::string fleet_class = FleetClass(head.key);
  int64_t chosen = 0;
  for (const std::string& name : NodesOfRollout(head, nodes))
    chosen += RolloutNumber(head.digest, name) <= rollout.threshold ? 1 : 0;
  int64_t serve = 0;
  int64_t unwell = 0;
  std::string first;
  bool sees_any = false;
  for (const FleetNode& node : nodes) {
    sees_any = sees_any || absl::c_linear_search(node.classes, fleet_class);
    if (node.node == head.node) continue;
    for (const FleetNode::Table& table : node.tables) {
      if (table.fleet_class != fleet_class || table.kernel != head.key.kernel ||
          table.trial_digest != head.digest)
        continue;
      ++serve;
      if (table.trial_problem.empty()) continue;
      ++unwell;
      if (first.empty())
        first = absl::StrCat("node ", node.node, ": ", table.trial_problem);
    }
  }
  using Kind = RolloutStep::Kind;
  // Who drives it is a node of the class, too.
  if (!sees_any) {
    return {Kind::kWait,
            "no node of its class shows itself in the registry, not even this "
            "one"};
  }
  if (static_cast<double>(unwell) > kMostUnwell * static_cast<double>(serve)) {
    return {Kind::kHalt,
            absl::StrCat(unwell, " of ", serve,
                         " nodes that serve it are not well; ", first)};
  }
  const bool late = in_stage_s > std::max(kMostStageS, rollout.plan.hold_s);
  if (chosen > 0 && serve == 0 && late)
    return {Kind::kHalt, "no node of the stage could serve it"};
  if ((serve < chosen && !late) || in_stage_s < rollout.plan.hold_s)
    return {Kind::kWait, ""};
  const bool last =
      static_cast<size_t>(rollout.stage) + 1 == rollout.plan.stages.size();
  return {last ? Kind::kFinish : Kind::kAdvance, ""};
}

}  // namespace wavetune
