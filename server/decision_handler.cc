#include "server/decision_handler.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/kernel/device_space.h"
#include "model/status_macros.h"
#include "proto/convert/types.h"

namespace wavetune {
namespace {

// What decides: a table, or a kernel's default where it has none.
struct Decider {
  std::optional<TableMatch> match;
  std::shared_ptr<const KernelSpec> spec;
  Configuration standard;  // The default.
  std::vector<std::string> parameters;

  const std::vector<Dimension>& dimensions() const {
    return match ? match->serving.table->table().dimensions : spec->dimensions;
  }
  Decision Decide(const Problem& problem) const {
    if (match) {
      const CompiledTable& table = *match->serving.table;
      return table.Resolve(table.SubTableIndex(problem.specialisation),
                           problem.View(), match->stale);
    }
    return Default(DefaultReason::kNoTable);
  }
  Decision Default(DefaultReason reason) const {
    Decision decision;
    decision.configuration = standard;
    decision.reason = reason;
    return decision;
  }
};

absl::StatusOr<Decider> FindDecider(const TableLookup& lookup,
                                    KernelCatalog& kernels,
                                    const std::string& kernel,
                                    const std::string& device_uuid,
                                    const std::string& fingerprint) {
  Decider decider;
  absl::StatusOr<TableMatch> match =
      lookup.Find(kernel, device_uuid, fingerprint);
  if (match.ok()) {
    const Table& table = match->serving.table->table();
    decider.parameters = table.parameters;
    decider.standard = table.default_configuration;
    decider.match = *std::move(match);
    return decider;
  }
  if (!absl::IsNotFound(match.status())) return match.status();
  // A missing table is an answer, a kernel that nobody knows is not.
  absl::StatusOr<std::shared_ptr<const KernelSpec>> spec = kernels.Spec(kernel);
  if (!spec.ok()) return match.status();
  decider.spec = *std::move(spec);
  ASSIGN_OR_RETURN(
      decider.standard,
      DefaultForDevices(*decider.spec, lookup.Devices(device_uuid)));
  for (const Parameter& parameter : decider.spec->parameters) {
    decider.parameters.push_back(parameter.name);
  }
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
        ProblemFromProto(decider.dimensions(), request.problems(i));
    if (problem.ok()) {
      *response->add_decisions() =
          DecisionToProto(decider.parameters, decider.Decide(*problem));
      continue;
    }
    // One bad problem must not take the answers from the others.
    v1::Decision* const decision = response->add_decisions();
    *decision =
        DecisionToProto(decider.parameters,
                        decider.Default(DefaultReason::kWrongDimensionCount));
    decision->set_reason(std::string(problem.status().message()));
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
                   ProblemFromProto(decider.dimensions(), request.problem()));
  *response->mutable_decision() =
      DecisionToProto(decider.parameters, decider.Decide(problem));
  if (!decider.match) return absl::OkStatus();
  const CompiledTable& table = *decider.match->serving.table;
  for (const ExplainedRow& row : table.Explain(
           table.SubTableIndex(problem.specialisation), problem.View())) {
    *response->add_rows() = ExplainedRowToProto(decider.parameters, row);
  }
  return absl::OkStatus();
}

}  // namespace wavetune
