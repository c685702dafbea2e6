#include "base/library_log.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"

namespace wavetune {
namespace {

void Add(LogLevel level, absl::string_view library, absl::string_view file,
         int line, absl::string_view text) {
  LogOfKind(level, "library", absl::StrCat(library, file, ":", line),
            absl::StrCat(library, ": ", text));
}

void OnProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                const std::string& text) {
  Add(level == google::protobuf::LOGLEVEL_INFO ? LogLevel::kInfo
                                               : LogLevel::kWarning,
      "protobuf", file, line, text);
}

void OnGrpc(gpr_log_func_args* args) {
  Add(args->severity == GPR_LOG_SEVERITY_ERROR ? LogLevel::kWarning
                                               : LogLevel::kInfo,
      "grpc", args->file, args->line, args->message);
}

}  // namespace

void RouteLibraryLogs() {
  google::protobuf::SetLogHandler(OnProtobuf);
  gpr_set_log_function(OnGrpc);
}

}  // namespace wavetune
