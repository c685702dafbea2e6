// FleetTables: a node's serving tables and the fleet's heads, brought together.
//
//   FleetTables fleet({.registry = &registry, .tables = &catalog, …});
//   RETURN_IF_ERROR(fleet.Start());
//
// It watches the heads of the classes of this node's devices, and takes the
// step that fleet_step.h names for each:
//
// - It adopts a head that is signed by who may and newer than its own. The
//   payload is fetched once, after a random wait, judged as an imported table,
//   and served.
// - It publishes what a job of this node promoted: payload and head in one
//   commit that expects the head that was there. Whoever loses adopts the
//   winner; its own table stays a candidate.
// - It gives a newer head back to a registry that has lost it.
// - It signs anew what it serves of a key that is revoked, and that a table is
//   wrong, so that a rotation of keys takes nothing away.
// - It moves no head that is frozen, and serves no table that a node of the
//   class found wrong (fleet_orders.h); what it finds wrong itself it tells.
//
// Thread safety: thread-safe; one thread of its own waits for the network.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_TABLES_H_
#define WAVETUNE_SERVER_FLEET_FLEET_TABLES_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/signing_key.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/table_admission.h"
#include "server/catalog/table_catalog.h"
#include "server/fleet/fleet_head.h"
#include "server/fleet/fleet_orders.h"
#include "server/fleet/fleet_registry.h"
#include "server/fleet/fleet_rollout.h"
#include "server/fleet/fleet_step.h"
#include "server/fleet/fleet_trust.h"
#include "server/fleet/fleet_view.h"
#include "server/store/fleet_head_store.h"

namespace wavetune {

class FleetTables {
 public:
  // Heads of one class; entries beyond that are left out.
  static constexpr size_t kMostHeads = 1000;
  static constexpr size_t kMostHeadBytes = 16 << 10;
  // Payloads of a head that stay in the registry: its own, and those before it
  // for who is late and for a rollback. Whoever writes a head deletes the rest.
  static constexpr size_t kPayloadsKept = 3;
  // For one kernel.
  static constexpr size_t kMostWithdrawals = 100;

  // Pointers outlive the object.
  struct Options {
    FleetRegistry* registry = nullptr;
    TableCatalog* tables = nullptr;
    AgentDirectory* devices = nullptr;
    const TableAdmission* admission = nullptr;
    FleetHeadStore* accepted = nullptr;
    Clock* clock = nullptr;
    std::string fleet;  // Its name.
    std::string node;   // This node's in it.
    FleetTrust trust;
    // nullptr: this node publishes nothing.
    std::shared_ptr<const SigningKey> key;
    // What many nodes would do at once, each does after a random part of it.
    std::chrono::milliseconds jitter{1000};
    // Between looks at the devices; and the first wait after a failure, which
    // grows to a minute.
    std::chrono::milliseconds look_interval{2000};
    // How a table of this node's own goes to the others; no stages: at once.
    // Errors: UNAVAILABLE while that is not known.
    std::function<absl::StatusOr<RolloutPlan>(const ProfileKey&,
                                              const std::string& digest)>
        rollout_of =
            [](const ProfileKey&, const std::string&) { return RolloutPlan(); };
    // What speaks against a table that serves here on trial; empty: nothing.
    std::function<std::string(const ProfileKey&, const std::string& digest)>
        trial_problem =
            [](const ProfileKey&, const std::string&) { return std::string(); };
    // Hears that another node's table serves here; `replaced`: where it is on
    // trial, the digest of what the class has instead. Empty: it has nothing,
    // or this.
    std::function<void(const ProfileKey&, const std::string& digest,
                       const std::string& replaced)>
        adopted =
            [](const ProfileKey&, const std::string&, const std::string&) {};
    // Hears once of each rollout that was halted.
    std::function<void(const FleetHead&, const std::string& why)> halted =
        [](const FleetHead&, const std::string&) {};
    // Hears of a table of this node's own that another one was ahead of.
    std::function<void(const TableRecord& own, const FleetHead& winner)> lost =
        [](const TableRecord&, const FleetHead&) {};
    // Hears of what changes: an outage, a head that cannot serve here.
    std::function<void(bool warning, const std::string&)> log =
        [](bool, const std::string&) {};
  };

