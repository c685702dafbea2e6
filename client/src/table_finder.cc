#include "client/src/table_finder.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "client/src/verified_table.h"
#include "formats/kernel_folder.h"
#include "formats/kernel_spec.h"
#include "formats/types.h"
#include "model/kernel/key_difference.h"

namespace wavetune {
namespace {

absl::Status SeveralFit(absl::string_view where, const std::string& kernel,
                        const std::vector<const v1::TableInfo*>& choices) {
  return absl::FailedPreconditionError(absl::StrCat(
      "several ", where, " fit kernel \"", kernel,
      "\"; give a device, fingerprint or digest:\n  ",
      absl::StrJoin(choices, "\n  ",
                    [](std::string* out, const v1::TableInfo* info) {
                      *out += Describe(*info);
                    })));
}

absl::StatusOr<OfferedTable> Offer(const FetchedTable& fetched,
                                   TableOrigin origin) {
  ASSIGN_OR_RETURN(std::shared_ptr<const CompiledTable> table, Verify(fetched));
  return OfferedTable{.table = std::move(table),
                      .origin = origin,
                      .stale = fetched.info.stale(),
                      .stale_reason = fetched.info.stale_reason(),
                      .compiler = fetched.info.compiler(),
                      .device_label = fetched.info.device_label(),
                      .carried_to = fetched.info.carried_to(),
                      .default_faults = {fetched.info.default_faults().begin(),
                                         fetched.info.default_faults().end()}};
}

// Returns what a decision without a table says on devices (none: any).
DefaultReason ReasonFor(const v1::KernelStatus& kernel,
                        const std::vector<DeviceFacts>& devices,
                        const std::string& specialisation) {
  const auto on_any = [&](const auto& concerns) {
    return devices.empty() ||
           std::any_of(devices.begin(), devices.end(), concerns);
  };
  for (const v1::DefaultFault& fault : kernel.default_faults()) {
    if (fault.specialisation() == specialisation &&
        on_any([&](const DeviceFacts& device) {
          return device.uuid == fault.device_uuid();
        }))
      return DefaultReason::kDefaultUnusable;
  }
  for (const v1::TableInfo& table : kernel.withdrawn()) {
    if (on_any([&](const DeviceFacts& device) {
          return SiliconKey(device) == table.silicon_key();
        }))
      return DefaultReason::kTableWithdrawn;
  }
  return DefaultReason::kNoTable;
}

// Whether both are of one version of a kernel on one silicon.
bool AreAlike(const v1::TableInfo& a, const v1::TableInfo& b) {
  return a.kernel() == b.kernel() && a.fingerprint() == b.fingerprint() &&
         a.silicon_key() == b.silicon_key();
}

}  // namespace

absl::StatusOr<OfferedTable> TableFinder::Find(
    const std::string& kernel, const TunerOptions& options) const {
  if (daemons_.empty()) return FindLocally(kernel, options);
  absl::StatusOr<OfferedTable> fetched = Fetch(kernel, options);
  if (fetched.ok()) return fetched;
  return FindElsewhere(kernel, options, fetched.status());
}

void TableFinder::NoteWithdrawn(const v1::TableInfo& table) const {
  {
    const std::lock_guard lock(mutex_);
    // Each connection brings it again.
    std::erase_if(withdrawn_, [&](const Withdrawal& other) {
      return other.table.digest() == table.digest();
    });
    if (withdrawn_.size() >= kMostWithdrawn) withdrawn_.pop_front();
    withdrawn_.push_back({.table = table});
  }
  cache_->Withdraw(table.digest(), table.withdrawn()).IgnoreError();
}

void TableFinder::NoteServing(const v1::TableInfo& table) const {
  const std::lock_guard lock(mutex_);
  std::erase_if(withdrawn_, [&](const Withdrawal& other) {
    return other.table.digest() == table.digest();
  });
  for (Withdrawal& other : withdrawn_) {
    if (AreAlike(other.table, table) && IsOlder(other.table, table))
      other.replaced = true;
  }
}

absl::Status TableFinder::CheckServes(const std::string& kernel,
                                      const std::string& digest) const {
  std::string why = cache_->WhyWithdrawn(digest);
  if (why.empty()) {
    const std::lock_guard lock(mutex_);
    for (const Withdrawal& known : withdrawn_) {
      if (known.table.digest() == digest) why = known.table.withdrawn();
    }
  }
  if (why.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "table ", ShortDigest(digest), " of kernel \"", kernel,
      "\" was withdrawn: ", why,
      ". Correct the kernel, then profile it: wavetune reprofile --kernel ",
      kernel));
}

