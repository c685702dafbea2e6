// Bounded calls: gRPC methods whose requests are looked at before they are
// parsed (request_bounds.h). Includes gRPC.
//
// The generated WithRawCallbackMethod_... give a method its request as bytes.
//
//   ServerUnaryReactor* Resolve(CallbackServerContext* context,
//                               const ByteBuffer* in, ByteBuffer* out) override
//                               {
//     return Answer<v1::ResolveRequest, v1::ResolveResponse>(
//         context, *in, out, kResolve, [this](const auto& request, auto*
//         response) {
//           return handler_->Resolve(request, response);
//         });
//   }
#ifndef WAVETUNE_SERVER_BOUNDED_CALL_H_
#define WAVETUNE_SERVER_BOUNDED_CALL_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/server_callback.h"
#include "model/status_macros.h"
#include "proto/convert/foreign_text.h"
#include "proto/convert/status.h"
#include "server/request_bounds.h"
#include "server/work_queue.h"

namespace wavetune {

// Parses `bytes`. Errors: as CheckRequest; INVALID_ARGUMENT for what cannot be
// parsed.
template <typename Message>
absl::Status ParseBounded(const grpc::ByteBuffer& bytes,
                          const RequestBounds& bounds, Message* message) {
  grpc::ByteBuffer buffer(bytes);  // Shares the bytes.
  {
    grpc::ProtoBufferReader reader(&buffer);
    RETURN_IF_ERROR(
        CheckRequest(*Message::descriptor(), bytes.Length(), &reader, bounds));
  }
  const grpc::Status parsed =
      grpc::SerializationTraits<Message>::Deserialize(&buffer, message);
  if (parsed.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("what was sent is no ", Message::descriptor()->name(),
                   ", or has text that is not UTF-8"));
}

template <typename Message>
grpc::ByteBuffer ToBytes(const Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  // Cannot fail: it is a message of ours, far below 2 GiB.
  grpc::SerializationTraits<Message>::Serialize(message, &bytes, &own);
  return bytes;
}

// What a file or an agent brought in must not make the whole answer unreadable.
template <typename Message>
grpc::ByteBuffer ToReadableBytes(Message& message) {
  EscapeForeignText(&message);
  return ToBytes(message);
}

inline absl::Status TooManyWait() {
  return absl::ResourceExhaustedError(
      "too many requests wait for the daemon's disk: try again later");
}

inline grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context,
                                        const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// Answers a call with what `handle(request, &response)` returns.
template <typename Request, typename Response, typename Handle>
grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer& in,
                                 grpc::ByteBuffer* out,
                                 const RequestBounds& bounds,
                                 const Handle& handle) {
  Request request;
  Response response;
  absl::Status status = ParseBounded(in, bounds, &request);
  if (status.ok()) status = handle(request, &response);
  if (status.ok()) *out = ToReadableBytes(response);
  return Refuse(context, status);
}

// The same on the thread of `work`, which may wait for a disk, unless
// `now(request)` says that nothing has to. RESOURCE_EXHAUSTED where too many
// calls wait for it. Without `work`: at once.
template <typename Request, typename Response, typename Now, typename Handle>
grpc::ServerUnaryReactor* AnswerNowOrLater(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer& in,
                                           grpc::ByteBuffer* out,
                                           const RequestBounds& bounds,
                                           WorkQueue* work, const Now& now,
                                           Handle handle) {
  const auto request = std::make_shared<Request>();
  if (absl::Status status = ParseBounded(in, bounds, request.get());
      !status.ok()) {
    return Refuse(context, status);
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  // The context, and with it `out`, lives until Finish.
  const auto answer = [reactor, request, out, handle = std::move(handle)] {
    Response response;
    const absl::Status status = handle(*request, &response);
    if (status.ok()) *out = ToReadableBytes(response);
    reactor->Finish(ToGrpcStatus(status));
  };
  if (work == nullptr || now(*request)) {
    answer();
  } else if (!work->Run(answer)) {
    reactor->Finish(ToGrpcStatus(TooManyWait()));
  }
  return reactor;
}

template <typename Request, typename Response, typename Handle>
grpc::ServerUnaryReactor* AnswerLater(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer& in,
                                      grpc::ByteBuffer* out,
                                      const RequestBounds& bounds,
                                      WorkQueue* work, Handle handle) {
  return AnswerNowOrLater<Request, Response>(
      context, in, out, bounds, work, [](const Request&) { return false; },
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

#endif  // WAVETUNE_SERVER_BOUNDED_CALL_H_
