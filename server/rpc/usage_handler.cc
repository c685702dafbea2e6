#include "server/rpc/usage_handler.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/copy_fields.h"
#include "base/status_macros.h"
#include "formats/types.h"
#include "model/kernel/device.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

constexpr int kMaxReasons = 8;
constexpr size_t kDigestChars = 64;

absl::Status CheckLength(const std::string& text, size_t most,
                         absl::string_view what) {
  if (text.size() <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, " has ", text.size(), " characters, at most ", most, " are taken"));
}

absl::Status CheckNumber(double number, double most, absl::string_view what) {
  if (std::isfinite(number) && number >= 0 && number <= most) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", number, "; must be 0 to ", most));
}

absl::Status CheckCount(int count, int most, absl::string_view what) {
  if (count <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a report has at most ", most, " ", what, ", not ", count));
}

absl::Status CheckDigest(const std::string& digest) {
  const bool hex =
      std::all_of(digest.begin(), digest.end(),
                  [](unsigned char c) { return absl::ascii_isxdigit(c); });
  if (digest.empty() || (digest.size() == kDigestChars && hex)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "digest must be the hex SHA-256 of a table, or empty");
}

absl::Status CheckUsedProblem(const v1::UsedProblem& used) {
  RETURN_IF_ERROR(CheckNumber(used.decisions(), UsageHandler::kMaxDecisions,
                              "decisions of a problem"));
  RETURN_IF_ERROR(CheckNumber(used.overcount(), used.decisions(),
                              "overcount of a problem"));
  RETURN_IF_ERROR(CheckLength(used.problem().specialisation(),
                              UsageHandler::kMaxNameBytes,
                              "a problem's specialisation"));
  RETURN_IF_ERROR(CheckCount(used.problem().extents_size(),
                             UsageHandler::kMaxDimensions,
                             "dimensions in a problem"));
  for (const v1::Problem::Extents& extents : used.problem().extents()) {
    RETURN_IF_ERROR(CheckLength(extents.dimension(),
                                UsageHandler::kMaxNameBytes, "a dimension"));
    RETURN_IF_ERROR(CheckCount(extents.values_size(), UsageHandler::kMaxValues,
                               "values in a dimension"));
  }
  return absl::OkStatus();
}

absl::Status CheckUsage(const v1::ReportedUsage& usage) {
  if (usage.kernel().empty()) {
    return absl::InvalidArgumentError("give a kernel name");
  }
  RETURN_IF_ERROR(CheckLength(usage.kernel(), UsageHandler::kMaxNameBytes,
                              "a kernel name"));
  RETURN_IF_ERROR(CheckLength(usage.device_uuid(), UsageHandler::kMaxNameBytes,
                              "a device UUID"));
  RETURN_IF_ERROR(CheckLength(usage.silicon_key(), UsageHandler::kMaxKeyBytes,
                              "a silicon key"));
  RETURN_IF_ERROR(CheckLength(usage.specialisation(),
                              UsageHandler::kMaxNameBytes, "a specialisation"));
  RETURN_IF_ERROR(CheckDigest(usage.digest()));
  const v1::SourceCounts& counts = usage.counts();
  for (const double count :
       {counts.fitted(), counts.wide_bound(), counts.extrapolated(),
        counts.stale(), counts.default_configuration()}) {
    RETURN_IF_ERROR(CheckNumber(count, UsageHandler::kMaxDecisions,
                                "a count of decisions"));
  }
  RETURN_IF_ERROR(CheckCount(usage.problems_size(), UsageHandler::kMaxProblems,
                             "problems of a kernel"));
  for (const v1::UsedProblem& used : usage.problems()) {
    RETURN_IF_ERROR(CheckUsedProblem(used));
  }
  return absl::OkStatus();
}

absl::Status CheckRequest(const v1::ReportUsageRequest& request) {
  RETURN_IF_ERROR(
      CheckCount(request.kernels_size(), UsageHandler::kMaxKernels, "kernels"));
  RETURN_IF_ERROR(CheckNumber(request.interval_s(), UsageHandler::kMaxIntervalS,
                              "interval_s"));
  for (const v1::ReportedUsage& usage : request.kernels()) {
    RETURN_IF_ERROR(CheckUsage(usage));
  }
  return absl::OkStatus();
}

absl::StatusOr<Problem> LegalProblem(const KernelSpec& spec,
                                     const std::string& specialisation,
                                     const v1::Problem& proto) {
  ASSIGN_OR_RETURN(Problem problem, ProblemFromProto(spec.dimensions, proto));
  if (problem.specialisation.empty()) problem.specialisation = specialisation;
  if (problem.specialisation != specialisation) {
    return absl::InvalidArgumentError(
        absl::StrCat("a problem of specialisation \"", problem.specialisation,
                     "\" in a report of \"", specialisation, "\""));
  }
  RETURN_IF_ERROR(CheckProblem(spec, problem));
  // The slot of a repeated dimension means nothing: one problem, one entry.
  for (size_t i = 0; i < spec.dimensions.size(); ++i) {
    if (spec.dimensions[i].repeated) problem.extents[i] = 0;
  }
  return problem;
}

void LeaveOut(const absl::Status& why, v1::ReportUsageResponse* response) {
  response->set_left_out(response->left_out() + 1);
  if (response->reasons_size() < kMaxReasons) {
    response->add_reasons(std::string(why.message()));
  }
}

UsageWeights WeightsFromProto(const v1::SourceCounts& counts) {
  return {.fitted = counts.fitted(),
          .wide_bound = counts.wide_bound(),
          .extrapolated = counts.extrapolated(),
          .stale = counts.stale(),
          .default_configuration = counts.default_configuration()};
}

// Returns the decisions that a kernel's part of a report is about: problems are
// sampled from those that are counted.
double DecisionsClaimed(const v1::ReportedUsage& usage) {
  double of_problems = 0;
  for (const v1::UsedProblem& used : usage.problems()) {
    of_problems += used.decisions();
  }
  return std::max(WeightsFromProto(usage.counts()).total(), of_problems);
}

v1::SourceCounts WeightsToProto(const UsageWeights& weights) {
  v1::SourceCounts counts;
  GIVE_FIELDS(weights, counts, fitted, wide_bound, extrapolated, stale,
              default_configuration);
  return counts;
}

v1::KernelUsage RecordToProto(const UsageRecord& record, const KernelSpec* spec,
                              size_t most_problems) {
  v1::KernelUsage usage;
  usage.set_kernel(record.kernel);
  usage.set_silicon_key(record.silicon_key);
  *usage.mutable_counts() = WeightsToProto(record.total());
  for (const auto& [name, weights] : record.specialisations) {
    v1::SpecialisationUsage* const one = usage.add_specialisations();
    one->set_specialisation(name);
    *one->mutable_counts() = WeightsToProto(weights);
  }
  usage.set_uncertain_share(record.with_table.uncertain_share());
  usage.set_decisions_with_table(record.with_table.total());
  usage.set_digest(record.digest);
  usage.set_refined_at_us(record.refined.at_us);
  usage.set_reported_at_us(record.reported_at_us);
  if (spec == nullptr) return usage;
  for (const HeavyHitters::Entry& entry : record.problems) {
    if (static_cast<size_t>(usage.problems_size()) == most_problems) break;
    // Of an older version of the kernel.
    if (!CheckProblem(*spec, entry.problem).ok()) continue;
    v1::UsedProblem* const used = usage.add_problems();
    *used->mutable_problem() = ProblemToProto(spec->dimensions, entry.problem);
    used->set_decisions(entry.weight);
    used->set_overcount(entry.error);
  }
  return usage;
}

}  // namespace