absl::Status TableFinder::CheckNoneWithdrawn(const v1::TableInfo& table) const {
  const auto refuse = [&](const std::string& digest) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the table in ", files_->path(), " does not take the place of table ",
        ShortDigest(digest), ", which is for the same version of kernel \"",
        table.kernel(), "\" and was withdrawn"));
  };
  {
    const std::lock_guard lock(mutex_);
    for (const Withdrawal& known : withdrawn_) {
      if (!known.replaced && AreAlike(known.table, table))
        return refuse(known.table.digest());
    }
  }
  for (const v1::TableInfo& cached : cache_->List(table.kernel())) {
    if (AreAlike(cached, table) &&
        !cache_->WhyWithdrawn(cached.digest()).empty())
      return refuse(cached.digest());
  }
  return absl::OkStatus();
}

absl::StatusOr<OfferedTable> TableFinder::FindWithdrawn(
    const std::string& kernel, const TunerOptions& options) const {
  for (const v1::TableInfo& info : CachedFor(kernel, options)) {
    if (CheckServes(kernel, info.digest()).ok()) continue;
    ASSIGN_OR_RETURN(const FetchedTable table, cache_->Get(info.digest()));
    return Offer(table, TableOrigin::kCache);
  }
  return absl::NotFoundError("no cached table was withdrawn");
}

absl::StatusOr<OfferedTable> TableFinder::FindElsewhere(
    const std::string& kernel, const TunerOptions& options,
    const absl::Status& why_not_there) const {
  // What one daemon has shown wrong no other one is asked for.
  if (!options.digest.empty()) {
    RETURN_IF_ERROR(CheckServes(kernel, options.digest));
  }
  const bool unreachable = IsUnreachable(why_not_there);
  const bool refused = absl::IsDataLoss(why_not_there);
  if (!options.digest.empty() || unreachable || refused) {
    absl::StatusOr<OfferedTable> local = FindLocally(kernel, options);
    if (local.ok()) return local;
    for (size_t i = 1; !options.digest.empty() && i < daemons_.size(); ++i) {
      absl::StatusOr<OfferedTable> other =
          FetchFrom(*daemons_[i], kernel, options);
      if (other.ok()) return other;
    }
    if (!unreachable) return why_not_there;
    if (!absl::IsNotFound(local.status())) return local;
    return absl::UnavailableError(absl::StrCat(
        "the daemon at ", daemons_[0]->endpoint(), " cannot be reached (",
        why_not_there.message(), ") and ", local.status().message(),
        ". Start wavetuned, or set WAVETUNE_ENDPOINT"));
  }
  if (!absl::IsNotFound(why_not_there) || files_->tables().empty())
    return why_not_there;
  // The user named a file for the case that there is nothing better; what was
  // withdrawn is no better for being in a file.
  if (const auto kernels = daemons_[0]->ListKernels(); kernels.ok())
    NoteAllWithdrawn(*kernels);
  std::vector<DeviceFacts> device;
  if (!options.device.empty()) {
    ASSIGN_OR_RETURN(device, FetchDevices(options.device));
  }
  absl::StatusOr<OfferedTable> file = FindInFiles(kernel, options, device);
  if (file.ok()) return file;
  if (absl::IsNotFound(file.status())) return why_not_there;
  return file;
}

absl::StatusOr<OfferedTable> TableFinder::FindLocally(
    const std::string& kernel, const TunerOptions& options) const {
  absl::StatusOr<OfferedTable> cached = FindInCache(kernel, options);
  if (cached.ok() || absl::IsFailedPrecondition(cached.status())) return cached;
  if (!absl::IsNotFound(cached.status())) {
    log_->Add(ClientEvent::Kind::kRefused, kernel, options.digest,
              cached.status());
  }
  absl::StatusOr<OfferedTable> file = FindInFiles(kernel, options);
  if (file.ok() || !absl::IsNotFound(file.status())) return file;
  // What was damaged is gone: as if it had never been there.
  return absl::NotFoundError(
      files_->path().empty() ? std::string(cached.status().message())
                             : absl::StrCat(cached.status().message(), ", and ",
                                            file.status().message()));
}

