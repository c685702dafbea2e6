// Section 9: what long launches lose to the power limit.
#include <algorithm>

#include "model/table/table_codec_records.h"

namespace wavetune {

bool HasSustainedLoad(const Table& table) {
  return std::any_of(
      table.sub_tables.begin(), table.sub_tables.end(),
      [](const SubTable& sub) { return sub.sustained != SustainedLoad{}; });
}

void WriteSustainedLoad(const Table& table, ByteWriter& writer) {
  for (const SubTable& sub : table.sub_tables) {
    writer.F64(sub.sustained.from_us);
    writer.F64(sub.sustained.slowdown);
  }
}

void ReadSustainedLoad(ByteReader& reader, Table& table) {
  for (SubTable& sub : table.sub_tables) {
    sub.sustained.from_us = reader.F64();
    sub.sustained.slowdown = reader.F64();
  }
  // None: the payload without this section says the same.
  if (!HasSustainedLoad(table)) {
    reader.Fail("sustained load of which there is none");
  }
}

}  // namespace wavetune
