// Sections 3, 5 and 7: sub-tables, with the dual tables themselves, their
// forms, and their rank margins.
#include <algorithm>
#include <cstddef>

#include "model/table/table_codec_records.h"

namespace wavetune {
namespace {

void WriteSegment(const WaveSegment& segment, ByteWriter& writer) {
  const WaveCoefficients& c = segment.coefficients;
  for (const double value :
       {c.delta, c.delta_w, c.gamma, c.gamma_w, c.beta, c.alpha,
        segment.floor_us, segment.relative_bound, segment.extrapolated_bound}) {
    writer.F64(value);
  }
  writer.I64(segment.step_tiles);
  writer.I64(segment.min_wave);
  writer.I64(segment.max_wave);
  writer.F64(segment.min_iterations);
  writer.F64(segment.max_iterations);
  for (const uint8_t member : segment.micro) writer.U8(member);
}

WaveSegment ReadSegment(ByteReader& reader, size_t anchors) {
  WaveSegment segment;
  WaveCoefficients& c = segment.coefficients;
  for (double* value : {&c.delta, &c.delta_w, &c.gamma, &c.gamma_w, &c.beta,
                        &c.alpha, &segment.floor_us, &segment.relative_bound,
                        &segment.extrapolated_bound}) {
    *value = reader.F64();
  }
  segment.step_tiles = reader.I64();
  segment.min_wave = reader.I64();
  segment.max_wave = reader.I64();
  segment.min_iterations = reader.F64();
  segment.max_iterations = reader.F64();
  for (size_t i = 0; i < anchors && reader.ok(); ++i) {
    segment.micro.push_back(reader.U8());
  }
  return segment;
}

void WriteGroup(const MacroGroup& group, ByteWriter& writer) {
  writer.U8(group.lead);
  writer.I64(group.tiles_per_wave);
  for (const GroupModel& model : group.models) {
    for (const WaveSegment& segment : model.segments) {
      WriteSegment(segment, writer);
    }
  }
}

// The axes of `sub` say how many rows, segments and anchors follow.
MacroGroup ReadGroup(ByteReader& reader, const SubTable& sub) {
  MacroGroup group;
  group.lead = reader.U8();
  group.tiles_per_wave = reader.I64();
  for (size_t r = 0; r < sub.row_regimes.size() && reader.ok(); ++r) {
    GroupModel& model = group.models.emplace_back();
    for (size_t s = 0; s < sub.max_waves.size() && reader.ok(); ++s) {
      model.segments.push_back(ReadSegment(reader, sub.loop_anchors.size()));
    }
  }
  return group;
}

void WriteAxes(const SubTable& sub, ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(sub.row_regimes.size()));
  for (const RowRegime& regime : sub.row_regimes) {
    writer.I64(regime.max_rows);
    writer.F64(regime.max_fill);
  }
  writer.U8(static_cast<uint8_t>(sub.max_waves.size()));
  for (const int64_t max_wave : sub.max_waves) writer.I64(max_wave);
  writer.U8(static_cast<uint8_t>(sub.loop_anchors.size()));
  for (const double anchor : sub.loop_anchors) writer.F64(anchor);
}

void ReadAxes(ByteReader& reader, SubTable& sub) {
  const size_t row_regimes = reader.U8();
  for (size_t i = 0; i < row_regimes && reader.ok(); ++i) {
    RowRegime& regime = sub.row_regimes.emplace_back();
    regime.max_rows = reader.I64();
    regime.max_fill = reader.F64();
  }
  const size_t wave_regimes = reader.U8();
  for (size_t i = 0; i < wave_regimes && reader.ok(); ++i) {
    sub.max_waves.push_back(reader.I64());
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

// Calls `use` with each segment of a sub-table, in the order of section 3.
template <typename Sub, typename Use>
void ForEachSegment(Sub& sub, Use use) {
  for (auto& group : sub.groups) {
    for (auto& model : group.models) {
      for (auto& segment : model.segments) use(segment);
    }
  }
}

}  // namespace

void WriteSubTableHead(const SubTable& sub, ByteWriter& writer) {
  writer.String(sub.specialisation);
  WriteMapping(sub.mapping, writer);
  writer.U8(static_cast<uint8_t>(sub.portfolio.size()));
  for (const TableCandidate& candidate : sub.portfolio) {
    WriteConfiguration(candidate.configuration, writer);
    writer.I64(candidate.tiles_per_wave);
    writer.U32(static_cast<uint32_t>(candidate.registers));
    writer.I64(candidate.shared_memory_bytes);
  }
  WriteAxes(sub, writer);
}

SubTable ReadSubTableHead(ByteReader& reader, size_t parameters) {
  SubTable sub;
  sub.specialisation = reader.String();
  sub.mapping = ReadMapping(reader);
  const size_t portfolio = reader.U8();
  for (size_t i = 0; i < portfolio && reader.ok(); ++i) {
    TableCandidate& candidate = sub.portfolio.emplace_back();
    candidate.configuration = ReadConfiguration(reader, parameters);
    candidate.tiles_per_wave = reader.I64();
    candidate.registers = static_cast<int32_t>(reader.U32());
    candidate.shared_memory_bytes = reader.I64();
  }
  ReadAxes(reader, sub);
  return sub;
}

void WriteSubTables(const Table& table, ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(table.sub_tables.size()));
  for (const SubTable& sub : table.sub_tables) {
    WriteSubTableHead(sub, writer);
    writer.U8(static_cast<uint8_t>(sub.groups.size()));
    for (const MacroGroup& group : sub.groups) WriteGroup(group, writer);
  }
}

void ReadSubTables(ByteReader& reader, Table& table) {
  const size_t count = reader.U8();
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    SubTable& sub = table.sub_tables.emplace_back(
        ReadSubTableHead(reader, table.parameters.size()));
    const size_t groups = reader.U8();
    for (size_t g = 0; g < groups && reader.ok(); ++g) {
      sub.groups.push_back(ReadGroup(reader, sub));
    }
  }
}

