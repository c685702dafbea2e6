// Keys as etcd has them.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_FLEET_ETCD_ETCD_KEYS_H_
#define WAVETUNE_SERVER_FLEET_ETCD_ETCD_KEYS_H_

#include <string>

namespace wavetune {

// Returns the key after all that begin with `prefix`, which is text. Cannot
// fail.
inline std::string EndOfPrefix(std::string prefix) {
  ++prefix.back();
  return prefix;
}

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_ETCD_ETCD_KEYS_H_
