// Incumbent: the table that serves while a kernel is profiled anew, as the new
// one is judged against it.
//
// Thread safety: plain value.
#ifndef WAVETUNE_SERVER_JOBS_INCUMBENT_H_
#define WAVETUNE_SERVER_JOBS_INCUMBENT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "model/decide/compiled_table.h"
#include "server/catalog/table_catalog.h"
#include "server/store/records.h"
#include "wavetune/configuration.h"

namespace wavetune {

struct KernelSpec;

class Incumbent {
 public:
  Incumbent() = default;  // No table serves.
  // `serving` may be of an older version of the kernel.
  Incumbent(const KernelSpec& spec, std::optional<ServingTable> serving);

  // The table where it answers for this version of the kernel, which it does
  // only where problems and configurations mean the same; else nullptr.
  const CompiledTable* comparable() const {
    return comparable_ ? serving_->table.get() : nullptr;
  }

  // Returns whether the table may choose the configuration: where it answers
  // for this version of the kernel.
  bool Chooses(const std::string& specialisation,
               const Configuration& configuration) const;

  // The table, whatever version it answers for; nullptr where none serves.
  const TableRecord* record() const {
    return serving_ ? &serving_->record : nullptr;
  }

  // Returns whether it is this very table.
  bool Is(const ProfileKey& key, absl::string_view digest) const;

  // Returns whether it is of another environment or version of the kernel, or
  // was imported and is not verified.
  bool IsStaleFor(const ProfileKey& key) const;

  // Returns who decides where nothing is promoted, for people: "table
  // 3fa4c01b9d2e6f70 serves on".
  std::string ServesOnText() const;

 private:
  std::optional<ServingTable> serving_;
  bool comparable_ = false;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_INCUMBENT_H_
