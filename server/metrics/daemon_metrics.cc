#include "server/metrics/daemon_metrics.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/printable_text.h"
#include "base/process_facts.h"
#include "model/kernel/throttling.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "server/rpc/call_durations.h"

namespace wavetune {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

// Of each kind of series, beside what bounds them anyway.
constexpr size_t kMostSeries = 1024;

// As `wavetune events` calls it: "slow-device".
std::string NameOf(v1::Event::Kind kind) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(v1::Event::Kind_Name(kind)),
                             {{"_", "-"}});
}

// As gRPC calls them, by number.
constexpr const char* kCodes[] = {"OK",
                                  "CANCELLED",
                                  "UNKNOWN",
                                  "INVALID_ARGUMENT",
                                  "DEADLINE_EXCEEDED",
                                  "NOT_FOUND",
                                  "ALREADY_EXISTS",
                                  "PERMISSION_DENIED",
                                  "RESOURCE_EXHAUSTED",
                                  "FAILED_PRECONDITION",
                                  "ABORTED",
                                  "OUT_OF_RANGE",
                                  "UNIMPLEMENTED",
                                  "INTERNAL",
                                  "UNAVAILABLE",
                                  "DATA_LOSS",
                                  "UNAUTHENTICATED"};
static_assert(std::size(kCodes) == CallDurations::kCodes);

// One metric with its samples.
class Family {
 public:
  Family(std::string name, std::string help, MetricType type) {
    family_.name = std::move(name);
    family_.help = std::move(help);
    family_.type = type;
  }

  // Adds a sample; of equal labels the first counts.
  void Add(double value, Labels labels = {}) {
    ClientMetric metric;
    (family_.type == MetricType::Counter ? metric.counter.value
                                         : metric.gauge.value) = value;
    Add(std::move(metric), std::move(labels));
  }
  void Add(ClientMetric metric, Labels labels) {
    // A text from a file or an agent may hold any bytes.
    for (ClientMetric::Label& label : labels)
      label.value = PrintableText(label.value);
    if (seen_.size() >= kMostSeries || !seen_.insert(labels).second) return;
    metric.label = std::move(labels);
    family_.metric.push_back(std::move(metric));
  }
  MetricFamily Take() && { return std::move(family_); }

 private:
  MetricFamily family_;
  std::set<Labels> seen_;
};

using Families = std::vector<MetricFamily>;

Family Gauge(std::string name, std::string help) {
  return {std::move(name), std::move(help), MetricType::Gauge};
}
Family Counter(std::string name, std::string help) {
  return {std::move(name), std::move(help), MetricType::Counter};
}

void AddTo(Families& families, Family family) {
  families.push_back(std::move(family).Take());
}

void AddGauge(Families& families, const std::string& name,
              const std::string& help, double value) {
  Family family = Gauge(name, help);
  family.Add(value);
  AddTo(families, std::move(family));
}

std::string DriverOf(const std::string& environment_key) {
  for (absl::string_view part : absl::StrSplit(environment_key, ';')) {
    if (absl::ConsumePrefix(&part, "driver=")) return std::string(part);
  }
  return "";
}

