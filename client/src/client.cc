#include "wavetune/client.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "client/src/client_settings.h"
#include "client/src/daemon_link.h"
#include "client/src/event_log.h"
#include "client/src/fork_guard.h"
#include "client/src/kernel_defaults.h"
#include "client/src/table_cache.h"
#include "client/src/table_files.h"
#include "client/src/table_finder.h"
#include "client/src/table_slot.h"
#include "client/src/table_watcher.h"
#include "client/src/tuner_slots.h"
#include "client/usage/usage_reporter.h"
#include "formats/config_text.h"
#include "formats/expert_routing.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/kernel_match.h"

namespace wavetune {
namespace {

using Kind = ClientEvent::Kind;
using Links = std::vector<std::unique_ptr<DaemonLink>>;

constexpr size_t kMinFingerprintPrefix = 8;
constexpr std::chrono::milliseconds kFirstWait(50);
constexpr std::chrono::seconds kLongestWait(5);
constexpr double kDrainIntervalS = 2;

absl::StatusOr<Links> OpenLinks(const ClientSettings& settings) {
  Links links;
  if (settings.mode == ClientMode::kOffline) return links;
  for (const std::string& endpoint : settings.endpoints) {
    ASSIGN_OR_RETURN(std::unique_ptr<DaemonLink> link,
                     DaemonLink::Open(endpoint, settings.timeout_s));
    links.push_back(std::move(link));
  }
  return links;
}

absl::StatusOr<TableFiles> ReadFiles(const ClientSettings& settings) {
  if (settings.table_file.empty()) return TableFiles();
  absl::StatusOr<TableFiles> files = TableFiles::Read(settings.table_file);
  if (files.ok()) return files;
  return absl::InvalidArgumentError(
      absl::StrCat(settings.table_file_given_as, " is \"", settings.table_file,
                   "\": ", files.status().message()));
}

TableFinder::Daemons Pointers(const Links& links) {
  TableFinder::Daemons daemons;
  for (const auto& link : links) daemons.push_back(link.get());
  return daemons;
}

TunerIdentity IdentityOf(const std::string& kernel, const TunerOptions& options,
                         KernelDefaults defaults) {
  return {.kernel = kernel,
          .specialisation = options.specialisation,
          .device = options.device,
          .fingerprint = options.fingerprint,
          .parameters = std::move(defaults.parameters),
          .dimensions = std::move(defaults.dimensions)};
}

// Returns what reports use to the node's daemon; nullptr where nobody does.
std::shared_ptr<UsageReporter> MakeReporter(const ClientSettings& settings,
                                            const Links& links) {
  if (!settings.usage_feedback || links.empty()) return nullptr;
  return std::make_shared<UsageReporter>(
      links[0]->MakeUsageSender(),
      UsageReporter::Options{.drain_interval_s = std::min(
                                 kDrainIntervalS, settings.usage_interval_s),
                             .send_interval_s = settings.usage_interval_s,
                             .timeout_s = settings.timeout_s});
}

// Tables may come to a tuner that has outlived its client: then nobody counts.
// `born`: the fork generation of the reporter. In a child, also for tuners of
// the child, its thread is not there, and its locks may be locked for ever.
TableSlot::RecorderSource RecordersOf(
    const std::shared_ptr<UsageReporter>& reporter, uint32_t born) {
  if (reporter == nullptr) return nullptr;
  return [weak = std::weak_ptr(reporter), born](
             const TunerIdentity& identity,
             const TableState& state) -> std::shared_ptr<UsageRecorder> {
    if (born != ForkGeneration()) return nullptr;
    const std::shared_ptr<UsageReporter> reports = weak.lock();
    if (reports == nullptr) return nullptr;
    return reports->Recorder(
        {.kernel = identity.kernel,
         .device_uuid = identity.device,
         .silicon_key =
             state.table == nullptr ? "" : state.table->table().silicon_key,
         .digest = state.digest(),
         .specialisation = identity.specialisation,
         .dimensions = identity.dimensions});
  };
}

DeclaredWorkload DeclaredOf(const v1::AddWorkloadResponse& response) {
  const v1::WorkloadInfo& info = response.workload();
  DeclaredWorkload declared{
      .architecture = info.architecture(),
      .unchanged = response.unchanged(),
      .notes = {info.notes().begin(), info.notes().end()}};
  for (const v1::WorkloadKernel& kernel : info.kernels()) {
    declared.problems[kernel.kernel()] = kernel.problems();
  }
  return declared;
}

absl::StatusOr<KernelDefaults> DefaultsOfManifest(const std::string& kernel,
                                                  const TunerOptions& options) {
  ASSIGN_OR_RETURN(const KernelSpec spec,
                   SpecOfManifest(options.manifest, kernel));
  return DefaultsOf(spec, {}, options.specialisation);
}

TableState StateOf(const KernelDefaults& defaults) {
  return {
      .default_configuration = defaults.configuration,
      .default_reason = defaults.reason,
      .default_unusable = defaults.reason == DefaultReason::kDefaultUnusable};
}

}  // namespace

class Client::Impl {
 public:
  Impl(ClientSettings settings, Links links, TableFiles files)
      : settings_(std::move(settings)),
        links_(std::move(links)),
        files_(std::move(files)),
        cache_(settings_.cache_dir),
        reporter_(MakeReporter(settings_, links_)),
        finder_(Pointers(links_), &cache_, &files_, log_.get()),
        slots_(&finder_, log_.get()),
        pin_(settings_.pinned_set) {
    if (!cache_.problem().ok())
      log_->Add(Kind::kRefused, "", "", cache_.problem());
    if (settings_.cache_problem.empty()) return;
    log_->Add(Kind::kCacheProblem, "", "",
              absl::UnavailableError(settings_.cache_problem));
  }

