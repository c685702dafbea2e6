// Results as JSON.
#ifndef WAVETUNE_CLI_JSON_H_
#define WAVETUNE_CLI_JSON_H_

#include <string>
#include <vector>

#include "cli/output.h"
#include "google/protobuf/message.h"
#include "nlohmann/json.hpp"
#include "wavetune/configuration.h"
#include "wavetune/dimension.h"
#include "wavetune/problem.h"

namespace wavetune::cli {

// Keeps the order of insertion, so that output reads as it was written.
using Json = nlohmann::ordered_json;

// Returns every field of a message by its name in the .proto, defaults
// included. Enums are by name, bytes as hex, 64-bit numbers as numbers
// (protobuf's own JSON makes them strings, which scripts have to undo).
Json ToJson(const google::protobuf::Message& message);

// {"m": 1, "n": 2}; a repeated dimension is a list; "specialisation" where
// there is one.
Json ToJson(const std::vector<Dimension>& dimensions, const Problem& problem);

// {"BLOCK_M": 64, ...}.
Json ToJson(const std::vector<std::string>& parameters,
            const Configuration& configuration);

// Returns `json` and a line end; with an indentation of -1 all is one line.
// Bytes that are not UTF-8 are replaced, and what a terminal would obey is
// escaped; cannot fail.
std::string JsonText(const Json& json, int indentation = 2);

// Prints it.
void PrintJson(Output& out, const Json& json);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_JSON_H_
