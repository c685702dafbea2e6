// Bounded calls: gRPC methods whose requests are looked at before they are
// parsed (request_bounds.h). Includes gRPC.
//
// The generated WithRawCallbackMethod_... give a method its request as bytes.
//
//   WAVETUNE_ANSWER(Resolve, kResolve, handler_->Resolve)
//   WAVETUNE_ANSWER_LATER(ListJobs, kFewWords, handler_->ListJobs, work_)
//   WAVETUNE_RAW_METHOD(GetTable) {
//     return AnswerNowOrLater<v1::GetTableRequest, FoundTable>(...);
//   }
#ifndef WAVETUNE_SERVER_RPC_BOUNDED_CALL_H_
#define WAVETUNE_SERVER_RPC_BOUNDED_CALL_H_

#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "formats/foreign_text.h"
#include "formats/status.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/server_callback.h"
#include "server/rpc/call_durations.h"
#include "server/rpc/request_bounds.h"
#include "server/rpc/work_queue.h"

namespace wavetune {

// Errors: as CheckRequest. Takes no memory.
template <typename Message>
absl::Status CheckBounded(const grpc::ByteBuffer& bytes,
                          const RequestBounds& bounds) {
  grpc::ByteBuffer buffer(bytes);  // Shares the bytes.
  grpc::ProtoBufferReader reader(&buffer);
  return CheckRequest(*Message::descriptor(), bytes.Length(), &reader, bounds);
}

// Parses what CheckBounded has found sound. Errors: INVALID_ARGUMENT for what
// cannot be parsed.
template <typename Message>
absl::Status ParseChecked(const grpc::ByteBuffer& bytes, Message* message) {
  grpc::ByteBuffer buffer(bytes);  // Shares the bytes.
  const grpc::Status parsed =
      grpc::SerializationTraits<Message>::Deserialize(&buffer, message);
  if (parsed.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("what was sent is no ", Message::descriptor()->name(),
                   ", or has text that is not UTF-8"));
}

// Both. Errors: as theirs.
template <typename Message>
absl::Status ParseBounded(const grpc::ByteBuffer& bytes,
                          const RequestBounds& bounds, Message* message) {
  RETURN_IF_ERROR(CheckBounded<Message>(bytes, bounds));
  return ParseChecked(bytes, message);
}

template <typename Message>
grpc::ByteBuffer ToBytes(const Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  // Cannot fail: it is a message of ours, far below 2 GiB.
  grpc::SerializationTraits<Message>::Serialize(message, &bytes, &own);
  return bytes;
}

// Text from a file or an agent must not make the whole answer unreadable.
template <typename Message>
grpc::ByteBuffer ToReadableBytes(Message& message) {
  EscapeForeignText(&message);
  return ToBytes(message);
}

// Ends a call, well or as refused.
inline grpc::ServerUnaryReactor* FinishNow(grpc::CallbackServerContext* context,
                                           const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// Returns the counts of the method whose request this is, named without the
// "Request".
template <typename Request>
CallDurations::Method& MethodOf() {
  static CallDurations::Method& method = CallDurations::Of(
      absl::StripSuffix(Request::descriptor()->name(), "Request"));
  return method;
}

// A response is a message, or what else ToReadableBytes makes bytes of.
template <typename Response, typename Request, typename Handle>
absl::Status AnswerParsed(const Request& request, const Handle& handle,
                          grpc::ByteBuffer* out) {
  Response response;
  RETURN_IF_ERROR(handle(request, &response));
  *out = ToReadableBytes(response);
  return absl::OkStatus();
}

// Answers a call with what `handle(request, &response)` returns.
template <typename Request, typename Response, typename Handle>
grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer& in,
                                 grpc::ByteBuffer* out,
                                 const RequestBounds& bounds,
                                 const Handle& handle) {
  const CallTimer timer(MethodOf<Request>());
  Request request;
  absl::Status status = ParseBounded(in, bounds, &request);
  if (status.ok()) status = AnswerParsed<Response>(request, handle, out);
  return FinishNow(context, timer.Done(status));
}

// Whose a call is, and the thread that it may wait for a disk on; without
// `work`: it is answered at once.
struct Later {
  WorkQueue* work = nullptr;
  std::string user;
};

// Answers on the thread of `work`. RESOURCE_EXHAUSTED where too many calls wait
// for it. A request waits as bytes and is parsed when its turn comes.
template <typename Request, typename Response, typename Handle>
grpc::ServerUnaryReactor* AnswerLater(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer& in,
                                      grpc::ByteBuffer* out,
                                      const RequestBounds& bounds,
                                      const Later& later, Handle handle) {
  const CallTimer timer(MethodOf<Request>());
  if (absl::Status status = CheckBounded<Request>(in, bounds); !status.ok()) {
    return FinishNow(context, timer.Done(status));
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  // The context, and with it `out`, lives until Finish.
  const auto answer = [reactor, in, out, timer, handle = std::move(handle)] {
    Request request;
    absl::Status status = ParseChecked(in, &request);
    if (status.ok()) status = AnswerParsed<Response>(request, handle, out);
    reactor->Finish(ToGrpcStatus(timer.Done(status)));
  };
  if (later.work == nullptr) {
    answer();
  } else if (const absl::Status status =
                 later.work->Run(answer, {later.user, in.Length()});
             !status.ok()) {
    reactor->Finish(ToGrpcStatus(timer.Done(status)));
  }
  return reactor;
}

// A method of an answer: `context`, `in` and `out` are its arguments.
#define WAVETUNE_RAW_METHOD(Method)                                      \
  grpc::ServerUnaryReactor* Method(grpc::CallbackServerContext* context, \
                                   const grpc::ByteBuffer* in,           \
                                   grpc::ByteBuffer* out) override

// Calls a handler's method with as much of (request, user, response) as it
// takes.
#define WAVETUNE_HANDLE(handler)                                     \
  [this, user](const auto& request, auto* response) {                \
    if constexpr (requires { handler(request, user, response); }) {  \
      return handler(request, user, response);                       \
    } else if constexpr (requires { handler(request, response); }) { \
      return handler(request, response);                             \
    } else if constexpr (requires { handler(request, user); }) {     \
      return handler(request, user);                                 \
    } else {                                                         \
      return handler(response);                                      \
    }                                                                \
  }

// A method that is its handler's: on the thread of the call, or of `work`. The
// service has `peers_`.
#define WAVETUNE_ANSWER(Method, bounds, handler)              \
  WAVETUNE_RAW_METHOD(Method) {                               \
    const std::monostate user; /* Nobody's. */                \
    return Answer<v1::Method##Request, v1::Method##Response>( \
        context, *in, out, bounds, WAVETUNE_HANDLE(handler)); \
  }
#define WAVETUNE_ANSWER_LATER(Method, bounds, handler, work)                \
  WAVETUNE_RAW_METHOD(Method) {                                             \
    const std::string user = UserOf(peers_, *context);                      \
    return AnswerLater<v1::Method##Request, v1::Method##Response>(          \
        context, *in, out, bounds, {work, user}, WAVETUNE_HANDLE(handler)); \
  }

