#include "model/table/byte_io.h"

#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

// Bytes of numbers that take as many as they need.
constexpr int kGroupBits = 7;
constexpr uint8_t kGroup = (1 << kGroupBits) - 1;
constexpr uint8_t kMore = 1 << kGroupBits;

}  // namespace

void ByteWriter::LittleEndian(uint64_t value, int size) {
  for (int i = 0; i < size; ++i) {
    bytes_.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

void ByteWriter::Uint(uint64_t value) {
  for (; value > kGroup; value >>= kGroupBits) {
    U8(static_cast<uint8_t>((value & kGroup) | kMore));
  }
  U8(static_cast<uint8_t>(value));
}

void ByteWriter::Int(int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  Uint(value < 0 ? ~(bits << 1) : bits << 1);
}

void ByteWriter::F64(double value) {
  U64(std::bit_cast<uint64_t>(value == 0 ? 0.0 : value));
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

uint64_t ByteReader::Uint(uint64_t max) {
  uint64_t value = 0;
  uint8_t byte = kMore;
  for (int shift = 0; ok() && (byte & kMore) != 0; shift += kGroupBits) {
    byte = U8();
    if (shift > 0 && byte == 0) {
      Fail("a number with more bytes than it needs");
    }
    const uint64_t bits = byte & kGroup;
    if (shift >= 64 || bits << shift >> shift != bits) {
      Fail("a number of more than 64 bits");
      break;
    }
    value |= bits << shift;
  }
  if (value > max) Fail(absl::StrCat("a number above ", max));
  return ok() ? value : 0;
}

int64_t ByteReader::Int() {
  const uint64_t bits = Uint();
  return static_cast<int64_t>((bits & 1) != 0 ? ~(bits >> 1) : bits >> 1);
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
  if (ok()) status_ = absl::InvalidArgumentError(At(what));
}

void ByteReader::FailTooNew(absl::string_view what) {
  if (ok()) {
    status_ = absl::UnimplementedError(
        absl::StrCat(At(what), ": upgrade this program"));
  }
}

std::string ByteReader::At(absl::string_view what) const {
  return absl::StrCat("table payload, byte ", offset(), ": ", what);
}

absl::Status ByteReader::Finish() {
  if (remaining() > 0) Fail(absl::StrCat(remaining(), " trailing bytes"));
  return status_;
}

}  // namespace wavetune
