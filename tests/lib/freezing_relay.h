// FreezingRelay: passes the bytes of TCP connections on, until it is told to
// freeze: then a peer is gone without a word, as when a machine loses its
// power.
//
// Thread safety: Freeze and Thaw from any thread; the rest from one.
#ifndef WAVETUNE_TESTS_LIB_FREEZING_RELAY_H_
#define WAVETUNE_TESTS_LIB_FREEZING_RELAY_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace wavetune::testing {

class FreezingRelay {
 public:
  // Between whoever connects to address() and 127.0.0.1:`port`.
  explicit FreezingRelay(uint16_t port);
  ~FreezingRelay();
  FreezingRelay(const FreezingRelay&) = delete;
  FreezingRelay& operator=(const FreezingRelay&) = delete;

  const std::string& address() const { return address_; }
  // From now on nothing is passed on or closed.
  void Freeze() { frozen_ = true; }
  // Goes on, with what came meanwhile.
  void Thaw() { frozen_ = false; }

 private:
  void Run();
  void Accept();

  const uint16_t port_;
  int listening_ = -1;
  std::string address_;
  std::atomic<bool> frozen_ = false;
  std::atomic<bool> ending_ = false;
  std::vector<std::pair<int, int>> pairs_;  // The thread's.
  std::thread thread_;
};

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_LIB_FREEZING_RELAY_H_