// As above, but answers at once where `now(request)` says that nothing has to
// wait. `later()` is asked only where something has. For small requests, as one
// that has to wait is parsed twice.
template <typename Request, typename Response, typename MakeLater, typename Now,
          typename Handle>
grpc::ServerUnaryReactor* AnswerNowOrLater(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer& in,
                                           grpc::ByteBuffer* out,
                                           const RequestBounds& bounds,
                                           const MakeLater& later,
                                           const Now& now, Handle handle) {
  {
    const CallTimer timer(MethodOf<Request>());
    Request request;
    absl::Status status = ParseBounded(in, bounds, &request);
    if (!status.ok()) return FinishNow(context, timer.Done(status));
    if (now(request)) {
      status = AnswerParsed<Response>(request, handle, out);
      return FinishNow(context, timer.Done(status));
    }
  }
  return AnswerLater<Request, Response>(context, in, out, bounds, later(),
                                        std::move(handle));
}

// Calls `start(request)` for a stream, or ends it where its request is refused.
template <typename Request, typename Reactor, typename Start>
void StartWith(Reactor& reactor, const grpc::ByteBuffer& in,
               const RequestBounds& bounds, const Start& start) {
  Request request;
  const absl::Status status = ParseBounded(in, bounds, &request);
  if (status.ok()) {
    start(request);
  } else {
    reactor.End(ToGrpcStatus(status));
  }
}

// A stream of `Response` behind a method whose request comes as bytes.
template <typename Response>
class RawWriteReactor : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  void StartWrite(const Response* message) {
    bytes_ = ToBytes(*message);
    grpc::ServerWriteReactor<grpc::ByteBuffer>::StartWrite(&bytes_);
  }

 private:
  grpc::ByteBuffer bytes_;  // Until OnWriteDone.
};

// The same with requests that come as bytes, one at a time.
template <typename Request, typename Response>
class RawBidiReactor
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  using Base = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

  void StartWrite(const Response* message) {
    written_ = ToBytes(*message);
    Base::StartWrite(&written_);
  }

 protected:
  void StartReading() { Base::StartRead(&read_); }
  // After OnReadDone(true).
  absl::Status ParseRead(const RequestBounds& bounds, Request* request) {
    request->Clear();
    return ParseBounded(read_, bounds, request);
  }

 private:
  grpc::ByteBuffer written_;
  grpc::ByteBuffer read_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_BOUNDED_CALL_H_
