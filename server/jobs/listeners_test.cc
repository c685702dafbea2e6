#include "server/jobs/listeners.h"

#include <gtest/gtest.h>

#include <vector>

namespace wavetune {
namespace {

TEST(ListenersTest, CallsThoseWhoseHandlesLiveInTheirOrder) {
  Listeners<int> listeners;
  std::vector<int> heard;
  const auto first = listeners.Add([&](int event) { heard.push_back(event); });
  auto second = listeners.Add([&](int event) { heard.push_back(10 * event); });
  for (const auto& listener : listeners.Current()) (*listener)(1);
  second.reset();
  for (const auto& listener : listeners.Current()) (*listener)(2);
  EXPECT_EQ(heard, (std::vector<int>{1, 10, 2}));
  EXPECT_EQ(listeners.size(), 1u);
}

TEST(ListenersTest, EndedListenersTakeNoPlacesWithoutAnEventEither) {
  Listeners<int> listeners;
  std::vector<Listeners<int>::Handle> kept;
  for (int i = 0; i < 100; ++i) kept.push_back(listeners.Add([](int) {}));
  for (int i = 0; i < 100000; ++i) listeners.Add([](int) {});
  EXPECT_LE(listeners.places(), 400u);
  EXPECT_EQ(listeners.size(), 100u);
}

}  // namespace
}  // namespace wavetune