absl::StatusOr<OfferedTable> TableFinder::FindInCache(
    const std::string& kernel, const TunerOptions& options) const {
  if (!options.digest.empty()) {
    RETURN_IF_ERROR(CheckServes(kernel, options.digest));
    ASSIGN_OR_RETURN(const FetchedTable pinned, cache_->Get(options.digest));
    RETURN_IF_ERROR(CheckIdentity(pinned.info, kernel, options.fingerprint));
    return Offer(pinned, TableOrigin::kCache);
  }
  const std::vector<v1::TableInfo> cached = CachedFor(kernel, options);
  // What was withdrawn is among them: no older table takes its place.
  std::vector<const v1::TableInfo*> choices;
  for (const v1::TableInfo& info : cached) choices.push_back(&info);
  if (choices.empty()) {
    return absl::NotFoundError(
        cache_->dir().empty()
            ? "the table cache is off"
            : absl::StrCat("the cache ", cache_->dir(),
                           " has no table for kernel \"", kernel, "\"",
                           options.device.empty() ? "" : " on device ",
                           options.device));
  }
  // Another driver or an edited kernel leaves the older table beside the newer;
  // only other silicon is another question.
  if (std::any_of(choices.begin(), choices.end(),
                  [&choices](const v1::TableInfo* info) {
                    return info->silicon_key() != choices[0]->silicon_key();
                  })) {
    return SeveralFit("cached tables", kernel, choices);
  }
  return NewestWhole(kernel, std::move(choices));
}

absl::StatusOr<OfferedTable> TableFinder::NewestWhole(
    const std::string& kernel,
    std::vector<const v1::TableInfo*> choices) const {
  absl::Status damaged;
  while (!choices.empty()) {
    const auto newest =
        std::max_element(choices.begin(), choices.end(),
                         [](const v1::TableInfo* a, const v1::TableInfo* b) {
                           return IsOlder(*a, *b);
                         });
    const std::string digest = (*newest)->digest();
    choices.erase(newest);
    if (const absl::Status serves = CheckServes(kernel, digest); !serves.ok())
      return absl::NotFoundError(serves.message());
    absl::StatusOr<OfferedTable> table = FromCache(digest);
    if (table.ok()) return table;
    damaged = table.status();
    // The one before it is better than none.
    if (!choices.empty()) {
      log_->Add(ClientEvent::Kind::kRefused, kernel, digest, damaged);
    }
  }
  return damaged;
}

absl::StatusOr<OfferedTable> TableFinder::FromCache(
    const std::string& digest) const {
  ASSIGN_OR_RETURN(const FetchedTable table, cache_->Get(digest));
  return Offer(table, TableOrigin::kCache);
}

std::vector<v1::TableInfo> TableFinder::CachedFor(
    const std::string& kernel, const TunerOptions& options) const {
  std::vector<v1::TableInfo> cached = cache_->List(kernel);
  std::erase_if(cached, [&](const v1::TableInfo& info) {
    return !CheckIdentity(info, kernel, options.fingerprint).ok() ||
           (!options.device.empty() && !cache_->Serves(info, options.device));
  });
  return cached;
}

absl::StatusOr<OfferedTable> TableFinder::FindInFiles(
    const std::string& kernel, const TunerOptions& options,
    const std::vector<DeviceFacts>& device) const {
  std::vector<const FetchedTable*> fitting;
  std::vector<const v1::TableInfo*> choices;
  for (const FetchedTable& table : files_->tables()) {
    if (!CheckIdentity(table.info, kernel, options.fingerprint).ok()) continue;
    if (!options.digest.empty() && table.info.digest() != options.digest)
      continue;
    absl::Status serves = CheckServes(kernel, table.info.digest());
    // Who names the digest wants this one, and no other.
    if (serves.ok() && options.digest.empty())
      serves = CheckNoneWithdrawn(table.info);
    if (!serves.ok()) {
      log_->Add(ClientEvent::Kind::kRefused, kernel, table.info.digest(),
                serves);
      continue;
    }
    if (!device.empty() && table.info.silicon_key() != SiliconKey(device[0])) {
      log_->Add(ClientEvent::Kind::kRefused, kernel, table.info.digest(),
                absl::FailedPreconditionError(absl::StrCat(
                    "the table in ", files_->path(), " is for silicon \"",
                    table.info.silicon_key(), "\", device ", options.device,
                    " is \"", SiliconKey(device[0]), "\"")));
      continue;
    }
    fitting.push_back(&table);
    choices.push_back(&table.info);
  }
  if (fitting.empty()) {
    return absl::NotFoundError(absl::StrCat(
        files_->path().empty() ? "no table file" : files_->path(),
        " has no table for kernel \"", kernel, "\"",
        options.digest.empty() ? "" : " with digest ", options.digest));
  }
  if (fitting.size() > 1) return SeveralFit("table files", kernel, choices);
  ASSIGN_OR_RETURN(OfferedTable offered,
                   Offer(*fitting[0], TableOrigin::kFile));
  if (!device.empty()) {
    if (offered.carried_to != EnvironmentKey(device[0])) {
      offered.stale_reason = KeyDifference(fitting[0]->info.environment_key(),
                                           EnvironmentKey(device[0]));
    }
    offered.stale = !offered.stale_reason.empty();
  }
  return offered;
}

