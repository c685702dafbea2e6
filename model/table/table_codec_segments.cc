// Segments: each says only what differs from the one before it, as neighbours
// share most of what they say.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "model/table/coefficient_list.h"
#include "model/table/table_codec_records.h"

namespace wavetune {
namespace {

using Coefficients = std::vector<const CoefficientField*>;

// Fields of every segment, before its coefficients, in a mask of 32 bits.
constexpr size_t kPlainFields = 10;
static_assert(kPlainFields + std::size(kCoefficients) <= 32);

// Calls use(bit, value, old value) with each field in the order of a mask's
// bits. Fields that often differ come first: a mask with low bits alone takes
// one byte.
template <typename Segment, typename Use>
void ForEachField(const Coefficients& coefficients, Segment& segment,
                  const WaveSegment& before, Use use) {
  uint32_t bit = 1;
  const auto next = [&](auto field) {
    use(bit, segment.*field, before.*field);
    bit <<= 1;
  };
  next(&WaveSegment::floor_us);
  next(&WaveSegment::relative_bound);
  next(&WaveSegment::extrapolated_bound);
  next(&WaveSegment::max_wave);
  next(&WaveSegment::rank_margin);
  next(&WaveSegment::min_iterations);
  next(&WaveSegment::max_iterations);
  next(&WaveSegment::micro);
  next(&WaveSegment::step_tiles);
  next(&WaveSegment::min_wave);
  for (const CoefficientField* const field : coefficients) {
    use(bit, segment.coefficients.*(field->value),
        before.coefficients.*(field->value));
    bit <<= 1;
  }
}

// Before the first segment of a group. Most groups have one member alone.
WaveSegment BeforeFirst(const MacroGroup& group, size_t anchors) {
  WaveSegment segment;
  segment.micro.assign(anchors, group.lead);
  return segment;
}

// One for each type of a field.
void WriteField(double value, ByteWriter& writer) { writer.F64(value); }
void WriteField(int64_t value, ByteWriter& writer) { writer.Int(value); }
void WriteField(uint8_t value, ByteWriter& writer) { writer.U8(value); }
void WriteField(const std::vector<uint8_t>& members, ByteWriter& writer) {
  for (const uint8_t member : members) writer.U8(member);
}
void ReadField(ByteReader& reader, double& value) { value = reader.F64(); }
void ReadField(ByteReader& reader, int64_t& value) { value = reader.Int(); }
void ReadField(ByteReader& reader, uint8_t& value) { value = reader.U8(); }
// As many as there were before.
void ReadField(ByteReader& reader, std::vector<uint8_t>& members) {
  for (uint8_t& member : members) member = reader.U8();
}

void WriteSegment(const Coefficients& coefficients, const WaveSegment& segment,
                  const WaveSegment& before, ByteWriter& writer) {
  uint32_t mask = 0;
  // Equal as numbers: -0.0 is written as 0.0.
  ForEachField(coefficients, segment, before,
               [&](uint32_t bit, const auto& value, const auto& old) {
                 if (value != old) mask |= bit;
               });
  writer.Uint(mask);
  ForEachField(coefficients, segment, before,
               [&](uint32_t bit, const auto& value, const auto&) {
                 if ((mask & bit) != 0) WriteField(value, writer);
               });
}

WaveSegment ReadSegment(const Coefficients& coefficients,
                        const WaveSegment& before, ByteReader& reader) {
  const uint64_t fields = kPlainFields + coefficients.size();
  const uint64_t mask = reader.Uint((uint64_t{1} << fields) - 1);
  WaveSegment segment = before;
  ForEachField(coefficients, segment, before,
               [&](uint32_t bit, auto& value, const auto& old) {
                 if ((mask & bit) == 0 || !reader.ok()) return;
                 ReadField(reader, value);
                 if (value == old) reader.Fail("a field that did not change");
               });
  return segment;
}

// Those that the segments have. The others are zero.
Coefficients CoefficientsOf(const SubTable& sub) {
  Coefficients coefficients;
  for (const CoefficientField& field : kCoefficients) {
    if (!IsZeroEverywhere(sub, field)) coefficients.push_back(&field);
  }
  return coefficients;
}

void WriteCoefficients(const Coefficients& coefficients, ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(coefficients.size()));
  for (const CoefficientField* const field : coefficients) {
    writer.U8(field->id);
  }
}

Coefficients ReadCoefficients(ByteReader& reader) {
  Coefficients coefficients;
  const size_t count = reader.U8();
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    const uint8_t id = reader.U8();
    const auto* const field = std::find_if(
        std::begin(kCoefficients), std::end(kCoefficients),
        [id](const CoefficientField& known) { return known.id == id; });
    if (field == std::end(kCoefficients)) {
      reader.FailTooNew("a coefficient that this build does not have");
    } else if (!coefficients.empty() && coefficients.back()->id >= id) {
      reader.Fail("coefficients do not ascend");
    } else {
      coefficients.push_back(field);
    }
  }
  return coefficients;
}

void ReadModels(const SubTable& sub, const Coefficients& coefficients,
                ByteReader& reader, MacroGroup& group) {
  WaveSegment before = BeforeFirst(group, sub.loop_anchors.size());
  for (size_t r = 0; r < sub.row_regimes.size() && reader.ok(); ++r) {
    GroupModel& model = group.models.emplace_back();
    // Not more: a segment may take one byte only.
    model.segments.reserve(sub.max_waves.size());
    for (size_t s = 0; s < sub.max_waves.size() && reader.ok(); ++s) {
      before = ReadSegment(coefficients, before, reader);
      model.segments.push_back(before);
    }
  }
}

}  // namespace

void WriteSegments(const SubTable& sub, ByteWriter& writer) {
  const Coefficients coefficients = CoefficientsOf(sub);
  WriteCoefficients(coefficients, writer);
  for (const MacroGroup& group : sub.groups) {
    WaveSegment before = BeforeFirst(group, sub.loop_anchors.size());
    for (const GroupModel& model : group.models) {
      for (const WaveSegment& segment : model.segments) {
        WriteSegment(coefficients, segment, before, writer);
        before = segment;
      }
    }
  }
}

void ReadSegments(ByteReader& reader, SubTable& sub) {
  const Coefficients coefficients = ReadCoefficients(reader);
  for (MacroGroup& group : sub.groups) {
    ReadModels(sub, coefficients, reader, group);
    if (!reader.ok()) return;
  }
  if (CoefficientsOf(sub) != coefficients) {
    reader.Fail("a coefficient that is zero everywhere");
  }
}

}  // namespace wavetune
