#include "launch/launch_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "launch/launch_json_reader.h"
#include "model/kernel/argument.h"
#include "model/kernel/condition.h"
#include "model/kernel/condition_text.h"
#include "model/kernel/fold.h"
#include "model/kernel/kernel_spec.h"
#include "model/text/text_parser.h"
#include "nlohmann/json.hpp"

namespace wavetune {
namespace {

using Json = nlohmann::ordered_json;
using Dimensions = std::vector<Dimension>;

constexpr char kFormat[] = "wavetune.launch";

// Lists of lists of lists are the most that the format has. The JSON library
// parses any depth, but copies what an object has so far, by recursion.
constexpr int kMaxNesting = 16;

// A number, or text. `names` has the kernel's dimensions and nothing else.
Json ExpressionToJson(const Expression& expression, const KernelSpec& names) {
  if (IsConstant(expression)) {
    return Evaluate(expression, ProblemView(), Configuration());
  }
  return ExpressionText(names, expression);
}

Json ExpressionsToJson(const std::vector<Expression>& expressions,
                       const KernelSpec& names) {
  Json json = Json::array();
  for (const Expression& expression : expressions) {
    json.push_back(ExpressionToJson(expression, names));
  }
  return json;
}

Json DimensionsToJson(const Dimensions& dimensions) {
  Json json = Json::array();
  for (const Dimension& dimension : dimensions) {
    json.push_back({{"name", dimension.name},
                    {"repeated", dimension.repeated},
                    {"min", dimension.min},
                    {"max", dimension.max}});
  }
  return json;
}

Json TensorMapToJson(const TensorMapDescriptor& map, const Argument& argument,
                     const KernelSpec& names) {
  Json json = {{"kind", "tensor_map"}, {"buffer", argument.name}};
  json["enabled"] = map.enabled;
  json["type"] = WordOf(kElementTypes, argument.type);
  json["extents"] = ExpressionsToJson(map.extents, names);
  json["box"] = map.box;
  json["element_strides"] = {1, 1};
  json["swizzle_bytes"] = WordOf(kSwizzleBytes, map.swizzle);
  json["l2_promotion_bytes"] = map.l2_promotion_bytes;
  return json;
}

Json ArgumentToJson(const Argument& argument, const KernelSpec& names) {
  const bool scalar = argument.role == ArgumentRole::kScalar;
  Json json = {{"kind", scalar ? "scalar" : "buffer"}, {"name", argument.name}};
  json["type"] = WordOf(kElementTypes, argument.type);
  if (scalar) {
    json["value"] = argument.number.has_value()
                        ? Json(*argument.number)
                        : ExpressionToJson(argument.size, names);
    return json;
  }
  json["access"] = WordOf(kAccesses, argument.role);
  if (argument.role == ArgumentRole::kWorkspace) {
    json["zeroed"] = WordOf(kZeroed, argument.zeroed);
  }
  json["elements"] = ExpressionToJson(argument.size, names);
  json["alignment"] = kBufferAlignment;
  return json;
}

Json CandidateToJson(const LaunchFile& file, const LaunchCandidate& candidate) {
  const LaunchDescriptor& launch = candidate.launch;
  const KernelSpec names{.dimensions = file.dimensions};
  Json grid = ExpressionsToJson(launch.blocks, names);
  while (grid.size() < 3) grid.push_back(1);
  Json values = Json::object();
  for (size_t i = 0; i < file.parameters.size(); ++i) {
    values[file.parameters[i]] = candidate.configuration[static_cast<int>(i)];
  }
  Json parameters = Json::array();
  for (const TensorMapDescriptor& map : launch.tensor_maps) {
    parameters.push_back(TensorMapToJson(
        map, launch.arguments[static_cast<size_t>(map.argument)], names));
  }
  for (const Argument& argument : launch.arguments) {
    parameters.push_back(ArgumentToJson(argument, names));
  }
  Json legal_if = Json::array();
  for (const Relation& predicate : launch.problem_predicates) {
    legal_if.push_back(FormatRelation(predicate, file.dimensions));
  }
  return Json{
      {"specialisation", candidate.specialisation},
      {"configuration", std::move(values)},
      {"portfolio_index", candidate.portfolio_index},
      {"default", candidate.is_default},
      {"cubin", candidate.cubin},
      {"sha256", candidate.sha256},
      {"size_bytes", candidate.size_bytes},
      {"entry", launch.entry},
      {"block",
       {launch.block_size.x, launch.block_size.y, launch.block_size.z}},
      {"cluster", {launch.cluster_size, 1, 1}},
      {"dynamic_shared_bytes", ExpressionToJson(launch.shared_bytes, names)},
      {"grid", std::move(grid)},
      {"persistent", launch.persistent},
      {"legal_if", std::move(legal_if)},
      {"parameters", std::move(parameters)}};
}

void ReadDimensions(JsonReader& reader, const Json& json,
                    Dimensions& dimensions) {
  for (const Json& entry : reader.List(json, "dimensions")) {
    dimensions.push_back({.name = reader.Text(entry, "name"),
                          .repeated = reader.Flag(entry, "repeated"),
                          .min = reader.Number(entry, "min", 0),
                          .max = reader.Number(entry, "max", 0)});
  }
  reader.Check(dimensions.size() <= kMaxDimensions, "dimensions",
               "there are too many");
}

// A list of three; ones where it is none.
const Json& Three(JsonReader& reader, const Json& json, const char* name) {
  static const Json* const ones = new Json({1, 1, 1});
  const Json& list = reader.List(json, name);
  reader.Check(list.size() == 3, name, "is no [x, y, z]");
  return list.size() == 3 ? list : *ones;
}

// The first element of [x, 1, 1].
const Json& FirstOfThree(JsonReader& reader, const Json& json,
                         const char* name) {
  const Json& list = reader.List(json, name);
  const bool sound = list.size() == 3 && list[1] == 1 && list[2] == 1;
  reader.Check(sound, name, "is no [x, 1, 1]");
  return sound ? list[0] : reader.nothing();
}

// The text as a fault shows it.
std::string Shown(const std::string& text) {
  constexpr size_t kMost = 100;
  return absl::StrCat("\"", text.substr(0, kMost),
                      text.size() > kMost ? "..." : "", "\"");
}

// Parses the whole text with `parse`, a member of TextParser.
template <typename Result>
Result ReadText(JsonReader& reader, const std::string& text, const char* name,
                const Dimensions& dimensions, Result (TextParser::*parse)()) {
  ManifestNames names;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    names.Add(dimensions[i].name, Expression::OfDimension(static_cast<int>(i)));
  }
  Lexer lexer(text);
  TextParser parser(lexer, names, ManifestNames::Scope::kDimensions);
  Result result = (parser.*parse)();
  if (lexer.ok()) return result;
  reader.Check(false, name,
               absl::StrCat(Shown(text), ", column ", lexer.fault()->at + 1,
                            ": ", lexer.fault()->what));
  return Result();
}

bool SumsOverLists(const Expression& expression, const Dimensions& dimensions) {
  return (expression.kind != Expression::Kind::kSumOver ||
          dimensions[static_cast<size_t>(expression.value)].repeated) &&
         std::all_of(expression.children.begin(), expression.children.end(),
                     [&](const Expression& child) {
                       return SumsOverLists(child, dimensions);
                     });
}

Expression ReadExpression(JsonReader& reader, const Json& json,
                          const char* name, const Dimensions& dimensions) {
  if (!json.is_string()) {
    return Expression::Constant(
        reader.NumberIn(json, name, 0, kExpressionLimit));
  }
  const std::string text = json.get<std::string>();
  Expression expression =
      ReadText(reader, text, name, dimensions, &TextParser::ParseExpression);
  reader.Check(SumsOverLists(expression, dimensions), name,
               absl::StrCat(Shown(text), " sums over no list of extents"));
  return expression;
}

void ReadRelations(JsonReader& reader, const Json& json, const char* name,
                   const Dimensions& dimensions, std::vector<Relation>& out) {
  for (const Json& entry : reader.List(json, name)) {
    const std::string text = reader.TextOf(entry, name);
    const Condition condition =
        ReadText(reader, text, name, dimensions, &TextParser::ParseRelation);
    const auto folded = FoldCondition(condition, Configuration());
    reader.Check(
        folded.has_value(), name,
        absl::StrCat(Shown(text), " compares more than sums of products"));
    if (!folded.has_value()) continue;
    out.insert(out.end(), folded->begin(), folded->end());
  }
}

void ReadScalar(JsonReader& reader, const Json& json,
                const Dimensions& dimensions, Argument& argument) {
  argument.role = ArgumentRole::kScalar;
  const Json& value = reader.Get(json, "value");
  if (value.is_number_float()) {
    reader.Check(!IsInteger(argument.type), "value",
                 "is no whole number, as the type wants");
    argument.number = value.get<double>();
    reader.Check(
        std::abs(*argument.number) <= std::numeric_limits<float>::max(),
        "value", "is more than a float32 holds");
  } else {
    argument.size = ReadExpression(reader, value, "value", dimensions);
  }
}

Argument ReadArgument(JsonReader& reader, const Json& json,
                      const Dimensions& dimensions) {
  Argument argument;
  argument.name = reader.Text(json, "name");
  argument.type = reader.OneOf(json, "type", kElementTypes);
  if (reader.Text(json, "kind") == "scalar") {
    ReadScalar(reader, json, dimensions, argument);
    return argument;
  }
  argument.role = reader.OneOf(json, "access", kAccesses);
  if (argument.role == ArgumentRole::kWorkspace) {
    argument.zeroed = reader.OneOf(json, "zeroed", kZeroed);
  }
  argument.size = ReadExpression(reader, reader.Get(json, "elements"),
                                 "elements", dimensions);
  return argument;
}

TensorMapDescriptor ReadTensorMap(JsonReader& reader, const Json& json,
                                  const Dimensions& dimensions) {
  TensorMapDescriptor map;
  for (const Json& extent : reader.List(json, "extents")) {
    map.extents.push_back(
        ReadExpression(reader, extent, "extents", dimensions));
  }
  const Json& box = reader.List(json, "box");
  reader.Check(map.extents.size() == 2 && box.size() == 2, "tensor_map",
               "is not two-dimensional");
  reader.Check(reader.List(json, "element_strides") == Json({1, 1}),
               "element_strides", "are not 1");
  for (size_t i = 0; i < 2 && i < box.size(); ++i) {
    map.box[i] =
        reader.NumberIn(box[i], "box", 1, std::numeric_limits<int32_t>::max());
  }
  map.swizzle = reader.OneOf(json, "swizzle_bytes", kSwizzleBytes);
  map.l2_promotion_bytes = static_cast<int32_t>(reader.NumberIn(
      reader.Get(json, "l2_promotion_bytes"), "l2_promotion_bytes", 0, 256));
  map.enabled = reader.Flag(json, "enabled");
  return map;
}

void ReadParameters(JsonReader& reader, const Json& json,
                    const Dimensions& dimensions, LaunchDescriptor& launch) {
  std::vector<std::string> mapped;
  for (const Json& parameter : reader.List(json, "parameters")) {
    const std::string kind = reader.Text(parameter, "kind");
    if (kind == "tensor_map") {
      reader.Check(launch.arguments.empty(), "parameters",
                   "a tensor map follows an argument");
      launch.tensor_maps.push_back(
          ReadTensorMap(reader, parameter, dimensions));
      mapped.push_back(reader.Text(parameter, "buffer"));
    } else {
      reader.Check(kind == "buffer" || kind == "scalar", "kind",
                   absl::StrCat("'", kind, "' is unknown"));
      launch.arguments.push_back(ReadArgument(reader, parameter, dimensions));
    }
  }
  for (size_t i = 0; i < mapped.size(); ++i) {
    launch.tensor_maps[i].argument = -1;
    for (size_t j = 0; j < launch.arguments.size(); ++j) {
      if (launch.arguments[j].name == mapped[i] &&
          launch.arguments[j].role != ArgumentRole::kScalar) {
        launch.tensor_maps[i].argument = static_cast<int32_t>(j);
      }
    }
    reader.Check(launch.tensor_maps[i].argument >= 0, "buffer",
                 absl::StrCat("'", mapped[i], "' is no buffer"));
  }
}

bool IsLine(const std::vector<Expression>& blocks) {
  const auto one = Expression::Constant(1);
  return blocks.size() == 3 && blocks[1] == one && blocks[2] == one;
}

LaunchDescriptor ReadLaunch(JsonReader& reader, const Json& json,
                            const Dimensions& dimensions) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  LaunchDescriptor launch;
  launch.entry = reader.Text(json, "entry");
  const Json& block = Three(reader, json, "block");
  launch.block_size = {reader.NumberIn(block[0], "block", 1, kMost),
                       reader.NumberIn(block[1], "block", 1, kMost),
                       reader.NumberIn(block[2], "block", 1, kMost)};
  launch.cluster_size = reader.NumberIn(FirstOfThree(reader, json, "cluster"),
                                        "cluster", 1, kMost);
  for (const Json& side : Three(reader, json, "grid")) {
    launch.blocks.push_back(ReadExpression(reader, side, "grid", dimensions));
  }
  launch.shared_bytes =
      ReadExpression(reader, reader.Get(json, "dynamic_shared_bytes"),
                     "dynamic_shared_bytes", dimensions);
  launch.persistent = reader.Flag(json, "persistent");
  reader.Check(
      (launch.cluster_size == 1 && !launch.persistent) || IsLine(launch.blocks),
      "grid", "is no [x, 1, 1], as clusters and persistent launches need");
  ReadRelations(reader, json, "legal_if", dimensions,
                launch.problem_predicates);
  ReadParameters(reader, json, dimensions, launch);
  return launch;
}

