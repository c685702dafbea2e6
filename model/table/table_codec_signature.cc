// Sections 1 and 2: identity and signature.
// Mappings: flags for the optional parts, then the trees in pre-order.
#include <array>
#include <cstddef>

#include "absl/types/span.h"
#include "model/table/table_check.h"
#include "model/table/table_codec_records.h"

namespace wavetune {

void WriteConfiguration(const Configuration& configuration,
                        ByteWriter& writer) {
  for (const int64_t value : configuration.values()) writer.Int(value);
}

Configuration ReadConfiguration(ByteReader& reader, size_t parameters) {
  std::array<int64_t, kMaxParameters> values{};
  if (parameters > values.size()) {
    reader.Fail("more parameters than a configuration holds");
    return {};
  }
  for (size_t i = 0; i < parameters; ++i) values[i] = reader.Int();
  return Configuration(absl::MakeConstSpan(values.data(), parameters));
}

void WriteIdentity(const Table& table, ByteWriter& writer) {
  writer.String(table.kernel);
  writer.String(table.fingerprint);
  writer.String(table.silicon_key);
  writer.String(table.environment_key);
}

void ReadIdentity(ByteReader& reader, Table& table) {
  table.kernel = reader.String();
  table.fingerprint = reader.String();
  table.silicon_key = reader.String();
  table.environment_key = reader.String();
}

void WriteSignature(const Table& table, ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(table.dimensions.size()));
  for (const Dimension& dimension : table.dimensions) {
    writer.String(dimension.name);
    writer.U8(dimension.repeated ? 1 : 0);
    writer.Int(dimension.min);
    writer.Int(dimension.max);
  }
  writer.U8(static_cast<uint8_t>(table.parameters.size()));
  for (const std::string& name : table.parameters) writer.String(name);
  WriteConfiguration(table.default_configuration, writer);
  writer.F64(table.near_tie);
}

void ReadSignature(ByteReader& reader, Table& table) {
  const size_t dimensions = reader.U8();
  for (size_t i = 0; i < dimensions && reader.ok(); ++i) {
    Dimension& dimension = table.dimensions.emplace_back();
    dimension.name = reader.String();
    dimension.repeated = reader.Bool();
    dimension.min = reader.Int();
    dimension.max = reader.Int();
  }
  const size_t parameters = reader.U8();
  for (size_t i = 0; i < parameters && reader.ok(); ++i) {
    table.parameters.push_back(reader.String());
  }
  table.default_configuration =
      ReadConfiguration(reader, table.parameters.size());
  table.near_tie = reader.F64();
}

namespace {

using Kind = Expression::Kind;

// Flags of a mapping beside those of its expressions.
constexpr uint8_t kHasRows = 8;

constexpr unsigned KnownFlags() {
  unsigned flags = kHasRows;
  for (const OptionalExpression& part : kOptionalExpressions) {
    flags |= part.flag;
  }
  return flags;
}

uint8_t FlagsOf(const Mapping& mapping) {
  unsigned flags = mapping.rows ? kHasRows : 0;
  for (const OptionalExpression& part : kOptionalExpressions) {
    if ((mapping.*part.value).has_value()) flags |= part.flag;
  }
  return static_cast<uint8_t>(flags);
}

// Fields that a kind does not use are not written.
void WriteExpression(const Expression& e, ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(e.kind));
  switch (e.kind) {
    case Kind::kConstant:
      writer.Int(e.value);
      break;
    case Kind::kDimension:
    case Kind::kParameter:
    case Kind::kSumOver:
      writer.U8(static_cast<uint8_t>(e.value));
      break;
    case Kind::kCeilDiv:
      writer.U8(static_cast<uint8_t>(e.split));
      writer.U8(static_cast<uint8_t>(e.children.size()));
      break;
    case Kind::kProduct:
    case Kind::kSum:
      writer.U8(static_cast<uint8_t>(e.children.size()));
      break;
    case Kind::kCausalBlocks:  // Always four children.
    // No mapping has the others: validation refuses them.
    case Kind::kNegative:
    case Kind::kExactDiv:
    case Kind::kFloorDiv:
    case Kind::kRemainder:
    case Kind::kMin:
    case Kind::kMax:
      break;
  }
  for (const Expression& child : e.children) WriteExpression(child, writer);
}

// Reads the fields before the children; returns the number of children.
size_t ReadHead(ByteReader& reader, Expression& e) {
  e.kind = static_cast<Kind>(reader.U8());
  e.value = 0;
  switch (e.kind) {
    case Kind::kConstant:
      e.value = reader.Int();
      return 0;
    case Kind::kDimension:
    case Kind::kParameter:
      e.value = reader.U8();
      return 0;
    case Kind::kSumOver:
      e.value = reader.U8();
      return 1;
    case Kind::kCeilDiv:
      e.split = reader.U8();
      return reader.U8();
    case Kind::kProduct:
    case Kind::kSum:
      return reader.U8();
    case Kind::kCausalBlocks:
      return 4;
    case Kind::kNegative:  // Never in a mapping.
    case Kind::kExactDiv:
    case Kind::kFloorDiv:
    case Kind::kRemainder:
    case Kind::kMin:
    case Kind::kMax:
      break;
  }
  reader.Fail("a kind of expression that no mapping has");
  return 0;
}

// `nodes` counts down over a whole mapping: bytes cannot ask for more memory or
// stack than a mapping may have.
Expression ReadExpression(ByteReader& reader, int depth, int& nodes) {
  Expression e;
  if (depth > kMaxExpressionDepth || --nodes < 0) {
    reader.Fail("expressions nested too deeply, or too many");
    return e;
  }
  const size_t children = ReadHead(reader, e);
  for (size_t i = 0; i < children && reader.ok(); ++i) {
    e.children.push_back(ReadExpression(reader, depth + 1, nodes));
  }
  return e;
}

}  // namespace

void WriteMapping(const Mapping& mapping, ByteWriter& writer) {
  writer.U8(FlagsOf(mapping));
  WriteExpression(mapping.tiles, writer);
  for (const OptionalExpression& part : kOptionalExpressions) {
    const auto& expression = mapping.*part.value;
    if (expression.has_value()) WriteExpression(*expression, writer);
  }
  if (mapping.rows) {
    writer.U8(static_cast<uint8_t>(mapping.rows->dimension));
    writer.U8(static_cast<uint8_t>(mapping.rows->tile));
  }
}

Mapping ReadMapping(ByteReader& reader) {
  Mapping mapping;
  int nodes = kMaxMappingNodes;
  const uint8_t flags = reader.U8();
  if ((flags & ~KnownFlags()) != 0) {
    reader.FailTooNew(
        "a mapping with an expression that this build does not have");
  }
  mapping.tiles = ReadExpression(reader, 1, nodes);
  for (const OptionalExpression& part : kOptionalExpressions) {
    if ((flags & part.flag) == 0) continue;
    mapping.*part.value = ReadExpression(reader, 1, nodes);
  }
  if (flags & kHasRows) {
    RowAxis& rows = mapping.rows.emplace();
    rows.dimension = reader.U8();
    rows.tile = reader.U8();
  }
  return mapping;
}

}  // namespace wavetune
