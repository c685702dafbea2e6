#include "server/agents/agent_device.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "formats/measured_fields.h"
#include "formats/types.h"
#include "server/agents/agent_limits.h"

namespace wavetune {
namespace {

// How often a waiting batch looks at the clock.
constexpr std::chrono::milliseconds kPollInterval{200};
// How long an agent may take to end a cancelled batch before the job goes on
// without it: the current launch sequence or compilation has to end first.
constexpr std::chrono::seconds kCancelGrace{30};

Sample ToSample(const MeasureItem& item, const v1::Sample& proto) {
  // What was asked for counts, whatever the agent echoes.
  Sample sample{.configuration = item.configuration, .problem = item.problem};
  TakeMeasured(proto, sample);
  return sample;
}

bool Usable(const Sample& sample) {
  return MeasuredIsFinite(sample) && sample.latency_us > 0 &&
         sample.device_time_us >= 0;
}

absl::Status SilentError(const AgentDevice::Stream& stream) {
  return absl::UnavailableError(absl::StrCat("agent ", stream.agent_name,
                                             " sent nothing for ",
                                             stream.heartbeat_timeout_s, " s"));
}

// Which items of a batch were reported: the first report of each counts.
class Reported {
 public:
  explicit Reported(size_t items) : reported_(items) {}

  // Returns whether `index` is an item's, and the report its first.
  bool Take(int32_t index) {
    if (index < 0 || static_cast<size_t>(index) >= reported_.size()) {
      return false;
    }
    auto reported = reported_[static_cast<size_t>(index)];
    if (reported) return false;
    reported = true;
    return true;
  }

