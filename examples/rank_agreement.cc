// Ranks of one job agree on their tables by comparing one digest.
//
//   rank_agreement KERNEL RANK RANKS FOLDER EXTENT...
//
// Each rank is a process of its own, perhaps on a node of its own. A real job
// has a store or MPI to exchange 64 bytes; here ranks write files into FOLDER.
// WAVETUNE_ENDPOINT names the rank's daemon, then the other nodes'.
// docs/rank-agreement.md explains the steps.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "wavetune/client.h"

namespace {

// The job's store: a value is there whole or not at all.
void Put(const std::string& path, const std::string& value) {
  std::ofstream(path + ".new") << value;
  std::rename((path + ".new").c_str(), path.c_str());
}
std::string WaitFor(const std::string& path) {
  for (;;) {
    std::ifstream file(path);
    std::string value;
    if (file >> value) return value;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

int Fail(const absl::Status& status) {
  std::cerr << status << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::cerr << "usage: rank_agreement KERNEL RANK RANKS FOLDER EXTENT...\n";
    return 2;
  }
  const std::string folder = argv[4];
  const int rank = std::atoi(argv[2]);
  const int ranks = std::atoi(argv[3]);
  std::vector<int64_t> problem;
  for (int i = 5; i < argc; ++i) problem.push_back(std::atoll(argv[i]));

  auto client = wavetune::Client::Connect({});
  if (!client.ok()) return Fail(client.status());
  // kExplicit: no table takes over by itself, on one rank and not on another.
  auto tuner = (*client)->GetTuner(
      argv[1], {.activation = wavetune::ActivationPolicy::kExplicit});
  if (!tuner.ok()) return Fail(tuner.status());

  // 1. Rank 0 publishes what it decides with, and tells the digest.
  if (rank == 0) {
    const auto published = (*client)->PublishTableSet();
    if (!published.ok()) return Fail(published.status());
    Put(folder + "/set", *published);
  }
  const std::string wanted = WaitFor(folder + "/set");
  const auto own = (*client)->TableSetDigest();
  if (!own.ok()) return Fail(own.status());

  // 2. Who has another set loads rank 0's. Nothing changes yet.
  const bool differs = *own != wanted;
  if (differs) {
    if (const absl::Status s = (*client)->StageTableSet(wanted); !s.ok())
      return Fail(s);
  }

  // 3. When all are ready, all change at the same step.
  Put(folder + "/ready-" + std::to_string(rank), "1");
  for (int i = 0; i < ranks; ++i)
    WaitFor(folder + "/ready-" + std::to_string(i));
  if (differs) {
    if (const absl::Status s = (*client)->ActivateTableSet(wanted); !s.ok())
      return Fail(s);
  }

  const wavetune::Decision decision =
      tuner->Resolve(absl::MakeConstSpan(problem));
  std::cout << "set " << (*client)->TableSetDigest().value() << " "
            << (differs ? "loaded" : "agreed") << " configuration";
  for (int64_t value : decision.configuration.values())
    std::cout << " " << value;
  std::cout << " latency_us " << decision.latency_us << "\n";
  return 0;
}
