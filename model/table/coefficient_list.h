// The coefficients of the wave model, as one list: what codec, check and
// printing go through, so that a coefficient to come is one line here (and a
// member of WaveCoefficients, model/table/table.h).
//
//   for (const CoefficientField& field : kCoefficients) {
//     if (Reads(sub.form, field)) Print(field.name, c.*field.value);
//   }
//
// Thread safety: constants and pure functions.
#ifndef WAVETUNE_MODEL_TABLE_COEFFICIENT_LIST_H_
#define WAVETUNE_MODEL_TABLE_COEFFICIENT_LIST_H_

#include <cstdint>

#include "model/kernel/wave_form.h"
#include "model/table/table.h"

namespace wavetune {

struct CoefficientField {
  uint8_t id;  // In payloads (docs/table_format.md): never given twice.
  const char* name;
  double WaveCoefficients::*value;
  // Which forms read it; 0 in tables of the others.
  bool in_sum;
  bool in_overlap;
};

// Ascending by id.
inline constexpr CoefficientField kCoefficients[] = {
    {1, "delta", &WaveCoefficients::delta, true, true},
    {2, "delta_w", &WaveCoefficients::delta_w, true, true},
    {3, "gamma", &WaveCoefficients::gamma, true, true},
    {4, "gamma_w", &WaveCoefficients::gamma_w, true, true},
    {5, "beta", &WaveCoefficients::beta, true, true},
    {6, "alpha", &WaveCoefficients::alpha, true, true},
    {7, "alpha_row", &WaveCoefficients::alpha_row, false, true},
};

// A member that is not in the list would be lost on the way through a payload.
static_assert(sizeof(WaveCoefficients) == sizeof(kCoefficients) /
                                              sizeof(kCoefficients[0]) *
                                              sizeof(double));

// Returns whether `form` reads the coefficient.
constexpr bool Reads(WaveForm form, const CoefficientField& field) {
  return form == WaveForm::kSum ? field.in_sum : field.in_overlap;
}

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_COEFFICIENT_LIST_H_
