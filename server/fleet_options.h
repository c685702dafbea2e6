// Options of the command line that make a daemon a node of a fleet.
//
//   FleetArguments arguments;
//   DeclareFleet(app, &arguments);
//   …
//   ASSIGN_OR_RETURN(Fleet fleet, OpenFleet(arguments));
//   options.fleet = fleet.membership;
#ifndef WAVETUNE_SERVER_FLEET_OPTIONS_H_
#define WAVETUNE_SERVER_FLEET_OPTIONS_H_

#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/daemon_options.h"

namespace wavetune {

struct FleetArguments {
  std::string url;  // As ParseEtcdUrl; empty: no fleet.
  std::string node;
  std::string key;
  std::string trust;
  std::string ca;
  std::string cert;
  std::string tls_key;
  std::string user;
  std::string password_file;
  int session_s = 30;
};

void DeclareFleet(CLI::App& app, FleetArguments* arguments);

// The registry, and how the daemon is in it.
struct Fleet {
  std::unique_ptr<FleetRegistry> registry;  // nullptr: there is none.
  FleetMembership membership;
};

// Errors: INVALID_ARGUMENT for options that are wrong or do not go together; as
// FleetTrust::Read, SigningKey::Read and EtcdRegistry::Create. Does not wait
// for etcd.
absl::StatusOr<Fleet> OpenFleet(const FleetArguments& arguments);

// Reads the list of trusted keys again; one that believes nobody without a
// fleet. Errors: as FleetTrust::Read.
absl::StatusOr<FleetTrust> ReadFleetTrust(const FleetArguments& arguments);

// Returns what OpenFleet would, without asking etcd for anything.
absl::Status CheckFleet(const FleetArguments& arguments);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_OPTIONS_H_
