// Entries of the store, after a first byte that says of which kind: any bytes
// are refused with a reason, or give a record that is stored and read alike.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "server/store/stored_event.h"
#include "server/store/stored_records.h"
#include "server/store/stored_usage.h"
#include "server/store/stored_workload.h"
#include "tests/fuzz/parse_quietly.h"
#include "tests/fuzz/require.h"

namespace wavetune {
namespace {

// Encoded again it is the same record, whatever unknown fields and repeats the
// first bytes had.
template <typename Decode, typename Encode>
void Read(absl::string_view bytes, Decode decode, Encode encode) {
  const auto record = decode(bytes);
  if (!record.ok()) {
    Require(!record.status().message().empty(), "no reason is given");
    return;
  }
  const std::string stored = encode(*record);
  const auto again = decode(stored);
  Require(again.ok(), "what was read cannot be stored");
  Require(encode(*again) == stored, "round trip");
}

void ReadAs(uint8_t kind, absl::string_view bytes) {
  switch (kind % 12) {
    case 0:
      return Read(bytes, DecodeStoredDevice, EncodeStoredDevice);
    case 1:
      return Read(bytes, DecodeStoredSample, EncodeStoredSample);
    case 2:
      return Read(bytes, DecodeStoredCandidate, EncodeStoredCandidate);
    case 3:
      return Read(bytes, DecodeStoredGeneration, EncodeStoredGeneration);
    case 4:
      return Read(bytes, DecodeStoredTableRecord, EncodeStoredTableRecord);
    case 5:
      return Read(bytes, DecodeStoredPin, EncodeStoredPin);
    case 6:
      return Read(bytes, DecodeStoredRejected, EncodeStoredRejected);
    case 7:
      return Read(bytes, DecodeStoredTable, [](const StoredPayload& table) {
        return EncodeStoredTable(table.record, table.payload);
      });
    case 8:
      return Read(bytes, DecodeStoredJob, EncodeStoredJob);
    case 9:
      return Read(bytes, DecodeStoredEvent, EncodeStoredEvent);
    case 10:
      return Read(bytes, DecodeStoredUsage, EncodeStoredUsage);
    default:
      return Read(bytes, DecodeStoredWorkload, EncodeStoredWorkload);
  }
}

}  // namespace
}  // namespace wavetune

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  wavetune::QuietenProtobuf();
  wavetune::ReadAs(
      data[0],
      absl::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
