// Whether the disk of a store is mounted: below a mount point that nothing is
// mounted on there is an empty folder, and an empty folder is a new store.
//
// Two things tell: /etc/fstab names the mount point, or a store was opened on a
// disk that was mounted on its very folder. A file beside the folder remembers
// that (".NAME.mounted", where the folder above can be written).
//
// Thread safety: functions over files.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_STORE_MOUNT_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_STORE_MOUNT_H_

#include <string>

#include "absl/status/status.h"

namespace wavetune {

// A machine's mounts.
struct MountFacts {
  // Returns those of this machine. Cannot fail: what cannot be read is empty.
  static MountFacts OfThisMachine();

  std::string fstab;       // The text of /etc/fstab.
  std::string mount_info;  // That of /proc/self/mountinfo; empty: unknown.
};

// To be asked where no store is at `path`. Errors: FAILED_PRECONDITION where
// one should be, as its disk is not mounted; says what to mount.
absl::Status CheckMounted(
    const std::string& path,
    const MountFacts& facts = MountFacts::OfThisMachine());

// Remembers that a store is at `path`, if something is mounted there, else that
// none has to be. Cannot fail: where nothing can be written nothing is
// remembered.
void RememberMount(const std::string& path,
                   const MountFacts& facts = MountFacts::OfThisMachine());

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_STORE_MOUNT_H_