absl::StatusOr<OfferedTable> TableFinder::Fetch(
    const std::string& kernel, const TunerOptions& options) const {
  return FetchFrom(*daemons_[0], kernel, options);
}

absl::StatusOr<OfferedTable> TableFinder::FetchFrom(
    DaemonLink& daemon, const std::string& kernel,
    const TunerOptions& options) const {
  v1::GetTableRequest request;
  if (!options.digest.empty()) {
    request.set_digest(PrintableText(options.digest));
  } else {
    // Callers' strings may be in any encoding, messages may not.
    request.set_kernel(PrintableText(kernel));
    request.set_device_uuid(PrintableText(options.device));
    request.set_fingerprint(PrintableText(options.fingerprint));
  }
  ASSIGN_OR_RETURN(const FetchedTable fetched, daemon.GetTable(request));
  // A pinned digest, or a daemon's mistake, may name a table of something else.
  RETURN_IF_ERROR(CheckIdentity(fetched.info, kernel, options.fingerprint));
  absl::StatusOr<OfferedTable> offered = Offer(fetched, TableOrigin::kDaemon);
  if (!offered.ok()) {
    // One code for all that a payload may suffer from: it is not to be used.
    const absl::Status refused = absl::DataLossError(
        absl::StrCat("the table from ", daemon.endpoint(),
                     " is not usable: ", offered.status().message()));
    log_->Add(ClientEvent::Kind::kRefused, kernel, fetched.info.digest(),
              refused);
    return refused;
  }
  if (!fetched.info.withdrawn().empty()) {
    NoteWithdrawn(fetched.info);
    return CheckServes(kernel, fetched.info.digest());
  }
  NoteServing(fetched.info);
  // A cache that cannot be written costs the fallback, not the answer.
  if (const absl::Status kept = cache_->Put(fetched, options.device);
      !kept.ok() && !cache_problem_said_.exchange(true)) {
    log_->Add(ClientEvent::Kind::kCacheProblem, kernel, fetched.info.digest(),
              kept);
  }
  return offered;
}

absl::StatusOr<std::vector<DeviceFacts>> TableFinder::FetchDevices(
    const std::string& uuid) const {
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse response,
                   daemons_[0]->ListDevices());
  std::vector<DeviceFacts> attached;
  std::vector<DeviceFacts> seen;
  for (const v1::DeviceStatus& device : response.devices()) {
    if (!uuid.empty() && device.facts().uuid() != uuid) continue;
    seen.push_back(DeviceFactsFromProto(device.facts()));
    if (device.attached()) attached.push_back(seen.back());
  }
  if (!attached.empty()) return attached;
  if (!seen.empty() || uuid.empty()) return seen;
  return absl::NotFoundError(absl::StrCat(
      "the daemon knows no device \"", uuid, "\"; it knows: ",
      absl::StrJoin(response.devices(), ", ",
                    [](std::string* out, const v1::DeviceStatus& device) {
                      absl::StrAppend(out, device.facts().uuid(), " (",
                                      device.facts().label(), ")");
                    })));
}

void TableFinder::NoteAllWithdrawn(
    const v1::ListKernelsResponse& kernels) const {
  for (const v1::KernelStatus& kernel : kernels.kernels()) {
    for (const v1::TableInfo& table : kernel.withdrawn()) NoteWithdrawn(table);
  }
}

