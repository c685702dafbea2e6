// Endpoint: where the daemon's sockets are.
#ifndef WAVETUNE_CLIENT_SRC_ENDPOINT_H_
#define WAVETUNE_CLIENT_SRC_ENDPOINT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "base/cache_paths.h"

namespace wavetune {

// Returns the gRPC target of the reader socket: `explicit_endpoint` if not
// empty, else WAVETUNE_ENDPOINT, else the default socket: that of the user's
// own daemon if it is there, else the system's (base/socket_paths.h).
// A plain path becomes unix:path. Reads the environment; cannot fail.
std::string ReaderEndpoint(absl::string_view explicit_endpoint = "");

// Returns the endpoint of another role ("admin", "agent") beside a reader
// endpoint: unix:/x/reader.sock becomes unix:/x/admin.sock. Endpoints of
// another form are returned unchanged (one address serves all roles). Cannot
// fail.
std::string SiblingEndpoint(absl::string_view reader_endpoint,
                            absl::string_view role);

// Returns the default folder for cached tables: $WAVETUNE_CACHE_DIR, else that
// of base/cache_paths.h. Reads the environment; cannot fail.
CacheDir DefaultCacheDir();

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_ENDPOINT_H_
