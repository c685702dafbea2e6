#include "server/rpc/decision_handler.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "formats/types.h"
#include "model/kernel/device_space.h"
#include "model/kernel/kernel_spec.h"
#include "server/rpc/record_proto.h"

namespace wavetune {
namespace {

// What decides: a table, or a kernel's default where it has none.
struct Decider {
  std::optional<TableMatch> match;
  std::vector<Dimension> dimensions;
  Configuration default_configuration;
  std::vector<std::string> parameters;
  // Why there is no table, where one was withdrawn.
  std::string withdrawn;
  DefaultFaults::Reasons default_faults;

  Decision Decide(const Problem& problem) const {
    if (match) {
      const CompiledTable& table = *match->serving.table;
      return table.Resolve(table.SubTableIndex(problem.specialisation),
                           problem.View(), match->stale());
    }
    return Default(withdrawn.empty() ? DefaultReason::kNoTable
                                     : DefaultReason::kTableWithdrawn);
  }
  v1::Decision Answer(const Problem& problem) const {
    return ToProto(Decide(problem), problem.specialisation);
  }
  Decision Default(DefaultReason reason) const {
    Decision decision;
    decision.configuration = default_configuration;
    decision.reason = reason;
    return decision;
  }
  v1::Decision ToProto(const Decision& decision,
                       const std::string& specialisation) const {
    v1::Decision proto =
        DecisionToProto(parameters, decision, match ? match->stale_reason : "");
    if (decision.source != DecisionSource::kDefault) return proto;
    if (decision.reason == DefaultReason::kTableWithdrawn) {
      absl::StrAppend(proto.mutable_reason(), ": ", withdrawn);
    }
    TellFault(specialisation, proto);
    return proto;
  }
  // The default, where `problem` is none of this kernel's.
  v1::Decision Refuse(const absl::Status& why,
                      const std::string& specialisation) const {
    v1::Decision proto = DecisionToProto(
        parameters, Default(DefaultReason::kWrongDimensionCount), "");
    proto.set_reason(std::string(why.message()));
    TellFault(specialisation, proto);
    return proto;
  }
  // Adds that the default does not work, where that is so.
  void TellFault(const std::string& specialisation, v1::Decision& proto) const {
    const auto fault = default_faults.find(specialisation);
    if (fault != default_faults.end()) {
      proto.set_reason(absl::StrCat(
          ToString(DefaultReason::kDefaultUnusable),
          ": the default does not work on this device: ",
          Shortened(fault->second), "; decided because of ", proto.reason()));
    }
  }
};

void TakeShape(const Table& table, Decider& decider) {
  decider.parameters = table.parameters;
  decider.dimensions = table.dimensions;
  decider.default_configuration = table.default_configuration;
}

absl::Status TakeShape(const KernelSpec& spec,
                       const std::vector<DeviceFacts>& devices,
                       Decider& decider) {
  for (const Parameter& parameter : spec.parameters) {
    decider.parameters.push_back(parameter.name);
  }
  decider.dimensions = spec.dimensions;
  ASSIGN_OR_RETURN(decider.default_configuration,
                   DefaultForDevices(spec, devices));
  return absl::OkStatus();
}

absl::StatusOr<Decider> FindDecider(const TableLookup& lookup,
                                    KernelCatalog& kernels,
                                    const std::string& kernel,
                                    const std::string& device_uuid,
                                    const std::string& fingerprint) {
  Decider decider;
  absl::StatusOr<TableMatch> match =
      lookup.Find(kernel, device_uuid, fingerprint);
  if (match.ok()) {
    TakeShape(match->serving.table->table(), decider);
    decider.default_faults = lookup.DefaultFaultsOf(
        match->serving.record.key, decider.default_configuration);
    // A stale table's profile says nothing of the device as it is now.
    if (match->stale() && !device_uuid.empty()) {
      for (const DeviceFacts& device : lookup.Devices(device_uuid)) {
        decider.default_faults.merge(lookup.DefaultFaultsOn(kernel, device));
      }
    }
    decider.match = *std::move(match);
    return decider;
  }
  if (!absl::IsNotFound(match.status())) return match.status();
  const std::optional<ServingTable> withdrawn =
      lookup.FindWithdrawn(kernel, device_uuid, fingerprint);
  if (withdrawn) {
    const TableRecord& record = withdrawn->record;
    decider.withdrawn = absl::StrCat("table ", ShortDigest(record.digest), ": ",
                                     record.withdrawn);
  }
  // A missing table is an answer, a kernel that nobody knows is not.
  const absl::StatusOr<std::shared_ptr<const KernelSpec>> spec =
      kernels.Spec(kernel);
  if (spec.ok()) {
    const std::vector<DeviceFacts> devices = lookup.Devices(device_uuid);
    RETURN_IF_ERROR(TakeShape(**spec, devices, decider));
    for (const DeviceFacts& device : devices) {
      decider.default_faults.merge(lookup.DefaultFaultsOn(kernel, device));
    }
    return decider;
  }
  if (!withdrawn || withdrawn->table == nullptr) return match.status();
  // The folder is gone, what the table says of the kernel is not.
  TakeShape(withdrawn->table->table(), decider);
  decider.default_faults = lookup.DefaultFaultsOf(
      withdrawn->record.key, decider.default_configuration);
  return decider;
}

}  // namespace

absl::Status DecisionHandler::Resolve(const v1::ResolveRequest& request,
                                      v1::ResolveResponse* response) const {
  if (request.problems_size() > kMaxProblems) {
    return absl::InvalidArgumentError(
        absl::StrCat("a batch has at most ", kMaxProblems, " problems, not ",
                     request.problems_size(), ": split it"));
  }
  ASSIGN_OR_RETURN(const Decider decider,
                   FindDecider(lookup_, *kernels_, request.kernel(),
                               request.device_uuid(), request.fingerprint()));
  for (int i = 0; i < request.problems_size(); ++i) {
    const absl::StatusOr<Problem> problem =
        ProblemFromProto(decider.dimensions, request.problems(i));
    if (problem.ok()) {
      *response->add_decisions() = decider.Answer(*problem);
      continue;
    }
    // One bad problem must not take the answers from the others.
    *response->add_decisions() =
        decider.Refuse(problem.status(), request.problems(i).specialisation());
  }
  if (decider.match) {
    response->set_digest(decider.match->serving.record.digest);
  }
  return absl::OkStatus();
}

absl::Status DecisionHandler::Explain(const v1::ExplainRequest& request,
                                      v1::ExplainResponse* response) const {
  ASSIGN_OR_RETURN(const Decider decider,
                   FindDecider(lookup_, *kernels_, request.kernel(),
                               request.device_uuid(), request.fingerprint()));
  ASSIGN_OR_RETURN(const Problem problem,
                   ProblemFromProto(decider.dimensions, request.problem()));
  *response->mutable_decision() = decider.Answer(problem);
  if (!decider.match) return absl::OkStatus();
  const CompiledTable& table = *decider.match->serving.table;
  for (const ExplainedGroup& row : table.Explain(
           table.SubTableIndex(problem.specialisation), problem.View())) {
    *response->add_rows() = ExplainedGroupToProto(decider.parameters, row);
  }
  return absl::OkStatus();
}

}  // namespace wavetune