  // A rollout of one of this node's classes.
  struct Rollout {
    FleetRollout rollout;
    int64_t revision = 0;       // Its entry's.
    std::string driver;         // The node that drives it; empty: none does.
    int64_t head_revision = 0;  // The class's head's now; 0: it has none.
    // A later head is there: it leads to nothing any more.
    bool overtaken = false;
    // Why it was halted before, whatever its entry says now; empty: it was not.
    std::string halted_before;
  };

  explicit FleetTables(Options options);
  ~FleetTables();  // Stops.

  // Reads the accepted heads, and begins. What a key signed that is trusted no
  // longer was never accepted. Errors: the store's.
  absl::Status Start();
  // Stops the registry, too. The catalog may still tell of changes.
  void Stop();

  // The list of trusted keys was replaced (FleetTrust::Replace): what the
  // registry has is judged anew, and what counts no more is as if it had never
  // been accepted. What serves stays until something takes its place; nodes
  // that serve it sign it anew, unless its key was misused.
  void JudgeAnew();

  FleetView View();
  // Returns why the watches hear nothing; empty: they do, or there are none.
  std::string outage();

  // Returns the digest of the head that the registry has for a class, kernel
  // and fingerprint; empty: it has none that is good. Errors: UNAVAILABLE while
  // this node does not know.
  absl::StatusOr<std::string> HeadOf(const ProfileKey& key);
  // The same, and where it has none, of the table of a rollout, also of one
  // that was halted: what the fleet has found for the class.
  absl::StatusOr<std::string> TableOf(const ProfileKey& key);
  // Returns the rollouts whose signatures are good.
  std::vector<Rollout> Rollouts();
  // Return what a driver writes: a rollout's entry in another stage, and the
  // head that is at its end. Errors: FAILED_PRECONDITION without a key;
  // PERMISSION_DENIED where this node's key may not sign.
  absl::StatusOr<std::string> StageOf(FleetRollout rollout) const;
  absl::StatusOr<std::string> FinalHeadOf(const FleetRollout& rollout) const;
  // Whether this node serves a table for its devices of that key.
  bool Serves(const ProfileKey& key, const std::string& digest) const;

  // Returns why the rollout of a table was halted, where it is the last halted
  // one of its kernel and class. Nothing else, and where the class has accepted
  // the table since.
  std::string WhyHalted(const TableRecord& table);

  // What an operator has the fleet serve.
  struct Order {
    TableRecord table;  // Its key's class is the class.
    std::string by;     // Who wants it, and why; for people.
    std::string why;
    // It served before: it is frozen with the same commit, so that no job puts
    // the one after it back.
    bool rolled_back = false;
    // Then: what the class had accepted before it.
    std::vector<FleetHead> before = {};
  };
  // What a rollback goes back to.
  struct Earlier {
    FleetHead head;
    FleetHead serving;  // What the class has.
    // A rollout is under way: it is halted, and the class's head stays.
    bool halts = false;
  };
  // Returns it of a kernel and class: what the class had accepted before what
  // it has, or of that the one of `digest` (as RollbackTarget's). Also one that
  // `history`, the past of this node, has accepted of the fleet or found
  // itself, but for halted ones, where `digest` names it. A table on trial is
  // no past: meanwhile a rollback goes to the head. Errors: NOT_FOUND where
  // there is none. ALREADY_EXISTS where the class has it, also where a rollout
  // was just halted. FAILED_PRECONDITION where it is frozen, and as Publish.
  // INVALID_ARGUMENT for too short a digest. The registry's.
  absl::StatusOr<Earlier> FindEarlier(const std::string& fleet_class,
                                      const std::string& kernel,
                                      const std::string& digest,
                                      const std::vector<TableRecord>& history);
  // Returns the table of a head as it would serve here; it is in this node's
  // store, or in the registry. Errors: as for one that is adopted.
  absl::StatusOr<TableRecord> RecordOf(const FleetHead& head);
  // Halts the rollout of a kernel, and freezes it: the class keeps its head.
  // Errors: as Publish; NOT_FOUND where there is none.
  absl::Status Halt(const Order& order);
  // Makes a table the fleet's, with the next epoch; every node of the class
  // follows, this one too. Returns the head. Errors: FAILED_PRECONDITION
  // without a key, where it is frozen, was withdrawn, or the head is of a key
  // that this node does not know. PERMISSION_DENIED where this node's key may
  // not sign. ALREADY_EXISTS where it is the fleet's. ABORTED where another
  // node was ahead. The registry's.
  absl::StatusOr<FleetHead> Publish(const Order& order);