void AddTables(const MetricsSources& sources, Families& families) {
  Family info = Gauge("wavetune_table_info", "Tables that serve; always 1.");
  Family age = Gauge("wavetune_table_age_seconds",
                     "Time since a serving table was promoted.");
  Family stale = Gauge("wavetune_table_stale",
                       "1: device or kernel are others than the table was "
                       "measured with, and no newer one of its kernel and "
                       "silicon serves; it serves all the same.");
  Family residual =
      Gauge("wavetune_fit_residual_ratio",
            "Median of |predicted / measured - 1| of the fit of a serving "
            "table on its own samples.");
  const std::shared_ptr<const TableSnapshot> snapshot =
      sources.tables->snapshot();
  const std::vector<std::string> reasons =
      sources.staleness->StaleReasons(*snapshot);
  const int64_t now_us = sources.clock->NowUs();
  for (size_t i = 0; i < reasons.size(); ++i) {
    const TableRecord& table = snapshot->tables[i].record;
    const std::string digest = ShortDigest(table.digest);
    const Labels labels = {{"kernel", table.key.kernel},
                           {"silicon", table.key.silicon_key},
                           {"digest", digest}};
    info.Add(1, {{"kernel", table.key.kernel},
                 {"silicon", table.key.silicon_key},
                 {"environment", table.key.environment_key},
                 {"epoch", absl::StrCat(table.epoch)},
                 {"digest", digest},
                 {"driver", DriverOf(table.key.environment_key)}});
    age.Add(std::max(0.0,
                     1e-6 * static_cast<double>(now_us - table.promoted_at_us)),
            labels);
    if (table.fit_residual > 0) residual.Add(table.fit_residual, labels);
    // What a newer table serves beside is of an environment of before.
    const bool of_before = std::any_of(
        snapshot->tables.begin(), snapshot->tables.end(),
        [&](const ServingTable& other) {
          return other.record.key.kernel == table.key.kernel &&
                 other.record.key.silicon_key == table.key.silicon_key &&
                 other.record.epoch > table.epoch;
        });
    stale.Add(reasons[i].empty() || of_before ? 0 : 1, labels);
  }
  AddTo(families, std::move(info));
  AddTo(families, std::move(age));
  AddTo(families, std::move(stale));
  AddTo(families, std::move(residual));
  AddGauge(families, "wavetune_tables_withdrawn",
           "Tables that serve no longer, as a choice of theirs was shown to "
           "compute wrong results, and that nothing has replaced.",
           static_cast<double>(snapshot->withdrawn.size()));
}

ClientMetric HistogramOf(const CallDurations::Counts& counts) {
  ClientMetric metric;
  uint64_t sum = 0;
  for (size_t i = 0; i < counts.buckets.size(); ++i) {
    sum += counts.buckets[i];
    metric.histogram.bucket.push_back(
        {sum, i < CallDurations::kBoundsS.size()
                  ? CallDurations::kBoundsS[i]
                  : std::numeric_limits<double>::infinity()});
  }
  metric.histogram.sample_count = sum;
  metric.histogram.sample_sum = counts.sum_s;
  return metric;
}

void AddCalls(Families& families) {
  Family duration{"wavetune_rpc_duration_seconds",
                  "How long the answers of unary methods took.",
                  MetricType::Histogram};
  Family calls = Counter("wavetune_rpcs_total", "Unary calls by their end.");
  for (const CallDurations::Counts& counts : CallDurations::All()) {
    duration.Add(HistogramOf(counts), {{"method", counts.method}});
    for (size_t code = 0; code < counts.codes.size(); ++code) {
      if (counts.codes[code] == 0 && code != 0) continue;
      calls.Add(static_cast<double>(counts.codes[code]),
                {{"method", counts.method}, {"code", kCodes[code]}});
    }
  }
  AddTo(families, std::move(duration));
  AddTo(families, std::move(calls));
}

void AddWatchers(const MetricsSources& sources, Families& families) {
  AddGauge(families, "wavetune_watchers", "Open watches of tables.",
           sources.watchers());
  Family slow = Counter("wavetune_watchers_dropped_total",
                        "Times that a watcher read too slowly and got what "
                        "serves instead of the changes it had missed.");
  slow.Add(static_cast<double>(sources.slow_watchers()));
  AddTo(families, std::move(slow));
}

