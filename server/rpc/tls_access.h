// TlsAccess: who gets in over TCP: the daemon's certificate and key, the
// authorities whose clients it believes, and the policy of what each may call.
// All are files, and are read again while the daemon runs.
//
// A file that cannot be used never takes the place of one that can. A pair that
// does not belong together, an expired or not yet valid certificate, or a
// policy that does not parse, is logged, and the earlier files stay.
//
//   ASSIGN_OR_RETURN(auto access, TlsAccess::Open(files, log));
//   access->Look(absl::Now());  // Every kInterval.
//
// Thread safety: thread-safe. Includes no gRPC.
#ifndef WAVETUNE_SERVER_RPC_TLS_ACCESS_H_
#define WAVETUNE_SERVER_RPC_TLS_ACCESS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/tls_files.h"
#include "server/rpc/authorization_policy.h"

namespace wavetune {

class TlsAccess {
 public:
  struct Files {
    TlsFiles tls;
    std::string policy;
  };
  // Hears of replaced files, of refused ones, and of those that soon expire.
  using Tell = std::function<void(LogLevel level, const std::string& text)>;

  // How often the files are to be looked at.
  static constexpr std::chrono::seconds kInterval{10};
  // When the daemon begins to say that its certificate expires: so long before,
  // or when this share of its life is left, as some live for hours.
  static constexpr absl::Duration kExpiryNotice = absl::Hours(7 * 24);
  static constexpr double kExpiryShare = 0.2;

  // Reads the files. Errors: as ReadTlsFiles and AuthorizationPolicy::Parse,
  // with the path.
  static absl::StatusOr<std::unique_ptr<TlsAccess>> Open(Files files,
                                                         Tell tell);

  // Reads the files again, and says the news at `now`. Returns whether other
  // callers may be allowed from now on than before: the policy or the
  // authorities are others.
  bool Look(absl::Time now);

  // What a handshake uses. `generation` is another one after each change.
  struct Material {
    uint64_t generation = 0;
    std::shared_ptr<const TlsMaterial> material;
  };
  Material material() const;
  std::shared_ptr<const AuthorizationPolicy> policy() const;

 private:
  TlsAccess(Files files, Tell tell);

  // Return what Look returns.
  bool LookAtTls(absl::Time now);
  bool LookAtPolicy();
  void SayWhatExpires(absl::Time now);
  // Says `status` unless the last look said the same. Returns whether it is OK.
  bool TellOf(const absl::Status& status, std::string* last);

  const Files files_;
  const Tell tell_;
  std::mutex look_mutex_;  // One look at a time.
  // Guarded by look_mutex_.
  std::string tls_problem_;  // The last look's; empty where there was none.
  std::string policy_problem_;
  std::string policy_text_;
  absl::Time next_notice_ = absl::InfinitePast();
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  Material material_;
  std::shared_ptr<const AuthorizationPolicy> policy_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_TLS_ACCESS_H_
