// Section 3: sub-tables. What follows from another field is not written: a
// group has its lead's capacity, and every precondition.
#include <cstddef>
#include <cstdint>
#include <limits>

#include "model/table/table_codec_records.h"

namespace wavetune {
namespace {

void WriteTerms(const std::vector<Relation::Term>& terms, ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(terms.size()));
  for (const Relation::Term& term : terms) {
    writer.Int(term.coefficient);
    writer.U8(static_cast<uint8_t>(term.dimensions.size()));
    for (const int32_t dimension : term.dimensions) {
      writer.U8(static_cast<uint8_t>(dimension));
    }
  }
}

std::vector<Relation::Term> ReadTerms(ByteReader& reader) {
  std::vector<Relation::Term> terms;
  const size_t count = reader.U8();
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    Relation::Term& term = terms.emplace_back();
    term.coefficient = reader.Int();
    const size_t factors = reader.U8();
    for (size_t f = 0; f < factors && reader.ok(); ++f) {
      term.dimensions.push_back(reader.U8());
    }
  }
  return terms;
}

void WritePredicates(const SubTable& sub, ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(sub.predicates.size()));
  for (const Relation& relation : sub.predicates) {
    writer.U8(static_cast<uint8_t>(relation.op));
    WriteTerms(relation.left, writer);
    WriteTerms(relation.right, writer);
  }
  writer.U8(static_cast<uint8_t>(sub.preconditions));
}

void ReadPredicates(ByteReader& reader, SubTable& sub) {
  const size_t predicates = reader.U8();
  for (size_t i = 0; i < predicates && reader.ok(); ++i) {
    Relation& relation = sub.predicates.emplace_back();
    relation.op = static_cast<Relation::Operator>(reader.U8());
    relation.left = ReadTerms(reader);
    relation.right = ReadTerms(reader);
  }
  sub.preconditions = reader.U8();
  // Groups are about to have as many.
  if (static_cast<size_t>(sub.preconditions) > sub.predicates.size()) {
    reader.Fail("more preconditions than predicates");
  }
}

// Of the byte of the wave form: it changes decisions, so that readers who do
// not know it must refuse the table.
constexpr uint8_t kWary = 0x80;

void WriteForm(const SubTable& sub, ByteWriter& writer) {
  const auto form = static_cast<uint8_t>(sub.form);
  writer.U8(sub.wary ? static_cast<uint8_t>(form | kWary) : form);
}

void ReadForm(ByteReader& reader, SubTable& sub) {
  const uint8_t byte = reader.U8();
  sub.wary = (byte & kWary) != 0;
  const auto form = static_cast<WaveForm>(byte & ~kWary);
  if (form != WaveForm::kSum && form != WaveForm::kOverlap) {
    return reader.FailTooNew("a wave form that this build does not have");
  }
  sub.form = form;
}

void WritePortfolio(const SubTable& sub, ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(sub.portfolio.size()));
  for (const TableCandidate& candidate : sub.portfolio) {
    WriteConfiguration(candidate.configuration, writer);
    writer.Int(candidate.tiles_per_wave);
    writer.Uint(static_cast<uint64_t>(candidate.registers));
    writer.Int(candidate.shared_memory_bytes);
  }
}

void ReadPortfolio(ByteReader& reader, size_t parameters, SubTable& sub) {
  const size_t portfolio = reader.U8();
  for (size_t i = 0; i < portfolio && reader.ok(); ++i) {
    TableCandidate& candidate = sub.portfolio.emplace_back();
    candidate.configuration = ReadConfiguration(reader, parameters);
    candidate.tiles_per_wave = reader.Int();
    candidate.registers = static_cast<int32_t>(
        reader.Uint(uint64_t{std::numeric_limits<int32_t>::max()}));
    candidate.shared_memory_bytes = reader.Int();
  }
}

void WriteAxes(const SubTable& sub, ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(sub.row_regimes.size()));
  for (const RowRegime& regime : sub.row_regimes) {
    writer.Int(regime.max_rows);
    writer.F64(regime.max_fill);
  }
  writer.U8(static_cast<uint8_t>(sub.max_waves.size()));
  for (const int64_t max_wave : sub.max_waves) writer.Int(max_wave);
  writer.U8(static_cast<uint8_t>(sub.loop_anchors.size()));
  for (const double anchor : sub.loop_anchors) writer.F64(anchor);
}

void ReadAxes(ByteReader& reader, SubTable& sub) {
  const size_t row_regimes = reader.U8();
  for (size_t i = 0; i < row_regimes && reader.ok(); ++i) {
    RowRegime& regime = sub.row_regimes.emplace_back();
    regime.max_rows = reader.Int();
    regime.max_fill = reader.F64();
  }
  const size_t wave_regimes = reader.U8();
  for (size_t i = 0; i < wave_regimes && reader.ok(); ++i) {
    sub.max_waves.push_back(reader.Int());
  }
  const size_t anchors = reader.U8();
  for (size_t i = 0; i < anchors && reader.ok(); ++i) {
    sub.loop_anchors.push_back(reader.F64());
  }
  // Groups are as large as the axes say: without this, few bytes could ask for
  // many rows.
  if (row_regimes == 0 || wave_regimes == 0 || anchors == 0) {
    reader.Fail("a sub-table with an empty axis");
  }
}

