// ProgramCache: compiled programs on disk, by content.
//
//   ProgramCache cache("/var/cache/wavetune/programs");
//   std::string key = ProgramCache::Key({source, options, device, driver});
//   if (std::optional<std::string> binary = cache.Find(key)) ...
//   cache.Store(key, binary);
//
// A key names all that a binary depends on, so an entry is never stale. An
// entry is written beside and published by rename, so a reader never sees half
// of one. Its own checksum is verified on reading, and a damaged entry is
// removed and counts as a miss. Several processes may share a folder.
//
// Thread safety: thread-safe; holds nothing but the path.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_PROGRAM_CACHE_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_PROGRAM_CACHE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace wavetune {

class ProgramCache {
 public:
  // `directory` is created when first written to; empty: nothing is ever found
  // or stored.
  explicit ProgramCache(std::string directory);

  // Returns the key of what a program is made of: SHA-256 over the parts and
  // their lengths. Cannot fail.
  static std::string Key(const std::vector<std::string>& parts);

  // Returns the entry, or nothing where there is none or it is damaged. The
  // time of its file says when it was last found, to an hour (program_trim.h).
  std::optional<std::string> Find(const std::string& key) const;

  // Publishes an entry; a concurrent writer of the same key is harmless.
  // Errors: INTERNAL naming the folder and why; the cache stays usable, and so
  // does whoever compiled the program.
  absl::Status Store(const std::string& key, absl::string_view program) const;

  // Removes an entry that turned out to be unusable. Cannot fail.
  void Remove(const std::string& key) const;

 private:
  std::string PathOf(const std::string& key) const;

  std::string directory_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_PROGRAM_CACHE_H_
