// CallDurations: how long the answers of each unary method took, and how they
// ended, since the process began.
//
//   const CallTimer timer(CallDurations::Of("GetTable"));
//   ... answer ...
//   timer.Done(status);
//
// Counts the whole process, as gRPC's threads are its: the servers of all
// sockets count together. From when gRPC hands a request over until the answer
// is given to it; what the network takes is not in it. Streams are not counted:
// they last as long as their reader wants.
//
// Thread safety: thread-safe; Add takes no lock and no memory.
#ifndef WAVETUNE_SERVER_RPC_CALL_DURATIONS_H_
#define WAVETUNE_SERVER_RPC_CALL_DURATIONS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace wavetune {

class CallDurations {
 public:
  // Upper bounds of the buckets; one more has what took longer.
  static constexpr std::array<double, 14> kBoundsS = {
      5e-5, 1e-4,   2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3,
      1e-2, 2.5e-2, 5e-2,   0.1,  0.25, 1,      10};
  static constexpr size_t kCodes = 17;  // gRPC's codes, OK to UNAUTHENTICATED.

  struct Counts {
    std::string method;
    std::array<uint64_t, kBoundsS.size() + 1> buckets{};  // Not cumulative.
    double sum_s = 0;
    std::array<uint64_t, kCodes> codes{};
  };

  class Method {
   public:
    explicit Method(absl::string_view name) : name_(name) {}

    void Add(std::chrono::nanoseconds took, absl::StatusCode code);
    Counts counts() const;
    const std::string& name() const { return name_; }

   private:
    const std::string name_;
    std::array<std::atomic<uint64_t>, kBoundsS.size() + 1> buckets_{};
    std::atomic<int64_t> sum_ns_ = 0;
    std::array<std::atomic<uint64_t>, kCodes> codes_{};
  };

  // Returns the counts of a method; they live as long as the process. Cost: a
  // lock; to be asked once.
  static Method& Of(absl::string_view method);
  // Returns all that were asked for, sorted by name.
  static std::vector<Counts> All();
};

// One call, from its construction.
class CallTimer {
 public:
  explicit CallTimer(CallDurations::Method& method)
      : method_(&method), start_(std::chrono::steady_clock::now()) {}

  // Counts the call and returns its status.
  const absl::Status& Done(const absl::Status& status) const {
    method_->Add(std::chrono::steady_clock::now() - start_, status.code());
    return status;
  }

 private:
  CallDurations::Method* method_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_CALL_DURATIONS_H_
