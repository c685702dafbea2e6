// The records inside of a payload's sections: how each struct of a table is
// written and read. model/table/table_codec.h frames them.
//
// A reader builds whatever the bytes say within the reader's limits (sizes,
// depth); model/table/table_check.h judges the meaning afterwards.
#ifndef WAVETUNE_MODEL_TABLE_TABLE_CODEC_RECORDS_H_
#define WAVETUNE_MODEL_TABLE_TABLE_CODEC_RECORDS_H_

#include <cstddef>

#include "model/table/byte_io.h"
#include "model/table/table.h"

namespace wavetune {

// Section 1: kernel, fingerprint, silicon key, environment key.
void WriteIdentity(const Table& table, ByteWriter& writer);
void ReadIdentity(ByteReader& reader, Table& table);

// Section 2: dimensions, parameters, default, near_tie.
void WriteSignature(const Table& table, ByteWriter& writer);
void ReadSignature(ByteReader& reader, Table& table);

// Section 3: the sub-tables. Reading needs table.dimensions and
// table.parameters from section 2.
void WriteSubTables(const Table& table, ByteWriter& writer);
void ReadSubTables(ByteReader& reader, Table& table);

// Parts of sections 2 and 3.
void WriteConfiguration(const Configuration& configuration, ByteWriter& writer);
Configuration ReadConfiguration(ByteReader& reader, size_t parameters);
void WriteMapping(const Mapping& mapping, ByteWriter& writer);
Mapping ReadMapping(ByteReader& reader);

// Which coefficients a sub-table's segments have, then what differs from one
// segment to the next in each group. Reading needs the axes, and the groups
// with their leads; it fills MacroGroup::models.
void WriteSegments(const SubTable& sub, ByteWriter& writer);
void ReadSegments(ByteReader& reader, SubTable& sub);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_TABLE_CODEC_RECORDS_H_
