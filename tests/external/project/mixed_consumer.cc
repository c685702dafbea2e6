// As a serving process does that has one plugin in C and another in C++: two
// copies of the client library, which must not meet.
#include <wavetune/wavetune.h>

#include <iostream>

#include "wavetune/client.h"

int main() {
  const auto client = wavetune::Client::Connect({});
  wavetune_client* c_client = nullptr;
  if (!client.ok() ||
      wavetune_client_connect(nullptr, &c_client) != WAVETUNE_OK) {
    return 1;
  }
  const auto add = (*client)->GetTuner("add");
  wavetune_tuner* c_add = nullptr;
  const wavetune_status status =
      wavetune_client_get_tuner(c_client, "add", nullptr, &c_add);
  const bool same_code =
      static_cast<int>(status) == static_cast<int>(add.status().code());
  bool same_answer = true;
  if (add.ok() && status == WAVETUNE_OK) {
    const wavetune::Decision decision = add->Resolve({1000});
    const int64_t problem[] = {1000};
    wavetune_decision c_decision;
    same_answer =
        wavetune_tuner_resolve(c_add, problem, 1, &c_decision) == WAVETUNE_OK &&
        c_decision.values[0] == decision.configuration[0] &&
        c_decision.latency_us == decision.latency_us;
    std::cout << "BLOCK " << c_decision.values[0] << '\n';
  } else {
    std::cout << add.status() << '\n';
  }
  wavetune_tuner_close(c_add);
  wavetune_client_close(c_client);
  return same_code && same_answer ? 0 : 1;
}