  // Finds the set that is pinned by its digest. Before anything else.
  absl::Status LoadPin() {
    if (settings_.pinned_set_digest.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(pin_, finder_.FindSet(settings_.pinned_set_digest));
    return absl::OkStatus();
  }

  absl::StatusOr<Tuner> GetTuner(const std::string& kernel,
                                 TunerOptions options);
  absl::StatusOr<std::vector<std::string>> GetKernels() const {
    return finder_.FindKernels();
  }
  absl::StatusOr<KernelSpec> GetSpec(const std::string& kernel) const {
    return finder_.FindSpec(kernel);
  }
  absl::StatusOr<OfferedTable> FindTable(const std::string& kernel,
                                         TunerOptions options) const;
  absl::StatusOr<TableSet> GetTableSet() const;
  absl::StatusOr<std::string> PublishTableSet();
  absl::Status StageTableSet(const std::string& digest);
  absl::StatusOr<DeclaredWorkload> AddWorkload(absl::string_view name,
                                               absl::string_view config,
                                               const WorkloadOptions& options);
  absl::Status ActivateTableSet(const std::string& digest);
  int StepBoundary() const;
  bool watching();

  const ClientSettings& settings() const { return settings_; }
  const EventLog& log() const { return *log_; }

  // Whether this is a fork's copy of what belongs to the parent.
  bool inherited() const { return born_ != ForkGeneration(); }

 private:
  absl::Status ApplyPin(const std::string& kernel, TunerOptions* options) const;
  // Where there is no table, and why.
  absl::StatusOr<KernelDefaults> FindDefaults(const std::string& kernel,
                                              const TunerOptions& options,
                                              const absl::Status& why) const;
  // With kOff.
  absl::StatusOr<KernelDefaults> FindDefaultsOnly(
      const std::string& kernel, const TunerOptions& options) const;
  // Returns the manifest that the program names; nullptr: none that can be
  // read, which is an event.
  std::shared_ptr<const KernelSpec> ManifestOf(
      const std::string& kernel, const TunerOptions& options) const;
  // Returns the table that is found. Errors: as TableFinder::Find; DATA_LOSS
  // for one that the manifest does not allow, which is an event.
  absl::StatusOr<OfferedTable> FindLegal(const std::string& kernel,
                                         const TunerOptions& options,
                                         const KernelSpec* manifest) const;
  Tuner MakeTuner(TunerIdentity identity, const TunerOptions& options,
                  const TableState& first, uint64_t news_before,
                  std::shared_ptr<const KernelSpec> manifest = nullptr);
  // Says once, in an event, what a forked process has of its parent's client.
  void NoteFork();
  void StartWatch();
  void Remember(const TableSet& set);

  const uint32_t born_ = ForkGeneration();
  const ClientSettings settings_;
  const Links links_;
  const TableFiles files_;
  const TableCache cache_;
  const std::shared_ptr<EventLog> log_ = std::make_shared<EventLog>();
  const std::shared_ptr<UsageReporter> reporter_;  // nullptr: nobody counts.
  const TableFinder finder_;
  TunerSlots slots_;
  std::optional<TableSet> pin_;
  ForkSafeMutex mutex_;
  // Guarded by mutex_.
  uint32_t noted_fork_ = born_;
  std::map<std::string, TableSet> known_sets_;
  std::unique_ptr<TableWatcher> watcher_;  // Last: it uses all of the above.
};

absl::Status Client::Impl::ApplyPin(const std::string& kernel,
                                    TunerOptions* options) const {
  if (!pin_) return absl::OkStatus();
  const auto entry = pin_->tables().find(kernel);
  if (entry == pin_->tables().end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the pinned table set has no table of kernel \"", kernel,
                     "\"; it is ", pin_->ToString()));
  }
  if (!options->digest.empty() && options->digest != entry->second) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the pinned table set has table ", entry->second, " of kernel \"",
        kernel, "\", asked for was ", options->digest));
  }
  options->digest = entry->second;
  return absl::OkStatus();
}

