#include "tests/bench/fleet_simulation.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/fleet/etcd/etcd_registry.h"
#include "server/fleet/etcd/test_etcd.h"
#include "server/fleet/fleet_node.h"
#include "server/fleet/fleet_presence.h"
#include "server/fleet/fleet_profile.h"
#include "server/fleet/fleet_test_node.h"
#include "server/test_folder.h"

namespace wavetune::testing {
namespace {

using std::chrono::steady_clock;
using Time = steady_clock::time_point;

constexpr std::chrono::minutes kPatience{5};
constexpr FleetBounds kAll{.entry_bytes = FleetRegistry::kMaxValueBytes,
                           .all_bytes = size_t{1} << 30,
                           .entries = 200000};
// What is old is compacted so often: in an hour of a fleet there is less.
constexpr int kPromotionsPerCompaction = 100;

double Seconds(Time from, Time to) {
  return std::chrono::duration<double>(to - from).count();
}

// One that the fit would make has 20 to 40 KiB.
Table LargeTable(const KernelSpec& spec, const ProfileKey& key,
                 double latency_us) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> share(0, 1);
  Table table = FixedTable(spec, key, spec.default_configuration, latency_us);
  for (SubTable& sub : table.sub_tables) {
    constexpr int kWaves = 16;
    constexpr int kGroups = 40;
    sub.max_waves.clear();
    const WaveSegment first = sub.groups[0].models[0].segments[0];
    for (int i = 1; i < kWaves; ++i) sub.max_waves.push_back(i);
    sub.max_waves.push_back(std::numeric_limits<int64_t>::max());
    const MacroGroup group = sub.groups[0];
    sub.groups.clear();
    for (int i = 0; i < kGroups; ++i) {
      MacroGroup& one = sub.groups.emplace_back(group);
      one.models[0].segments.clear();
      for (int wave = 0; wave < kWaves; ++wave) {
        WaveSegment& segment = one.models[0].segments.emplace_back(first);
        segment.coefficients.delta += share(random);
        segment.floor_us *= 1 + share(random);
        segment.relative_bound += share(random);
        segment.extrapolated_bound += share(random);
        segment.min_iterations = share(random);
        segment.max_iterations += share(random);
      }
    }
  }
  return table;
}

// When the nodes began to serve each table.
class Arrivals {
 public:
  void Note(const std::string& digest) {
    const std::lock_guard lock(mutex_);
    times_[digest].push_back(steady_clock::now());
    changed_.notify_all();
  }
  bool Await(const std::string& digest, size_t nodes) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience,
                             [&] { return times_[digest].size() >= nodes; });
  }
  // Seconds from the promotion, which is the first.
  std::vector<double> Waits(const std::string& digest) {
    const std::lock_guard lock(mutex_);
    const std::vector<Time>& times = times_[digest];
    std::vector<double> waits;
    for (size_t i = 1; i < times.size(); ++i)
      waits.push_back(Seconds(times[0], times[i]));
    return waits;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<Time>> times_;
};

class SimulatedNode {
 public:
  SimulatedNode(const TestEtcd& etcd, const FleetSimulationOptions& options,
                DiskKernelCatalog* kernels, int index, Arrivals* arrivals)
      : name_(absl::StrCat("node-", index)),
        registry_(Join(etcd, options)),
        node_({.registry = registry_.get(),
               .kernels = kernels,
               .name = name_,
               .key = 1,
               .device = DeviceOf(index % options.classes),
               .jitter = options.jitter,
               .look_interval = std::chrono::seconds(2)}) {
    arrivals_ =
        node_.tables_
            .Subscribe(0,
                       [arrivals](const TableChange& change) {
                         if (change.kind == TableChange::Kind::kPromoted)
                           arrivals->Note(change.table.digest);
                       })
            .handle;
    node_.Start();
  }
  ~SimulatedNode() {
    presence_->Stop();  // The registry, too.
    node_.Stop();
  }

  // It shows what it serves, and follows the profiles of its class.
  void BeginSession() {
    presence_ = std::make_unique<FleetPresence>(FleetPresence::Options{
        .registry = registry_.get(), .state = [this] { return State(); }});
    presence_->Start();
    const ProfileKey key = node_.Key(node_.options_.kernels->Names().front());
    profiles_ = registry_->Watch(ProfilesPrefix(FleetClass(key)), {},
                                 [](const FleetNews&) {});
  }
  bool HasSession() { return registry_->Session().ok(); }
  bool Watches() {
    const FleetView view = node_.fleet_->View();
    return view.outage.empty();
  }
  std::string Promote(const std::string& kernel, double latency_us) {
    return node_.Promote(kernel,
                         LargeTable(**node_.options_.kernels->Spec(kernel),
                                    node_.Key(kernel), latency_us));
  }
  // As the daemon's retention would.
  void ForgetOldTables() {
    std::vector<std::string> digests;
    const auto inventory = node_.store_.TakeInventory();
    for (const TableRecord& record : inventory->payloads)
      digests.push_back(record.digest);
    const auto ignored = node_.store_.Forget(digests);
  }
  int64_t Refused() {
    const FleetView::Counts counts = node_.fleet_->View().counts;
    return counts.refused_payload + counts.refused_replayed +
           counts.refused_signature;
  }

