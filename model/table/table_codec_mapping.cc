// Mappings: flags for the optional parts, then the trees in pre-order.
#include <cstddef>

#include "model/table/table_check.h"
#include "model/table/table_codec_records.h"

namespace wavetune {
namespace {

using Kind = Expression::Kind;

// Flags of a mapping.
constexpr uint8_t kHasIterationsPerTile = 1;
constexpr uint8_t kHasTotalIterations = 2;
constexpr uint8_t kHasLongestLoop = 4;
constexpr uint8_t kHasRows = 8;

// Fields that a kind does not use are not written.
void WriteExpression(const Expression& e, ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(e.kind));
  switch (e.kind) {
    case Kind::kConstant:
      writer.I64(e.value);
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
      writer.U8(static_cast<uint8_t>(e.children.size()));
      break;
    case Kind::kCausalBlocks:  // Always four children.
    case Kind::kSum:           // No mapping has one: validation refuses it.
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
      e.value = reader.I64();
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
      return reader.U8();
    case Kind::kCausalBlocks:
      return 4;
    case Kind::kSum:
      break;
  }
  reader.Fail("unknown kind of expression");
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
  writer.U8(static_cast<uint8_t>(
      (mapping.iterations_per_tile ? kHasIterationsPerTile : 0) |
      (mapping.total_iterations ? kHasTotalIterations : 0) |
      (mapping.longest_loop ? kHasLongestLoop : 0) |
      (mapping.rows ? kHasRows : 0)));
  WriteExpression(mapping.tiles, writer);
  for (const auto* expression :
       {&mapping.iterations_per_tile, &mapping.total_iterations,
        &mapping.longest_loop}) {
    if (expression->has_value()) WriteExpression(**expression, writer);
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
  if (flags >= kHasRows * 2) reader.Fail("unknown flags of a mapping");
  mapping.tiles = ReadExpression(reader, 1, nodes);
  if (flags & kHasIterationsPerTile) {
    mapping.iterations_per_tile = ReadExpression(reader, 1, nodes);
  }
  if (flags & kHasTotalIterations) {
    mapping.total_iterations = ReadExpression(reader, 1, nodes);
  }
  if (flags & kHasLongestLoop) {
    mapping.longest_loop = ReadExpression(reader, 1, nodes);
  }
  if (flags & kHasRows) {
    RowAxis& rows = mapping.rows.emplace();
    rows.dimension = reader.U8();
    rows.tile = reader.U8();
  }
  return mapping;
}

}  // namespace wavetune