 private:
  std::vector<bool> reported_;
};

// Returns how a batch ended.
absl::Status EndOf(const v1::BatchDone& done) {
  if (done.kernel_broken()) {
    return absl::FailedPreconditionError(done.error());
  }
  if (!done.error().empty()) return absl::UnavailableError(done.error());
  if (!done.cancelled()) return absl::OkStatus();
  return absl::UnavailableError("the agent cancelled the batch");
}

// Cuts what an agent says of any length.
void BoundTexts(v1::AttachRequest& report) {
  const auto bound = [](std::string* text) {
    if (text->size() > kMaxReasonBytes) {
      *text = BoundedText(*text, kMaxReasonBytes);
    }
  };
  if (report.has_candidate()) {
    bound(report.mutable_candidate()->mutable_excluded_reason());
  }
  if (report.has_failure()) bound(report.mutable_failure()->mutable_reason());
  if (report.has_done()) bound(report.mutable_done()->mutable_error());
}

}  // namespace

void AgentDevice::Stream::Touch() {
  last_message_us.store(SystemClock().SteadyNow().count());
}

double AgentDevice::Stream::SilentForS() const {
  return ToSeconds(SystemClock().SteadyNow() -
                   Clock::Duration(last_message_us.load()));
}

bool AgentDevice::Stream::Silent() const {
  return ended.load() || SilentForS() > heartbeat_timeout_s;
}

AgentDevice::AgentDevice(DeviceFacts facts, std::shared_ptr<Stream> stream)
    : stream_(std::move(stream)), facts_(std::move(facts)) {}

absl::Status AgentDevice::Prepare(
    const KernelFiles& kernel, const std::string& specialisation,
    const std::vector<Configuration>& configurations,
    const std::vector<Problem>& correctness_problems, IfBusy if_busy,
    const CandidateCallback& on_candidate) {
  v1::AttachResponse request;
  v1::PrepareBatch* const batch = request.mutable_prepare();
  batch->set_device_uuid(device().uuid);
  batch->set_specialisation(specialisation);
  for (const Configuration& configuration : configurations) {
    *batch->add_configurations() = ConfigurationToProto(configuration);
  }
  for (const Problem& problem : correctness_problems) {
    *batch->add_correctness_problems() =
        ProblemToProto(kernel.dimensions, problem);
  }
  Reported reported(configurations.size());
  return RunBatch(kernel, request, configurations.size(), if_busy,
                  [&](const v1::AttachRequest& report) {
                    if (!report.has_candidate()) return true;
                    const v1::CandidateReport& proto = report.candidate();
                    if (!reported.Take(proto.index())) return true;
                    Preparation prepared{
                        .candidate = CandidateFromProto(
                            configurations[static_cast<size_t>(proto.index())],
                            proto.facts()),
                        .environment = proto.environment()};
                    prepared.candidate.excluded_reason =
                        proto.excluded_reason();
                    return on_candidate(prepared);
                  });
}

absl::Status AgentDevice::Measure(const KernelFiles& kernel,
                                  const std::vector<MeasureItem>& items,
                                  IfBusy if_busy,
                                  const OutcomeCallback& on_outcome) {
  v1::AttachResponse request;
  v1::MeasureBatch* const batch = request.mutable_measure();
  batch->set_device_uuid(device().uuid);
  for (const MeasureItem& item : items) {
    v1::MeasureItem* const entry = batch->add_requests();
    if (item.vendor_baseline.empty()) {
      *entry->mutable_configuration() =
          ConfigurationToProto(item.configuration);
    }
    entry->set_vendor_baseline(item.vendor_baseline);
    *entry->mutable_problem() = ProblemToProto(kernel.dimensions, item.problem);
  }
  Reported reported(items.size());
  return RunBatch(
      kernel, request, items.size(), if_busy,
      [&](const v1::AttachRequest& report) {
        Outcome outcome;
        Sample sample;
        if (report.has_sample() && reported.Take(report.sample().index())) {
          outcome.index = static_cast<size_t>(report.sample().index());
          sample = ToSample(items[outcome.index], report.sample().sample());
          if (Usable(sample)) {
            outcome.sample = &sample;
            TakeHeat(sample);
          } else {
            outcome.failure = absl::StrCat("the agent reported a latency of ",
                                           sample.latency_us, " us");
          }
          return on_outcome(outcome);
        }
        if (report.has_failure() && reported.Take(report.failure().index())) {
          outcome.index = static_cast<size_t>(report.failure().index());
          outcome.failure = report.failure().reason();
          outcome.exclude = report.failure().exclude_candidate();
          return on_outcome(outcome);
        }
        return true;
      });
}

absl::Status AgentDevice::RunBatch(const KernelFiles& kernel,
                                   const v1::AttachResponse& request,
                                   size_t items, IfBusy if_busy,
                                   const ReportHandler& handler) {
  {
    std::lock_guard lock(mutex_);
    cancelling_ = false;
    if_busy_ = if_busy;
    yielded_.clear();
  }
  absl::Status result = TryBatch(kernel, request, items, handler);
  if (absl::IsNotFound(result)) {
    result = TryBatch(kernel, request, items, handler);
  }
  if (absl::IsNotFound(result)) {
    result = absl::UnavailableError(result.message());
  }
  std::lock_guard lock(mutex_);
  batch_id_ = 0;
  if (!yielded_.empty() && (result.ok() || absl::IsUnavailable(result) ||
                            absl::IsCancelled(result))) {
    return absl::ResourceExhaustedError(yielded_);
  }
  if (cancelling_ && (result.ok() || absl::IsUnavailable(result))) {
    return absl::CancelledError("batch cancelled");
  }
  return result;
}

absl::Status AgentDevice::TryBatch(const KernelFiles& kernel,
                                   const v1::AttachResponse& request,
                                   size_t items, const ReportHandler& handler) {
  const uint64_t batch_id = stream_->next_batch_id.fetch_add(1);
  {
    std::lock_guard lock(mutex_);
    if (!closed_.empty()) return absl::UnavailableError(closed_);
    if (!problem_.empty()) return absl::UnavailableError(problem_);
    if (cancelling_) return absl::CancelledError("batch cancelled");
    batch_id_ = last_batch_id_ = batch_id;
    inbox_.clear();
    reports_left_ = ReportsAllowed(items);
  }
  SendBatch(kernel, request, batch_id);
  {
    // A cancel that came before the batch was sent told the agent nothing.
    std::lock_guard lock(mutex_);
    if (cancelling_) SendCancel();
  }
  for (;;) {
    v1::AttachRequest report;
    RETURN_IF_ERROR(NextReport(&report));
    if (report.has_done()) {
      if (!report.done().kernel_unknown()) return EndOf(report.done());
      std::lock_guard lock(stream_->kernels_mutex);
      stream_->kernels.Erase(kernel.fingerprint);
      return absl::NotFoundError(report.done().error());
    }
    // What arrives while the agent winds a cancelled batch up counts, too.
    if (!handler(report)) CancelBatch();
  }
}

void AgentDevice::SendBatch(const KernelFiles& kernel,
                            v1::AttachResponse request, uint64_t batch_id) {
  const auto fill = [&](auto& batch, bool kept) {
    batch.set_batch_id(batch_id);
    if (!kept) *batch.mutable_kernel() = *kernel.source;
    batch.mutable_kernel()->set_fingerprint(kernel.fingerprint);
  };
  std::lock_guard lock(stream_->kernels_mutex);
  const bool kept = stream_->kernels.Find(kernel.fingerprint) != nullptr;
  if (request.has_prepare()) {
    fill(*request.mutable_prepare(), kept);
  } else {
    fill(*request.mutable_measure(), kept);
  }
  if (!kept) stream_->kernels.Put(kernel.fingerprint, true);
  stream_->send(std::move(request));
}

absl::Status AgentDevice::NextReport(v1::AttachRequest* report) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!inbox_.empty()) {
      *report = std::move(inbox_.front());
      inbox_.pop_front();
      return absl::OkStatus();
    }
    if (!closed_.empty()) return absl::UnavailableError(closed_);
    if (!problem_.empty()) return absl::UnavailableError(problem_);
    const std::string why = cancelling_ ? "" : WhyYield();
    if (!why.empty()) {
      yielded_ = why;
      CancelBatchLocked();
    }
    if (cancelling_ &&
        SystemClock().SteadyNow() - cancelled_at_ > kCancelGrace) {
      return absl::CancelledError("the agent did not end the batch in time");
    }
    if (stream_->Silent()) break;
    changed_.wait_for(lock, kPollInterval);
  }
  lock.unlock();
  EndIfSilent();
  return SilentError(*stream_);
}