void AddDevices(const MetricsSources& sources, Families& families) {
  Family attached = Gauge("wavetune_device_attached",
                          "1: an agent has the device and is heard from.");
  Family seen = Gauge("wavetune_agent_last_seen_timestamp_seconds",
                      "When the device's agent was last heard from.");
  Family throttled = Gauge(
      "wavetune_device_throttled",
      "1: heat or a brake from outside held the clocks down when last looked.");
  Family temperature = Gauge("wavetune_device_temperature_celsius",
                             "Temperature when last looked.");
  Family usable = Gauge("wavetune_device_usable",
                        "1: attached, and the agent finds nothing wrong.");
  Family ratio = Gauge("wavetune_device_ratio",
                       "How many times as long launches take as on the devices "
                       "of its class, as the last profile found.");
  Family left_out = Gauge("wavetune_device_left_out",
                          "1: profiles leave it out, as it is hot or slow.");
  for (const AgentDirectory::Known& known : sources.devices->List()) {
    const Labels labels = {{"device", known.record.facts.uuid}};
    const bool heard = known.attached && known.silent_s == 0;
    attached.Add(heard ? 1 : 0, labels);
    usable.Add(heard && known.problem.empty() ? 1 : 0, labels);
    left_out.Add(known.left_out.empty() ? 0 : 1, labels);
    if (known.class_ratio > 0) ratio.Add(known.class_ratio, labels);
    seen.Add(1e-6 * static_cast<double>(known.record.last_seen_us), labels);
    if (!known.attached || !known.state) continue;
    throttled.Add(IsThrottled(known.state->throttle_reasons) ? 1 : 0, labels);
    if (known.state->temperature_c != 0)
      temperature.Add(known.state->temperature_c, labels);
  }
  for (Family* family :
       {&attached, &seen, &throttled, &temperature, &usable, &ratio, &left_out})
    AddTo(families, std::move(*family));
}

void AddActivity(const MetricsSources& sources, Families& families) {
  const Activity::Counts counts = sources.activity->counts();
  Family samples =
      Counter("wavetune_samples_total", "Samples of jobs that have ended.");
  samples.Add(static_cast<double>(counts.clean_samples), {{"result", "clean"}});
  samples.Add(static_cast<double>(counts.throttled_samples),
              {{"result", "throttled"}});
  AddTo(families, std::move(samples));
  Family seconds = Counter("wavetune_device_seconds_total",
                           "Device time of jobs that have ended.");
  for (const auto& [device, value] : counts.device_seconds)
    seconds.Add(value, {{"device", device}});
  AddTo(families, std::move(seconds));
  Family events = Counter("wavetune_events_total", "Events by kind.");
  for (int i = v1::Event::Kind_MIN + 1; i <= v1::Event::Kind_MAX; ++i) {
    const auto found = counts.events.find(static_cast<EventKind>(i));
    events.Add(
        found == counts.events.end() ? 0 : static_cast<double>(found->second),
        {{"kind", NameOf(static_cast<v1::Event::Kind>(i))}});
  }
  AddTo(families, std::move(events));
  Family probe = Gauge("wavetune_drift_probe_ratio",
                       "How many times as long launches took in the last drift "
                       "probe as before, in the regime that drifted most.");
  for (const auto& [key, ratio] : counts.drift_probe_ratios)
    probe.Add(ratio, {{"kernel", key.first}, {"silicon", key.second}});
  AddTo(families, std::move(probe));
  Family decisions = Counter("wavetune_decisions_total",
                             "Decisions that clients reported, by source.");
  for (const auto& [kernel, of_kernel] : counts.decisions) {
    for (const auto& [source, value] :
         {std::pair{"fitted", of_kernel.fitted + of_kernel.wide_bound},
          {"extrapolated", of_kernel.extrapolated},
          {"stale", of_kernel.stale},
          {"default", of_kernel.default_configuration}})
      decisions.Add(value, {{"kernel", kernel}, {"source", source}});
  }
  AddTo(families, std::move(decisions));
}