absl::StatusOr<Tuner> Client::Impl::GetTuner(const std::string& kernel,
                                             TunerOptions options) {
  if (!options.fingerprint.empty() &&
      options.fingerprint.size() < kMinFingerprintPrefix) {
    return absl::InvalidArgumentError(
        absl::StrCat("fingerprint \"", options.fingerprint,
                     "\" is too short; give at least ", kMinFingerprintPrefix,
                     " characters"));
  }
  if (inherited()) NoteFork();
  const uint64_t news = slots_.news();
  if (settings_.mode == ClientMode::kOff) {
    ASSIGN_OR_RETURN(KernelDefaults defaults,
                     FindDefaultsOnly(kernel, options));
    const TableState state = StateOf(defaults);
    options.activation = ActivationPolicy::kPinned;
    return MakeTuner(IdentityOf(kernel, options, std::move(defaults)), options,
                     state, news);
  }
  RETURN_IF_ERROR(ApplyPin(kernel, &options));
  const std::shared_ptr<const KernelSpec> manifest =
      ManifestOf(kernel, options);
  const absl::StatusOr<OfferedTable> found =
      FindLegal(kernel, options, manifest.get());
  if (!found.ok()) {
    ASSIGN_OR_RETURN(KernelDefaults defaults,
                     FindDefaults(kernel, options, found.status()));
    const TableState state = StateOf(defaults);
    return MakeTuner(IdentityOf(kernel, options, std::move(defaults)), options,
                     state, news, manifest);
  }
  ASSIGN_OR_RETURN(const TableState state,
                   StateOf(*found, options.specialisation));
  ASSIGN_OR_RETURN(KernelDefaults defaults,
                   DefaultsOf(found->table->table(), options.specialisation));
  return MakeTuner(IdentityOf(kernel, options, std::move(defaults)), options,
                   state, news, manifest);
}

