#include "server/fleet/fleet_node.h"

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/copy_fields.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "proto/wavetune/v1/fleet.pb.h"
#include "server/fleet/registry_bounds.h"

namespace wavetune {
namespace {

constexpr int32_t kNodeFormat = 1;
constexpr size_t kMostParsedNodeBytes = size_t{1} << 20;
// Of why a table is not served.
constexpr size_t kMostBehindBytes = 512;

}  // namespace

std::string NodePlace(absl::string_view node) {
  return absl::StrCat(kNodesPrefix, node);
}

std::string EncodeFleetNode(const FleetNode& node) {
  v1::FleetNode message;
  message.set_format(kNodeFormat);
  GIVE_FIELDS(node, message, node, instance, version);
  for (const std::string& one : node.classes) message.add_classes(one);
  for (const std::string& one : node.measuring_classes)
    message.add_measuring_classes(one);
  for (const FleetNode::Table& table : node.tables) {
    v1::FleetNodeTable* const added = message.add_tables();
    GIVE_FIELDS(table, *added, fleet_class, kernel, digest, epoch,
                trial_digest);
    added->set_behind(BoundedText(table.behind, kMostBehindBytes));
    added->set_trial_problem(
        BoundedText(table.trial_problem, kMostBehindBytes));
  }
  return message.SerializeAsString();
}

absl::StatusOr<FleetNode> DecodeFleetNode(absl::string_view place,
                                          absl::string_view bytes,
                                          size_t* parsed_bytes) {
  v1::FleetNode message;
  RETURN_IF_ERROR(
      ParseEntry(place, bytes, kMostParsedNodeBytes, &message, parsed_bytes));
  if (NodePlace(message.node()) != place) {
    return absl::DataLossError(
        absl::StrCat("what is at ", place, " is no node"));
  }
  if (message.format() > kNodeFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat("what is at ", place, " has format ", message.format(),
                     ", this program knows ", kNodeFormat,
                     ": upgrade this node's wavetuned"));
  }
  FleetNode node{
      .classes = {message.classes().begin(), message.classes().end()},
      .measuring_classes = {message.measuring_classes().begin(),
                            message.measuring_classes().end()}};
  TAKE_FIELDS(message, node, node, instance, version);
  for (const v1::FleetNodeTable& table : message.tables()) {
    FleetNode::Table& added = node.tables.emplace_back();
    TAKE_FIELDS(table, added, fleet_class, kernel, digest, epoch, behind,
                trial_digest, trial_problem);
  }
  return node;
}

FleetSummary SummaryOf(absl::Span<const FleetNode> nodes) {
  using Spread = FleetSummary::Spread;
  FleetSummary summary{.nodes = static_cast<int64_t>(nodes.size())};
  std::map<std::pair<std::string, std::string>, Spread> spreads;
  std::map<std::string, int64_t> measuring;  // By class.
  for (const FleetNode& node : nodes) {
    ++summary.versions[node.version];
    for (const std::string& one : node.measuring_classes) ++measuring[one];
    for (const FleetNode::Table& table : node.tables) {
      Spread& spread = spreads[{table.fleet_class, table.kernel}];
      spread.fleet_class = table.fleet_class;
      spread.kernel = table.kernel;
      if (!table.digest.empty()) ++spread.nodes[table.digest];
      if (table.behind.empty()) continue;
      ++spread.behind;
      if (spread.examples.size() < Spread::kMostExamples)
        spread.examples.push_back({node.node, table.behind});
    }
  }
  for (auto& [at, spread] : spreads) {
    spread.measuring = measuring[spread.fleet_class];
    summary.spreads.push_back(std::move(spread));
  }
  return summary;
}

}  // namespace wavetune
