#include "server/catalog/event_texts.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "model/kernel/device.h"
#include "model/kernel/key_difference.h"

namespace wavetune {
namespace {

EventRecord AboutTable(EventKind kind, const TableRecord& table) {
  return {.kind = kind,
          .kernel = table.key.kernel,
          .device_uuid = table.device_uuid,
          .silicon_key = table.key.silicon_key,
          .digest = table.digest,
          .job_id = table.job_id,
          .by = table.by};
}

std::string NameOf(const TableRecord& table) {
  return absl::StrCat("table ", ShortDigest(table.digest), " of kernel \"",
                      table.key.kernel, "\"",
                      table.device_label.empty()
                          ? ""
                          : absl::StrCat(" (", table.device_label, ")"));
}

std::string AfterColon(const std::string& text) {
  return text.empty() ? "" : absl::StrCat(": ", text);
}

// Users are numbers; a node of the fleet has a name.
std::string NameOfUser(const std::string& by) {
  if (by == kDaemonUser) return "the daemon";
  const bool number =
      !by.empty() && by.find_first_not_of("0123456789") == std::string::npos;
  return absl::StrCat(number ? "user " : "node ", by);
}

EventRecord Promoted(const TableRecord& table) {
  if (table.how == PromotionKind::kRolledBack) {
    EventRecord event = AboutTable(EventKind::kRolledBack, table);
    event.text = absl::StrCat(NameOf(table), " serves again, rolled back by ",
                              NameOfUser(table.by), AfterColon(table.why));
    return event;
  }
  if (table.how == PromotionKind::kImported) {
    EventRecord event = AboutTable(EventKind::kImported, table);
    event.text = absl::StrCat(
        NameOf(table), " serves, imported by user ", table.by,
        table.unverified ? ", not verified here" : "", AfterColon(table.why));
    return event;
  }
  if (table.how == PromotionKind::kCarriedOver) {
    EventRecord event = AboutTable(EventKind::kCarriedOver, table);
    event.text =
        absl::StrCat(NameOf(table),
                     table.carried_from.empty() ? " is found to hold, epoch "
                                                : " is carried over, epoch ",
                     table.epoch,
                     AfterColon(KeyDifference(table.measured_in(),
                                              table.key.environment_key)),
                     AfterColon(table.why));
    return event;
  }
  EventRecord event = AboutTable(EventKind::kPromoted, table);
  event.text = absl::StrCat(
      NameOf(table), " serves, epoch ", table.epoch,
      table.how == PromotionKind::kShipped ? ", shipped with the kernel" : "",
      table.how == PromotionKind::kFleet
          ? absl::StrCat(", of the fleet, published by node ", table.by)
          : "",
      table.how == PromotionKind::kTrial
          ? absl::StrCat(", on trial for the fleet, of node ", table.by)
          : "",
      AfterColon(table.why));
  return event;
}

EventRecord Retired(const TableChange& change) {
  const TableRecord& table = change.table;
  EventRecord event = AboutTable(
      table.withdrawn.empty() ? EventKind::kRetired : EventKind::kWithdrawn,
      table);
  event.by = change.by;
  event.warning = !table.withdrawn.empty() || change.refused;
  event.text = absl::StrCat(
      NameOf(table),
      table.withdrawn.empty() ? " serves no longer" : " is WITHDRAWN",
      AfterColon(change.why));
  if (change.refused) {
    absl::StrAppend(&event.text, " (wavetune reprofile --kernel ",
                    table.key.kernel, ")");
  }
  return event;
}

// What becomes of a stale table.
std::string AfterStale(const TableRecord& table, bool judged_soon) {
  if (table.unverified)
    return absl::StrCat(". Does it hold here? wavetune tables verify ",
                        table.key.kernel);
  if (judged_soon) return ". A drift probe follows by itself, and decides";
  return absl::StrCat(". Profile it anew: wavetune reprofile --kernel ",
                      table.key.kernel);
}

EventRecord Remarked(const TableRecord& table, const std::string& reason,
                     bool judged_soon) {
  EventRecord event = AboutTable(
      reason.empty() ? EventKind::kTableCurrent : EventKind::kTableStale,
      table);
  event.by = kDaemonUser;  // Nobody did it.
  event.warning = !reason.empty();
  event.text =
      reason.empty()
          ? absl::StrCat(NameOf(table), " is current again")
          : absl::StrCat(NameOf(table), " is STALE, it serves on: ", reason,
                         AfterStale(table, judged_soon));
  return event;
}

std::string EndOf(const JobRecord& job) {
  switch (job.state) {
    case JobState::kSucceeded:
      return "succeeded";
    case JobState::kCancelled:
      return "was cancelled";
    default:
      return "FAILED";
  }
}

// What a drift probe leads to.
std::string OutcomeText(const JobRecord& job) {
  const DriftAction action = job.drift->action;
  if (action == DriftAction::kUndecided) return "could not be judged";
  const bool holds = action == DriftAction::kCarryOver;
  if (!job.options.verify_digest.empty())
    return holds ? "holds" : "does NOT hold";
  return holds ? "is carried over" : "is profiled anew";
}

}  // namespace

EventRecord EventOf(const TableChange& change) {
  switch (change.kind) {
    case TableChange::Kind::kPromoted:
      return Promoted(change.table);
    case TableChange::Kind::kRetired:
      return Retired(change);
    case TableChange::Kind::kRemarked:
      break;
  }
  return Remarked(change.table, change.stale_reason, change.judged_soon);
}

EventRecord EventOf(const RejectedTable& table) {
  EventRecord event = AboutTable(EventKind::kRefused, table.record);
  event.text =
      absl::StrCat(NameOf(table.record), " of job ", table.record.job_id,
                   " is not promoted", AfterColon(table.reason));
  return event;
}

EventRecord RefusedEvent(const CompiledTable& table, const std::string& file,
                         absl::string_view why) {
  return {.kind = EventKind::kRefused,
          .warning = true,
          .kernel = table.table().kernel,
          .silicon_key = table.table().silicon_key,
          .digest = table.digest(),
          .by = kDaemonUser,
          .text = absl::StrCat("shipped table ", ShortDigest(table.digest()),
                               " of kernel \"", table.table().kernel, "\" (",
                               file, ") does not serve: ", why)};
}

EventRecord EventOf(const AgentDirectory::Change& change) {
  using Kind = AgentDirectory::Change::Kind;
  const DeviceFacts& device = change.device;
  EventRecord event{.device_uuid = device.uuid,
                    .silicon_key = SiliconKey(device)};
  const std::string name =
      absl::StrCat("device ", device.uuid, " (", device.label, ")");
  switch (change.kind) {
    case Kind::kAttached:
      event.kind = EventKind::kDeviceAttached;
      event.text = absl::StrCat(name, " is attached, driver ", device.driver);
      break;
    case Kind::kDetached:
      event.kind = EventKind::kDeviceDetached;
      event.text = absl::StrCat(name, " is detached");
      break;
    case Kind::kEnvironmentChanged:
      event.kind = EventKind::kDriverChanged;
      event.warning = true;
      event.text = absl::StrCat(
          name, " has another environment than before: ",
          KeyDifference(change.environment_before, EnvironmentKey(device)));
      break;
    case Kind::kSlow:
      event.kind = EventKind::kSlowDevice;
      event.warning = true;
      event.text = absl::StrCat(name, " is left out of profiles: ", change.why);
      break;
    case Kind::kHot:
      event.kind = EventKind::kHotDevice;
      event.warning = true;
      event.text = absl::StrCat(name, " is left out of profiles: ", change.why);
      break;
    case Kind::kUnrated:
      event.kind = EventKind::kUnratedDevice;
      event.text =
          absl::StrCat(name, " took no part in a profile: ", change.why);
      break;
    case Kind::kLost:
      event.kind = EventKind::kDeviceLost;
      event.warning = true;
      event.text = absl::StrCat(name, " cannot be used: ", change.why);
      break;
    case Kind::kUsable:
      event.kind = EventKind::kDeviceUsable;
      event.text = absl::StrCat(name, " can be profiled again");
      break;
  }
  return event;
}

EventRecord EventOf(const JobRecord& job) {
  EventRecord event{.kernel = job.kernel,
                    .device_uuid = job.device_uuid,
                    .silicon_key = job.key.silicon_key,
                    .digest = job.digest,
                    .job_id = job.id,
                    .by = job.by};
  const std::string name = absl::StrCat("job ", job.id, " (kernel ", job.kernel,
                                        ", device ", job.device_uuid, ")");
  if (!job.finished()) {
    event.kind = EventKind::kJobStarted;
    event.text = absl::StrCat(name, " runs", AfterColon(job.reason));
    return event;
  }
  event.kind = EventKind::kJobEnded;
  event.warning = job.state == JobState::kFailed;
  event.text = absl::StrCat(name, " ", EndOf(job), AfterColon(job.message));
  return event;
}

EventRecord DriftProbeEvent(const JobRecord& job) {
  const DriftReport& drift = *job.drift;
  const std::string differs =
      KeyDifference(drift.from_environment, drift.to_environment);
  return {.kind = EventKind::kDriftProbeResult,
          .kernel = job.kernel,
          .device_uuid = job.device_uuid,
          .silicon_key = job.key.silicon_key,
          .digest = drift.digest,
          .job_id = job.id,
          .by = job.by,
          .text = absl::StrCat(
              "drift probe of table ", ShortDigest(drift.digest),
              " of kernel \"", job.kernel, "\"",
              differs.empty() ? "" : absl::StrCat(" (", differs, ")"), ": it ",
              OutcomeText(job), AfterColon(drift.reason))};
}

EventRecord SpotCheckEvent(const JobRecord& job) {
  return {.kind = EventKind::kSpotCheckDisagrees,
          .warning = true,
          .kernel = job.kernel,
          .device_uuid = job.device_uuid,
          .silicon_key = job.key.silicon_key,
          .digest = job.options.verify_digest,
          .job_id = job.id,
          .by = job.by,
          .text = absl::StrCat("table ", ShortDigest(job.options.verify_digest),
                               " of kernel \"", job.kernel,
                               "\" does not hold on device ", job.device_uuid,
                               AfterColon(job.message))};
}

EventRecord RolloutHaltedEvent(const ProfileKey& key, const std::string& digest,
                               const std::string& why) {
  return {.kind = EventKind::kRolloutHalted,
          .warning = true,
          .kernel = key.kernel,
          .silicon_key = key.silicon_key,
          .digest = digest,
          .by = kDaemonUser,
          .text = absl::StrCat("the fleet's rollout of table ",
                               ShortDigest(digest), " of kernel \"", key.kernel,
                               "\" is HALTED, its nodes went back: ", why)};
}

EventRecord StoreEvent(const absl::Status& status) {
  if (status.ok()) {
    return {.kind = EventKind::kStoreUsable,
            .text = "the store can be written again"};
  }
  return {
      .kind = EventKind::kStoreProblem,
      .warning = true,
      .text = absl::StrCat("the store cannot be written: ", status.message())};
}

}  // namespace wavetune