std::shared_ptr<const KernelSpec> Client::Impl::ManifestOf(
    const std::string& kernel, const TunerOptions& options) const {
  if (options.manifest.empty()) return nullptr;
  absl::StatusOr<KernelSpec> spec = SpecOfManifest(options.manifest, kernel);
  if (spec.ok()) return std::make_shared<const KernelSpec>(*std::move(spec));
  log_->Add(Kind::kRefused, kernel, options.digest, spec.status());
  return nullptr;
}

absl::StatusOr<OfferedTable> Client::Impl::FindLegal(
    const std::string& kernel, const TunerOptions& options,
    const KernelSpec* manifest) const {
  absl::StatusOr<OfferedTable> found = finder_.Find(kernel, options);
  if (!found.ok() || manifest == nullptr) return found;
  const absl::Status legal = CheckChoices(*manifest, found->table->table());
  if (legal.ok()) return found;
  const std::string digest = found->table->digest();
  found = absl::DataLossError(
      absl::StrCat("table ", ShortDigest(digest), " of kernel \"", kernel,
                   "\" is not taken, as ", options.manifest,
                   " does not allow what it answers: ", legal.message()));
  log_->Add(Kind::kRefused, kernel, digest, found.status());
  return found;
}

absl::StatusOr<KernelDefaults> Client::Impl::FindDefaults(
    const std::string& kernel, const TunerOptions& options,
    const absl::Status& why) const {
  // Who asks for a version or a table does not want a default instead.
  if (!options.digest.empty() || !options.fingerprint.empty()) return why;
  const bool missing = absl::IsNotFound(why);
  absl::Status reason = why;
  if (missing && !links_.empty()) {
    absl::StatusOr<KernelDefaults> fetched =
        finder_.FetchDefaults(kernel, options);
    if (fetched.ok() || !options.device.empty()) return fetched;
    reason = fetched.status();
  }
  // What a daemon sent damaged is none, either.
  if (!(missing || IsUnreachable(why) || absl::IsDataLoss(why))) return reason;
  // What was withdrawn still knows the kernel's default.
  const absl::StatusOr<OfferedTable> withdrawn =
      finder_.FindWithdrawn(kernel, options);
  if (options.manifest.empty() && !withdrawn.ok()) return reason;
  ASSIGN_OR_RETURN(
      KernelDefaults defaults,
      options.manifest.empty()
          ? DefaultsOf(withdrawn->table->table(), options.specialisation)
          : DefaultsOfManifest(kernel, options));
  if (withdrawn.ok()) {
    defaults.reason =
        withdrawn->default_faults.count(options.specialisation) > 0
            ? DefaultReason::kDefaultUnusable
            : DefaultReason::kTableWithdrawn;
  }
  return defaults;
}

absl::StatusOr<KernelDefaults> Client::Impl::FindDefaultsOnly(
    const std::string& kernel, const TunerOptions& options) const {
  if (!options.manifest.empty()) {
    return DefaultsOfManifest(kernel, options);
  }
  const absl::StatusOr<OfferedTable> local =
      finder_.FindLocally(kernel, options);
  const auto defaults_of =
      [&](const OfferedTable& table) -> absl::StatusOr<KernelDefaults> {
    ASSIGN_OR_RETURN(KernelDefaults defaults,
                     DefaultsOf(table.table->table(), options.specialisation));
    if (table.default_faults.count(options.specialisation) > 0)
      defaults.reason = DefaultReason::kDefaultUnusable;
    return defaults;
  };
  if (local.ok()) return defaults_of(*local);
  if (!absl::IsNotFound(local.status())) return local.status();
  absl::StatusOr<KernelDefaults> fetched =
      finder_.FetchDefaults(kernel, options);
  if (fetched.ok()) return fetched;
  // What was withdrawn still knows the kernel's default.
  const absl::StatusOr<OfferedTable> withdrawn =
      finder_.FindWithdrawn(kernel, options);
  return withdrawn.ok() ? defaults_of(*withdrawn) : fetched;
}

