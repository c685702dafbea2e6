#include "wavetune/tuner.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/suggestion.h"
#include "client/src/table_slot.h"
#include "model/table/table.h"

namespace wavetune {

Decision Tuner::Resolve(const ProblemView& problem) const noexcept {
  return slot_->Resolve(problem);
}

void Tuner::ResolveTogether(absl::Span<const JointProblem> problems,
                            absl::Span<const int> shared,
                            absl::Span<Decision> decisions,
                            const Configuration* incumbent) const noexcept {
  slot_->ResolveTogether(problems, shared, decisions, incumbent);
}

std::vector<ExplainedGroup> Tuner::Explain(const ProblemView& problem) const {
  const std::shared_ptr<const TableState> state = slot_->current();
  if (state->table == nullptr) return {};
  return state->table->Explain(state->sub_table, problem);
}

std::vector<Configuration> Tuner::configurations() const {
  return slot_->current()->Configurations();
}

const std::vector<std::string>& Tuner::parameters() const {
  return slot_->identity().parameters;
}

const std::vector<Dimension>& Tuner::dimensions() const {
  return slot_->identity().dimensions;
}

int Tuner::ParameterIndex(absl::string_view name) const {
  for (size_t i = 0; i < parameters().size(); ++i) {
    if (absl::string_view(parameters()[i]) == name) return static_cast<int>(i);
  }
  return -1;
}

absl::StatusOr<int64_t> Tuner::Value(const Decision& decision,
                                     absl::string_view parameter) const {
  const int index = ParameterIndex(parameter);
  if (index >= 0) return decision.configuration[index];
  return absl::NotFoundError(
      absl::StrCat("kernel \"", kernel(), "\" has no parameter \"", parameter,
                   "\"", Suggestion(parameter, parameters())));
}

Configuration Tuner::default_configuration() const {
  return slot_->current()->default_configuration;
}

std::shared_ptr<const Table> Tuner::table() const {
  const std::shared_ptr<const TableState> state = slot_->current();
  if (state->table == nullptr) return nullptr;
  return {state, &state->table->table()};
}

const std::string& Tuner::kernel() const { return slot_->identity().kernel; }

const std::string& Tuner::specialisation() const {
  return slot_->identity().specialisation;
}

std::string Tuner::digest() const { return slot_->current()->digest(); }

TableOrigin Tuner::origin() const { return slot_->current()->origin; }

bool Tuner::stale() const { return slot_->current()->stale; }

std::string Tuner::stale_reason() const {
  return slot_->current()->stale_reason;
}

std::string Tuner::silicon_key() const {
  const std::shared_ptr<const Table> decides = table();
  return decides == nullptr ? "" : decides->silicon_key;
}

std::string Tuner::compiler() const { return slot_->current()->compiler; }

ActivationPolicy Tuner::activation() const { return slot_->activation(); }

void Tuner::SetPrepared(const std::vector<Configuration>& configurations) {
  slot_->SetPrepared(configurations);
}

std::optional<StagedTable> Tuner::staged() const { return slot_->staged(); }

absl::Status Tuner::Activate(absl::string_view digest) {
  return slot_->Activate(digest);
}

bool Tuner::StepBoundary() { return slot_->StepBoundary(); }

}  // namespace wavetune
