#include "cli/commands/job_text.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/digest.h"
#include "base/printable_text.h"
#include "cli/commands/class_text.h"
#include "cli/exit_code.h"
#include "cli/format.h"
#include "cli/text_table.h"
#include "model/kernel/key_difference.h"

namespace wavetune::cli {
namespace {

// Long texts belong to `jobs show`.
constexpr size_t kMessageWidth = 60;

std::string FirstLine(const std::string& text) {
  return ShortenedText(absl::string_view(text).substr(0, text.find('\n')),
                       kMessageWidth);
}

std::string ActionName(v1::DriftReport::Action action) {
  switch (action) {
    case v1::DriftReport::ACTION_UNSPECIFIED:
      return "could not be judged";
    case v1::DriftReport::CARRY_OVER:
      return "carry over";
    default:
      return "profile anew";
  }
}

}  // namespace

std::string PhaseName(v1::JobPhase phase) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(v1::JobPhase_Name(phase)),
                             {{"_", " "}});
}

std::string StateName(v1::JobState state) {
  return absl::AsciiStrToLower(v1::JobState_Name(state));
}

std::string ProgressLabel(const v1::JobInfo& job) {
  return absl::StrCat(
      "job ", job.id(), " ", job.kernel(), " ",
      job.state() == v1::QUEUED ? "queued" : PhaseName(job.phase()));
}

std::string DevicesText(const v1::JobInfo& job) {
  return job.device_uuids_size() > 1
             ? absl::StrCat(job.device_uuids_size(), " devices")
             : job.device_uuid();
}

bool HasEnded(const v1::JobInfo& job) {
  return job.state() == v1::SUCCEEDED || job.state() == v1::FAILED ||
         job.state() == v1::CANCELLED;
}

void PrintJobList(Output& out, const v1::ListJobsResponse& jobs) {
  TextTable table({"JOB", "KIND", "KERNEL", "DEVICE", "STATE", "PHASE",
                   "SAMPLES", "DEVICE TIME", "CREATED", "MESSAGE"});
  for (const v1::JobInfo& job : jobs.jobs()) {
    std::string phase = PhaseName(job.phase());
    if (!HasEnded(job) && job.total() > 0)
      absl::StrAppend(&phase, " ", job.done(), "/", job.total());
    table.AddRow({absl::StrCat(job.id()), job.kind(), job.kernel(),
                  DevicesText(job), StateName(job.state()), phase,
                  absl::StrCat(job.samples()),
                  FormatMicroseconds(job.device_time_us()),
                  FormatTime(job.created_at_us()), FirstLine(job.message())});
  }
  table.Print(out, "no jobs");
}

std::string UserText(const std::string& by) {
  const bool number =
      !by.empty() && std::all_of(by.begin(), by.end(),
                                 [](char c) { return c >= '0' && c <= '9'; });
  return number ? absl::StrCat("user ", by) : by;
}

std::string StaleText(const v1::TableInfo& info) {
  if (!info.stale())
    return info.pinned().empty() ? "serving" : "serving, pinned";
  return info.stale_reason().empty()
             ? "STALE"
             : absl::StrCat("STALE: ", info.stale_reason());
}

bool IsOldClass(const v1::TableInfo& info,
                const v1::ListTablesResponse& tables) {
  return info.stale() &&
         std::any_of(tables.tables().begin(), tables.tables().end(),
                     [&](const v1::TableInfo& other) {
                       return other.kernel() == info.kernel() &&
                              other.silicon_key() == info.silicon_key() &&
                              other.epoch() > info.epoch();
                     });
}

absl::Status CheckStale(const v1::ListTablesResponse& tables) {
  std::vector<std::string> stale;
  for (const v1::TableInfo& info : tables.tables()) {
    if (!info.stale() || IsOldClass(info, tables)) continue;
    stale.push_back(absl::StrCat("\"", info.kernel(), "\" on ",
                                 info.device_label(), " is ", StaleText(info)));
  }
  for (const std::string& left_out : tables.left_out()) {
    stale.push_back(left_out);
  }
  if (stale.empty()) return absl::OkStatus();
  return StaleStatus(absl::StrCat(
      stale.size(), " of ", tables.tables_size() + tables.left_out_size(),
      " tables are stale, or cannot be read: ", absl::StrJoin(stale, "; "),
      ". Profile them: wavetune reprofile --kernel NAME"));
}