  // Has nobody move the head of a kernel, whatever jobs find. Errors:
  // ALREADY_EXISTS where it is frozen; the registry's.
  absl::Status Freeze(const std::string& fleet_class, const std::string& kernel,
                      const std::string& by, const std::string& why);
  // Errors: NOT_FOUND where it is not frozen; ABORTED where somebody changed it
  // meanwhile; the registry's.
  absl::Status Unfreeze(const std::string& fleet_class,
                        const std::string& kernel);

 private:
  using Counts = FleetView::Counts;
  using Time = std::chrono::steady_clock::time_point;

  // What an entry of the registry is, as far as it was looked at.
  struct EntryVerdict {
    int64_t revision = 0;     // The entry's; 0: there was none.
    uint64_t trust_list = 0;  // By which list of trusted keys.
    HeadVerdict verdict = HeadVerdict::kNone;
    std::optional<SignedHead> head;  // Where it is good.
    std::string signer;
    std::string refused;    // Why it is not good; empty: it is, or is none.
    bool unusable = false;  // It cannot serve here.
    bool counted = false;   // Among the refused, for another reason.
  };

  // A rollout's entry, as far as it was looked at.
  struct Trial {
    int64_t revision = 0;
    std::optional<FleetRollout> rollout;  // Where who signed it may.
    EntryVerdict judged;                  // On its plan.
    bool served = false;                  // It has served here.
    std::string fault;  // Why it cannot, for a reason that is its own.
  };

  // One head's state. The thread reads a copy, as news may come.
  struct State {
    std::optional<FleetEntry> registered;  // What the registry has.
    EntryVerdict judged;                   // On that, or the one before.
    std::optional<SignedHead> accepted;
    // That was accepted, and whose key is revoked by now.
    std::optional<SignedHead> lapsed;
    StoredFleetHead stored;  // The accepted one, as it is in the store.
    std::string fetched;     // The payload of a head that is not accepted yet.
    std::string behind;
    std::optional<FleetEntry> rolled_out;  // The rollout that the registry has.
    std::string driver;                    // Who drives it.
    Trial trial;                           // The rollout's, or the one's
                                           // before.
    std::optional<FleetFreeze> frozen;
    // Signed by who may; the bound leaves out none of a table that serves here.
    std::map<std::string, SignedWithdrawal> withdrawn;  // By digest.
    // Digests: what this node obeyed, whose key is revoked by now.
    std::set<std::string> lapsed_withdrawals;
    bool withdrawn_left_out = false;
    // When to go on: with what many nodes do at once; with anything.
    Time calm_until{};
    Time retry_at{};
    std::shared_ptr<Backoff> backoff;  // While it fails.
  };
  struct Watched {
    std::unique_ptr<FleetRegistry::WatchHandle> heads;
    std::unique_ptr<FleetRegistry::WatchHandle> orders;
    std::unique_ptr<FleetRegistry::WatchHandle> rollouts;
    // What the registry has is known.
    bool heads_listed = false;
    bool orders_listed = false;
    bool rollouts_listed = false;
    uint64_t orders_trust_list = 0;  // By which list of trusted keys.
    bool listed() const {
      return heads_listed && orders_listed && rollouts_listed;
    }
  };
  using OwnTables = std::map<std::string, TableRecord>;  // By head's key.