absl::StatusOr<OfferedTable> Client::Impl::FindTable(
    const std::string& kernel, TunerOptions options) const {
  RETURN_IF_ERROR(ApplyPin(kernel, &options));
  std::optional<KernelSpec> manifest;
  if (!options.manifest.empty()) {
    ASSIGN_OR_RETURN(manifest, SpecOfManifest(options.manifest, kernel));
  }
  return FindLegal(kernel, options, manifest ? &*manifest : nullptr);
}

Tuner Client::Impl::MakeTuner(TunerIdentity identity,
                              const TunerOptions& options,
                              const TableState& first, uint64_t news_before,
                              std::shared_ptr<const KernelSpec> manifest) {
  const bool pinned =
      !options.digest.empty() || settings_.mode != ClientMode::kAuto;
  const TableSlot::Options rules{
      .activation = pinned ? ActivationPolicy::kPinned : options.activation,
      .prepared = options.prepared,
      .prepares_on_demand = options.prepares_on_demand,
      .manifest = std::move(manifest),
      .recorder = RecordersOf(reporter_, born_)};
  auto slot =
      std::make_shared<TableSlot>(std::move(identity), rules, first, log_);
  slots_.Add(slot, news_before);
  if (rules.activation != ActivationPolicy::kPinned) StartWatch();
  return Tuner(std::move(slot));
}

void Client::Impl::NoteFork() {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(noted_fork_, ForkGeneration()) == ForkGeneration())
      return;
  }
  log_->Add(Kind::kDisconnected, "", "",
            absl::FailedPreconditionError(
                "this process was forked from the one that connected: tuners "
                "decide on and calls go on, but nothing is heard of new tables "
                "and no use is reported. Connect anew for that"));
}

void Client::Impl::StartWatch() {
  if (inherited()) return;
  std::lock_guard lock(mutex_);
  if (!settings_.watch || links_.empty() || watcher_ != nullptr) return;
  DaemonLink* const daemon = links_[0].get();
  watcher_ = std::make_unique<TableWatcher>(TableWatcher::Options{
      .watch =
          [daemon](const v1::WatchTablesRequest& request,
                   const TableWatcher::OnNotice& on_notice) {
            return daemon->WatchTables(request, on_notice);
          },
      .cancel = [daemon] { daemon->Cancel(); },
      .on_serving =
          [this](const std::vector<v1::TableInfo>& serving) {
            return slots_.OnServing(serving);
          },
      .on_promoted =
          [this](const v1::TableInfo& table) {
            return slots_.OnPromoted(table);
          },
      .on_retired =
          [this](const v1::TableInfo& table) { slots_.OnRetired(table); },
      .on_remarked =
          [this](const v1::TableInfo& table) {
            return slots_.OnRemarked(table);
          },
      .on_connected = [this] { log_->Add(Kind::kConnected, "", ""); },
      .on_disconnected =
          [this](const absl::Status& why) {
            log_->Add(Kind::kDisconnected, "", "", why);
          },
      .backoff = Backoff(kFirstWait, kLongestWait)});
}

bool Client::Impl::watching() {
  if (inherited()) return false;  // The thread is the parent's.
  std::lock_guard lock(mutex_);
  return watcher_ != nullptr && watcher_->synced();
}

int Client::Impl::StepBoundary() const {
  int activated = 0;
  for (const auto& slot : slots_.InUse()) activated += slot->StepBoundary();
  return activated;
}

absl::StatusOr<TableSet> Client::Impl::GetTableSet() const {
  TableSet::Tables tables;
  for (const auto& slot : slots_.InUse()) {
    const std::string& kernel = slot->identity().kernel;
    const std::string digest = slot->current()->digest();
    const auto [entry, added] = tables.emplace(kernel, digest);
    if (!added && entry->second != digest) {
      return absl::FailedPreconditionError(absl::StrCat(
          "two tuners of kernel \"", kernel,
          "\" decide with different tables, \"", entry->second, "\" and \"",
          digest,
          "\": there is no one table set. Make a client for each device, or "
          "activate the same table"));
    }
  }
  return TableSet(std::move(tables));
}

