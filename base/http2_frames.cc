#include "base/http2_frames.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

// Indices in the static table (RFC 7541, appendix A), and how many it has.
constexpr uint8_t kAuthority = 1;
constexpr uint8_t kMethodPost = 3;
constexpr uint8_t kPath = 4;
constexpr uint8_t kSchemeHttp = 6;
constexpr uint8_t kStatus200 = 8;
constexpr uint8_t kContentType = 31;
constexpr uint32_t kStaticFields = 61;

constexpr uint8_t kIndexed = 0x80;
constexpr uint8_t kIncremental = 0x40;
constexpr uint8_t kTableSize = 0x20;

absl::Status Broken(absl::string_view what) {
  return absl::DataLossError(absl::StrCat(
      "the daemon's answer is no HTTP/2 that this client reads: ", what));
}

// Adds an integer with a prefix of `bits` bits below `pattern`.
void AddInteger(uint8_t pattern, int bits, uint32_t value, std::string* out) {
  const uint32_t limit = (uint32_t{1} << bits) - 1;
  if (value < limit) {
    out->push_back(static_cast<char>(pattern | value));
    return;
  }
  out->push_back(static_cast<char>(pattern | limit));
  value -= limit;
  for (; value >= 0x80; value >>= 7)
    out->push_back(static_cast<char>(0x80 | (value & 0x7f)));
  out->push_back(static_cast<char>(value));
}

void AddString(absl::string_view text, std::string* out) {
  AddInteger(0, 7, static_cast<uint32_t>(text.size()), out);
  absl::StrAppend(out, text);
}

// Literals that nobody indexes.
void AddNamed(uint8_t name_index, absl::string_view value, std::string* out) {
  AddInteger(0, 4, name_index, out);
  AddString(value, out);
}
void AddLiteral(absl::string_view name, absl::string_view value,
                std::string* out) {
  out->push_back(0);
  AddString(name, out);
  AddString(value, out);
}

// Reads a header block from its beginning.
class BlockReader {
 public:
  explicit BlockReader(absl::string_view block) : rest_(block) {}

  bool done() const { return rest_.empty(); }
  uint8_t Peek() const { return static_cast<uint8_t>(rest_[0]); }

  absl::StatusOr<uint32_t> Integer(int bits) {
    if (rest_.empty()) return Broken("a header block ends early");
    const uint32_t limit = (uint32_t{1} << bits) - 1;
    uint64_t value = Byte() & limit;
    if (value < limit) return static_cast<uint32_t>(value);
    for (int shift = 0; shift <= 28; shift += 7) {
      if (rest_.empty()) return Broken("a header block ends early");
      const uint8_t byte = Byte();
      value += static_cast<uint64_t>(byte & 0x7f) << shift;
      if (value > kLargestWindow) break;
      if ((byte & 0x80) == 0) return static_cast<uint32_t>(value);
    }
    return Broken("a number in a header block is too large");
  }

  absl::StatusOr<std::string> String() {
    if (rest_.empty()) return Broken("a header block ends early");
    const bool huffman = (Peek() & 0x80) != 0;
    ASSIGN_OR_RETURN(const uint32_t size, Integer(7));
    if (size > rest_.size()) return Broken("a header block ends early");
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return huffman ? std::string() : text;
  }

 private:
  uint8_t Byte() {
    const auto byte = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return byte;
  }

  absl::string_view rest_;
};

absl::Status CheckStatic(uint32_t index) {
  if (index > 0 && index <= kStaticFields) return absl::OkStatus();
  return Broken("a header refers to a dynamic table");
}

}  // namespace

std::string EncodeUint32(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<char>(value >> shift & 0xff));
  return bytes;
}

