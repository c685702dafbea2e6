// The frame of a payload: magic, version, section table, sections.
#include "model/table/table_codec.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/table/byte_io.h"
#include "model/table/table_check.h"
#include "model/table/table_codec_records.h"

namespace wavetune {
namespace {

// As PNG's: a byte above 0x7f and both line ends show a transfer that meant to
// send text.
constexpr absl::string_view kMagic("\x89WTT\r\n\x1a\n", 8);
// Of releases before 1.0.
constexpr absl::string_view kRetiredMagic("\x89WTB\r\n\x1a\n", 8);
constexpr uint16_t kMajorVersion = 1;
constexpr uint16_t kMinorVersion = 0;

constexpr uint32_t kCriticalFlag = 1;
constexpr uint32_t kMaxSections = 64;

// In their order; all critical, each in every payload once.
struct SectionCodec {
  uint32_t id;
  void (*write)(const Table&, ByteWriter&);
  void (*read)(ByteReader&, Table&);
};
constexpr SectionCodec kSections[] = {
    {1, WriteIdentity, ReadIdentity},
    {2, WriteSignature, ReadSignature},
    {3, WriteSubTables, ReadSubTables},
};

const SectionCodec* FindSection(uint32_t id) {
  const auto* const found =
      std::find_if(std::begin(kSections), std::end(kSections),
                   [id](const SectionCodec& codec) { return codec.id == id; });
  return found == std::end(kSections) ? nullptr : found;
}

struct SectionEntry {
  uint32_t id = 0;
  uint32_t flags = 0;
  uint32_t size = 0;
};

absl::Status CheckVersion(uint16_t major, uint16_t minor) {
  if (major == kMajorVersion) return absl::OkStatus();
  if (major > kMajorVersion) {
    return absl::UnimplementedError(absl::StrCat(
        "table payload has format ", major, ".", minor, "; this build reads ",
        kMajorVersion, ".x: upgrade this program, or promote a table that an ",
        "older daemon fitted"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("table payload, byte 8: no format has version ", major));
}

absl::Status CheckEntry(const SectionEntry& entry, uint32_t previous_id) {
  if (entry.id <= previous_id) {
    return absl::InvalidArgumentError(
        absl::StrCat("table payload: section ", entry.id, " after section ",
                     previous_id, ": ids must ascend"));
  }
  if ((entry.flags & ~kCriticalFlag) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("table payload: section ", entry.id, ": unknown flags"));
  }
  const bool critical = entry.flags == kCriticalFlag;
  const bool known = FindSection(entry.id) != nullptr;
  if (known && !critical) {
    return absl::InvalidArgumentError(absl::StrCat(
        "table payload: section ", entry.id, " is not marked critical"));
  }
  if (!known && critical) {
    return absl::UnimplementedError(absl::StrCat(
        "table payload: section ", entry.id,
        " is critical and unknown to this build: upgrade this program"));
  }
  return absl::OkStatus();
}

absl::Status CheckMagic(absl::string_view magic) {
  if (magic == kMagic) return absl::OkStatus();
  if (magic == kRetiredMagic) {
    return absl::UnimplementedError(
        "a table of a release before 1.0: profile the kernel again, or refit "
        "its stored samples (wavetune reprofile --kernel NAME --refit-only)");
  }
  return absl::InvalidArgumentError("not a table payload (magic)");
}

// Reads header and section table up to the first section.
absl::StatusOr<std::vector<SectionEntry>> ReadFrame(ByteReader& reader) {
  absl::Status status = CheckMagic(reader.Raw(kMagic.size()));
  if (!status.ok()) return status;
  const uint16_t major = reader.U16();
  const uint16_t minor = reader.U16();
  if (!reader.ok()) return reader.status();
  status = CheckVersion(major, minor);
  if (!status.ok()) return status;
  const uint32_t count = reader.U32();
  if (count > kMaxSections) reader.Fail("too many sections");
  std::vector<SectionEntry> entries;
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    SectionEntry entry{reader.U32(), reader.U32(), reader.U32()};
    if (!reader.ok()) break;
    status = CheckEntry(entry, entries.empty() ? 0 : entries.back().id);
    if (!status.ok()) return status;
    entries.push_back(entry);
  }
  if (!reader.ok()) return reader.status();
  const auto known = std::count_if(entries.begin(), entries.end(),
                                   [](const SectionEntry& entry) {
                                     return FindSection(entry.id) != nullptr;
                                   });
  if (known == std::ssize(kSections)) return entries;
  return absl::InvalidArgumentError("table payload: a section is missing");
}

std::string Write(const Table& table) {
  ByteWriter header;
  ByteWriter body;
  header.Raw(kMagic);
  header.U16(kMajorVersion);
  header.U16(kMinorVersion);
  header.U32(static_cast<uint32_t>(std::size(kSections)));
  for (const SectionCodec& section : kSections) {
    const size_t begin = body.bytes().size();
    section.write(table, body);
    header.U32(section.id);
    header.U32(kCriticalFlag);
    header.U32(static_cast<uint32_t>(body.bytes().size() - begin));
  }
  return header.bytes() + body.bytes();
}

}  // namespace

absl::StatusOr<std::string> EncodeTable(const Table& table) {
  if (absl::Status status = CheckTable(table); !status.ok()) return status;
  std::string payload = Write(table);
  if (payload.size() > kMaxPayloadBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "table of kernel ", table.kernel, " takes ", payload.size(),
        " bytes, above the limit of ", kMaxPayloadBytes,
        ": lower the portfolio size or the number of specialisations"));
  }
  return payload;
}

absl::StatusOr<Table> DecodeTable(absl::string_view payload) {
  if (payload.size() > kMaxPayloadBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("table payload of ", payload.size(),
                     " bytes, above the limit of ", kMaxPayloadBytes));
  }
  ByteReader reader(payload);
  absl::StatusOr<std::vector<SectionEntry>> entries = ReadFrame(reader);
  if (!entries.ok()) return entries.status();
  Table table;
  for (const SectionEntry& entry : *entries) {
    const size_t base = reader.offset();
    ByteReader section(reader.Raw(entry.size), base);
    if (!reader.ok()) return reader.status();
    const SectionCodec* const codec = FindSection(entry.id);
    if (codec == nullptr) continue;  // Unknown, not critical.
    codec->read(section, table);
    if (absl::Status status = section.Finish(); !status.ok()) return status;
  }
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  if (absl::Status status = CheckTable(table); !status.ok()) return status;
  return table;
}

}  // namespace wavetune
