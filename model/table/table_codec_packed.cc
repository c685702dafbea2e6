// Section 6: sub-tables whose segments say only what differs from the segment
// before. Neighbouring segments of an overlap share most coefficients.
#include <array>
#include <cstddef>
#include <cstdint>

#include "model/table/table_codec_records.h"

namespace wavetune {
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

}  // namespace wavetune