absl::StatusOr<KernelDefaults> TableFinder::FetchDefaults(
    const std::string& kernel, const TunerOptions& options) const {
  ASSIGN_OR_RETURN(const std::vector<DeviceFacts> devices,
                   FetchDevices(options.device));
  ASSIGN_OR_RETURN(const v1::ListKernelsResponse response,
                   daemons_[0]->ListKernels());
  NoteAllWithdrawn(response);
  for (const v1::KernelStatus& status : response.kernels()) {
    if (status.spec().name() != kernel || !status.problem().empty()) continue;
    ASSIGN_OR_RETURN(
        KernelDefaults defaults,
        DefaultsOf(status.spec(), devices, options.specialisation));
    defaults.reason = ReasonFor(status, devices, options.specialisation);
    return defaults;
  }
  return absl::NotFoundError(absl::StrCat(
      "the daemon has no valid kernel \"", kernel, "\"; it has: ",
      absl::StrJoin(response.kernels(), ", ",
                    [](std::string* out, const v1::KernelStatus& status) {
                      absl::StrAppend(
                          out, status.spec().name(),
                          status.problem().empty() ? "" : " (invalid)");
                    })));
}

absl::StatusOr<std::vector<std::string>> TableFinder::FindKernels() const {
  std::set<std::string> names;
  absl::Status why;
  if (!daemons_.empty()) {
    const absl::StatusOr<v1::ListKernelsResponse> response =
        daemons_[0]->ListKernels();
    if (response.ok()) {
      for (const v1::KernelStatus& kernel : response->kernels()) {
        if (kernel.problem().empty()) names.insert(kernel.spec().name());
      }
      return std::vector<std::string>(names.begin(), names.end());
    }
    if (!IsUnreachable(response.status())) return response.status();
    why = response.status();
  }
  for (const v1::TableInfo& cached : cache_->List("")) {
    names.insert(cached.kernel());
  }
  for (const FetchedTable& table : files_->tables()) {
    names.insert(table.info.kernel());
  }
  if (names.empty()) RETURN_IF_ERROR(why);
  return std::vector<std::string>(names.begin(), names.end());
}

absl::StatusOr<KernelSpec> TableFinder::FindSpec(
    const std::string& kernel) const {
  std::error_code error;
  if (std::filesystem::is_directory(kernel, error) ||
      kernel.find('/') != std::string::npos) {
    ASSIGN_OR_RETURN(KernelFolder folder, LoadKernelFolder(kernel));
    return std::move(folder.spec);
  }
  absl::Status why =
      absl::NotFoundError(absl::StrCat("nobody has the manifest of kernel \"",
                                       kernel, "\": give the kernel's folder"));
  if (!daemons_.empty()) {
    absl::StatusOr<v1::ListKernelsResponse> response =
        daemons_[0]->ListKernels();
    if (!response.ok()) {
      why = response.status();
      response = v1::ListKernelsResponse();
    }
    for (const v1::KernelStatus& status : response->kernels()) {
      if (status.spec().name() == kernel && status.problem().empty())
        return KernelSpecFromProto(status.spec());
    }
  }
  if (files_->path().empty()) return why;
  // As shipped tables lie: KERNEL/tables/H100.table.
  const std::filesystem::path path(files_->path());
  const std::filesystem::path tables =
      std::filesystem::is_directory(path, error) ? path : path.parent_path();
  absl::StatusOr<KernelSpec> beside =
      SpecOfManifest((tables / ".." / "manifest.textproto").string(), kernel);
  if (absl::IsNotFound(beside.status())) return why;
  return beside;
}

absl::StatusOr<TableSet> TableFinder::FindSet(const std::string& digest) const {
  absl::StatusOr<TableSet> cached = cache_->GetSet(digest);
  if (cached.ok()) return cached;
  std::string asked =
      absl::StrCat("the cache (", cached.status().message(), ")");
  for (DaemonLink* const daemon : daemons_) {
    absl::StatusOr<TableSet> set = daemon->GetTableSet(digest);
    if (set.ok()) {
      cache_->PutSet(*set).IgnoreError();
      return set;
    }
    absl::StrAppend(&asked, ", ", daemon->endpoint(), " (",
                    set.status().message(), ")");
  }
  return absl::NotFoundError(
      absl::StrCat("table set ", digest, " is not known; asked were: ", asked));
}

}  // namespace wavetune