Configuration ReadConfiguration(JsonReader& reader, const Json& json,
                                const std::vector<std::string>& parameters) {
  const Json& given = reader.Get(json, "configuration");
  reader.Check(given.is_object() && given.size() == parameters.size(),
               "configuration", "does not give every parameter");
  std::vector<int64_t> values;
  for (const std::string& name : parameters) {
    values.push_back(reader.Number(given, name.c_str(), 0));
  }
  return Configuration(values);
}

LaunchCandidate ReadCandidate(JsonReader& reader, const Json& json,
                              const LaunchFile& file) {
  LaunchCandidate candidate;
  candidate.specialisation = reader.Text(json, "specialisation");
  candidate.configuration = ReadConfiguration(reader, json, file.parameters);
  candidate.portfolio_index = static_cast<int32_t>(reader.NumberIn(
      reader.Get(json, "portfolio_index"), "portfolio_index", -1, 255));
  candidate.is_default = reader.Flag(json, "default");
  candidate.cubin = reader.Text(json, "cubin");
  // It is opened: it must not lead elsewhere.
  reader.Check(!candidate.cubin.empty() && candidate.cubin[0] != '.' &&
                   candidate.cubin.find('/') == std::string::npos,
               "cubin", "is no file of the same folder");
  candidate.sha256 = reader.Text(json, "sha256");
  candidate.size_bytes = reader.Number(json, "size_bytes", 0);
  candidate.launch = ReadLaunch(reader, json, file.dimensions);
  return candidate;
}

}  // namespace

