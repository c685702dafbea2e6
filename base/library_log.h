// What protobuf and gRPC log, brought into a program's own log.
//
//   RouteLibraryLogs([](LibraryLogLevel level, absl::string_view text) { ...
//   });
//
// Why: both write to standard error, past the log, a line for each message that
// is not as it should be. Whoever can send messages can fill a disk with that.
// Here lines from one place of a library are summed up (base/repeated_lines.h)
// and made printable.
//
// For programs only. A library must not take an application's handlers over:
// the client library leaves them alone (docs/client.md).
#ifndef WAVETUNE_BASE_LIBRARY_LOG_H_
#define WAVETUNE_BASE_LIBRARY_LOG_H_

#include <functional>

#include "absl/strings/string_view.h"

namespace wavetune {

enum class LibraryLogLevel { kInfo, kWarning, kError };

// Takes a line: "protobuf: ..." or "grpc: ...". Called from any thread, one
// call at a time.
using LibraryLogWriter =
    std::function<void(LibraryLogLevel level, absl::string_view text)>;

// Sends what protobuf and gRPC log from now on to `write`, until the process
// ends; a second call replaces the first. Summaries come from a thread of their
// own, or with the next line. Cannot fail. Thread-safe.
void RouteLibraryLogs(LibraryLogWriter write);

// Writes the summaries that are not written yet: before a program ends. Cannot
// fail.
void FlushLibraryLogs();

}  // namespace wavetune

#endif  // WAVETUNE_BASE_LIBRARY_LOG_H_