// A bit for each predicate after the preconditions.
void WritePredicatesOf(const MacroGroup& group, const SubTable& sub,
                       ByteWriter& writer) {
  const auto first = static_cast<size_t>(sub.preconditions);
  std::string bits((sub.predicates.size() - first + 7) / 8, '\0');
  for (const uint8_t predicate : group.predicates) {
    if (predicate < first) continue;
    char& byte = bits[(predicate - first) / 8];
    byte = static_cast<char>(byte | 1 << (predicate - first) % 8);
  }
  writer.Raw(bits);
}

void ReadPredicatesOf(ByteReader& reader, const SubTable& sub,
                      MacroGroup& group) {
  const auto first = static_cast<size_t>(sub.preconditions);
  const size_t size = sub.predicates.size();
  const absl::string_view bits = reader.Raw((size - first + 7) / 8);
  for (size_t i = 0; i < first; ++i) {
    group.predicates.push_back(static_cast<uint8_t>(i));
  }
  for (size_t i = 0; i < bits.size() * 8; ++i) {
    if ((bits[i / 8] >> i % 8 & 1) == 0) continue;
    if (first + i >= size) return reader.Fail("a predicate out of range");
    group.predicates.push_back(static_cast<uint8_t>(first + i));
  }
}

void WriteGroups(const SubTable& sub, ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(sub.groups.size()));
  for (const MacroGroup& group : sub.groups) {
    writer.U8(group.lead);
    WritePredicatesOf(group, sub, writer);
  }
}

void ReadGroups(ByteReader& reader, SubTable& sub) {
  const size_t groups = reader.U8();
  for (size_t i = 0; i < groups && reader.ok(); ++i) {
    MacroGroup& group = sub.groups.emplace_back();
    group.lead = reader.U8();
    if (group.lead >= sub.portfolio.size()) {
      return reader.Fail("a lead out of range");
    }
    group.tiles_per_wave = sub.portfolio[group.lead].tiles_per_wave;
    ReadPredicatesOf(reader, sub, group);
  }
}

void WriteLayers(const SubTable& sub, ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(sub.layers.size()));
  for (const LayerChoices& layer : sub.layers) {
    for (const int64_t extent : layer.extents) writer.Int(extent);
    writer.Int(layer.first);
    writer.U8(static_cast<uint8_t>(layer.spans.size()));
    for (const LayerSpan& span : layer.spans) {
      writer.Int(span.last);
      writer.U8(span.group);
    }
  }
}

LayerChoices ReadLayer(ByteReader& reader, size_t dimensions) {
  LayerChoices layer;
  for (size_t d = 0; d < dimensions && reader.ok(); ++d) {
    layer.extents.push_back(reader.Int());
  }
  layer.first = reader.Int();
  const size_t spans = reader.U8();
  for (size_t i = 0; i < spans && reader.ok(); ++i) {
    LayerSpan& span = layer.spans.emplace_back();
    span.last = reader.Int();
    span.group = reader.U8();
  }
  return layer;
}

void WriteSubTable(const SubTable& sub, ByteWriter& writer) {
  writer.String(sub.specialisation);
  WriteMapping(sub.mapping, writer);
  WritePredicates(sub, writer);
  WriteForm(sub, writer);
  writer.F64(sub.power_limit.from_us);
  writer.F64(sub.power_limit.slowdown);
  WritePortfolio(sub, writer);
  WriteAxes(sub, writer);
  WriteGroups(sub, writer);
  WriteSegments(sub, writer);
  WriteLayers(sub, writer);
}

SubTable ReadSubTable(ByteReader& reader, const Table& table) {
  SubTable sub;
  sub.specialisation = reader.String();
  sub.mapping = ReadMapping(reader);
  ReadPredicates(reader, sub);
  ReadForm(reader, sub);
  sub.power_limit.from_us = reader.F64();
  sub.power_limit.slowdown = reader.F64();
  ReadPortfolio(reader, table.parameters.size(), sub);
  ReadAxes(reader, sub);
  if (!reader.ok()) return sub;
  ReadGroups(reader, sub);
  if (!reader.ok()) return sub;
  ReadSegments(reader, sub);
  const size_t layers = reader.U8();
  for (size_t i = 0; i < layers && reader.ok(); ++i) {
    sub.layers.push_back(ReadLayer(reader, table.dimensions.size()));
  }
  return sub;
}

}  // namespace

void WriteSubTables(const Table& table, ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(table.sub_tables.size()));
  for (const SubTable& sub : table.sub_tables) WriteSubTable(sub, writer);
}

void ReadSubTables(ByteReader& reader, Table& table) {
  const size_t count = reader.U8();
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    table.sub_tables.push_back(ReadSubTable(reader, table));
  }
}

}  // namespace wavetune