namespace {

TextTable TableOfTables() {
  return TextTable({"KERNEL", "DEVICE", "DIGEST", "FINGERPRINT", "PORTFOLIO",
                    "SIZE", "EPOCH", "PROMOTED", "STATE"});
}

void AddTable(TextTable& table, const v1::TableInfo& info,
              const std::string& state) {
  const std::string environment = EnvironmentText(info.environment_key());
  table.AddRow({info.kernel(),
                absl::StrCat(info.device_label(),
                             environment.empty() ? "" : ", ", environment),
                ShortDigest(info.digest()), info.fingerprint().substr(0, 12),
                absl::StrCat(info.portfolio_size()),
                FormatBytes(info.size_bytes()), absl::StrCat(info.epoch()),
                FormatTime(info.promoted_at_us()), state});
}

void PrintOldClasses(Output& out, const v1::ListTablesResponse& tables) {
  TextTable old = TableOfTables();
  bool any = false;
  for (const v1::TableInfo& info : tables.tables()) {
    if (!IsOldClass(info, tables)) continue;
    any = true;
    AddTable(old, info, StaleText(info));
  }
  if (!any) return;
  out << "\nkept for devices as they were, beside newer ones (wavetune tables "
         "retire ends them):\n";
  old.Print(out);
}

}  // namespace

void PrintTableList(Output& out, const v1::ListTablesResponse& tables) {
  TextTable table = TableOfTables();
  for (const v1::TableInfo& info : tables.tables()) {
    if (!IsOldClass(info, tables)) AddTable(table, info, StaleText(info));
  }
  for (const v1::TableInfo& info : tables.withdrawn())
    AddTable(table, info, "WITHDRAWN");
  table.Print(out,
              tables.left_out().empty()
                  ? "no tables: run `wavetune reprofile --kernel NAME --wait`"
                  : "no tables that can be read");
  PrintOldClasses(out, tables);
  for (const v1::TableInfo& info : tables.withdrawn()) {
    out << "table " << ShortDigest(info.digest()) << " of " << info.kernel()
        << " was withdrawn: " << info.withdrawn()
        << "; decisions answer the default until another is promoted\n";
  }
  for (const std::string& left_out : tables.left_out()) out << left_out << "\n";
}

void PrintKernelFaults(Output& out, const v1::ListKernelsResponse& kernels) {
  for (const v1::KernelStatus& kernel : kernels.kernels()) {
    for (const v1::DefaultFault& fault : kernel.default_faults()) {
      out << "the default of " << kernel.spec().name();
      if (!fault.specialisation().empty())
        out << " [" << fault.specialisation() << "]";
      out << " cannot be used on " << fault.device_uuid() << ": "
          << FirstLine(fault.reason()) << "\n";
    }
  }
}

void PrintDrift(Output& out, const v1::JobInfo& job) {
  if (!job.has_drift()) return;
  const v1::DriftReport& drift = job.drift();
  const std::string differs =
      KeyDifference(drift.from_environment(), drift.to_environment());
  out << "  drift probe of table " << ShortDigest(drift.digest())
      << (differs.empty() ? "" : absl::StrCat(" (", differs, ")")) << ": "
      << ActionName(drift.action()) << "\n    " << drift.reason() << "\n    "
      << absl::StrFormat("%d samples in %.1f s", drift.samples(),
                         drift.seconds())
      << "\n";
  for (const v1::DriftRegime& regime : drift.regimes()) {
    out << absl::StrFormat("    %s%s: %d pairs, median %.3f, worst %.3f%s",
                           regime.specialisation().empty()
                               ? ""
                               : absl::StrCat(regime.specialisation(), ", "),
                           regime.name(), regime.pairs(), regime.median_ratio(),
                           regime.worst_ratio(),
                           regime.drifted() ? ", drifted" : "")
        << "\n";
  }
}

void PrintPlannedJobs(Output& out, const std::vector<v1::PlannedJob>& planned) {
  for (const v1::PlannedJob& job : planned) {
    out << job.kernel() << " on " << job.device_uuid() << "\n  " << job.what()
        << "\n  at most " << job.candidates() << " candidates to compile, "
        << job.samples() << " samples";
    if (job.device_s() >= 0) {
      out << absl::StrFormat(", %.1f s of device time", job.device_s());
    } else {
      out << "; device time is not known, as nothing was measured yet";
    }
    out << "\n";
  }
  out << "nothing is queued (--dry-run)\n";
}

}  // namespace wavetune::cli