WaveForm ReadForm(ByteReader& reader) {
  const uint8_t form = reader.U8();
  if (form != static_cast<uint8_t>(WaveForm::kSum) &&
      form != static_cast<uint8_t>(WaveForm::kOverlap)) {
    reader.Fail("a wave form that this format does not have");
    return WaveForm::kSum;
  }
  return static_cast<WaveForm>(form);
}

bool HasForms(const Table& table) {
  return std::any_of(
      table.sub_tables.begin(), table.sub_tables.end(),
      [](const SubTable& sub) { return sub.form != WaveForm::kSum; });
}

void WriteForms(const Table& table, ByteWriter& writer) {
  for (const SubTable& sub : table.sub_tables) {
    writer.U8(static_cast<uint8_t>(sub.form));
    if (sub.form == WaveForm::kSum) continue;
    ForEachSegment(sub, [&](const WaveSegment& segment) {
      writer.F64(segment.coefficients.alpha_row);
    });
  }
}

void ReadForms(ByteReader& reader, Table& table) {
  for (SubTable& sub : table.sub_tables) {
    sub.form = ReadForm(reader);
    if (!reader.ok()) return;
    if (sub.form == WaveForm::kSum) continue;
    ForEachSegment(sub, [&](WaveSegment& segment) {
      segment.coefficients.alpha_row = reader.F64();
    });
  }
  // All sums: the payload without this section says the same.
  if (!HasForms(table)) reader.Fail("forms that are all sums");
}

bool HasRankMargins(const Table& table) {
  bool any = false;
  for (const SubTable& sub : table.sub_tables) {
    ForEachSegment(sub, [&any](const WaveSegment& segment) {
      any = any || segment.rank_margin != 0;
    });
  }
  return any;
}

void WriteRankMargins(const Table& table, ByteWriter& writer) {
  for (const SubTable& sub : table.sub_tables) {
    if (sub.form == WaveForm::kSum) continue;
    ForEachSegment(sub, [&](const WaveSegment& segment) {
      writer.U8(segment.rank_margin);
    });
  }
}

void ReadRankMargins(ByteReader& reader, Table& table) {
  for (SubTable& sub : table.sub_tables) {
    if (sub.form == WaveForm::kSum) continue;
    ForEachSegment(
        sub, [&](WaveSegment& segment) { segment.rank_margin = reader.U8(); });
  }
  // All zero: the payload without this section says the same.
  if (!HasRankMargins(table)) reader.Fail("rank margins that are all zero");
}

}  // namespace wavetune