 private:
  static std::unique_ptr<EtcdRegistry> Join(
      const TestEtcd& etcd, const FleetSimulationOptions& options) {
    EtcdOptions etcd_options = ParseEtcdUrl(etcd.url()).value();
    etcd_options.session_ttl = options.session_ttl;
    return EtcdRegistry::Create(etcd_options).value();
  }
  FleetNode State() {
    FleetNode state{.node = name_};
    for (const FleetView::Standing& standing : node_.fleet_->View().heads) {
      FleetNode::Table& table = state.tables.emplace_back(
          FleetNode::Table{.fleet_class = standing.fleet_class,
                           .kernel = standing.kernel,
                           .behind = standing.behind});
      if (!standing.accepted) continue;
      table.digest = standing.accepted->digest;
      table.epoch = standing.accepted->epoch;
    }
    return state;
  }
  static DeviceFacts DeviceOf(int device_class) {
    DeviceFacts device = TestFleetDevice();
    device.driver = std::to_string(device_class);
    return device;
  }

  const std::string name_;
  const std::unique_ptr<EtcdRegistry> registry_;
  FleetTestNode node_;
  TableCatalog::Handle arrivals_;
  std::unique_ptr<FleetPresence> presence_;
  std::unique_ptr<FleetRegistry::WatchHandle> profiles_;
};

// What a process uses, by /proc.
struct Usage {
  double cpu_s = 0;
  double rss_bytes = 0;
  int64_t threads = 0;
  int64_t descriptors = 0;
};
Usage UsageOf(pid_t pid) {
  const std::string folder = absl::StrCat("/proc/", pid, "/");
  Usage usage;
  // After the name, which may have blanks.
  const std::string stat = ReadText(folder + "stat");
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::vector<std::string> values;
  for (std::string value; fields >> value;) values.push_back(value);
  const double ticks = std::stod(values[11]) + std::stod(values[12]);
  usage.cpu_s = ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  usage.threads = std::stoll(values[17]);
  usage.rss_bytes =
      std::stod(values[21]) * static_cast<double>(sysconf(_SC_PAGESIZE));
  usage.descriptors =
      std::distance(std::filesystem::directory_iterator(folder + "fd"), {});
  return usage;
}

class FleetSimulation {
 public:
  explicit FleetSimulation(const FleetSimulationOptions& options)
      : options_(options), etcd_({"--quota-backend-bytes=8589934592"}) {
    for (int i = 0; i < options_.kernels; ++i) {
      kernel_names_.push_back(absl::StrCat("copy", i));
      folder_.WriteKernel(kernel_names_.back());
    }
    kernels_.Reload();
  }

  nlohmann::json Run() {
    etcd_.Start();
    figures_["nodes"] = options_.nodes;
    figures_["classes"] = options_.classes;
    figures_["kernels"] = options_.kernels;
    Join();
    PromoteOneByOne();
    PromoteAll();
    Idle();
    Restart();
    int64_t refused = 0;
    for (const auto& node : nodes_) refused += node->Refused();
    figures_["refused"] = refused;
    figures_["complete"] = complete_;
    End();
    return figures_;
  }

 private:
  struct Promotion {
    std::string digest;
    size_t nodes = 0;
  };

