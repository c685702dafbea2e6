// wavetune tables import|retire.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/input_file.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/job_text.h"
#include "cli/json.h"
#include "model/table/table_codec.h"

namespace wavetune::cli {
namespace {

struct TablesImportOptions {
  std::string file;
  std::string digest;
  std::string reason;
  bool trust = false;
  std::string device;
  bool although_it_serves = false;
};

void PrintEnded(Output& out, const v1::TableInfo& ended) {
  out << "table " << ShortDigest(ended.digest()) << " of " << ended.kernel()
      << " serves no longer\n";
}

absl::Status RunImport(CommandContext& context,
                       const TablesImportOptions& options) {
  v1::ImportTableRequest request;
  ASSIGN_OR_RETURN(*request.mutable_payload(),
                   ReadInputFile(options.file, kMaxPayloadBytes));
  request.set_reason(options.reason);
  request.set_trust(options.trust);
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  ASSIGN_OR_RETURN(const v1::ImportTableResponse response,
                   daemon->Ask<v1::ImportTableResponse>(request));
  if (context.json) {
    PrintJson(*context.out, ToJson(response));
    return absl::OkStatus();
  }
  const v1::TableInfo& table = response.table();
  *context.out << "table " << ShortDigest(table.digest()) << " of "
               << table.kernel() << " serves, epoch " << table.epoch() << ": "
               << StaleText(table) << "\n";
  for (const v1::TableInfo& ended : response.ended())
    PrintEnded(*context.out, ended);
  if (table.unverified()) {
    *context.out << "measure whether it holds here: wavetune tables verify "
                 << table.kernel() << "\n";
  }
  return absl::OkStatus();
}

absl::Status RunRetire(CommandContext& context,
                       const TablesImportOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  v1::RetireTableRequest request;
  request.set_digest(options.digest);
  request.set_reason(options.reason);
  request.set_device_uuid(options.device);
  request.set_although_it_serves(options.although_it_serves);
  ASSIGN_OR_RETURN(const v1::RetireTableResponse response,
                   daemon->Ask<v1::RetireTableResponse>(request));
  if (context.json) {
    PrintJson(*context.out, ToJson(response));
    return absl::OkStatus();
  }
  for (const v1::TableInfo& ended : response.ended())
    PrintEnded(*context.out, ended);
  *context.out << "wavetune tables rollback makes it serve again\n";
  return absl::OkStatus();
}

}  // namespace

void AddTablesImportCommands(CommandRegistry& registry, CLI::App* tables) {
  auto options = std::make_shared<TablesImportOptions>();
  CLI::App* import = registry.Add(
      tables, "import",
      "Makes a table serve that `wavetune tables export` wrote on another "
      "node with such devices; stale until a profile has compared it.",
      {"wavetune tables import gemm.table --reason 'from node 7'",
       "wavetune tables import gemm.table --trust"},
      [options](CommandContext& context) {
        return RunImport(context, *options);
      });
  import->add_option("FILE", options->file, "File of the table")->required();
  import->add_flag("--trust", options->trust,
                   "Serve it as if it had been verified here; also beside "
                   "tables that were");
  import->add_option("--reason", options->reason, "Why; kept and shown");
  CLI::App* retire = registry.Add(
      tables, "retire",
      "Ends the serving of a table that no device of this node has any more; "
      "payload and history stay.",
      {"wavetune tables retire 3f9a04c1d2e5 --reason 'driver 580 is gone'",
       "wavetune tables retire 3f9a04c1d2e5 --although-it-serves --device "
       "GPU-1"},
      [options](CommandContext& context) {
        return RunRetire(context, *options);
      });
  retire
      ->add_option("DIGEST", options->digest,
                   "Digest, or at least its first 8 digits")
      ->required();
  retire->add_option("--device", options->device,
                     "UUID of a device: only where it serves for that");
  retire->add_flag("--although-it-serves", options->although_it_serves,
                   "Also where it answers for a device of this node: an older "
                   "one does then, or the default");
  retire->add_option("--reason", options->reason, "Why; kept in the events");
}

}  // namespace wavetune::cli
