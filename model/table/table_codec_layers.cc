// Section 8: what a table says of single layers.
#include <algorithm>
#include <cstddef>

#include "model/table/table_codec_records.h"

namespace wavetune {
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

}  // namespace wavetune
