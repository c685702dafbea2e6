// The few statistics that reports give.
#ifndef WAVETUNE_CLI_STATISTICS_H_
#define WAVETUNE_CLI_STATISTICS_H_

#include <vector>

namespace wavetune::cli {

// Returns the geometric mean of positive values; 0 for none.
double GeometricMean(const std::vector<double>& values);

// Returns the `fraction` quantile with linear interpolation between the two
// nearest values (numpy's default); 0 for none. fraction is in [0, 1].
double Quantile(std::vector<double> values, double fraction);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_STATISTICS_H_
