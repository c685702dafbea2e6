// JobReactor: a stream about one job: paced progress, and the end with the
// job's. To a slow reader only the latest progress is worth anything. Includes
// gRPC.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_RPC_JOB_REACTOR_H_
#define WAVETUNE_SERVER_RPC_JOB_REACTOR_H_

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "formats/foreign_text.h"
#include "grpcpp/alarm.h"
#include "server/jobs/job_control.h"
#include "server/rpc/bounded_call.h"
#include "server/rpc/record_proto.h"
#include "server/rpc/stream_reactor.h"
#include "server/store/records.h"

namespace wavetune {

// Progress of a job is sent at most ten times a second.
inline constexpr std::chrono::milliseconds kProgressInterval{100};

template <typename Response>
class JobReactor : public StreamReactor<RawWriteReactor<Response>, Response> {
 public:
  // Follows a job that `watch` describes.
  void Follow(const JobRecord& record, JobControl::Handle handle) {
    {
      std::lock_guard lock(job_mutex_);
      if (closed_) return;
      handle_ = std::move(handle);
    }
    OnJob(record, /*only_if_first=*/true);
  }

  JobControl::Listener Listener() {
    return [weak = Weak()](const JobRecord& record) {
      if (const auto self = weak.lock()) self->OnJob(record);
    };
  }

 protected:
  std::weak_ptr<JobReactor> Weak() {
    return std::static_pointer_cast<JobReactor>(this->shared_from_this());
  }
  void OnClosed() override {
    JobControl::Handle handle;  // Goes without the lock.
    std::lock_guard lock(job_mutex_);
    closed_ = true;
    handle = std::move(handle_);
  }

 private:
  // `only_if_first`: the record is older than what the listener may have
  // brought already.
  void OnJob(const JobRecord& record, bool only_if_first = false) {
    std::unique_lock lock(job_mutex_);
    if (ended_ || (only_if_first && latest_)) return;
    latest_ = record;
    if (record.finished()) {
      ended_ = true;
      lock.unlock();
      Send(record);
      this->End(grpc::Status::OK);
      return;
    }
    if (waiting_) return;
    Pace(record);
    lock.unlock();
    Send(record);
  }

  // Sends the changes since the last message.
  void OnInterval() {
    std::unique_lock lock(job_mutex_);
    waiting_ = false;
    if (ended_ || !latest_ || !Differs(*latest_)) return;
    const JobRecord record = *latest_;
    Pace(record);
    lock.unlock();
    Send(record);
  }

  // The record is sent now, and nothing else for a while. Holds job_mutex_.
  void Pace(const JobRecord& record) {
    waiting_ = true;
    sent_ = record;
    alarm_.emplace();
    alarm_->Set(std::chrono::system_clock::now() + kProgressInterval,
                [weak = Weak()](bool) {
                  if (const auto self = weak.lock()) self->OnInterval();
                });
  }

  // Holds job_mutex_.
  bool Differs(const JobRecord& record) const {
    return !sent_ || sent_->state != record.state ||
           sent_->phase != record.phase || sent_->done != record.done ||
           sent_->total != record.total || sent_->samples != record.samples ||
           sent_->message != record.message;
  }

  // Without job_mutex_, as gRPC may call back: another thread's record may
  // overtake this one, but nothing follows the last.
  void Send(const JobRecord& record) {
    auto message = std::make_shared<Response>();
    *message->mutable_job() = record.finished()
                                  ? DetailedJobRecordToProto(record)
                                  : JobRecordToProto(record);
    EscapeForeignText(message.get());
    this->QueueLatest(std::move(message), /*last=*/record.finished());
  }

  std::mutex job_mutex_;
  // Guarded by job_mutex_.
  JobControl::Handle handle_;
  bool closed_ = false;
  std::optional<JobRecord> latest_;
  std::optional<JobRecord> sent_;
  std::optional<grpc::Alarm> alarm_;
  bool waiting_ = false;
  bool ended_ = false;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_JOB_REACTOR_H_
