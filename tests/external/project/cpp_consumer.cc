// Decides one problem, or says why not.
#include <iostream>

#include "wavetune/client.h"

int main() {
  const auto client = wavetune::Client::Connect({});
  if (!client.ok()) {
    std::cerr << client.status() << '\n';
    return 1;
  }
  const auto add = (*client)->GetTuner("add");
  if (!add.ok()) {
    std::cout << add.status() << '\n';
    return 0;
  }
  const wavetune::Decision decision = add->Resolve({1000});
  std::cout << "BLOCK " << add->Value(decision, "BLOCK").value() << '\n';
  return 0;
}
