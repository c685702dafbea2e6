// What protobuf and gRPC log, brought into a program's own log.
//
// Why: both write to standard error, past the log, a line for each message that
// is not as it should be. Whoever can send messages can fill a disk with that.
// Here lines from one place of a library are repeats of each other.
//
// For programs only. A library must not take an application's handlers over:
// the client library leaves them alone (docs/client.md).
#ifndef WAVETUNE_BASE_LIBRARY_LOG_H_
#define WAVETUNE_BASE_LIBRARY_LOG_H_

namespace wavetune {

// Sends what protobuf and gRPC log from now on to the log, until the process
// ends, as lines "protobuf: ..." and "grpc: ..." of the component "library".
// None is an error: most are about somebody else's message. Cannot fail.
// Thread-safe.
void RouteLibraryLogs();

}  // namespace wavetune

#endif  // WAVETUNE_BASE_LIBRARY_LOG_H_
