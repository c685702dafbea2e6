#include "model/table/byte_io.h"

#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace wavetune {

void ByteWriter::LittleEndian(uint64_t value, int size) {
  for (int i = 0; i < size; ++i) {
    bytes_.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

void ByteWriter::F64(double value) {
  LittleEndian(std::bit_cast<uint64_t>(value == 0 ? 0.0 : value), 8);
}

void ByteWriter::String(absl::string_view text) {
  U16(static_cast<uint16_t>(text.size()));
  Raw(text);
}

void ByteWriter::Raw(absl::string_view bytes) {
  bytes_.append(bytes.data(), bytes.size());
}

uint64_t ByteReader::LittleEndian(size_t size) {
  uint64_t value = 0;
  const absl::string_view bytes = Raw(size);
  for (size_t i = 0; i < bytes.size(); ++i) {
    value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return value;
}

double ByteReader::F64() {
  const uint64_t bits = LittleEndian(8);
  const double value = std::bit_cast<double>(bits);
  if (!std::isfinite(value)) {
    Fail("a number is not finite");
    return 0;
  }
  if (value == 0 && bits != 0) {
    Fail("a zero is written as -0.0");
    return 0;
  }
  return value;
}

bool ByteReader::Bool() {
  const uint8_t value = U8();
  if (value > 1) Fail("a flag is neither 0 nor 1");
  return ok() && value == 1;
}

std::string ByteReader::String() {
  const absl::string_view text = Raw(U16());
  return std::string(text.data(), text.size());
}

absl::string_view ByteReader::Raw(size_t size) {
  if (ok() && size > remaining()) {
    Fail(absl::StrCat("truncated: ", size, " bytes wanted, ", remaining(),
                      " left"));
  }
  if (!ok()) return {};
  const absl::string_view bytes = bytes_.substr(position_, size);
  position_ += size;
  return bytes;
}

void ByteReader::Fail(absl::string_view what) {
  if (!ok()) return;
  status_ = absl::InvalidArgumentError(
      absl::StrCat("table payload, byte ", offset(), ": ", what));
}

absl::Status ByteReader::Finish() {
  if (remaining() > 0) Fail(absl::StrCat(remaining(), " trailing bytes"));
  return status_;
}

}  // namespace wavetune
