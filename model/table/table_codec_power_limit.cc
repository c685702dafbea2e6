// Section 9: what long launches lose to the power limit.
#include <algorithm>

#include "model/table/table_codec_records.h"

namespace wavetune {

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