void Client::Impl::Remember(const TableSet& set) {
  std::lock_guard lock(mutex_);
  known_sets_[set.Digest()] = set;
}

absl::StatusOr<std::string> Client::Impl::PublishTableSet() {
  ASSIGN_OR_RETURN(const TableSet set, GetTableSet());
  if (set.tables().empty()) {
    return absl::FailedPreconditionError(
        "no tuner is in use: there is no table set to publish");
  }
  for (const auto& [kernel, digest] : set.tables()) {
    if (!digest.empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("kernel \"", kernel,
                     "\" is decided without a table: nobody could load this "
                     "set. Profile it: wavetune reprofile --kernel ",
                     kernel));
  }
  Remember(set);
  absl::Status status = cache_.PutSet(set);
  bool known = status.ok() && !cache_.dir().empty();
  for (const auto& daemon : links_) {
    const absl::Status announced = daemon->AnnounceTableSet(set);
    known = known || announced.ok();
    if (status.ok()) status = announced;
  }
  if (known) return set.Digest();
  return absl::UnavailableError(absl::StrCat(
      "neither the cache nor a daemon took the table set: ", status.message()));
}

absl::StatusOr<DeclaredWorkload> Client::Impl::AddWorkload(
    absl::string_view name, absl::string_view config,
    const WorkloadOptions& options) {
  if (links_.empty()) {
    return absl::FailedPreconditionError(
        "workloads are declared to a daemon, which this client's mode does "
        "without: connect with ClientMode::kAuto");
  }
  v1::AddWorkloadRequest request;
  request.set_name(PrintableText(name));
  request.set_config(CompactConfig(config));
  request.set_tensor_parallel(options.tensor_parallel);
  request.set_expert_parallel(options.expert_parallel);
  request.set_max_tokens(options.max_tokens);
  *request.mutable_routing() = ExpertRoutingToProto(options.routing);
  absl::StatusOr<DeclaredWorkload> result = absl::UnknownError("");
  absl::Status refused;
  for (const auto& daemon : links_) {
    auto response = daemon->AddWorkload(request);
    refused.Update(response.status());
    if (!response.ok() || result.ok()) continue;
    NoteIgnoredRouting(request, *response);
    result = DeclaredOf(*response);
  }
  return result.ok() ? result : refused;
}

absl::Status Client::Impl::StageTableSet(const std::string& digest) {
  ASSIGN_OR_RETURN(const TableSet set, finder_.FindSet(digest));
  std::vector<std::pair<std::shared_ptr<TableSlot>, OfferedTable>> to_stage;
  for (const auto& slot : slots_.InUse()) {
    const std::string& kernel = slot->identity().kernel;
    const auto entry = set.tables().find(kernel);
    if (entry == set.tables().end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("table set ", digest, " has no table of kernel \"",
                       kernel, "\"; it is ", set.ToString()));
    }
    if (slot->current()->digest() == entry->second) continue;
    TunerOptions by_digest;
    by_digest.digest = entry->second;
    ASSIGN_OR_RETURN(OfferedTable table, finder_.Find(kernel, by_digest));
    RETURN_IF_ERROR(slot->Check(table));
    to_stage.emplace_back(slot, std::move(table));
  }
  for (const auto& [slot, table] : to_stage) {
    RETURN_IF_ERROR(slot->Stage(table).status());
  }
  Remember(set);
  return absl::OkStatus();
}

