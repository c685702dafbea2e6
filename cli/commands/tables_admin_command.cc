// wavetune tables history|rejected|rollback|pin|unpin.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/job_text.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/text_table.h"

namespace wavetune::cli {
namespace {

struct TablesAdminOptions {
  std::string kernel;
  std::string device;
  std::string digest;
  std::string reason;
  int32_t limit = 20;
};

// "profiled (job 3)".
std::string HowText(const v1::TableInfo& info) {
  if (!info.withdrawn().empty()) return "WITHDRAWN";
  switch (info.how()) {
    case v1::PROFILED:
      return absl::StrCat("profiled (job ", info.job_id(), ")");
    case v1::ROLLED_BACK:
      return "rolled back";
    case v1::CARRIED_OVER:
      return absl::StrCat("carried over (job ", info.job_id(), ")");
    case v1::IMPORTED:
      return "imported";
    case v1::SHIPPED:
      return "shipped";
    case v1::FLEET:
      return "fleet";
    default:
      return "not recorded";
  }
}

std::string StateText(const v1::ListTableHistoryResponse& history,
                      const v1::TableInfo& info) {
  const bool serves =
      std::find(history.serving().begin(), history.serving().end(),
                info.digest()) != history.serving().end();
  if (!serves) return "";
  return info.pinned().empty() ? "serving" : "serving, pinned";
}

void PrintHistory(Output& out, const v1::ListTableHistoryResponse& history) {
  TextTable table(
      {"EPOCH", "WHEN", "DIGEST", "FINGERPRINT", "HOW", "BY", "STATE", "WHY"});
  for (const v1::TableInfo& info : history.tables()) {
    table.AddRow({absl::StrCat(info.epoch()), FormatTime(info.promoted_at_us()),
                  ShortDigest(info.digest()), info.fingerprint().substr(0, 12),
                  HowText(info), UserText(info.by()), StateText(history, info),
                  info.withdrawn().empty() ? info.why() : info.withdrawn()});
  }
  table.Print(out);
  for (const v1::TableInfo& info : history.tables()) {
    if (info.pinned().empty()) continue;
    out << "pinned " << info.pinned()
        << "; nothing is promoted until wavetune tables unpin " << info.kernel()
        << "\n";
    return;
  }
}

absl::Status RunHistory(CommandContext& context,
                        const TablesAdminOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  v1::ListTableHistoryRequest request;
  request.set_kernel(options.kernel);
  request.set_device_uuid(options.device);
  request.set_limit(options.limit);
  ASSIGN_OR_RETURN(const v1::ListTableHistoryResponse history,
                   daemon->Ask<v1::ListTableHistoryResponse>(request));
  if (context.json) {
    PrintJson(*context.out, ToJson(history));
  } else {
    PrintHistory(*context.out, history);
  }
  return absl::OkStatus();
}

std::string LatencyText(double latency_us) {
  return latency_us > 0 ? FormatMicroseconds(latency_us) : "-";
}

void PrintRejected(Output& out, const v1::RejectedTable& rejected) {
  const v1::TableInfo& info = rejected.table();
  out << "table " << ShortDigest(info.digest()) << " of job " << info.job_id()
      << ", " << FormatTime(rejected.rejected_at_us()) << "\n  "
      << rejected.reason() << "\n";
  if (rejected.points().empty()) return;
  TextTable table({"PROBLEM", "THIS TABLE", "SERVING", "DEFAULT"});
  for (const v1::RejectedPoint& point : rejected.points()) {
    table.AddRow(
        {FormatProblem(point.problem()), LatencyText(point.chosen_us()),
         LatencyText(point.incumbent_us()), LatencyText(point.default_us())});
  }
  table.Print(out);
}

absl::Status RunRejected(CommandContext& context,
                         const TablesAdminOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  v1::ListRejectedTablesRequest request;
  request.set_kernel(options.kernel);
  request.set_device_uuid(options.device);
  ASSIGN_OR_RETURN(const v1::ListRejectedTablesResponse response,
                   daemon->Ask<v1::ListRejectedTablesResponse>(request));
  if (context.json) {
    PrintJson(*context.out, ToJson(response));
    return absl::OkStatus();
  }
  for (const v1::RejectedTable& rejected : response.tables())
    PrintRejected(*context.out, rejected);
  return absl::OkStatus();
}

absl::Status RunRollBack(CommandContext& context,
                         const TablesAdminOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  v1::RollBackRequest request;
  request.set_kernel(options.kernel);
  request.set_device_uuid(options.device);
  request.set_digest(options.digest);
  request.set_reason(options.reason);
  ASSIGN_OR_RETURN(const v1::RollBackResponse response,
                   daemon->Ask<v1::RollBackResponse>(request));
  if (context.json) {
    PrintJson(*context.out, ToJson(response));
    return absl::OkStatus();
  }
  const v1::TableInfo& table = response.table();
  *context.out << "table " << ShortDigest(table.digest()) << " of "
               << table.kernel() << " serves again, epoch " << table.epoch()
               << ": " << StaleText(table) << "\n";
  for (const v1::TableInfo& ended : response.ended()) {
    *context.out << "table " << ShortDigest(ended.digest())
                 << " serves no longer\n";
  }
  *context.out << "the next profile may promote another: wavetune tables pin "
               << table.kernel() << " keeps this one\n";
  return absl::OkStatus();
}

absl::Status RunPin(CommandContext& context,
                    const TablesAdminOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  v1::PinTableRequest request;
  request.set_kernel(options.kernel);
  request.set_device_uuid(options.device);
  request.set_reason(options.reason);
  ASSIGN_OR_RETURN(const v1::PinTableResponse response,
                   daemon->Ask<v1::PinTableResponse>(request));
  if (context.json) {
    PrintJson(*context.out, ToJson(response));
    return absl::OkStatus();
  }
  *context.out << "table " << ShortDigest(response.table().digest()) << " of "
               << response.table().kernel()
               << " is pinned: jobs go on, but nothing is promoted until "
                  "wavetune tables unpin "
               << response.table().kernel() << "\n";
  return absl::OkStatus();
}

absl::Status RunUnpin(CommandContext& context,
                      const TablesAdminOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  v1::UnpinTableRequest request;
  request.set_kernel(options.kernel);
  request.set_device_uuid(options.device);
  RETURN_IF_ERROR(daemon->Ask<v1::UnpinTableResponse>(request).status());
  if (context.json) {
    PrintJson(*context.out, Json{{"kernel", options.kernel}});
  } else {
    *context.out << "kernel " << options.kernel
                 << " is not pinned any more: profile it with wavetune "
                    "reprofile --kernel "
                 << options.kernel << "\n";
  }
  return absl::OkStatus();
}

void AddWhichKernel(CLI::App* command,
                    const std::shared_ptr<TablesAdminOptions>& options) {
  command->add_option("KERNEL", options->kernel, "Kernel")->required();
  command->add_option(
      "--device", options->device,
      "UUID of a device, where several kinds of device have tables");
}

void AddReason(CLI::App* command,
               const std::shared_ptr<TablesAdminOptions>& options) {
  command->add_option("--reason", options->reason, "Why; kept and shown");
}

}  // namespace

void AddTablesAdminCommands(CommandRegistry& registry, CLI::App* tables) {
  auto options = std::make_shared<TablesAdminOptions>();
  CLI::App* history = registry.Add(
      tables, "history",
      "Lists what served for a kernel, newest first: when, how, who, why.",
      {"wavetune tables history gemm_f32",
       "wavetune tables history gemm_f32 --device GPU-1 --limit 100"},
      [options](CommandContext& context) {
        return RunHistory(context, *options);
      });
  AddWhichKernel(history, options);
  history->add_option("--limit", options->limit, "Most entries to list")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  CLI::App* rejected = registry.Add(
      tables, "rejected",
      "Lists tables that jobs fitted and did not promote, with what "
      "verification measured.",
      {"wavetune tables rejected gemm_f32",
       "wavetune tables rejected gemm_f32 --device GPU-1 --json"},
      [options](CommandContext& context) {
        return RunRejected(context, *options);
      });
  AddWhichKernel(rejected, options);
  CLI::App* rollback = registry.Add(
      tables, "rollback",
      "Makes an earlier table of a kernel serve again, at once.",
      {"wavetune tables rollback gemm_f32 --reason 'slower in production'",
       "wavetune tables rollback gemm_f32 --to 3f9a04c1d2e5"},
      [options](CommandContext& context) {
        return RunRollBack(context, *options);
      });
  AddWhichKernel(rollback, options);
  rollback->add_option("--to", options->digest,
                       "Digest, or its first digits, of a table in the "
                       "history; default: what served before");
  AddReason(rollback, options);
  CLI::App* pin = registry.Add(
      tables, "pin",
      "Keeps what serves for a kernel: jobs go on, nothing is promoted.",
      {"wavetune tables pin gemm_f32 --reason 'release week'"},
      [options](CommandContext& context) { return RunPin(context, *options); });
  AddWhichKernel(pin, options);
  AddReason(pin, options);
  CLI::App* unpin = registry.Add(tables, "unpin", "Ends a pin.",
                                 {"wavetune tables unpin gemm_f32"},
                                 [options](CommandContext& context) {
                                   return RunUnpin(context, *options);
                                 });
  AddWhichKernel(unpin, options);
}

}  // namespace wavetune::cli