  // Waits until it holds for all nodes; returns how long that took.
  double AwaitAll(const std::function<bool(SimulatedNode&)>& holds) {
    const Time began = steady_clock::now();
    size_t held = 0;
    while (held < nodes_.size() && steady_clock::now() < began + kPatience) {
      if (holds(*nodes_[held])) {
        ++held;
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }
    complete_ = complete_ && held == nodes_.size();
    return Seconds(began, steady_clock::now());
  }
  double AwaitPresence() {
    const auto observer =
        EtcdRegistry::Create(ParseEtcdUrl(etcd_.url()).value());
    const Time began = steady_clock::now();
    while (steady_clock::now() < began + kPatience) {
      const auto present = (*observer)->List("nodes/", kAll);
      if (present.ok() && present->entries.size() == nodes_.size())
        return Seconds(began, steady_clock::now());
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    complete_ = false;
    return Seconds(began, steady_clock::now());
  }

  Promotion Promote(int device_class, const std::string& kernel) {
    // Another node of the class each time.
    const int in_class =
        (options_.nodes - device_class + options_.classes - 1) /
        options_.classes;
    const int index = device_class + options_.classes * (promoted_ % in_class);
    ++promoted_;
    return {nodes_[static_cast<size_t>(index)]->Promote(kernel, promoted_),
            static_cast<size_t>(in_class)};
  }
  void Await(const std::vector<Promotion>& promotions,
             std::vector<double>* waits) {
    for (const Promotion& one : promotions) {
      if (!arrivals_.Await(one.digest, one.nodes)) complete_ = false;
      const std::vector<double> more = arrivals_.Waits(one.digest);
      waits->insert(waits->end(), more.begin(), more.end());
    }
  }
  static nlohmann::json Summary(std::vector<double> waits) {
    if (waits.empty()) return {};
    std::sort(waits.begin(), waits.end());
    const auto at = [&](double share) {
      return waits[static_cast<size_t>(share *
                                       static_cast<double>(waits.size() - 1))];
    };
    return {{"deliveries", waits.size()},
            {"median_s", at(0.5)},
            {"p99_s", at(0.99)},
            {"last_s", waits.back()}};
  }

  void Join() {
    const auto count = static_cast<double>(options_.nodes);
    const Usage etcd_before = UsageOf(etcd_.pid());
    const Usage own_before = UsageOf(getpid());
    const Time began = steady_clock::now();
    for (int i = 0; i < options_.nodes; ++i) {
      nodes_.push_back(std::make_unique<SimulatedNode>(
          etcd_, options_, &kernels_, i, &arrivals_));
    }
    // The first table reaches who watches.
    std::vector<Promotion> first;
    for (int i = 0; i < options_.classes; ++i)
      first.push_back(Promote(i, kernel_names_[0]));
    std::vector<double> waits;
    Await(first, &waits);
    const Usage watching = UsageOf(etcd_.pid());
    figures_["join"]["watches_s"] = Seconds(began, steady_clock::now());
    options_.note("all nodes watch");
    const Time sessions_began = steady_clock::now();
    for (const auto& node : nodes_) node->BeginSession();
    AwaitPresence();
    figures_["join"]["sessions_s"] =
        Seconds(sessions_began, steady_clock::now());
    const Usage joined = UsageOf(etcd_.pid());
    const Usage own = UsageOf(getpid());
    figures_["etcd"] = {{"rss_alone_bytes", etcd_before.rss_bytes},
                        {"rss_bytes", joined.rss_bytes},
                        {"rss_per_watching_node_bytes",
                         (watching.rss_bytes - etcd_before.rss_bytes) / count},
                        {"rss_per_session_bytes",
                         (joined.rss_bytes - watching.rss_bytes) / count},
                        {"descriptors", joined.descriptors}};
    figures_["simulator"] = {
        {"rss_per_node_bytes", (own.rss_bytes - own_before.rss_bytes) / count},
        {"threads_per_node",
         static_cast<double>(own.threads - own_before.threads) / count}};
    options_.note("all nodes have sessions");
  }

  void PromoteOneByOne() {
    std::vector<double> waits;
    for (int i = 0; i < options_.single_tables; ++i) {
      const std::string& kernel =
          kernel_names_[static_cast<size_t>(i / options_.classes) %
                        kernel_names_.size()];
      Await({Promote(i % options_.classes, kernel)}, &waits);
    }
    figures_["one_table"] = Summary(std::move(waits));
    options_.note("one by one: " + figures_["one_table"].dump());
  }

  // Bytes of the database: what is used, and the file.
  std::pair<int64_t, int64_t> DatabaseBytes() const {
    const auto status = nlohmann::json::parse(
        etcd_.Etcdctl({"endpoint", "status", "--write-out=json"}));
    const nlohmann::json& of = status[0]["Status"];
    return {of.value("dbSizeInUse", int64_t{0}), of["dbSize"]};
  }
  void Compact() const {
    const auto status = nlohmann::json::parse(
        etcd_.Etcdctl({"endpoint", "status", "--write-out=json"}));
    const int64_t revision = status[0]["Status"]["header"]["revision"];
    etcd_.Etcdctl({"compact", "--physical", std::to_string(revision)});
  }

  void PromoteAll() {
    std::vector<double> waits;
    nlohmann::json sizes = nlohmann::json::array();
    const Usage before = UsageOf(etcd_.pid());
    int done = 0;
    int compacted = 0;
    while (done < options_.promotions) {
      std::vector<Promotion> round;
      for (int i = 0; i < options_.classes; ++i) {
        for (const std::string& kernel : kernel_names_)
          round.push_back(Promote(i, kernel));
      }
      Await(round, &waits);
      done += static_cast<int>(round.size());
      for (const auto& node : nodes_) node->ForgetOldTables();
      if (done / kPromotionsPerCompaction == compacted) continue;
      compacted = done / kPromotionsPerCompaction;
      const auto [used, file] = DatabaseBytes();
      Compact();
      sizes.push_back(
          {{"promotions", done}, {"used_bytes", used}, {"file_bytes", file}});
      options_.note(sizes.back().dump());
    }
    const Usage after = UsageOf(etcd_.pid());
    figures_["all_tables_at_once"] = Summary(waits);
    figures_["database"]["sizes"] = std::move(sizes);
    figures_["etcd"]["cpu_us_per_delivery"] =
        1e6 * (after.cpu_s - before.cpu_s) /
        static_cast<double>(std::max<size_t>(1, waits.size()));
    const auto observer =
        EtcdRegistry::Create(ParseEtcdUrl(etcd_.url()).value());
    const auto payloads = (*observer)->List("blobs/", kAll);
    const auto heads = (*observer)->List("heads/");
    if (!payloads.ok() || !heads.ok()) {
      complete_ = false;
      return;
    }
    size_t bytes = 0;
    for (const FleetEntry& entry : payloads->entries)
      bytes += entry.value.size();
    figures_["database"]["heads"] = heads->entries.size();
    figures_["database"]["payloads"] = payloads->entries.size();
    figures_["database"]["payload_bytes"] = bytes;
    figures_["database"]["promotions"] = done;
    options_.note("all at once: " + figures_["all_tables_at_once"].dump());
  }

  void Idle() {
    const Usage before = UsageOf(etcd_.pid());
    std::this_thread::sleep_for(options_.idle);
    const Usage after = UsageOf(etcd_.pid());
    const auto seconds = static_cast<double>(options_.idle.count());
    // Each node keeps its session alive at 4/5 to all of a third of its time
    // to live.
    const double keep_alives =
        options_.nodes * seconds /
        (0.9 * static_cast<double>(options_.session_ttl.count()) / 3);
    figures_["etcd"]["idle_cpu_share"] = (after.cpu_s - before.cpu_s) / seconds;
    figures_["etcd"]["cpu_us_per_keep_alive"] =
        1e6 * (after.cpu_s - before.cpu_s) / keep_alives;
    figures_["etcd"]["rss_after_bytes"] = after.rss_bytes;
  }

  void Restart() {
    etcd_.Kill();
    std::this_thread::sleep_for(options_.outage);
    complete_ = complete_ &&
                std::none_of(nodes_.begin(), nodes_.end(),
                             [](const auto& node) { return node->Watches(); });
    etcd_.Start();
    const Time began = steady_clock::now();
    AwaitAll([](SimulatedNode& node) { return node.Watches(); });
    const double watches_s = Seconds(began, steady_clock::now());
    AwaitAll([](SimulatedNode& node) { return node.HasSession(); });
    AwaitPresence();
    figures_["restart"] = {{"outage_s", options_.outage.count()},
                           {"watches_s", watches_s},
                           {"sessions_s", Seconds(began, steady_clock::now())}};
    // They hear of what is new.
    std::vector<Promotion> round;
    for (int i = 0; i < options_.classes; ++i)
      round.push_back(Promote(i, kernel_names_[0]));
    std::vector<double> waits;
    Await(round, &waits);
    figures_["restart"]["next_table"] = Summary(std::move(waits));
    figures_["restart"]["etcd_cpu_s"] = UsageOf(etcd_.pid()).cpu_s;
    options_.note("after a restart: " + figures_["restart"].dump());
  }

  // Without etcd, so that no node waits for the end of its session.
  void End() {
    etcd_.Kill();
    std::vector<std::thread> threads;
    for (size_t first = 0; first < 16; ++first) {
      threads.emplace_back([this, first] {
        for (size_t i = first; i < nodes_.size(); i += 16) nodes_[i].reset();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  const FleetSimulationOptions options_;
  const TestFolder folder_;
  std::vector<std::string> kernel_names_;
  DiskKernelCatalog kernels_{{folder_ / "kernels"}};
  TestEtcd etcd_;
  Arrivals arrivals_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
  int promoted_ = 0;
  bool complete_ = true;
  nlohmann::json figures_;
};

}  // namespace

nlohmann::json SimulateFleet(const FleetSimulationOptions& options) {
  return FleetSimulation(options).Run();
}

}  // namespace wavetune::testing