absl::Status Client::Impl::ActivateTableSet(const std::string& digest) {
  TableSet set;
  {
    std::lock_guard lock(mutex_);
    const auto known = known_sets_.find(digest);
    if (known == known_sets_.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("table set ", digest, " is not staged: StageTableSet"));
    }
    set = known->second;
  }
  std::vector<std::pair<std::shared_ptr<TableSlot>, std::string>> to_activate;
  for (const auto& slot : slots_.InUse()) {
    const auto entry = set.tables().find(slot->identity().kernel);
    const std::string wanted = entry == set.tables().end() ? "" : entry->second;
    if (!wanted.empty() && slot->current()->digest() == wanted) continue;
    const std::optional<StagedTable> staged = slot->staged();
    if (wanted.empty() || !staged || staged->digest != wanted) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the tuner of kernel \"", slot->identity().kernel,
          "\" has not staged table \"", wanted, "\" of table set ", digest,
          "; staged is \"", staged ? staged->digest : "", "\""));
    }
    to_activate.emplace_back(slot, wanted);
  }
  for (const auto& [slot, wanted] : to_activate) {
    RETURN_IF_ERROR(slot->Activate(wanted));
  }
  return absl::OkStatus();
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Client::~Client() {
  // The threads and connections are the parent's: waiting for the ones would
  // have no end, and closing the others would be the parent's loss.
  if (impl_->inherited()) (void)impl_.release();
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(
    const ClientOptions& options) {
  PrepareForForks();
  ASSIGN_OR_RETURN(ClientSettings settings, ResolveSettings(options));
  ASSIGN_OR_RETURN(TableFiles files, ReadFiles(settings));
  ASSIGN_OR_RETURN(Links links, OpenLinks(settings));
  auto impl = std::make_unique<Impl>(std::move(settings), std::move(links),
                                     std::move(files));
  RETURN_IF_ERROR(impl->LoadPin());
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

absl::StatusOr<Tuner> Client::GetTuner(const std::string& kernel,
                                       const TunerOptions& options) {
  return impl_->GetTuner(kernel, options);
}

absl::StatusOr<std::vector<std::string>> Client::GetKernels() const {
  return impl_->GetKernels();
}

absl::StatusOr<std::vector<KernelArgument>> Client::GetArguments(
    const std::string& kernel) const {
  ASSIGN_OR_RETURN(const KernelSpec spec, impl_->GetSpec(kernel));
  return ArgumentsOf(spec);
}

absl::StatusOr<std::shared_ptr<const KernelSpec>> Client::GetSpec(
    const std::string& kernel) const {
  ASSIGN_OR_RETURN(KernelSpec spec, impl_->GetSpec(kernel));
  return std::make_shared<const KernelSpec>(std::move(spec));
}

absl::StatusOr<std::shared_ptr<const OfferedTable>> Client::FindTable(
    const std::string& kernel, const TunerOptions& options) const {
  ASSIGN_OR_RETURN(OfferedTable table, impl_->FindTable(kernel, options));
  return std::make_shared<const OfferedTable>(std::move(table));
}

int Client::StepBoundary() { return impl_->StepBoundary(); }

absl::StatusOr<TableSet> Client::GetTableSet() const {
  return impl_->GetTableSet();
}

absl::StatusOr<std::string> Client::TableSetDigest() const {
  ASSIGN_OR_RETURN(const TableSet set, impl_->GetTableSet());
  return set.Digest();
}

absl::StatusOr<std::string> Client::PublishTableSet() {
  return impl_->PublishTableSet();
}

absl::StatusOr<DeclaredWorkload> Client::AddWorkload(
    absl::string_view name, absl::string_view config,
    const WorkloadOptions& options) {
  return impl_->AddWorkload(name, config, options);
}

absl::Status Client::StageTableSet(absl::string_view digest) {
  return impl_->StageTableSet(std::string(digest));
}

absl::Status Client::ActivateTableSet(absl::string_view digest) {
  return impl_->ActivateTableSet(std::string(digest));
}

ClientMode Client::mode() const { return impl_->settings().mode; }

const std::vector<std::string>& Client::endpoints() const {
  return impl_->settings().endpoints;
}

bool Client::watching() const { return impl_->watching(); }

std::vector<ClientEvent> Client::events() const {
  return impl_->log().events();
}

absl::Status Client::last_problem() const {
  return impl_->log().last_problem();
}

}  // namespace wavetune
