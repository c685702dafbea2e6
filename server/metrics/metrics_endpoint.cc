#include "server/metrics/metrics_endpoint.h"

#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "prometheus/exposer.h"
#include "server/metrics/daemon_metrics.h"

namespace wavetune {
namespace {

// One answers, another takes the next connection.
constexpr char kThreads[] = "2";
// A scrape is one request; who keeps a connection open keeps a thread.
constexpr char kRequestTimeoutMs[] = "5000";

}  // namespace

absl::Status MetricsEndpoint::CheckAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  if (colon != std::string::npos && colon > 0 &&
      absl::SimpleAtoi(address.substr(colon + 1), &port) && port <= 65535 &&
      address.find_first_of(",+ \t") == std::string::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--metrics-address \"", address,
                   "\" is no address: write host:port, for example "
                   "127.0.0.1:9478"));
}

struct MetricsEndpoint::Parts {
  std::shared_ptr<DaemonMetrics> metrics;
  prometheus::Exposer exposer;  // First to end.
};

MetricsEndpoint::MetricsEndpoint(std::unique_ptr<Parts> parts)
    : parts_(std::move(parts)) {}

MetricsEndpoint::~MetricsEndpoint() = default;

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(
    const std::string& address, MetricsSources sources) {
  RETURN_IF_ERROR(CheckAddress(address));
  try {
    std::unique_ptr<Parts> parts(
        new Parts{std::make_shared<DaemonMetrics>(std::move(sources)),
                  prometheus::Exposer(std::vector<std::string>{
                      "listening_ports", address, "num_threads", kThreads,
                      "request_timeout_ms", kRequestTimeoutMs})});
    parts->exposer.RegisterCollectable(parts->metrics);
    return std::unique_ptr<MetricsEndpoint>(
        new MetricsEndpoint(std::move(parts)));
  } catch (const std::exception& error) {  // The library's only way to say it.
    return absl::UnavailableError(absl::StrCat(
        "--metrics-address ", address, ": cannot listen there (", error.what(),
        "): another program may; choose another port"));
  }
}

int MetricsEndpoint::port() const {
  const std::vector<int> ports = parts_->exposer.GetListeningPorts();
  return ports.empty() ? 0 : ports.front();
}

}  // namespace wavetune
