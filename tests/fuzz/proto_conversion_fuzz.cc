// Messages of the API, after a first byte that says which: any of them is
// refused with a reason, or becomes a value that converts back alike.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/types.h"
#include "proto/wavetune/v1/types.pb.h"
#include "tests/fuzz/parse_quietly.h"
#include "tests/fuzz/require.h"

namespace wavetune {
namespace {

constexpr int kParameters = 2;

const std::vector<Dimension>& Dimensions() {
  static const auto& dimensions = *new std::vector<Dimension>{
      {.name = "tokens", .repeated = true, .min = 0, .max = 1 << 20},
      {.name = "n", .min = 1, .max = 1 << 20},
      {.name = "k", .min = 1, .max = 1 << 20}};
  return dimensions;
}

// `to` of what `from` reads, read again, is the same.
template <typename Proto, typename From, typename To>
void ConvertChecked(absl::string_view bytes, From from, To to) {
  Proto proto;
  if (!ParseQuietly(bytes, &proto)) return;
  const auto value = from(proto);
  if (!value.ok()) {
    Require(!value.status().message().empty(), "no reason is given");
    return;
  }
  const auto again = from(to(*value));
  Require(again.ok(), "what was read cannot be said");
  Require(to(*again).SerializeAsString() == to(*value).SerializeAsString(),
          "round trip");
}

template <typename Proto, typename From, typename To>
void Convert(absl::string_view bytes, From from, To to) {
  Proto proto;
  if (!ParseQuietly(bytes, &proto)) return;
  const auto value = from(proto);
  Require(
      to(from(to(value))).SerializeAsString() == to(value).SerializeAsString(),
      "round trip");
}

void ConvertAs(uint8_t kind, absl::string_view bytes) {
  switch (kind % 6) {
    case 0:
      return ConvertChecked<v1::Problem>(
          bytes,
          [](const auto& proto) {
            return ProblemFromProto(Dimensions(), proto);
          },
          [](const auto& value) {
            return ProblemToProto(Dimensions(), value);
          });
    case 1:
      return ConvertChecked<v1::Configuration>(
          bytes,
          [](const auto& proto) {
            return ConfigurationFromProto(kParameters, proto);
          },
          ConfigurationToProto);
    case 2:
      return ConvertChecked<v1::Sample>(
          bytes,
          [](const auto& proto) {
            return SampleFromProto(Dimensions(), kParameters, proto);
          },
          [](const auto& value) { return SampleToProto(Dimensions(), value); });
    case 3:
      return Convert<v1::DeviceFacts>(bytes, DeviceFactsFromProto,
                                      DeviceFactsToProto);
    case 4:
      return Convert<v1::DeviceState>(bytes, DeviceStateFromProto,
                                      DeviceStateToProto);
    default:
      return Convert<v1::CandidateFacts>(
          bytes,
          [](const auto& proto) {
            return CandidateFromProto({1, 2}, proto);
          },
          CandidateFactsToProto);
  }
}

}  // namespace
}  // namespace wavetune

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  wavetune::ConvertAs(
      data[0],
      absl::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
