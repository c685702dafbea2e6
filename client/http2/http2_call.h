// Http2Call: one gRPC call on a connection of its own, with system calls only.
//
// Why beside gRPC: a process that was forked while its parent used gRPC cannot
// use it, and there is no way to start it anew. Its threads are not there, and
// its polling set is shared with the parent's. This has no state but the
// call's, so that it works in any process.
//
//   Http2Call call("unix:/run/wavetune/reader.sock");
//   absl::Status ended = call.Run("/wavetune.v1.TableService/GetTable", bytes,
//                                 2'000'000, [&](absl::string_view message) {
//                                   ...
//                                   return true;
//                                 });
//
// Thread safety: Run once, Cancel from any thread.
#ifndef WAVETUNE_CLIENT_HTTP2_HTTP2_CALL_H_
#define WAVETUNE_CLIENT_HTTP2_HTTP2_CALL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/http2_frames.h"

namespace wavetune {

class Http2Call {
 public:
  // Returns whether to go on.
  using OnMessage = std::function<bool(absl::string_view message)>;

  // Largest message that is taken: a table's payload and more.
  static constexpr size_t kMaxMessageBytes = size_t{64} << 20;

  // `endpoint`: unix:/path or unix:///path.
  explicit Http2Call(std::string endpoint);
  ~Http2Call();
  Http2Call(const Http2Call&) = delete;
  Http2Call& operator=(const Http2Call&) = delete;

  // Sends one message and gives those of the answer to `on_message` until the
  // call ends, or that returns false. `timeout_us` 0: no deadline. Errors: the
  // daemon's; DEADLINE_EXCEEDED; CANCELLED; DATA_LOSS for an answer that is no
  // gRPC. UNAVAILABLE where the daemon cannot be reached or goes away, and for
  // an endpoint that is no unix socket.
  absl::Status Run(const std::string& path, const std::string& request,
                   int64_t timeout_us, const OnMessage& on_message);

  // Ends the call, now or once it runs, as CANCELLED. Cannot fail.
  void Cancel();

 private:
  absl::Status Connect();
  absl::Status SendRequest(const std::string& path, const std::string& request,
                           int64_t timeout_us);
  absl::Status Send(absl::string_view bytes);
  absl::Status Receive();
  // Waits for the socket, or without `events` a moment. Errors: CANCELLED,
  // DEADLINE_EXCEEDED.
  absl::Status Await(short events);  // NOLINT: poll's type.
  absl::Status TakeFrames(const OnMessage& on_message);
  absl::Status Take(const Http2Frame& frame, const OnMessage& on_message);
  absl::Status TakeData(const Http2Frame& frame, const OnMessage& on_message);
  absl::Status TakeHeaders(const Http2Frame& frame);
  absl::Status GiveWindow(size_t bytes);
  // What the call ended with, from the fields so far.
  absl::Status Outcome() const;
  absl::Status Unreachable(absl::string_view what) const;

  const std::string endpoint_;
  int socket_ = -1;
  int cancel_ = -1;                     // An eventfd.
  std::optional<int64_t> deadline_us_;  // On the steady clock.
  std::string received_;
  std::string block_;                          // Headers, not yet whole.
  std::map<std::string, std::string> fields_;  // Headers and trailers.
  std::string body_;                           // Messages, not yet whole.
  size_t taken_ = 0;  // Bytes of data since the last update of the window.
  bool ended_ = false;
  bool wanted_ = true;  // on_message wants more.
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_HTTP2_HTTP2_CALL_H_
