// A class of devices as people know it: label, driver, power limit.
//
//   const ClassNames names(devices, tables);
//   names.Of(table.silicon_key(), table.environment_key())
//       // "NVIDIA H200, driver 580.95, 700 W"
//
// Thread safety: plain values.
#ifndef WAVETUNE_CLI_COMMANDS_CLASS_TEXT_H_
#define WAVETUNE_CLI_COMMANDS_CLASS_TEXT_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "proto/wavetune/v1/table_service.pb.h"

namespace wavetune::cli {

// Returns "driver 580.95, 700 W" of an environment key (model/kernel/device.h);
// without the limit where the device tells none. Cannot fail: a key of another
// form is returned whole.
std::string EnvironmentText(absl::string_view environment_key);

// Labels by silicon key, as this node has met them.
class ClassNames {
 public:
  ClassNames() = default;
  ClassNames(const v1::ListDevicesResponse& devices,
             const v1::ListTablesResponse& tables);

  // Where no label is known, the architecture.
  std::string Of(absl::string_view silicon_key,
                 absl::string_view environment_key) const;

 private:
  std::map<std::string, std::string> labels_;
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_CLASS_TEXT_H_
