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
constexpr absl::string_view kMagic("\x89WTB\r\n\x1a\n", 8);
constexpr uint16_t kMajorVersion = 1;
// Section 4 of 1.1 had forms whose answers no version since gives.
constexpr uint16_t kRetiredMinorVersion = 1;

constexpr uint32_t kCriticalFlag = 1;
constexpr uint32_t kMaxSections = 64;

// Sections of this version, in their order; all critical, each at most once.
constexpr uint32_t kPackedSection = 6;
constexpr uint32_t kMarginsSection = 7;
constexpr uint32_t kLayersSection = 8;
constexpr uint32_t kPowerLimitSection = 9;
struct SectionCodec {
  uint32_t id;
  void (*write)(const Table&, ByteWriter&);
  void (*read)(ByteReader&, Table&);
};
constexpr SectionCodec kSections[] = {
    {1, WriteIdentity, ReadIdentity},
    {2, WriteSignature, ReadSignature},
    {3, WriteSubTables, ReadSubTables},
    {5, WriteForms, ReadForms},
    {kPackedSection, WritePackedSubTables, ReadPackedSubTables},
    {kMarginsSection, WriteRankMargins, ReadRankMargins},
    {kLayersSection, WriteLayers, ReadLayers},
    {kPowerLimitSection, WritePowerLimitSlowdown, ReadPowerLimitSlowdown},
};

// Which sections a payload has, and the lowest version that has them all.
struct Layout {
  uint16_t minor_version;
  std::vector<uint32_t> sections;
};

constexpr uint16_t kLatestMinorVersion = 6;

// What a table has to say beside its sub-tables.
struct Extras {
  bool forms = false;
  bool packed = false;  // With the forms.
  bool margins = false;
  bool layers = false;
  bool power_limit = false;
};

Layout LayoutOf(const Extras& extras) {
  Layout layout{0, {1, 2}};
  const auto add = [&layout](uint32_t section, uint16_t since) {
    layout.sections.push_back(section);
    layout.minor_version = std::max(layout.minor_version, since);
  };
  if (extras.packed) {
    add(kPackedSection, 3);
  } else {
    add(3, 0);
    if (extras.forms) add(5, 2);
  }
  if (extras.margins) add(kMarginsSection, 4);
  if (extras.layers) add(kLayersSection, 5);
  if (extras.power_limit) add(kPowerLimitSection, 6);
  return layout;
}

// All that a payload may have: margins are of forms.
const std::vector<Layout>& Layouts() {
  static const auto* const kLayouts = [] {
    auto* const layouts = new std::vector<Layout>;
    for (const Extras& extras :
         {Extras{}, Extras{.forms = true}, Extras{.packed = true},
          Extras{.forms = true, .margins = true},
          Extras{.packed = true, .margins = true}}) {
      for (const bool layers : {false, true}) {
        for (const bool power_limit : {false, true}) {
          Extras with = extras;
          with.layers = layers;
          with.power_limit = power_limit;
          layouts->push_back(LayoutOf(with));
        }
      }
    }
    return layouts;
  }();
  return *kLayouts;
}

// Returns the layout of a table's payload.
Layout LayoutOf(const Table& table, bool packed) {
  return LayoutOf({.forms = HasForms(table),
                   .packed = packed,
                   .margins = HasRankMargins(table),
                   .layers = HasLayers(table),
                   .power_limit = HasPowerLimitSlowdown(table)});
}

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

// Checks that the sections known to this build are those of one layout, and of
// the version that says so.
absl::Status CheckLayout(const std::vector<SectionEntry>& entries,
                         uint16_t minor) {
  std::vector<uint32_t> known;
  for (const SectionEntry& entry : entries) {
    if (FindSection(entry.id) != nullptr) known.push_back(entry.id);
  }
  for (const Layout& layout : Layouts()) {
    if (known != layout.sections) continue;
    if (minor > kLatestMinorVersion || minor == layout.minor_version) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        "table payload: sections of another minor version");
  }
  return absl::InvalidArgumentError(
      "table payload: a section is missing, or one too many is there");
}

absl::Status CheckVersion(uint16_t major, uint16_t minor) {
  if (major == kMajorVersion && minor == kRetiredMinorVersion) {
    return absl::UnimplementedError(
        "table payload has format 1.1, whose wave forms this build does not "
        "have: profile the kernel again (wavetune reprofile)");
  }
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

// Reads header and section table up to the first section.
absl::StatusOr<std::vector<SectionEntry>> ReadFrame(ByteReader& reader) {
  if (reader.Raw(kMagic.size()) != kMagic) {
    reader.Fail("not a table payload (magic)");
    return reader.status();
  }
  const uint16_t major = reader.U16();
  const uint16_t minor = reader.U16();
  if (!reader.ok()) return reader.status();
  if (absl::Status status = CheckVersion(major, minor); !status.ok()) {
    return status;
  }
  const uint32_t count = reader.U32();
  if (count > kMaxSections) reader.Fail("too many sections");
  std::vector<SectionEntry> entries;
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    SectionEntry entry{reader.U32(), reader.U32(), reader.U32()};
    if (!reader.ok()) break;
    absl::Status status =
        CheckEntry(entry, entries.empty() ? 0 : entries.back().id);
    if (!status.ok()) return status;
    entries.push_back(entry);
  }
  if (!reader.ok()) return reader.status();
  if (absl::Status status = CheckLayout(entries, minor); !status.ok()) {
    return status;
  }
  return entries;
}

std::string Write(const Table& table, const Layout& layout) {
  ByteWriter header;
  ByteWriter body;
  header.Raw(kMagic);
  header.U16(kMajorVersion);
  header.U16(layout.minor_version);
  header.U32(static_cast<uint32_t>(layout.sections.size()));
  for (const uint32_t id : layout.sections) {
    const size_t begin = body.bytes().size();
    FindSection(id)->write(table, body);
    header.U32(id);
    header.U32(kCriticalFlag);
    header.U32(static_cast<uint32_t>(body.bytes().size() - begin));
  }
  return header.bytes() + body.bytes();
}

// A table has one payload: packed only where it does not fit otherwise.
absl::Status CheckNeedsPacking(const std::vector<SectionEntry>& entries,
                               const Table& table) {
  const bool packed = std::any_of(
      entries.begin(), entries.end(),
      [](const SectionEntry& entry) { return entry.id == kPackedSection; });
  if (!packed || Write(table, LayoutOf(table, /*packed=*/false)).size() >
                     kMaxPayloadBytes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "table payload: packed sub-tables that fit unpacked");
}

}  // namespace

absl::StatusOr<std::string> EncodeTable(const Table& table) {
  if (absl::Status status = CheckTable(table); !status.ok()) return status;
  std::string payload = Write(table, LayoutOf(table, /*packed=*/false));
  if (payload.size() > kMaxPayloadBytes) {
    payload = Write(table, LayoutOf(table, /*packed=*/true));
  }
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
  if (absl::Status status = CheckNeedsPacking(*entries, table); !status.ok()) {
    return status;
  }
  return table;
}

}  // namespace wavetune