  void Run();
  // Watches the classes of devices that are known by now.
  void WatchClasses();
  // Hears all orders again where other keys are trusted: those of other keys
  // were not kept.
  void WatchOrdersAnew();
  void OnNews(const std::string& fleet_class, const FleetNews& news,
              void (FleetTables::*take)(const std::string&, const FleetNews&));
  // Hold mutex_.
  void TakeHeads(const std::string& fleet_class, const FleetNews& news);
  void TakeOrders(const std::string& fleet_class, const FleetNews& news);
  // Calls `change` for each state of a class; returns how many there are.
  size_t ForEachOf(const std::string& fleet_class,
                   const std::function<void(State&)>& change);
  // Errors: that of who signed a withdrawal and may not.
  absl::StatusOr<FleetWithdrawal> Trusted(const SignedWithdrawal& read) const;
  // Whether it counted, as far as its key says, until that was revoked.
  bool IsLapsed(const SignedWithdrawal& read) const;
  // Returns who found a table wrong; nothing where nobody did who may say so.
  std::optional<FleetWithdrawal> WithdrawalOf(const State& state,
                                              const std::string& digest) const;
  // Ends tables that serve and were found wrong on another node; tells the
  // others of those found wrong on this one.
  void ObeyWithdrawals();
  void TellWithdrawals();
  absl::Status TellWithdrawal(const TableRecord& record);
  void TakeRollouts(const std::string& fleet_class, const FleetNews& news);
  // The newest of each key that this node measured and that serves.
  OwnTables FindOwnTables() const;
  // Takes the due step for one head now, and plans the next try.
  void Settle(const std::string& key, const OwnTables& own);
  absl::Status Take(FleetStep step, const std::string& key, const State& state,
                    const HeadFacts& facts, const TableRecord* own);
  EntryVerdict VerdictOf(const std::string& key,
                         const std::optional<FleetEntry>& entry) const;
  // Judges the registered entry, where that is another one.
  void Judge(const std::string& key, State& state, uint64_t trust_list);
  // Lets go of an accepted head that counts no more. Holds mutex_.
  void Lapse(State& state) const;
  void AddLapsed(const State& state, HeadFacts& facts) const;
  // Judges the registered rollout likewise, and adds it to the facts.
  void JudgeTrial(const std::string& key, State& state, uint64_t trust_list);
  void AddTrial(const std::string& key, State& state, HeadFacts& facts);
  void AddTrial(const State& state, FleetView::Standing& standing) const;
  // Reads a rollout; returns why it, or its stage, is refused.
  std::string ReadTrial(const FleetEntry& entry, Trial& trial) const;
  // Notes that a rollout was halted, also over a restart.
  void NoteHalt(const std::string& key, State& state);
  static bool IsHalted(const State& state);
  // Whether a head that is known is as late as the rollout's, or later.
  static bool IsOvertaken(const State& state);
  // Whether this node is to serve it, where nothing newer is there.
  bool IsChosenFor(const State& state) const;
  absl::Status Adopt(const std::string& key, const State& state);
  absl::Status Try(const std::string& key, const State& state);
  // The rollout has the table from now on, also over a restart: it is not
  // published beside it.
  absl::Status LeaveToRollout(const std::string& key, State& state,
                              const TableRecord& own);
  // The rest of an ended rollout, if it serves.
  std::optional<TableRecord> StrayOf(const std::string& key,
                                     const State& state) const;
  absl::Status GoBack(const std::string& key, const State& state);
  absl::Status SignAnew(const std::string& key, const State& state,
                        const HeadFacts& facts);
  absl::Status BeginRollout(const std::string& key, const State& state,
                            const FleetHead& head, const RolloutPlan& plan);
  // Fetches a head's table and has it serve; `how`: kFleet or kTrial. Returns
  // the catalog's answer.
  absl::StatusOr<TableCatalog::RolledBack> Serve(const std::string& key,
                                                 const State& state,
                                                 const EntryVerdict& judged,
                                                 PromotionKind how);
  absl::StatusOr<TableRecord> RecordOf(const FleetHead& head,
                                       const std::string& signer,
                                       const std::string& payload) const;
  // Errors: FAILED_PRECONDITION where a node found the table wrong, and there
  // was no place to keep that; the registry's.
  absl::Status CheckNotWithdrawn(const State& state, const FleetHead& head);
  absl::StatusOr<std::string> Fetch(const std::string& key, const State& state,
                                    const FleetHead& head);
  absl::Status KeepAsCandidate(const TableRecord& own, const FleetHead& winner);
  absl::Status Publish(const std::string& key, const State& state,
                       const HeadFacts& facts, const TableRecord& own);
  absl::Status Restore(const std::string& key, const State& state);
  // Returns a head of this node, signed. Errors: FAILED_PRECONDITION without a
  // key, and for an epoch that is too late; PERMISSION_DENIED where this node
  // itself would refuse it.
  struct NewHead {
    SignedHead head;
    std::string bytes;
  };
  absl::StatusOr<NewHead> MakeHead(const TableRecord& table,
                                   const HeadFacts& facts,
                                   const std::string& why,
                                   const std::vector<FleetHead>& before,
                                   bool rolled_back) const;
  // Errors: as MakeHead.
  absl::Status CheckHasKey() const;
  absl::Status CheckMaySign(const FleetHead& head) const;
  // Returns FleetHead::before of a new head.
  static std::vector<FleetHead> BeforeIn(const HeadFacts& facts,
                                         const std::string& digest);
  // Commits a head with its payload, where the registry lacks that, and with
  // `order`, and deletes payloads that are of no use any more.
  absl::Status Write(const std::string& key, const State& state,
                     const FleetHead& head, const std::string& bytes,
                     std::optional<FleetWrite> order = std::nullopt);
  absl::StatusOr<std::vector<FleetWrite>> PayloadWrites(const State& state,
                                                        const FleetHead& head);
  // What the registry has of a kernel and class now, for an order. Errors: as
  // Publish.
  absl::StatusOr<State> StateForOrder(const std::string& key);
  static HeadFacts FactsOf(const State& state);
  FleetFreeze FreezeOf(const Order& order, const std::string& what) const;
  // An entry read before the watch tells it; keeps a newer one.
  static void SetRegistered(State& now, const State& before,
                            std::optional<FleetEntry> entry);
  // ABORTED where the registry's head is another one by now.
  absl::Status LookAgain(const std::string& key, const State& state);
  absl::Status Accept(const std::string& key, const SignedHead& head,
                      const StoredFleetHead& stored);
  // Where this node serves it for the class: its record.
  std::optional<TableRecord> ServingOf(const FleetHead& head) const;
  // Environments of the devices of a silicon that are attached, or where none
  // is, were seen; the classes of all of these.
  std::set<std::string> EnvironmentsOf(const std::string& silicon_key) const;
  std::set<std::string> ClassesNow() const;
  // Whether the head's table serves under an environment that none of these
  // devices has.
  bool IsMisplaced(const FleetHead& head) const;
  void Count(int64_t Counts::*counter);
  // Tells where it is new.
  void SetBehind(const std::string& key, const std::string& why);
  // Counts once for each judgement.
  void RefuseFor(const std::string& key, int64_t Counts::*counter);
  std::chrono::milliseconds RandomWait();  // Holds mutex_.

  const Options options_;
  TableCatalog::Handle catalog_handle_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool stopping_ = false;
  bool awake_ = true;
  std::map<std::string, State> heads_;  // By key.
  std::map<std::string, Watched> classes_;
  std::string outage_;
  Counts counts_;
  uint64_t trust_lists_ = 0;  // Grows with each list of trusted keys.
  Time tell_withdrawals_at_{};
  std::mt19937_64 random_{std::random_device{}()};
  std::thread thread_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_TABLES_H_
