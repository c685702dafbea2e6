#include "server/jobs/device_team.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/status_macros.h"
#include "model/kernel/load_level.h"
#include "server/jobs/device_class.h"
#include "server/jobs/device_leases.h"
#include "server/jobs/job_wait.h"

namespace wavetune {
namespace {

// Configurations of a part: fewer would keep most workers of a device waiting
// for the last one, more than that a job that waits for the device.
constexpr size_t kLeastPreparePart = 32;
constexpr size_t kMostPreparePart = 128;
// The same where there is one device, after which others may have come.
constexpr size_t kPrepareAlone = 256;
// Times that a device may break off the common set before it is left out.
constexpr int kMostFailedRatings = 3;

std::set<size_t> AllOf(size_t count) {
  std::set<size_t> all;
  for (size_t i = 0; i < count; ++i) all.insert(all.end(), i);
  return all;
}

template <typename Element>
std::vector<Element> Select(const std::vector<Element>& from,
                            const std::vector<size_t>& indices) {
  std::vector<Element> selected;
  for (const size_t i : indices) selected.push_back(from[i]);
  return selected;
}

}  // namespace

DeviceTeam::DeviceTeam(const JobServices& services, JobControl* control)
    : services_(services),
      control_(control),
      job_id_(control->record().id),
      time_(std::make_shared<JobDevice::DeviceTime>()),
      key_(control->record().key) {}

JobDevice& DeviceTeam::Member(const std::string& uuid) {
  std::lock_guard lock(members_mutex_);
  std::unique_ptr<JobDevice>& member = members_[uuid];
  if (member == nullptr) {
    member = std::make_unique<JobDevice>(services_, control_, uuid, time_);
    if (kernel_ != nullptr) member->Bind(kernel_, key_, generation_);
  }
  return *member;
}

bool DeviceTeam::IsLeftOut(const std::string& uuid) const {
  const auto it = ratios_.find(uuid);
  if (it != ratios_.end() && it->second.known()) return it->second.deviates();
  // Nobody knows what its samples are worth beside those of the others.
  return rated_.contains(uuid) &&
         std::any_of(ratios_.begin(), ratios_.end(),
                     [](const auto& r) { return r.second.known(); });
}

std::vector<std::string> DeviceTeam::Devices() const {
  std::vector<std::string> devices =
      AttachedOfClass(*services_.executors, key_);
  std::erase_if(devices,
                [&](const std::string& uuid) { return IsLeftOut(uuid); });
  return devices;
}

int DeviceTeam::devices() const {
  if (!control_->record().whole_class) return 1;
  return std::max(static_cast<int>(Devices().size()), 1);
}

std::vector<std::string> DeviceTeam::RatedDevices() const {
  std::vector<std::string> devices = Devices();
  if (common_.empty()) return devices;
  std::erase_if(
      devices, [&](const std::string& uuid) { return !rated_.contains(uuid); });
  return devices;
}

std::vector<std::string> DeviceTeam::UnratedDevices() const {
  if (common_.empty()) return {};
  std::vector<std::string> devices = Devices();
  std::erase_if(devices,
                [&](const std::string& uuid) { return rated_.contains(uuid); });
  return devices;
}

bool DeviceTeam::OnlyDevice(std::string* uuid) const {
  const JobRecord record = control_->record();
  *uuid = record.device_uuid;
  if (!record.whole_class) return true;
  const std::vector<std::string> devices = Devices();
  if (devices.size() > 1) return false;
  if (!devices.empty()) {
    *uuid = devices.front();
  } else if (IsLeftOut(*uuid)) {
    // One that is away, and was as fast as its class.
    const auto good = std::find_if(
        rated_.begin(), rated_.end(),
        [&](const std::string& rated) { return !IsLeftOut(rated); });
    if (good != rated_.end()) *uuid = *good;
  }
  return true;
}

absl::StatusOr<DeviceFacts> DeviceTeam::Acquire() {
  const JobRecord record = control_->record();
  if (record.whole_class &&
      services_.executors->Find(record.device_uuid, 0) == nullptr) {
    for (const std::string& uuid : Devices()) {
      const auto executor = services_.executors->Find(uuid, 0);
      if (executor != nullptr) return executor->device();
    }
  }
  return Member(record.device_uuid).Acquire();
}

void DeviceTeam::Bind(std::shared_ptr<const TunableKernel> kernel,
                      ProfileKey key, uint64_t generation) {
  kernel_ = std::move(kernel);
  key_ = std::move(key);
  generation_ = generation;
  time_->used_us.store(control_->record().device_time_us);
  for (auto& [uuid, member] : members_) {
    member->Bind(kernel_, key_, generation_);
  }
}

absl::Status DeviceTeam::RunAlone(
    const std::string& uuid,
    const std::function<absl::Status(JobDevice&)>& work) {
  DeviceLease lease;
  if (control_->record().whole_class) {  // Others hold theirs until they end.
    ASSIGN_OR_RETURN(lease, AwaitLease(services_, control_, uuid));
  }
  JobDevice& member = Member(uuid);
  member.SetPatient(true);
  return work(member);
}

DeviceWork DeviceTeam::NewWork() {
  return {.devices = [this] { return RatedDevices(); },
          .cancel = [this](const std::string& uuid) { Member(uuid).Cancel(); },
          .others = [this] { return UnratedDevices(); }};
}

absl::Status DeviceTeam::Prepare(
    const std::string& specialisation,
    const std::vector<Configuration>& configurations,
    const std::vector<Problem>& correctness_problems,
    const RecordCallback& on_record) {
  for (auto begin = configurations.begin(); begin != configurations.end();) {
    std::string only;
    if (!OnlyDevice(&only)) {
      return PrepareSpread(specialisation, {begin, configurations.end()},
                           correctness_problems, on_record);
    }
    const auto prepare = [&](JobDevice& device) -> absl::Status {
      std::string now = only;
      while (begin != configurations.end() && OnlyDevice(&now) && now == only) {
        const auto end =
            begin + std::min<ptrdiff_t>(configurations.end() - begin,
                                        static_cast<ptrdiff_t>(kPrepareAlone));
        RETURN_IF_ERROR(device.Prepare(specialisation, {begin, end},
                                       correctness_problems, on_record));
        begin = end;
      }
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(RunAlone(only, prepare));
  }
  return absl::OkStatus();
}

absl::Status DeviceTeam::PrepareSpread(
    const std::string& specialisation,
    const std::vector<Configuration>& configurations,
    const std::vector<Problem>& correctness_problems,
    const RecordCallback& on_record) {
  // What is compiled says nothing of times: every device may.
  DeviceWork work = NewWork();
  work.devices = [this] { return Devices(); };
  work.others = [] { return std::vector<std::string>(); };
  work.run = [&](const std::string& uuid, const DeviceWork::Part& part) {
    JobDevice& device = Member(uuid);
    device.SetPatient(false);
    std::set<Configuration> done;
    DeviceWork::Outcome outcome;
    outcome.status = device.Prepare(
        specialisation, Select(configurations, part), correctness_problems,
        [&](CandidateRecord& record) {
          std::lock_guard lock(callback_mutex_);
          done.insert(record.candidate.configuration);
          prepared_.insert({specialisation, record.candidate.configuration});
          on_record(record);
        });
    for (const size_t i : part) {
      if (!done.contains(configurations[i])) outcome.left.push_back(i);
    }
    return outcome;
  };
  // Two parts a device, as one may be slower.
  const size_t wanted = 2 * static_cast<size_t>(devices());
  const size_t most = std::clamp((configurations.size() + wanted - 1) / wanted,
                                 kLeastPreparePart, kMostPreparePart);
  std::vector<DeviceWork::Part> parts;
  for (size_t i = 0; i < configurations.size(); ++i) {
    if (i % most == 0) parts.emplace_back();
    parts.back().push_back(i);
  }
  return SpreadOverDevices(services_, control_, work, std::move(parts));
}

DeviceTeam::Unprepared DeviceTeam::unprepared() const {
  Unprepared all;
  for (const auto& [uuid, member] : members_) {
    for (const auto& [candidate, reason] : member->unprepared()) {
      // Another device may have been able to.
      if (!prepared_.contains(candidate)) all.emplace(candidate, reason);
    }
  }
  return all;
}

std::string DeviceTeam::UnpreparedText() const {
  return JobDevice::TextOf(unprepared(), kernel_.get());
}

absl::Status DeviceTeam::OnOneDevice(const Order& order,
                                     const WorkAlone& work) {
  std::string only;
  if (OnlyDevice(&only)) {
    return RunAlone(only, [&](JobDevice& one) { return work(only, one); });
  }
  DeviceWork spread = NewWork();
  spread.devices = [&] {
    std::vector<std::string> devices = Devices();
    order(devices);
    return devices;
  };
  spread.others = [] { return std::vector<std::string>(); };
  spread.run = [&](const std::string& uuid, const DeviceWork::Part& part) {
    JobDevice& device = Member(uuid);
    device.SetPatient(false);
    DeviceWork::Outcome outcome;
    outcome.status = work(uuid, device);
    if (!outcome.status.ok()) outcome.left = part;
    return outcome;
  };
  return SpreadOverDevices(services_, control_, spread, {{size_t{0}}});
}

absl::StatusOr<std::vector<DeviceTeam::Result>> DeviceTeam::Measure(
    const std::vector<MeasureItem>& items, KeepTogether together,
    const ResultCallback& on_result, const std::function<Batch()>& more) {
  std::vector<MeasureItem> all = items;
  std::vector<Result> results(items.size());
  const auto take = [&](size_t index, const Result& result) {
    std::lock_guard lock(callback_mutex_);
    results[index] = result;
    if (on_result) on_result(index, result);
  };
  const auto take_more = [&]() -> Batch {
    if (!more) return {};
    std::lock_guard lock(callback_mutex_);
    Batch batch = more();
    results.resize(results.size() + batch.items.size());
    return batch;
  };
  std::set<size_t> left = AllOf(items.size());
  budget_spent_.store(time_->spent());
  common_at_.clear();
  while (!left.empty() && !budget_spent()) {
    std::string only;
    const bool alone = OnlyDevice(&only);
    if (control_->record().whole_class) ChooseCommon(all);
    if (alone && !IsNewcomer(only)) {
      RETURN_IF_ERROR(MeasureAlone(only, all, left, take));
    } else {
      RETURN_IF_ERROR(RateDevices(left, take));
      RETURN_IF_ERROR(MeasureSpread(all, together, left, take, take_more));
    }
  }
  return results;
}

absl::Status DeviceTeam::MeasureAlone(const std::string& uuid,
                                      const std::vector<MeasureItem>& items,
                                      std::set<size_t>& left,
                                      const ResultCallback& on_result) {
  const std::vector<size_t> part(left.begin(), left.end());
  // Who comes later is compared with this one, which measures the common set
  // among the rest.
  const bool rates = !common_at_.empty() && rated_.empty();
  absl::Status measured = RunAlone(uuid, [&](JobDevice& device) {
    absl::Status status =
        device
            .Measure(Select(items, part),
                     [&](size_t i, const Result& result) {
                       left.erase(part[i]);
                       if (rates) TakeForRating(uuid, part[i], result);
                       on_result(part[i], Normalised(uuid, result));
                     })
            .status();
    if (device.budget_spent()) budget_spent_.store(true);
    return status;
  });
  if (rates && measured.ok()) rated_.insert(uuid);
  return measured;
}

void DeviceTeam::TakeForRating(const std::string& uuid, size_t index,
                               const Result& result) {
  if (!result.sample || std::find(common_at_.begin(), common_at_.end(),
                                  index) == common_at_.end()) {
    return;
  }
  rating_.push_back({.sample = *result.sample, .device_uuid = uuid});
}

bool DeviceTeam::IsNewcomer(const std::string& uuid) const {
  return !rated_.empty() && !rated_.contains(uuid);
}

absl::Status DeviceTeam::MeasureSpread(std::vector<MeasureItem>& items,
                                       KeepTogether together,
                                       std::set<size_t>& left,
                                       const ResultCallback& on_result,
                                       const std::function<Batch()>& more) {
  std::mutex items_mutex;  // Guards items and left.
  DeviceWork work = NewWork();
  work.run = [&](const std::string& uuid, const DeviceWork::Part& part) {
    JobDevice& device = Member(uuid);
    device.SetPatient(false);
    std::set<size_t> of_part(part.begin(), part.end());
    std::vector<MeasureItem> wanted;
    {
      std::lock_guard lock(items_mutex);
      wanted = Select(items, part);
    }
    DeviceWork::Outcome outcome;
    outcome.status =
        device
            .Measure(wanted,
                     [&](size_t i, const Result& result) {
                       of_part.erase(part[i]);
                       {
                         std::lock_guard lock(items_mutex);
                         left.erase(part[i]);
                       }
                       on_result(part[i], Normalised(uuid, result));
                     })
            .status();
    outcome.enough = device.budget_spent();
    if (outcome.enough) budget_spent_.store(true);
    outcome.left.assign(of_part.begin(), of_part.end());
    return outcome;
  };
  const std::vector<std::string> devices = RatedDevices();
  std::map<size_t, size_t> part_of;  // By index into items.
  size_t count = 0;                  // Of the parts that were split last.
  const auto split = [&](const std::vector<size_t>& indices, KeepTogether how) {
    std::vector<DeviceWork::Part> parts = SplitIntoParts(
        Select(items, indices), how, devices.size(),
        [&](const Problem& problem) {
          return kernel_ == nullptr ? 0 : LoadLevel(kernel_->spec, problem);
        });
    for (size_t p = 0; p < parts.size(); ++p) {
      for (size_t& i : parts[p]) {
        i = indices[i];
        part_of[i] = p;
      }
    }
    count = parts.size();
    return parts;
  };
  work.choose = [&](const std::string& uuid,
                    const std::deque<DeviceWork::Part>& unmeasured) {
    const auto device = static_cast<size_t>(
        std::find(devices.begin(), devices.end(), uuid) - devices.begin());
    std::vector<size_t> at;
    at.reserve(unmeasured.size());
    for (const DeviceWork::Part& part : unmeasured) {
      at.push_back(part_of.at(part.front()));
    }
    return NextPart(device, devices.size(), at, count);
  };
  work.more = [&]() -> std::vector<DeviceWork::Part> {
    const Batch batch = more();
    std::lock_guard lock(items_mutex);
    std::vector<size_t> indices;
    for (const MeasureItem& item : batch.items) {
      left.insert(items.size());
      indices.push_back(items.size());
      items.push_back(item);
    }
    return split(indices, batch.together);
  };
  return SpreadOverDevices(services_, control_, work,
                           split({left.begin(), left.end()}, together));
}

void DeviceTeam::ChooseCommon(const std::vector<MeasureItem>& items) {
  if (!common_.empty()) return;
  const std::vector<size_t> at = CommonSet(items, kCommonPairs);
  if (at.size() < static_cast<size_t>(kLeastRatioPairs)) return;
  common_at_ = at;
  common_ = Select(items, at);
}

absl::Status DeviceTeam::RateDevices(std::set<size_t>& left,
                                     const ResultCallback& on_result) {
  std::vector<std::string> devices = UnratedDevices();
  if (devices.empty()) return absl::OkStatus();
  struct Measured {
    std::string uuid;
    size_t index = 0;  // Into common_.
    Result result;
  };
  std::vector<Measured> all;
  DeviceWork work = NewWork();
  work.once = true;
  // Who comes late is not waited for.
  work.at_least_one = rated_.empty();
  work.devices = [&] { return devices; };
  work.others = [] { return std::vector<std::string>(); };
  work.run = [&](const std::string& uuid, const DeviceWork::Part&) {
    JobDevice& device = Member(uuid);
    device.SetPatient(false);
    DeviceWork::Outcome outcome;
    outcome.status = device
                         .Measure(common_,
                                  [&](size_t i, const Result& result) {
                                    std::lock_guard lock(callback_mutex_);
                                    all.push_back({uuid, i, result});
                                  })
                         .status();
    outcome.enough = device.budget_spent();
    if (outcome.enough) budget_spent_.store(true);
    std::lock_guard lock(callback_mutex_);
    if (outcome.status.ok() || ++failed_ratings_[uuid] >= kMostFailedRatings) {
      newly_rated_.insert(uuid);
    }
    return outcome;
  };
  RETURN_IF_ERROR(SpreadOverDevices(
      services_, control_, work,
      std::vector<DeviceWork::Part>(devices.size(), {size_t{0}})));
  for (const Measured& one : all) {
    if (!one.result.sample) continue;
    rating_.push_back({.sample = *one.result.sample, .device_uuid = one.uuid});
  }
  Compare();
  if (common_at_.empty()) return absl::OkStatus();  // Of an earlier call.
  const auto hand_on = [&](const Measured& one) {
    left.erase(common_at_[one.index]);
    on_result(common_at_[one.index], Normalised(one.uuid, one.result));
  };
  for (const Measured& one : all) {
    if (one.result.sample && !IsLeftOut(one.uuid)) hand_on(one);
  }
  // What failed on every device that tried it; once.
  for (const Measured& one : all) {
    if (!one.result.sample && left.contains(common_at_[one.index])) {
      hand_on(one);
    }
  }
  return absl::OkStatus();
}

void DeviceTeam::Compare() {
  rated_.insert(newly_rated_.begin(), newly_rated_.end());
  newly_rated_.clear();
  ratios_ = DeviceRatios(rating_);
  const JobRecord record = control_->record();
  // Of one that gave no sample nothing is known.
  std::map<std::string, DeviceRatio> told = ratios_;
  for (const std::string& uuid : rated_) told[uuid];
  for (const auto& [uuid, ratio] : told) {
    if (ratio.known() || IsLeftOut(uuid)) {
      services_.device_rated(record, uuid, ratio);
    }
  }
}

DeviceTeam::Result DeviceTeam::Normalised(const std::string& uuid,
                                          const Result& result) const {
  const auto it = ratios_.find(uuid);
  if (it == ratios_.end() || !result.sample) return result;
  Result normalised = result;
  DivideBy(it->second.ratio, *normalised.sample);
  return normalised;
}

}  // namespace wavetune
