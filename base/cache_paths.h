// Cache paths: where daemon-side and client-side caches go when nobody says
// where.
//
// A user without a home is nothing rare: containers run as a user that no
// passwd knows, services with HOME=/ or none. Then a private folder in /tmp
// does, and whoever asked can say so.
//
// Thread safety: functions; they read the environment and look at folders.
#ifndef WAVETUNE_BASE_CACHE_PATHS_H_
#define WAVETUNE_BASE_CACHE_PATHS_H_

#include <string>

namespace wavetune {

// What the rule depends on.
struct CacheSurroundings {
  // Returns those of this process. Cannot fail.
  static CacheSurroundings OfThisProcess();

  std::string xdg_cache_home;  // $XDG_CACHE_HOME; may be empty.
  std::string home;            // $HOME; may be empty.
  std::string private_dir;     // /tmp/wavetune-cache-<uid>
};

struct CacheDir {
  std::string path;     // Empty: there is none that may be used.
  std::string problem;  // Why it is not the usual one; empty: it is.
};

// Returns $XDG_CACHE_HOME/wavetune, else $HOME/.cache/wavetune where that can
// be written, else /tmp/wavetune-cache-<uid>, made with mode 0700, with why.
// There is no path where that is not a folder that only this user can write to.
// Cannot fail.
CacheDir DefaultCache(
    const CacheSurroundings& around = CacheSurroundings::OfThisProcess());

// Returns `wanted`, made where it is not there, if it can be written; else the
// private folder, with why, or no path where that may not be used. Cannot fail.
CacheDir UsableCache(
    const std::string& wanted,
    const CacheSurroundings& around = CacheSurroundings::OfThisProcess());

}  // namespace wavetune

#endif  // WAVETUNE_BASE_CACHE_PATHS_H_
