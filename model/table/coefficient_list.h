// The coefficients of the wave model, as one list for codec, check and
// printing. So a new coefficient is one line here (and a member of
// WaveCoefficients, model/table/table.h; docs/where.md has the rest).
//
//   for (const CoefficientField& field : kCoefficients) {
//     if (Reads(sub.form, field)) Print(field.name, c.*field.value);
//   }
//
// Thread safety: constants and pure functions.
#ifndef WAVETUNE_MODEL_TABLE_COEFFICIENT_LIST_H_
#define WAVETUNE_MODEL_TABLE_COEFFICIENT_LIST_H_

#include <cstdint>
#include <optional>

#include "model/kernel/mapping.h"
#include "model/kernel/wave_form.h"
#include "model/table/table.h"

namespace wavetune {

struct CoefficientField {
  uint8_t id;  // In payloads (docs/table_format.md): never given twice.
  const char* name;
  const char* unit;
  double WaveCoefficients::*value;
  // Which forms read it; 0 in tables of the others.
  bool in_sum;
  bool in_overlap;
  // The expression of the mapping that it is multiplied with, and that is there
  // for it alone: both are in a table, or neither. nullptr: always there.
  std::optional<Expression> Mapping::*factor = nullptr;
  const char* factor_name = "";  // In formulas.
};

// Ascending by id.
inline constexpr CoefficientField kCoefficients[] = {
    {1, "delta", "us", &WaveCoefficients::delta, true, true},
    {2, "delta_w", "us/step", &WaveCoefficients::delta_w, true, true},
    {3, "gamma", "us/iteration", &WaveCoefficients::gamma, true, true},
    {4, "gamma_w", "us/(step iteration)", &WaveCoefficients::gamma_w, true,
     true},
    {5, "beta", "us/tile", &WaveCoefficients::beta, true, true},
    {6, "alpha", "us/(tile iteration)", &WaveCoefficients::alpha, true, true},
    {7, "alpha_row", "us/(tile iteration)", &WaveCoefficients::alpha_row, false,
     true},
    {8, "cold", "us/MiB", &WaveCoefficients::cold, true, false,
     &Mapping::cold_bytes, "B"},
};

// Returns the form's latency in the names of the list, for people, without
// coefficients that have a factor of their own: each adds its product.
constexpr const char* FormulaOf(WaveForm form) {
  return form == WaveForm::kSum
             ? "delta + delta_w s + (gamma + gamma_w s) L + beta G + alpha G L"
             : "delta + (w - 1) (delta_w + F(C)) + F(r), F(x) overlapping "
               "max(gamma, gamma_w t(x)) L with (beta + (alpha + alpha_row u) "
               "L) x, r = G - (w - 1) C, u = 1 - fill of a single row, else "
               "1 / rows (0 where rows share nothing)";
}

// A member that is not in the list would be lost on the way through a payload.
static_assert(sizeof(WaveCoefficients) == sizeof(kCoefficients) /
                                              sizeof(kCoefficients[0]) *
                                              sizeof(double));

// Returns whether `form` reads the coefficient.
constexpr bool Reads(WaveForm form, const CoefficientField& field) {
  return form == WaveForm::kSum ? field.in_sum : field.in_overlap;
}

// Returns whether the mapping has what the coefficient is multiplied with.
inline bool HasFactor(const Mapping& mapping, const CoefficientField& field) {
  return field.factor == nullptr || (mapping.*field.factor).has_value();
}

// Returns whether no segment of the sub-table has the coefficient.
inline bool IsZeroEverywhere(const SubTable& sub,
                             const CoefficientField& field) {
  for (const MacroGroup& group : sub.groups) {
    for (const GroupModel& model : group.models) {
      for (const WaveSegment& segment : model.segments) {
        if (segment.coefficients.*field.value != 0) return false;
      }
    }
  }
  return true;
}

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_COEFFICIENT_LIST_H_