UsageHandler::UsageHandler(const Services& services)
    : services_(services),
      reports_of_user_(
          {.per_second = kReportsPerSecond, .at_once = kReportsAtOnce},
          services.clock),
      reports_({.per_second = kUsersAtOnce * kReportsPerSecond,
                .at_once = kUsersAtOnce * kReportsAtOnce},
               services.clock),
      decisions_of_process_(
          {.per_second = kDecisionsPerSecond,
           .at_once = kLongestIntervalS * kDecisionsPerSecond},
          services.clock),
      decisions_of_user_({.per_second = kDecisionsPerSecond,
                          .at_once = kLongestIntervalS * kDecisionsPerSecond},
                         services.clock) {}

absl::Status UsageHandler::TakeTurn(const Peer& peer) {
  if (reports_of_user_.TakeUpTo(peer.user, 1) >= 1 &&
      reports_.TakeUpTo("", 1) >= 1) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      "too many reports of use; report less often");
}

double UsageHandler::Believable(const v1::ReportUsageRequest& request,
                                const Peer& peer,
                                v1::ReportUsageResponse* response) {
  double claimed = 0;
  for (const v1::ReportedUsage& usage : request.kernels()) {
    claimed += DecisionsClaimed(usage);
  }
  const double since_connected =
      kDecisionsPerSecond * (kBeforeConnectingS + peer.connected_s);
  // Also of what is not new here: another connection may have had its name.
  const double of_process =
      decisions_of_process_.TakeUpTo(absl::StrCat(peer.user, " ", peer.process),
                                     std::min(claimed, since_connected));
  const double made =
      decisions_of_user_.TakeUpTo(peer.user, of_process, since_connected);
  if (made >= claimed) return 1;
  response->add_reasons(absl::StrCat(
      claimed, " decisions count as ", made, ": a process makes at most ",
      kDecisionsPerSecond,
      " in a second since it connected or reported last, and so do all of a "
      "user's together"));
  return made / claimed;
}