void AddJobs(const MetricsSources& sources, Families& families) {
  const JobQueue::Counts now = sources.jobs->counts();
  Family jobs = Gauge("wavetune_jobs", "Jobs that wait or run.");
  jobs.Add(now.queued, {{"state", "queued"}});
  jobs.Add(now.running, {{"state", "running"}});
  AddTo(families, std::move(jobs));
  Activity::Counts counts = sources.activity->counts();
  Family ended = Counter("wavetune_jobs_ended_total", "Jobs by their end.");
  // That a table does not hold is what its job was to find out.
  Family disagreeing = Counter(
      "wavetune_spot_checks_disagreeing_total",
      "Jobs that verified a table, of the fleet or as an operator asked, and "
      "found that it does not hold here.");
  uint64_t disproving = 0;
  for (const auto& [kernel, value] : counts.disproving_jobs) {
    disproving += value;
    disagreeing.Add(static_cast<double>(value), {{"kernel", kernel}});
  }
  AddTo(families, std::move(disagreeing));
  for (const auto& [name, value] :
       {std::pair{"succeeded", counts.jobs[JobState::kSucceeded]},
        {"failed", counts.jobs[JobState::kFailed] - disproving},
        {"disproved", disproving},
        {"cancelled", counts.jobs[JobState::kCancelled]}})
    ended.Add(static_cast<double>(value), {{"state", name}});
  AddTo(families, std::move(ended));
}

void AddStore(const MetricsSources& sources, Families& families) {
  AddGauge(families, "wavetune_store_healthy",
           "1: the store takes writes. With 0, tables are served all the same.",
           sources.store.write_problem().ok() ? 1 : 0);
  AddGauge(families, "wavetune_store_corrupt_entries",
           "Entries that could not be read since the start.",
           static_cast<double>(sources.store.corrupt_entries()));
  if (const auto stats = sources.samples->GetStats(); stats.ok()) {
    AddGauge(families, "wavetune_store_samples", "Samples in the store.",
             static_cast<double>(stats->samples));
    AddGauge(families, "wavetune_store_size_bytes",
             "What the samples take on disk, estimated; tables and jobs are "
             "small beside them.",
             static_cast<double>(stats->size_bytes));
  }
  Family backup = Gauge(
      "wavetune_store_last_backup_timestamp_seconds",
      "When the newest backup was made; 0: never. Absent where none can be "
      "asked for.");
  if (const auto at_s =
          sources.newest_backup_s ? sources.newest_backup_s() : std::nullopt)
    backup.Add(static_cast<double>(*at_s));
  AddTo(families, std::move(backup));
  std::error_code error;
  const auto space = std::filesystem::space(sources.store.path, error);
  if (error) return;
  AddGauge(families, "wavetune_store_free_bytes",
           "What the store's file system has left for it.",
           static_cast<double>(space.available));
}

void AddCertificate(const MetricsSources& sources, Families& families) {
  Family until = Gauge(
      "wavetune_tls_certificate_expiry_timestamp_seconds",
      "When the certificate that callers over TCP see ends, or one between it "
      "and its authority. Absent without TCP.");
  if (const auto at_s = sources.certificate_until_s
                            ? sources.certificate_until_s()
                            : std::nullopt)
    until.Add(static_cast<double>(*at_s));
  AddTo(families, std::move(until));
}

// As Prometheus's own libraries call them.
void AddProcess(Families& families) {
  const ProcessFacts facts = ReadProcessFacts();
  AddGauge(families, "process_resident_memory_bytes", "Resident memory.",
           static_cast<double>(facts.resident_bytes));
  AddGauge(families, "process_virtual_memory_bytes", "Virtual memory.",
           static_cast<double>(facts.virtual_bytes));
  AddGauge(families, "process_start_time_seconds",
           "When the process was started, since the Unix epoch.",
           facts.started_at_s);
  AddGauge(families, "process_open_fds", "Open file descriptors.",
           static_cast<double>(facts.open_descriptors));
  AddGauge(families, "process_max_fds", "Most file descriptors.",
           static_cast<double>(facts.most_descriptors));
  Family cpu = Counter("process_cpu_seconds_total",
                       "Processor time, in user and kernel mode.");
  cpu.Add(facts.cpu_s);
  AddTo(families, std::move(cpu));
}

