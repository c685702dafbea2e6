// ByteWriter and ByteReader: little-endian bytes with bounds, for payloads.
//
//   ByteWriter writer;
//   writer.Int(-7);
//   writer.F64(0.5);
//   ByteReader reader(writer.bytes());
//   int64_t minus_seven = reader.Int();
//   double half = reader.F64();
//   absl::Status status = reader.Finish();  // OK: no fault, nothing left
//
// The reader keeps its first fault and answers zero from then on, so that a
// decoder reads straight on and asks once. A payload must be canonical, so one
// of two encodings of a value is refused: -0.0, a flag beside 0 and 1, a number
// with more bytes than it needs.
//
// Thread safety: none; both are values of one thread.
#ifndef WAVETUNE_MODEL_TABLE_BYTE_IO_H_
#define WAVETUNE_MODEL_TABLE_BYTE_IO_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace wavetune {

// Appends to a string. Cannot fail but for strings above 65,535 bytes, which
// the caller checks before (model/table/table_check.h).
class ByteWriter {
 public:
  void U8(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void U16(uint16_t value) { LittleEndian(value, 2); }
  void U32(uint32_t value) { LittleEndian(value, 4); }
  void U64(uint64_t value) { LittleEndian(value, 8); }
  // Seven bits a byte, the lowest first; all but the last have the highest bit
  // (LEB128). 1 to 10 bytes.
  void Uint(uint64_t value);
  // The same of 2 * value, or of -2 * value - 1 below 0.
  void Int(int64_t value);
  // The IEEE 754 binary64 bits; -0.0 is written as 0.0.
  void F64(double value);
  // U16 length, then the bytes.
  void String(absl::string_view text);
  // The bytes alone.
  void Raw(absl::string_view bytes);

  const std::string& bytes() const { return bytes_; }

 private:
  void LittleEndian(uint64_t value, int size);

  std::string bytes_;
};

// Reads from bytes that outlive it.
class ByteReader {
 public:
  // `base` is where `bytes` begins in the payload, for messages.
  explicit ByteReader(absl::string_view bytes, size_t base = 0)
      : bytes_(bytes), base_(base) {}

  // Return the value, or 0 from the first fault on.
  uint8_t U8() { return static_cast<uint8_t>(LittleEndian(1)); }
  uint16_t U16() { return static_cast<uint16_t>(LittleEndian(2)); }
  uint32_t U32() { return static_cast<uint32_t>(LittleEndian(4)); }
  // Refuses numbers above `max`.
  uint64_t Uint(uint64_t max = std::numeric_limits<uint64_t>::max());
  int64_t Int();
  // Refuses -0.0, infinities and NaN.
  double F64();
  // Refuses anything but 0 and 1.
  bool Bool();
  std::string String();
  // `size` bytes as a view into the payload; empty on a fault.
  absl::string_view Raw(size_t size);

  // Records a fault at the present place, unless there is one already.
  void Fail(absl::string_view what);
  // The same for what only a later version of this program reads: UNIMPLEMENTED
  // instead of INVALID_ARGUMENT.
  void FailTooNew(absl::string_view what);

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  size_t remaining() const { return bytes_.size() - position_; }
  size_t offset() const { return base_ + position_; }

  // Returns the first fault; bytes that are left over are one.
  absl::Status Finish();

 private:
  uint64_t LittleEndian(size_t size);
  std::string At(absl::string_view what) const;

  absl::string_view bytes_;
  size_t base_ = 0;
  size_t position_ = 0;
  absl::Status status_;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_BYTE_IO_H_
