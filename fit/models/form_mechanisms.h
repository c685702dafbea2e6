// FormMechanisms: what the fit does for a kernel because of its wave form.
//
//   if (!MechanismsOf(axes.form).importance) return;
//
// Why in one place: each was tried with both forms, and a new form has to
// answer for each of them.
//
// Thread safety: values.
#ifndef WAVETUNE_FIT_MODELS_FORM_MECHANISMS_H_
#define WAVETUNE_FIT_MODELS_FORM_MECHANISMS_H_

#include "model/kernel/wave_form.h"

namespace wavetune {

struct FormMechanisms {
  // Who was hardly measured competes slower (fit/models/uncertainty.h). Part of
  // the format: sums gain nothing by it (docs/decisions/0008).
  bool rank_margins = false;
  // Observations near the best count more (fit/models/importance.h). In a sum
  // each segment has few of its own (docs/decisions/0005).
  bool importance = false;
  // Long launches of all candidates slow down alike
  // (fit/models/power_limit_fit.h). Sums lose by it (docs/decisions/0011).
  bool power_limit = false;
  // What a layer's candidates took decides there (fit/build/layer_choices.h).
  // One measurement says little of the kernels that are sums
  // (docs/decisions/0006).
  bool layers = false;
};

// Cannot fail.
constexpr FormMechanisms MechanismsOf(WaveForm form) {
  switch (form) {
    case WaveForm::kSum:
      return {};
    case WaveForm::kOverlap:
      return {.rank_margins = true,
              .importance = true,
              .power_limit = true,
              .layers = true};
  }
  return {};
}

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_FORM_MECHANISMS_H_
