// MetricsEndpoint: where Prometheus asks for a daemon's metrics over HTTP.
//
//   ASSIGN_OR_RETURN(auto endpoint,
//                    MetricsEndpoint::Start("127.0.0.1:9478", sources));
//   ...                             // GET http://127.0.0.1:9478/metrics
//
// Whoever reaches the address may read: it names kernels, devices and drivers,
// nothing else. So it is off unless asked for, and is meant for the loopback
// address or a network of the operator's own (docs/metrics.md).
//
// Thread safety: Start and destruction from one thread. Includes neither gRPC
// nor prometheus/.
#ifndef WAVETUNE_SERVER_METRICS_METRICS_ENDPOINT_H_
#define WAVETUNE_SERVER_METRICS_METRICS_ENDPOINT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/metrics/metrics_sources.h"

namespace wavetune {

class MetricsEndpoint {
 public:
  // Listens at "host:port"; host is an address, port 0 is any that is free.
  // Errors: INVALID_ARGUMENT for something else; UNAVAILABLE where it cannot
  // listen there.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(
      const std::string& address, MetricsSources sources);
  // Returns whether an address has the form of one. Errors: INVALID_ARGUMENT.
  static absl::Status CheckAddress(const std::string& address);
  ~MetricsEndpoint();  // Ends; scrapes that run are answered.

  int port() const;

 private:
  struct Parts;
  explicit MetricsEndpoint(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_METRICS_METRICS_ENDPOINT_H_
