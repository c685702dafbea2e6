// DaemonMetrics: what a daemon tells Prometheus, collected when it is asked.
//
// Why at the scrape: a figure that Prometheus asks for once in 15 s is not
// worth a gauge that every request updates. A figure that is read where it is
// kept is never behind (docs/decisions/0061-metrics-at-the-scrape.md).
// docs/metrics.md lists all of them.
//
// Labels are bounded: kernels, devices, methods. Problems are never labels.
//
// Thread safety: thread-safe, as its sources are. Includes prometheus/.
#ifndef WAVETUNE_SERVER_METRICS_DAEMON_METRICS_H_
#define WAVETUNE_SERVER_METRICS_DAEMON_METRICS_H_

#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "server/metrics/metrics_sources.h"

namespace wavetune {

class DaemonMetrics final : public prometheus::Collectable {
 public:
  explicit DaemonMetrics(MetricsSources sources);

  // Cannot fail: what cannot be read at the moment has no sample. Cost: a look
  // at what serves and at the devices, some 100 us; waits for no write.
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const MetricsSources sources_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_METRICS_DAEMON_METRICS_H_