void AddFleetHeads(const FleetView& view, Families& families) {
  Family info = Gauge("wavetune_fleet_head_info",
                      "The fleet's tables that this node has accepted; always "
                      "1.");
  Family behind = Gauge("wavetune_fleet_behind",
                        "1: this node does not serve the fleet's table.");
  Family frozen =
      Gauge("wavetune_fleet_frozen", "1: nobody moves the fleet's table.");
  for (const FleetView::Standing& head : view.heads) {
    if (head.followed_only) continue;
    const Labels labels = {{"class", head.fleet_class},
                           {"kernel", head.kernel}};
    behind.Add(head.behind.empty() ? 0 : 1, labels);
    frozen.Add(head.frozen.empty() ? 0 : 1, labels);
    if (!head.accepted) continue;
    info.Add(1, {{"class", head.fleet_class},
                 {"kernel", head.kernel},
                 {"epoch", absl::StrCat(head.accepted->epoch)},
                 {"digest", ShortDigest(head.accepted->digest)}});
  }
  Family rollouts = Gauge("wavetune_fleet_rollout",
                          "1: a table is on its way to some nodes of a class "
                          "(running), or was halted there (halted).");
  for (const FleetView::Rollout& rollout : view.rollouts) {
    for (const bool halted : {false, true})
      rollouts.Add(halted == !rollout.halted.empty() ? 1 : 0,
                   {{"class", rollout.fleet_class},
                    {"kernel", rollout.kernel},
                    {"state", halted ? "halted" : "running"}});
  }
  for (Family* family : {&info, &behind, &frozen, &rollouts})
    AddTo(families, std::move(*family));
}

void AddFleet(const MetricsSources& sources, Families& families) {
  const std::optional<FleetView> view =
      sources.fleet ? sources.fleet() : std::nullopt;
  if (!view) return;
  AddGauge(families, "wavetune_fleet_registry_up",
           "1: the fleet's registry answers. With 0 this node serves what it "
           "has.",
           view->outage.empty() ? 1 : 0);
  AddFleetHeads(*view, families);
  const FleetView::Counts& counts = view->counts;
  Family tables = Counter("wavetune_fleet_tables_total",
                          "Tables of the fleet by what this node did.");
  for (const auto& [what, value] : {std::pair{"adopted", counts.adopted},
                                    {"published", counts.published},
                                    {"lost", counts.lost},
                                    {"restored", counts.restored},
                                    {"withdrawn", counts.withdrawn}})
    tables.Add(static_cast<double>(value), {{"what", what}});
  AddTo(families, std::move(tables));
  Family refused =
      Counter("wavetune_fleet_refused_total",
              "Entries of the fleet's registry that this node refused.");
  for (const auto& [reason, value] :
       {std::pair{"signature", counts.refused_signature},
        {"replayed", counts.refused_replayed},
        {"payload", counts.refused_payload}})
    refused.Add(static_cast<double>(value), {{"reason", reason}});
  AddTo(families, std::move(refused));
  AddGauge(
      families, "wavetune_fleet_profiles",
      "Profiles that this node does for its fleet now.",
      static_cast<double>(std::count_if(
          view->profiles.begin(), view->profiles.end(),
          [&](const auto& profile) { return profile.holder == view->node; })));
}

}  // namespace

DaemonMetrics::DaemonMetrics(MetricsSources sources)
    : sources_(std::move(sources)) {}

Families DaemonMetrics::Collect() const {
  Families families;
  Family build = Gauge("wavetune_build_info", "This daemon; always 1.");
  build.Add(1, {{"version", sources_.version}});
  AddTo(families, std::move(build));
  AddTables(sources_, families);
  AddCalls(families);
  AddWatchers(sources_, families);
  AddDevices(sources_, families);
  AddActivity(sources_, families);
  AddJobs(sources_, families);
  AddStore(sources_, families);
  AddCertificate(sources_, families);
  AddProcess(families);
  AddFleet(sources_, families);
  return families;
}

}  // namespace wavetune
