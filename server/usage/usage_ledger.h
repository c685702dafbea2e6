// UsageLedger: how often which kernel decides how well for which problem, over
// all clients of the node.
//
//   UsageLedger ledger(&store, &clock, {}, warn);
//   RETURN_IF_ERROR(ledger.Load());
//   ledger.Add(report);                                   // from clients
//   ledger.Problems("gemm", silicon_key);                 // for a profile
//   ledger.Flush();                                       // before the end
//
// Weights halve every half_life_s: today's use counts. Everything is bounded:
// kMostRecords records, of which the least used makes room; kMostProblems
// problems each (usage/heavy_hitters.h); one write per record and
// flush_interval_s.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_USAGE_USAGE_LEDGER_H_
#define WAVETUNE_SERVER_USAGE_USAGE_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "model/kernel/weighted_problem.h"
#include "server/store/usage_store.h"
#include "server/usage/usage_record.h"
#include "usage/heavy_hitters.h"

namespace wavetune {

// What one client says of one table, checked.
struct UsageReport {
  std::string kernel;
  std::string silicon_key;
  std::string specialisation;
  std::string digest;    // Empty: no table.
  bool serving = false;  // `digest` is what serves for the kernel and silicon.
  UsageWeights counts;
  std::vector<HeavyHitters::Entry> problems;
};

class UsageLedger {
 public:
  static constexpr size_t kMostRecords = 256;
  static constexpr size_t kMostProblems = 256;
  static constexpr size_t kMostSpecialisations = 64;
  // Fewer decisions say nothing about use.
  static constexpr double kFewestDecisions = 1000;

  struct Options {
    double half_life_s = 86400;
    double flush_interval_s = 60;
    // Hears of every report that is added; must not wait.
    std::function<void(const UsageReport&)> on_report = nullptr;
  };
  using Warn = std::function<void(const std::string&)>;

  // Store and clock outlive the ledger; without a store (nullptr) nothing
  // survives it. `warn` hears of records that could not be written: counting
  // goes on.
  UsageLedger(UsageStore* store, Clock* clock, Options options, Warn warn);

  // Reads the stored records. Errors: the store's.
  absl::Status Load();

  // Counts a report, and now and then writes the changes. Cannot fail.
  void Add(const UsageReport& report);

  // Returns the record of a kernel on silicon, decayed to now.
  std::optional<UsageRecord> Find(const std::string& kernel,
                                  const std::string& silicon_key);
  // The same without its problems, for what looks with every report.
  std::optional<UsageRecord> FindCounts(const std::string& kernel,
                                        const std::string& silicon_key);
  // Returns all records, decayed to now, most used first.
  std::vector<UsageRecord> List();

  // Returns the problems asked for, for WithUsage
  // (usage/usage_weights.h): each with what it was asked for at least.
  // Empty below kFewestDecisions.
  std::vector<WeightedProblem> Problems(const std::string& kernel,
                                        const std::string& silicon_key);

  // Seconds after which a decision counts half.
  double half_life_s() const { return options_.half_life_s; }

  // Notes that a top-up was queued (or puts the earlier note back, where it
  // was not, after all), and writes that at once: a restart must not queue
  // another.
  void SetRefined(const std::string& kernel, const std::string& silicon_key,
                  const TopUp& refined);

  // Writes the changes.
  void Flush();

  // Reports since the start.
  int64_t reports() const;

 private:
  using Key = std::pair<std::string, std::string>;
  struct Used {
    UsageRecord record;  // Without problems, which are in the sketch.
    HeavyHitters problems{kMostProblems};
    bool changed = false;  // Since it was written.
  };

  // All hold mutex_.
  Used& Get(const Key& key);
  // Decayed; nullptr where there is none.
  const Used* Find(const Key& key);
  void EvictLightest();
  void Decay(Used& used, int64_t now_us) const;
  // What the store has not heard of yet.
  struct Changes {
    std::vector<UsageRecord> records;
    std::set<Key> evicted;
  };
  Changes TakeChanges();
  static UsageRecord Whole(const Used& used);

  // Without mutex_, which readers take: the disk may be slow.
  void Write(const Changes& changes);
  void Delete(const std::set<Key>& evicted);

  UsageStore* const store_;
  Clock* const clock_;
  const Options options_;
  const Warn warn_;
  mutable std::mutex mutex_;
  std::mutex write_mutex_;  // Serialises writing; taken before mutex_.
  // Guarded by mutex_.
  std::map<Key, Used> used_;
  std::set<Key> evicted_;  // Still in the store.
  int64_t flushed_at_us_ = 0;
  int64_t reports_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_USAGE_USAGE_LEDGER_H_