uint32_t DecodeUint32(absl::string_view bytes) {
  uint32_t value = 0;
  for (const char byte : bytes.substr(0, 4))
    value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

std::string EncodeFrame(FrameType type, uint8_t flags, uint32_t stream,
                        absl::string_view payload) {
  std::string bytes =
      EncodeUint32(static_cast<uint32_t>(payload.size())).substr(1);
  bytes.push_back(static_cast<char>(type));
  bytes.push_back(static_cast<char>(flags));
  absl::StrAppend(&bytes, EncodeUint32(stream), payload);
  return bytes;
}

Http2Frame DecodeFrameHeader(absl::string_view bytes) {
  return {.type = static_cast<FrameType>(bytes[3]),
          .flags = static_cast<uint8_t>(bytes[4]),
          .stream = DecodeUint32(bytes.substr(5)) & kLargestWindow,
          .size = DecodeUint32(bytes) >> 8};
}

absl::StatusOr<std::optional<Http2Frame>> TakeFrame(absl::string_view* bytes) {
  if (bytes->size() < kFrameHeaderBytes) return std::nullopt;
  Http2Frame frame = DecodeFrameHeader(*bytes);
  if (frame.size > kMaxFrameBytes) return Broken("a frame is too large");
  if (bytes->size() < kFrameHeaderBytes + frame.size) return std::nullopt;
  frame.payload = bytes->substr(kFrameHeaderBytes, frame.size);
  bytes->remove_prefix(kFrameHeaderBytes + frame.size);
  return frame;
}

std::string Http2Preface() {
  // SETTINGS: HEADER_TABLE_SIZE 0, ENABLE_PUSH 0, INITIAL_WINDOW_SIZE.
  std::string settings;
  for (const auto& [name, value] :
       {std::pair<uint16_t, uint32_t>{1, 0}, {2, 0}, {4, kLargestWindow}}) {
    absl::StrAppend(&settings, EncodeUint32(name).substr(2),
                    EncodeUint32(value));
  }
  return absl::StrCat(
      kHttp2Opening, EncodeFrame(FrameType::kSettings, 0, 0, settings),
      EncodeFrame(FrameType::kWindowUpdate, 0, 0,
                  EncodeUint32(kLargestWindow - kInitialWindow)));
}

std::string EncodeRequestHeaders(absl::string_view path,
                                 absl::string_view authority,
                                 absl::string_view timeout) {
  std::string block;
  block.push_back(static_cast<char>(kIndexed | kMethodPost));
  block.push_back(static_cast<char>(kIndexed | kSchemeHttp));
  AddNamed(kPath, path, &block);
  AddNamed(kAuthority, authority, &block);
  AddLiteral("te", "trailers", &block);
  AddNamed(kContentType, "application/grpc", &block);
  if (!timeout.empty()) AddLiteral("grpc-timeout", timeout, &block);
  return block;
}

std::string EncodeStatusHeaders(int code, absl::string_view message) {
  std::string block(1, static_cast<char>(kIndexed | kStatus200));
  AddNamed(kContentType, "application/grpc", &block);
  AddLiteral("grpc-status", absl::StrCat(code), &block);
  AddLiteral("grpc-message", PercentEncoded(message), &block);
  return block;
}

absl::StatusOr<std::map<std::string, std::string>> DecodeHeaders(
    absl::string_view block) {
  std::map<std::string, std::string> fields;
  BlockReader reader(block);
  while (!reader.done()) {
    const uint8_t first = reader.Peek();
    if ((first & kIndexed) != 0) {
      ASSIGN_OR_RETURN(const uint32_t index, reader.Integer(7));
      RETURN_IF_ERROR(CheckStatic(index));
      continue;
    }
    if ((first & kIncremental) == 0 && (first & kTableSize) != 0) {
      ASSIGN_OR_RETURN(const uint32_t size, reader.Integer(5));
      if (size != 0) return Broken("a dynamic table is kept");
      continue;
    }
    // A literal; what it would add to a table of size 0 is dropped.
    const int bits = (first & kIncremental) != 0 ? 6 : 4;
    ASSIGN_OR_RETURN(const uint32_t index, reader.Integer(bits));
    std::string name;
    if (index == 0) {
      ASSIGN_OR_RETURN(name, reader.String());
    } else {
      RETURN_IF_ERROR(CheckStatic(index));
    }
    ASSIGN_OR_RETURN(std::string value, reader.String());
    if (index == 0) fields[name] = std::move(value);
  }
  return fields;
}

absl::StatusOr<absl::string_view> ContentOf(const Http2Frame& frame) {
  absl::string_view block = frame.payload;
  size_t padding = 0;
  if (frame.Has(kPadded)) {
    if (block.empty()) return Broken("a padded frame is empty");
    padding = static_cast<uint8_t>(block[0]);
    block.remove_prefix(1);
  }
  if (frame.type == FrameType::kHeaders && frame.Has(kPriority)) {
    constexpr size_t kPriorityBytes = 5;
    if (block.size() < kPriorityBytes) return Broken("a frame ends early");
    block.remove_prefix(kPriorityBytes);
  }
  if (padding > block.size()) return Broken("a frame is all padding");
  block.remove_suffix(padding);
  return block;
}

std::string PercentEncoded(absl::string_view text) {
  constexpr absl::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '%') {
      encoded.push_back(c);
      continue;
    }
    const auto byte = static_cast<uint8_t>(c);
    encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return encoded;
}

std::string PercentDecoded(absl::string_view text) {
  const auto digit = [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c))
               ? c - '0'
               : absl::ascii_tolower(static_cast<unsigned char>(c)) - 'a' + 10;
  };
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() &&
        absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 1])) &&
        absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 2]))) {
      decoded.push_back(
          static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])));
      i += 2;
    } else {
      decoded.push_back(text[i]);
    }
  }
  return decoded;
}

}  // namespace wavetune
