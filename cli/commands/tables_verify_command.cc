// wavetune tables verify.
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/input_file.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/job_text.h"
#include "cli/commands/watch_job.h"
#include "cli/json.h"
#include "cli/lookup.h"
#include "model/decide/compiled_table.h"
#include "model/table/table_codec.h"

namespace wavetune::cli {
namespace {

struct VerifyOptions {
  TableQuestion table;
  std::string reason;
};

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

// A file is no table of any node: it is decoded as clients and daemons do.
absl::Status VerifyFile(CommandContext& context, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string payload,
                   ReadInputFile(path, kMaxPayloadBytes));
  const auto compiled = CompiledTable::Create(payload);
  if (!compiled.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is no table: ", compiled.status().message()));
  }
  const Table& table = (*compiled)->table();
  if (context.json) {
    PrintJson(*context.out, Json{{"file", path},
                                 {"digest", (*compiled)->digest()},
                                 {"kernel", table.kernel},
                                 {"fingerprint", table.fingerprint},
                                 {"silicon_key", table.silicon_key},
                                 {"environment_key", table.environment_key}});
  } else {
    *context.out << path << " is sound: table " << (*compiled)->digest()
                 << " of kernel " << table.kernel << "\n  fingerprint "
                 << table.fingerprint << "\n  " << table.silicon_key << "\n  "
                 << table.environment_key << "\n";
  }
  return absl::OkStatus();
}

absl::Status RunVerify(CommandContext& context, const VerifyOptions& options) {
  if (IsFile(options.table.table))
    return VerifyFile(context, options.table.table);
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  ASSIGN_OR_RETURN(const v1::GetTableResponse found,
                   FindTable(*daemon, options.table));
  const v1::TableInfo& table = found.info();
  v1::ReprofileRequest request;
  request.set_kernel(table.kernel());
  request.set_device_uuid(options.table.device);
  if (options.table.device.empty())
    request.set_silicon_key(table.silicon_key());
  request.set_verify_digest(table.digest());
  request.set_drift(true);  // What an earlier daemon does instead.
  request.set_reason(options.reason.empty() ? "verification" : options.reason);
  ASSIGN_OR_RETURN(const v1::ReprofileResponse queued,
                   daemon->Ask<v1::ReprofileResponse>(request));
  absl::Status outcome;
  Json list = Json::array();
  for (const v1::JobInfo& asked : queued.jobs()) {
    ASSIGN_OR_RETURN(const v1::JobInfo job,
                     WatchUntilEnd(context, *daemon, asked.id()));
    outcome.Update(Outcome(job));
    list.push_back(ToJson(job));
    if (context.json) continue;
    *context.out << "job " << job.id() << " on " << job.device_uuid() << ": "
                 << StateName(job.state()) << "\n  "
                 << Lines(job.message(), "  ") << "\n";
    PrintDrift(*context.out, job);
  }
  if (context.json) PrintJson(*context.out, Json{{"jobs", std::move(list)}});
  return outcome;
}

}  // namespace

void AddTablesVerifyCommand(CommandRegistry& registry, CLI::App* tables) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* verify = registry.Add(
      tables, "verify",
      "Measures whether a serving table holds on this node, at most 64 "
      "samples: what holds is stale no longer. Of a file: whether it is a "
      "sound table, without a daemon.",
      {"wavetune tables verify gemm_f32",
       "wavetune tables verify 3f9a04c1d2e5 --device GPU-1",
       "wavetune tables verify kernels/gemm_bf16/tables/h100.table"},
      [options](CommandContext& context) {
        return RunVerify(context, *options);
      });
  verify
      ->add_option("TABLE", options->table.table,
                   "Kernel, digest (or the first digits of a serving one's), "
                   "or file")
      ->required();
  verify->add_option("--device", options->table.device,
                     "UUID of the device that measures; default: one of the "
                     "table's class");
  verify->add_option("--reason", options->reason, "Why; shown in jobs");
}

}  // namespace wavetune::cli
