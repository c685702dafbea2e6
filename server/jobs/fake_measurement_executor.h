// FakeMeasurementExecutor: a device whose latencies come from a function, with
// failures on request. FakeExecutorDirectory: who is attached.
// FakeKernelCatalog: kernels made of specs.
//
//   FakeMeasurementExecutor device({.facts = facts,
//                                   .latency_us = SyntheticLatency(&spec,
//                                   64)});
//   device.CrashOn({128, 64});
//   FakeExecutorDirectory directory;
//   directory.Attach(&device);
//
// Thread safety: thread-safe; hooks run on the calling thread, without locks.
#ifndef WAVETUNE_SERVER_JOBS_FAKE_MEASUREMENT_EXECUTOR_H_
#define WAVETUNE_SERVER_JOBS_FAKE_MEASUREMENT_EXECUTOR_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "server/catalog/kernel_catalog.h"
#include "server/jobs/measurement_executor.h"

namespace wavetune {

// Latency in microseconds of a configuration at a problem.
using LatencyFunction =
    std::function<double(const Configuration&, const Problem&)>;

// Returns a latency with waves: start-up + waves * (launch + L * cost of an
// iteration), where larger tiles cost more per iteration but less per element.
// `spec` outlives the function.
LatencyFunction SyntheticLatency(const KernelSpec* spec,
                                 int64_t tiles_per_wave);

class FakeMeasurementExecutor : public MeasurementExecutor {
 public:
  struct Options {
    DeviceFacts facts;
    LatencyFunction latency_us;
    int64_t tiles_per_wave = 64;
    double peer_us = 42;  // That of every vendor library.
  };

  explicit FakeMeasurementExecutor(Options options);

  DeviceFacts device() const override;
  absl::Status Prepare(const KernelFiles& kernel,
                       const std::string& specialisation,
                       const std::vector<Configuration>& configurations,
                       const std::vector<Problem>& correctness_problems,
                       IfBusy if_busy,
                       const CandidateCallback& on_candidate) override;
  absl::Status Measure(const KernelFiles& kernel,
                       const std::vector<MeasureItem>& items, IfBusy if_busy,
                       const OutcomeCallback& on_outcome) override;
  // Waits for nothing.
  std::string AwaitIdle(double timeout_s) override;
  std::string WhyHot() override;
  void AcknowledgeStored(int64_t count) override;
  void CancelBatch() override;

  void SetFacts(DeviceFacts facts);
  // Does not compile, for this reason.
  void Refuse(const Configuration& configuration, const std::string& reason);
  // Cannot be prepared, as something ran out; an empty reason: it can again.
  void Exhaust(const Configuration& configuration, const std::string& reason);
  // Computes wrong results from its n-th check on (1: always), as a race that
  // is won for a while.
  void ComputeWrong(const Configuration& configuration, int from_check = 1);
  // Compiles, but takes its worker down when measured.
  void CrashOn(const Configuration& configuration);
  // The same, at this problem only, for every candidate.
  void CrashAt(const Problem& problem);
  // Cannot be measured at this problem, whatever the candidate.
  void FailAt(const Problem& problem, const std::string& reason);
  // After so many more reports (candidates and samples) calls end as
  // UNAVAILABLE, until Restore.
  void LoseAfter(int64_t reports);
  void Restore();
  // Others use the device, for this reason (empty: not any more).
  void SetBusy(const std::string& reason);
  // It is hot, for this reason (empty: not any more).
  void SetHot(const std::string& reason);
  // From now on launches take so many times as long.
  void SetSlower(double factor);
  // Called by AwaitIdle before it answers, with whether it is busy.
  void OnAwaitIdle(std::function<void(bool busy)> hook);
  // From now on the device is throttled, for these reasons (0: not any more).
  void Throttle(uint32_t reasons);
  // Called before every report.
  void OnReport(std::function<void()> hook);

  int64_t prepared() const { return prepared_.load(); }
  int64_t measured() const { return measured_.load(); }
  int64_t acknowledged() const { return acknowledged_.load(); }
  int64_t cancels() const { return cancels_.load(); }
  // Every item measured so far, in order.
  std::vector<MeasureItem> items() const;

 private:
  // Returns what ends the batch now, or OK.
  absl::Status BeforeReport(IfBusy if_busy);
  void AddThrottling(Sample& sample) const;
  void MakeSlower(Sample& sample) const;

  const Options options_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  DeviceFacts facts_;
  std::map<Configuration, std::string> refused_;
  std::map<Configuration, std::string> exhausted_;
  std::map<Configuration, int> wrong_from_;
  std::map<Configuration, int> checks_;  // Checks of each so far.
  std::map<Configuration, bool> crashing_;
  std::map<Problem, std::string> failing_;
  std::set<Problem> crashing_at_;
  int64_t reports_left_ = -1;  // Negative: no limit.
  bool cancelled_ = false;
  uint32_t throttle_reasons_ = 0;
  std::string busy_;
  std::string hot_;
  double slower_ = 1;
  std::function<void(bool)> idle_hook_;
  std::function<void()> hook_;
  std::vector<MeasureItem> items_;

  std::atomic<int64_t> prepared_ = 0;
  std::atomic<int64_t> measured_ = 0;
  std::atomic<int64_t> acknowledged_ = 0;
  std::atomic<int64_t> cancels_ = 0;
};

class FakeExecutorDirectory : public ExecutorDirectory {
 public:
  std::shared_ptr<MeasurementExecutor> Find(const std::string& device_uuid,
                                            double timeout_s) override;
  std::string WhyUnusable(const std::string& device_uuid) override;
  std::vector<std::string> Attached() override;

  // What WhyUnusable says.
  void Explain(const std::string& why);
  // `executor` outlives the directory.
  void Attach(MeasurementExecutor* executor);
  void Detach(const std::string& device_uuid);
  // Called where Find would wait; it waits for nothing else.
  void OnWait(std::function<void()> hook);

 private:
  MeasurementExecutor* Lookup(const std::string& device_uuid);

  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, MeasurementExecutor*> attached_;
  std::string why_;
  std::function<void()> hook_;
};

class FakeKernelCatalog : public KernelCatalog {
 public:
  // Adds or replaces a kernel. The fingerprint on a device is
  // SHA-256("name version compiler").
  void Add(const KernelSpec& spec, const std::string& version = "1");

  absl::StatusOr<std::shared_ptr<const TunableKernel>> Get(
      const std::string& name, const DeviceFacts& device) override;
  absl::StatusOr<std::shared_ptr<const KernelSpec>> Spec(
      const std::string& name) override;
  absl::StatusOr<std::string> Fingerprint(const std::string& name,
                                          const DeviceFacts& device) override;
  std::vector<std::string> Names() override;
  uint64_t Revision() const override { return revision_.load(); }
  void Reload() override;

  // A kernel's files were edited: the next Reload reads them.
  void EditOnReload(const std::string& name);
  int reloads();

 private:
  struct Entry {
    std::shared_ptr<const KernelSpec> spec;
    std::string version;
    bool edited = false;
  };
  std::atomic<uint64_t> revision_ = 0;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, Entry> kernels_;
  int reloads_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_FAKE_MEASUREMENT_EXECUTOR_H_