std::string AgentDevice::WhyYield() const {
  const DeviceState* const state = FreshState();
  if (if_busy_ == IfBusy::kYield && state != nullptr && !state->busy.empty()) {
    return state->busy;
  }
  return health_.Text(SystemClock().SteadyNow());
}

bool AgentDevice::EndIfSilent() {
  if (!stream_->Silent()) return false;
  // For good: what it says now comes too late, as the stream is being ended.
  stream_->ended.store(true);
  stream_->end(SilentError(*stream_));
  return true;
}

void AgentDevice::AcknowledgeStored(int64_t count) {
  v1::AttachResponse message;
  {
    std::lock_guard lock(mutex_);
    if (!closed_.empty()) return;
    message.mutable_stored()->set_batch_id(last_batch_id_);
  }
  message.mutable_stored()->set_count(count);
  stream_->send(std::move(message));
}

void AgentDevice::CancelBatch() {
  std::lock_guard lock(mutex_);
  yielded_.clear();  // Whoever cancels does not want it to go on later.
  CancelBatchLocked();
}

void AgentDevice::CancelBatchLocked() {
  if (batch_id_ == 0 || cancelling_ || !closed_.empty()) return;
  cancelling_ = true;
  cancelled_at_ = SystemClock().SteadyNow();
  SendCancel();
}

void AgentDevice::SendCancel() {
  v1::AttachResponse message;
  message.mutable_cancel()->set_batch_id(batch_id_);
  stream_->send(std::move(message));
}

DeviceFacts AgentDevice::device() const {
  std::lock_guard lock(mutex_);
  return facts_;
}

void AgentDevice::SetFacts(DeviceFacts facts) {
  std::lock_guard lock(mutex_);
  facts_ = std::move(facts);
}

const DeviceState* AgentDevice::FreshState() const {
  const double age_s = ToSeconds(SystemClock().SteadyNow() - state_at_);
  if (!state_.has_value() || age_s > stream_->heartbeat_timeout_s) {
    return nullptr;
  }
  return &*state_;
}

std::optional<DeviceState> AgentDevice::state() const {
  std::lock_guard lock(mutex_);
  const DeviceState* const state = FreshState();
  if (state == nullptr) return std::nullopt;
  return *state;
}

void AgentDevice::SetState(DeviceState state) {
  std::lock_guard lock(mutex_);
  state_at_ = SystemClock().SteadyNow();
  if (!state.busy.empty()) {
    last_busy_ = state.busy;
    busy_at_ = state_at_;
  }
  health_.Look(state, state_at_);
  state_ = std::move(state);
  changed_.notify_all();
}

void AgentDevice::TakeHeat(const Sample& sample) {
  std::lock_guard lock(mutex_);
  health_.TakeSample(sample.throttled ? sample.throttle_reasons : 0,
                     SystemClock().SteadyNow());
}

std::string AgentDevice::WhyHot() {
  std::lock_guard lock(mutex_);
  return health_.Text(SystemClock().SteadyNow());
}

std::string AgentDevice::BusyNow() const {
  if (!closed_.empty() || !problem_.empty() || FreshState() == nullptr) {
    return "";
  }
  if (!state_->busy.empty()) return state_->busy;
  const double idle_s = ToSeconds(SystemClock().SteadyNow() - busy_at_);
  return idle_s < stream_->idle_grace_s ? last_busy_ : "";
}

std::string AgentDevice::AwaitIdle(double timeout_s) {
  std::unique_lock lock(mutex_);
  const Clock::Duration until =
      SystemClock().SteadyNow() +
      Clock::Duration(static_cast<int64_t>(timeout_s * 1e6));
  while (!BusyNow().empty()) {
    const Clock::Duration left = until - SystemClock().SteadyNow();
    if (left <= Clock::Duration(0)) break;
    changed_.wait_for(lock, std::min<Clock::Duration>(left, kPollInterval));
  }
  return BusyNow();
}

absl::StatusOr<bool> AgentDevice::Deliver(uint64_t batch_id,
                                          v1::AttachRequest report) {
  BoundTexts(report);
  std::lock_guard lock(mutex_);
  if (batch_id != batch_id_) return false;
  if (reports_left_ == 0) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "agent ", stream_->agent_name, " reports more of batch ", batch_id,
        " on device ", facts_.uuid, " than the batch has items"));
  }
  --reports_left_;
  inbox_.push_back(std::move(report));
  changed_.notify_all();
  return true;
}

std::string AgentDevice::problem() const {
  std::lock_guard lock(mutex_);
  return problem_;
}

void AgentDevice::SetProblem(const std::string& problem) {
  std::lock_guard lock(mutex_);
  problem_ = problem;
  changed_.notify_all();
}

void AgentDevice::Close(const std::string& why) {
  std::lock_guard lock(mutex_);
  if (closed_.empty()) closed_ = why;
  changed_.notify_all();
}

}  // namespace wavetune
