// What a worker writes into its pipe, and what an agent writes into the
// worker's: any bytes end with an error, or give messages.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "formats/types.h"
#include "profiler_agent/worker/frame.h"
#include "profiler_agent/worker/kernel_source.h"
#include "profiler_agent/worker/launch_times_proto.h"
#include "proto/wavetune/v1/worker.pb.h"
#include "tests/fuzz/parse_quietly.h"
#include "tests/fuzz/require.h"

namespace wavetune {
namespace {

// A pipe holds 64 KiB; what would not fit would wait for a reader.
constexpr size_t kMostBytes = size_t{48} << 10;

class Pipe {
 public:
  Pipe() { Require(pipe(ends_) == 0, "no pipe"); }
  ~Pipe() {
    close(ends_[0]);
    CloseWriter();
  }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void CloseWriter() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2] = {-1, -1};
};

void Interpret(const std::string& payload) {
  v1::WorkerRequest request;
  if (ParseQuietly(payload, &request) && request.has_load()) {
    const auto kernel = LoadedKernelFromProto(request.load().kernel());
    Require(kernel.ok() || !kernel.status().message().empty(),
            "no reason is given");
  }
  v1::WorkerResponse response;
  if (!ParseQuietly(payload, &response)) return;
  for (const v1::DeviceFacts& facts : response.devices().devices()) {
    const DeviceFacts read = DeviceFactsFromProto(facts);
    Require(DeviceFactsFromProto(DeviceFactsToProto(read)) == read,
            "facts of a device");
  }
  LaunchTimesFromProto(response.times());
}

void ReadAll(const std::string& bytes) {
  Pipe pipe;
  Require(write(pipe.writer(), bytes.data(), bytes.size()) ==
              static_cast<ssize_t>(bytes.size()),
          "the pipe takes it");
  pipe.CloseWriter();
  for (;;) {
    const auto frame = ReadFrame(pipe.reader());
    if (!frame.ok()) {
      Require(absl::IsOutOfRange(frame.status()) ||
                  absl::IsDataLoss(frame.status()),
              "documented error");
      return;
    }
    Interpret(*frame);
  }
}

// Of a length that nothing follows the reader makes room first: no more here
// than what a fuzzer can repeat.
std::string WithShortFrames(absl::string_view data) {
  std::string bytes(data.substr(0, kMostBytes));
  size_t at = 0;
  while (at + 4 <= bytes.size()) {
    bytes[at + 2] = static_cast<char>(bytes[at + 2] & 1);
    if (static_cast<uint8_t>(bytes[at + 3]) <= 4) bytes[at + 3] = '\0';
    size_t size = 0;
    for (int i = 3; i >= 0; --i) {
      size =
          size << 8 | static_cast<uint8_t>(bytes[at + static_cast<size_t>(i)]);
    }
    at += 4 + size;
  }
  return bytes;
}

}  // namespace
}  // namespace wavetune

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wavetune::ReadAll(wavetune::WithShortFrames(
      absl::string_view(reinterpret_cast<const char*>(data), size)));
  return 0;
}
