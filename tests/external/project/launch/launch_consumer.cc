// Decides one problem, and tries to load an export that is not there: a machine
// without a GPU gets no further.
#include <iostream>

#include "absl/status/status.h"
#include "wavetune/client.h"
#include "wavetune/exported_kernel.h"

int main() {
  const auto client = wavetune::Client::Connect({});
  if (!client.ok()) {
    std::cerr << client.status() << '\n';
    return 1;
  }
  const auto add = (*client)->GetTuner("add");
  if (!add.ok()) {
    std::cerr << add.status() << '\n';
    return 1;
  }
  const auto kernel = wavetune::ExportedKernel::Load("no.such.export");
  if (kernel.ok() || kernel.status().message().empty()) {
    std::cerr << "an export was loaded that is not there\n";
    return 1;
  }
  const wavetune::Decision decision = add->Resolve({1000});
  std::cout << "BLOCK " << decision.configuration[add->ParameterIndex("BLOCK")]
            << '\n';
  return 0;
}
