#include "server/catalog/shipped_tables.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/catalog/event_texts.h"

namespace wavetune {
namespace {

// Of what is said once: more are said again.
constexpr size_t kMostTold = 1024;

bool IsForTheSame(const Table& a, const Table& b) {
  return a.kernel == b.kernel && a.silicon_key == b.silicon_key;
}

}  // namespace

void ShippedTables::Look() {
  // Before reading: what changes meanwhile is looked at next time.
  const uint64_t devices = options_.devices->revision();
  const std::shared_ptr<const TableSnapshot> serving =
      options_.tables->snapshot();
  if (kernels_read_ == options_.kernels->Revision() && seen_ == serving &&
      devices_seen_ == devices) {
    return;
  }
  Read();
  bool settled = true;
  const ShippedTable* const end = tables_.data() + tables_.size();
  for (const ShippedTable* first = tables_.data(); first != end;) {
    const ShippedTable* const last =
        std::find_if_not(first, end, [&](const ShippedTable& t) {
          return IsForTheSame(t.table->table(), first->table->table());
        });
    settled = Offer(first, last) && settled;
    first = last;
  }
  // What was promoted now is a change, which the next Look settles.
  seen_ = settled ? serving : nullptr;
  devices_seen_ = devices;
}

void ShippedTables::Read() {
  const uint64_t revision = options_.kernels->Revision();
  if (kernels_read_ == revision) return;
  kernels_read_ = revision;
  tables_.clear();
  for (const DiskKernelCatalog::Entry& entry : options_.kernels->List()) {
    if (entry.folder == nullptr) continue;
    ShippedFiles found = ReadShippedTables(*entry.folder, InputKind::kOwnFile);
    std::move(found.tables.begin(), found.tables.end(),
              std::back_inserter(tables_));
    for (const std::string& problem : found.problems)
      WarnOnce(absl::StrCat("shipped table left out: ", problem));
  }
  std::sort(tables_.begin(), tables_.end(),
            [](const ShippedTable& a, const ShippedTable& b) {
              const Table& x = a.table->table();
              const Table& y = b.table->table();
              return std::tie(x.kernel, x.silicon_key, a.file) <
                     std::tie(y.kernel, y.silicon_key, b.file);
            });
}

bool ShippedTables::Offer(const ShippedTable* first, const ShippedTable* last) {
  const auto device = options_.admission->DeviceOf(first->table->table());
  if (!device.ok()) return true;  // Of silicon that this node does not have.
  // Of several, that of the compiler that is here.
  const auto fingerprint =
      options_.kernels->Fingerprint(first->table->table().kernel, *device);
  const ShippedTable* offered =
      std::find_if(first, last, [&](const ShippedTable& shipped) {
        return fingerprint.ok() &&
               shipped.table->table().fingerprint == *fingerprint;
      });
  if (offered == last) offered = first;
  absl::StatusOr<TableRecord> promoted =
      options_.admission->RecordOf(offered->table->table());
  if (promoted.ok()) {
    promoted->why = offered->file;
    promoted = options_.tables->Ship(*std::move(promoted), offered->payload);
  } else if (absl::IsFailedPrecondition(promoted.status())) {
    const EventRecord event = RefusedEvent(*offered->table, offered->file,
                                           promoted.status().message());
    if (IsNew(event.text)) options_.refused(event);
  }
  if (promoted.ok() || absl::IsAlreadyExists(promoted.status()) ||
      absl::IsFailedPrecondition(promoted.status())) {
    return true;
  }
  WarnOnce(absl::StrCat("shipped table ", offered->file, " of kernel ",
                        offered->table->table().kernel,
                        " does not serve: ", promoted.status().message()));
  // The kernel is another one, or is gone; else it is the store's problem.
  return absl::IsInvalidArgument(promoted.status()) ||
         absl::IsNotFound(promoted.status());
}

bool ShippedTables::IsNew(const std::string& text) {
  if (told_.size() >= kMostTold) told_.clear();
  return told_.insert(text).second;
}

void ShippedTables::WarnOnce(const std::string& text) {
  if (IsNew(text)) options_.warn(text);
}

}  // namespace wavetune