absl::Status UsageHandler::ReportUsage(const v1::ReportUsageRequest& request,
                                       const Peer& peer,
                                       v1::ReportUsageResponse* response) {
  RETURN_IF_ERROR(CheckRequest(request));
  const double factor = Believable(request, peer, response);
  std::set<std::pair<std::string, std::string>> reported;
  for (const v1::ReportedUsage& usage : request.kernels()) {
    const absl::StatusOr<UsageReport> report =
        Translate(usage, factor, response);
    if (!report.ok()) {
      LeaveOut(report.status(), response);
      continue;
    }
    services_.ledger->Add(*report);
    reported.insert({report->kernel, report->silicon_key});
  }
  for (const auto& [kernel, silicon_key] : reported) {
    services_.top_ups->Consider(kernel, silicon_key);
  }
  return absl::OkStatus();
}

absl::StatusOr<UsageReport> UsageHandler::Translate(
    const v1::ReportedUsage& usage, double factor,
    v1::ReportUsageResponse* response) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const KernelSpec> spec,
                   services_.kernels->Spec(usage.kernel()));
  const std::vector<std::string> names = spec->SpecialisationNames();
  if (std::find(names.begin(), names.end(), usage.specialisation()) ==
      names.end()) {
    return absl::NotFoundError(absl::StrCat("kernel ", usage.kernel(),
                                            " has no specialisation \"",
                                            usage.specialisation(), "\""));
  }
  UsageReport report{.kernel = usage.kernel(),
                     .specialisation = usage.specialisation(),
                     .digest = usage.digest(),
                     .counts = WeightsFromProto(usage.counts())};
  report.counts *= factor;
  ASSIGN_OR_RETURN(report.silicon_key, SiliconKeyOf(usage));
  const auto snapshot = services_.tables->snapshot();
  report.serving =
      std::any_of(snapshot->tables.begin(), snapshot->tables.end(),
                  [&](const ServingTable& table) {
                    return table.record.digest == report.digest &&
                           table.record.key.kernel == report.kernel &&
                           table.record.key.silicon_key == report.silicon_key;
                  });
  for (const v1::UsedProblem& used : usage.problems()) {
    absl::StatusOr<Problem> problem =
        LegalProblem(*spec, usage.specialisation(), used.problem());
    if (!problem.ok()) {
      LeaveOut(problem.status(), response);
      continue;
    }
    response->set_problems_taken(response->problems_taken() + 1);
    report.problems.push_back({*std::move(problem), factor * used.decisions(),
                               factor * used.overcount()});
  }
  return report;
}

absl::StatusOr<std::string> UsageHandler::SiliconKeyOf(
    const v1::ReportedUsage& usage) const {
  if (!usage.device_uuid().empty()) {
    ASSIGN_OR_RETURN(const DeviceFacts facts,
                     services_.devices->Facts(usage.device_uuid()));
    return SiliconKey(facts);
  }
  if (usage.silicon_key().empty()) {
    const std::optional<DeviceFacts> implied =
        services_.devices->ImpliedDevice();
    if (implied) return SiliconKey(*implied);
    return absl::FailedPreconditionError(
        absl::StrCat("usage of kernel ", usage.kernel(),
                     " names no device, and not one class of them is known"));
  }
  for (const AgentDirectory::Known& known : services_.devices->List()) {
    if (SiliconKey(known.record.facts) == usage.silicon_key()) {
      return usage.silicon_key();
    }
  }
  return absl::NotFoundError(absl::StrCat("no device with silicon key \"",
                                          usage.silicon_key(),
                                          "\" was ever seen"));
}

absl::Status UsageHandler::GetUsage(const v1::GetUsageRequest& request,
                                    v1::GetUsageResponse* response) const {
  constexpr auto kMost = static_cast<int>(UsageLedger::kMostProblems);
  if (request.problems() < 0 || request.problems() > kMost) {
    return absl::InvalidArgumentError(
        absl::StrCat("problems must be 0 to ", kMost));
  }
  const auto problems = static_cast<size_t>(
      request.problems() > 0 ? request.problems() : kDefaultProblems);
  const std::vector<AgentDirectory::Known> devices = services_.devices->List();
  for (const UsageRecord& record : services_.ledger->List()) {
    const auto spec = services_.kernels->Spec(record.kernel);
    v1::KernelUsage usage =
        RecordToProto(record, spec.ok() ? spec->get() : nullptr, problems);
    for (const AgentDirectory::Known& known : devices) {
      if (SiliconKey(known.record.facts) == record.silicon_key) {
        usage.set_device_label(known.record.facts.label);
      }
    }
    *response->add_kernels() = std::move(usage);
  }
  response->set_reports(services_.ledger->reports());
  response->set_refines(services_.top_ups->enabled());
  return absl::OkStatus();
}

}  // namespace wavetune
