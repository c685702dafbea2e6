// Sections 3, 5 and 7: sub-tables, with the dual tables themselves, their
// forms, and their rank margins.
// Section 6: sub-tables whose segments say only what differs from the segment
// before. Neighbouring segments of an overlap share most coefficients.
// Section 8: what a table says of single layers.
// Section 9: what long launches lose to the power limit.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

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

namespace {

// The fields of a segment, in their order; bit i of its mask is field i, and
// the bit after the last is the micro table.
constexpr std::array<double WaveCoefficients::*, 7> kCoefficients = {
    &WaveCoefficients::delta,    &WaveCoefficients::delta_w,
    &WaveCoefficients::gamma,    &WaveCoefficients::gamma_w,
    &WaveCoefficients::beta,     &WaveCoefficients::alpha,
    &WaveCoefficients::alpha_row};
constexpr std::array<double WaveSegment::*, 5> kReals = {
    &WaveSegment::floor_us, &WaveSegment::relative_bound,
    &WaveSegment::extrapolated_bound, &WaveSegment::min_iterations,
    &WaveSegment::max_iterations};
constexpr std::array<int64_t WaveSegment::*, 3> kWholes = {
    &WaveSegment::step_tiles, &WaveSegment::min_wave, &WaveSegment::max_wave};
constexpr size_t kMicroBit =
    kCoefficients.size() + kReals.size() + kWholes.size();
static_assert(kMicroBit == 15);  // Every bit of a mask says something.

// Before the first segment of a group.
WaveSegment Nothing() {
  WaveSegment segment;
  segment.coefficients = {};
  for (const auto field : kReals) segment.*field = 0;
  for (const auto field : kWholes) segment.*field = 0;
  return segment;
}

// Calls `real` or `whole` with each field's bit and its places in both.
template <typename Segment, typename Real, typename Whole>
void ForEachField(Segment& segment, const WaveSegment& before, Real real,
                  Whole whole) {
  uint16_t bit = 1;
  const auto next = [&bit] {
    const uint16_t now = bit;
    bit = static_cast<uint16_t>(bit << 1);
    return now;
  };
  for (const auto field : kCoefficients) {
    real(next(), segment.coefficients.*field, before.coefficients.*field);
  }
  for (const auto field : kReals) real(next(), segment.*field, before.*field);
  for (const auto field : kWholes) whole(next(), segment.*field, before.*field);
}

void WriteSegment(const WaveSegment& segment, const WaveSegment& before,
                  ByteWriter& writer) {
  uint16_t mask = 0;
  // Equal as numbers: -0.0 is written as 0.0.
  const auto mark = [&mask](uint16_t bit, auto value, auto old) {
    if (value != old) mask = static_cast<uint16_t>(mask | bit);
  };
  ForEachField(segment, before, mark, mark);
  if (segment.micro != before.micro) mask |= 1 << kMicroBit;
  writer.U16(mask);
  ForEachField(
      segment, before,
      [&](uint16_t bit, double value, double) {
        if ((mask & bit) != 0) writer.F64(value);
      },
      [&](uint16_t bit, int64_t value, int64_t) {
        if ((mask & bit) != 0) writer.I64(value);
      });
  if ((mask & 1 << kMicroBit) == 0) return;
  for (const uint8_t member : segment.micro) writer.U8(member);
}

WaveSegment ReadSegment(ByteReader& reader, const WaveSegment& before,
                        size_t anchors) {
  WaveSegment segment = before;
  const uint16_t mask = reader.U16();
  const auto check = [&](auto value, auto old) {
    if (value == old) reader.Fail("a packed field that did not change");
  };
  ForEachField(
      segment, before,
      [&](uint16_t bit, double& value, double old) {
        if ((mask & bit) == 0 || !reader.ok()) return;
        value = reader.F64();
        check(value, old);
      },
      [&](uint16_t bit, int64_t& value, int64_t old) {
        if ((mask & bit) == 0 || !reader.ok()) return;
        value = reader.I64();
        check(value, old);
      });
  if ((mask & 1 << kMicroBit) == 0 || !reader.ok()) return segment;
  segment.micro.clear();
  for (size_t i = 0; i < anchors && reader.ok(); ++i) {
    segment.micro.push_back(reader.U8());
  }
  if (segment.micro == before.micro) {
    reader.Fail("a packed micro table that did not change");
  }
  return segment;
}

void WritePackedGroup(const MacroGroup& group, ByteWriter& writer) {
  writer.U8(group.lead);
  writer.I64(group.tiles_per_wave);
  WaveSegment before = Nothing();
  for (const GroupModel& model : group.models) {
    for (const WaveSegment& segment : model.segments) {
      WriteSegment(segment, before, writer);
      before = segment;
    }
  }
}

MacroGroup ReadPackedGroup(ByteReader& reader, const SubTable& sub) {
  MacroGroup group;
  group.lead = reader.U8();
  group.tiles_per_wave = reader.I64();
  WaveSegment before = Nothing();
  for (size_t r = 0; r < sub.row_regimes.size() && reader.ok(); ++r) {
    GroupModel& model = group.models.emplace_back();
    for (size_t s = 0; s < sub.max_waves.size() && reader.ok(); ++s) {
      before = ReadSegment(reader, before, sub.loop_anchors.size());
      model.segments.push_back(before);
    }
  }
  return group;
}

}  // namespace

