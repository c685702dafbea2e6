// ProgramFolder: where a driver's compiler may write, although the folder that
// was meant for it is full, read-only or not there.
//
// Compilers need a folder even where they keep nothing. A cache is no reason to
// fail: where the wanted folder cannot be written to, one of this user's own
// takes its place, below TMPDIR, /tmp, /var/tmp or /dev/shm. It is shared by
// the user's workers, and may be removed while none runs.
//
//   const ProgramFolder folder = ProgramFolder::Find("/var/cache/wt/pocl");
//   setenv("POCL_CACHE_DIR", folder.path().c_str(), 1);
//   ...
//   RETURN_IF_ERROR(folder.Check());  // After a failed compilation.
//
// Thread safety: const methods are thread-safe.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_PROGRAM_FOLDER_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_PROGRAM_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace wavetune {

class ProgramFolder {
 public:
  // Returns `wanted`, created where it is missing, if a megabyte can be written
  // to it. Else it returns the first of `others` of which that holds, and says
  // so in the log; else `wanted`. Cannot fail.
  static ProgramFolder Find(const std::string& wanted,
                            const std::vector<std::string>& others = Others());

  // The folders that may take a folder's place: "/tmp/wavetune-1000/pocl", ...
  static std::vector<std::string> Others();

  const std::string& path() const { return path_; }

  // Errors: RESOURCE_EXHAUSTED (environment_error.h: the disk) where a megabyte
  // cannot be written to it now.
  absl::Status Check() const;

 private:
  explicit ProgramFolder(std::string path);

  std::string path_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_PROGRAM_FOLDER_H_
