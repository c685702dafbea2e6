// The records inside of a payload's sections: how each struct of a table is
// written and read. model/table/table_codec.h frames them.
//
// A reader builds whatever the bytes say within the reader's limits (sizes,
// depth); model/table/table_check.h judges the meaning afterwards.
#ifndef WAVETUNE_MODEL_TABLE_TABLE_CODEC_RECORDS_H_
#define WAVETUNE_MODEL_TABLE_TABLE_CODEC_RECORDS_H_

#include "model/table/byte_io.h"
#include "model/table/table.h"

namespace wavetune {

// Section 1: kernel, fingerprint, silicon key, environment key.
void WriteIdentity(const Table& table, ByteWriter& writer);
void ReadIdentity(ByteReader& reader, Table& table);

// Section 2: dimensions, parameters, predicates, default, near_tie.
void WriteSignature(const Table& table, ByteWriter& writer);
void ReadSignature(ByteReader& reader, Table& table);

// Section 3: the sub-tables. Reading needs table.parameters from section 2.
void WriteSubTables(const Table& table, ByteWriter& writer);
void ReadSubTables(ByteReader& reader, Table& table);

// Section 5, only where HasForms: the form of each sub-table, and alpha_row of
// the overlapping ones. Without it all are sums. Reading needs table.sub_tables
// from section 3.
bool HasForms(const Table& table);
void WriteForms(const Table& table, ByteWriter& writer);
void ReadForms(ByteReader& reader, Table& table);

// Section 6, in the place of 3 and 5 where these would not fit: the same, but
// of a segment only what differs from the one before it.
void WritePackedSubTables(const Table& table, ByteWriter& writer);
void ReadPackedSubTables(ByteReader& reader, Table& table);

// Section 7, only where HasRankMargins: the rank margins of the overlapping
// sub-tables' segments. Without it all are zero. Reading needs table.sub_tables
// from sections 3 and 5, or 6.
bool HasRankMargins(const Table& table);
void WriteRankMargins(const Table& table, ByteWriter& writer);
void ReadRankMargins(ByteReader& reader, Table& table);

// Section 8, only where HasLayers: what is known of single layers. Reading
// needs table.dimensions from section 2, table.sub_tables from section 3 or 6.
bool HasLayers(const Table& table);
void WriteLayers(const Table& table, ByteWriter& writer);
void ReadLayers(ByteReader& reader, Table& table);

// Section 9, only where HasPowerLimitSlowdown: what long launches lose to the
// power limit, in each sub-table. Reading needs table.sub_tables from section 3
// or 6.
bool HasPowerLimitSlowdown(const Table& table);
void WritePowerLimitSlowdown(const Table& table, ByteWriter& writer);
void ReadPowerLimitSlowdown(ByteReader& reader, Table& table);

// Parts of sections 2, 3, 5 and 6.
// A sub-table up to its groups.
void WriteSubTableHead(const SubTable& sub, ByteWriter& writer);
SubTable ReadSubTableHead(ByteReader& reader, size_t parameters);
WaveForm ReadForm(ByteReader& reader);
void WriteRelation(const Relation& relation, ByteWriter& writer);
Relation ReadRelation(ByteReader& reader);
void WriteMapping(const Mapping& mapping, ByteWriter& writer);
Mapping ReadMapping(ByteReader& reader);
void WriteConfiguration(const Configuration& configuration, ByteWriter& writer);
Configuration ReadConfiguration(ByteReader& reader, size_t parameters);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_TABLE_CODEC_RECORDS_H_