std::string FormatLaunchFile(const LaunchFile& file) {
  Json candidates = Json::array();
  for (const LaunchCandidate& candidate : file.candidates) {
    candidates.push_back(CandidateToJson(file, candidate));
  }
  const Json json = {{"format", kFormat},
                     {"version", kLaunchFileVersion},
                     {"kernel", file.kernel},
                     {"fingerprint", file.fingerprint},
                     {"table_digest", file.table_digest},
                     {"table_fingerprint", file.table_fingerprint},
                     {"silicon_key", file.silicon_key},
                     {"environment_key", file.environment_key},
                     {"architecture", file.architecture},
                     {"compiler", file.compiler},
                     {"dimensions", DimensionsToJson(file.dimensions)},
                     {"parameters", file.parameters},
                     {"candidates", std::move(candidates)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<LaunchFile> ParseLaunchFile(absl::string_view text) {
  bool too_deep = false;
  const Json json = Json::parse(
      text.begin(), text.end(),
      [&](int depth, Json::parse_event_t, Json&) {
        too_deep |= depth > kMaxNesting;
        return depth <= kMaxNesting;  // Deeper parts are dropped.
      },
      /*allow_exceptions=*/false);
  if (too_deep) {
    return absl::InvalidArgumentError(absl::StrCat(
        "launch.json is nested more than ", kMaxNesting, " levels deep"));
  }
  JsonReader reader;
  if (reader.Text(json, "format") != kFormat) {
    return absl::InvalidArgumentError(
        "this is no launch.json of `wavetune kernels export`");
  }
  const int64_t version = reader.Number(json, "version", 0);
  if (reader.status().ok() && version != kLaunchFileVersion) {
    return absl::UnimplementedError(
        absl::StrCat("launch.json has version ", version,
                     ", this program reads ", kLaunchFileVersion,
                     "; export the kernel again with this version of "
                     "WaveTune"));
  }
  LaunchFile file;
  file.kernel = reader.Text(json, "kernel");
  file.fingerprint = reader.Text(json, "fingerprint");
  file.table_digest = reader.Text(json, "table_digest");
  file.table_fingerprint = reader.Text(json, "table_fingerprint");
  file.silicon_key = reader.Text(json, "silicon_key");
  file.environment_key = reader.Text(json, "environment_key");
  file.architecture = reader.Text(json, "architecture");
  file.compiler = reader.Text(json, "compiler");
  ReadDimensions(reader, json, file.dimensions);
  for (const Json& name : reader.List(json, "parameters")) {
    file.parameters.push_back(reader.TextOf(name, "parameters"));
  }
  reader.Check(file.parameters.size() <= kMaxParameters, "parameters",
               "there are too many");
  if (!reader.status().ok()) return reader.status();
  for (const Json& candidate : reader.List(json, "candidates")) {
    file.candidates.push_back(ReadCandidate(reader, candidate, file));
    if (!reader.status().ok()) break;
  }
  if (!reader.status().ok()) return reader.status();
  return file;
}

}  // namespace wavetune