void WritePackedSubTables(const Table& table, ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(table.sub_tables.size()));
  for (const SubTable& sub : table.sub_tables) {
    WriteSubTableHead(sub, writer);
    writer.U8(static_cast<uint8_t>(sub.form));
    writer.U8(static_cast<uint8_t>(sub.groups.size()));
    for (const MacroGroup& group : sub.groups) WritePackedGroup(group, writer);
  }
}

void ReadPackedSubTables(ByteReader& reader, Table& table) {
  const size_t count = reader.U8();
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    SubTable& sub = table.sub_tables.emplace_back(
        ReadSubTableHead(reader, table.parameters.size()));
    sub.form = ReadForm(reader);
    const size_t groups = reader.U8();
    for (size_t g = 0; g < groups && reader.ok(); ++g) {
      sub.groups.push_back(ReadPackedGroup(reader, sub));
    }
  }
}

namespace {

void WriteLayer(const LayerChoices& layer, ByteWriter& writer) {
  for (const int64_t extent : layer.extents) writer.I64(extent);
  writer.I64(layer.first);
  writer.U8(static_cast<uint8_t>(layer.spans.size()));
  for (const LayerSpan& span : layer.spans) {
    writer.I64(span.last);
    writer.U8(span.group);
  }
}

LayerChoices ReadLayer(ByteReader& reader, size_t dimensions) {
  LayerChoices layer;
  for (size_t d = 0; d < dimensions && reader.ok(); ++d) {
    layer.extents.push_back(reader.I64());
  }
  layer.first = reader.I64();
  const size_t spans = reader.U8();
  for (size_t i = 0; i < spans && reader.ok(); ++i) {
    LayerSpan& span = layer.spans.emplace_back();
    span.last = reader.I64();
    span.group = reader.U8();
  }
  return layer;
}

}  // namespace

bool HasLayers(const Table& table) {
  return std::any_of(table.sub_tables.begin(), table.sub_tables.end(),
                     [](const SubTable& sub) { return !sub.layers.empty(); });
}

void WriteLayers(const Table& table, ByteWriter& writer) {
  for (const SubTable& sub : table.sub_tables) {
    writer.U8(static_cast<uint8_t>(sub.layers.size()));
    for (const LayerChoices& layer : sub.layers) WriteLayer(layer, writer);
  }
}

void ReadLayers(ByteReader& reader, Table& table) {
  for (SubTable& sub : table.sub_tables) {
    const size_t layers = reader.U8();
    for (size_t i = 0; i < layers && reader.ok(); ++i) {
      sub.layers.push_back(ReadLayer(reader, table.dimensions.size()));
    }
  }
  // None: the payload without this section says the same.
  if (!HasLayers(table)) reader.Fail("layers of which there are none");
}

bool HasPowerLimitSlowdown(const Table& table) {
  return std::any_of(table.sub_tables.begin(), table.sub_tables.end(),
                     [](const SubTable& sub) {
                       return sub.power_limit != PowerLimitSlowdown{};
                     });
}

void WritePowerLimitSlowdown(const Table& table, ByteWriter& writer) {
  for (const SubTable& sub : table.sub_tables) {
    writer.F64(sub.power_limit.from_us);
    writer.F64(sub.power_limit.slowdown);
  }
}

void ReadPowerLimitSlowdown(ByteReader& reader, Table& table) {
  for (SubTable& sub : table.sub_tables) {
    sub.power_limit.from_us = reader.F64();
    sub.power_limit.slowdown = reader.F64();
  }
  // None: the payload without this section says the same.
  if (!HasPowerLimitSlowdown(table)) {
    reader.Fail("power-limit slowdown of which there is none");
  }
}

}  // namespace wavetune
