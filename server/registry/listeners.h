// Listeners: who wants to hear of an event.
//
//   auto handle = listeners.Add([](const Event& e) { ... });  // drop to end
//   for (const auto& listener : listeners.Current()) (*listener)(event);
//
// Ending is dropping the handle, so that nobody has to unsubscribe from within
// a callback. A call that runs at that moment still completes: a callback holds
// weakly what may be gone.
//
// Thread safety: none; the owner's mutex guards it. Call listeners without
// that mutex.
#ifndef WAVETUNE_SERVER_REGISTRY_LISTENERS_H_
#define WAVETUNE_SERVER_REGISTRY_LISTENERS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace wavetune {

template <typename Event>
class Listeners {
 public:
  using Listener = std::function<void(const Event&)>;
  using Handle = std::shared_ptr<const Listener>;

  // Returns the handle that keeps `listener` in the list.
  Handle Add(Listener listener) {
    auto handle = std::make_shared<const Listener>(std::move(listener));
    listeners_.push_back(handle);
    return handle;
  }

  // Returns the listeners whose handles live, in the order of Add.
  std::vector<Handle> Current() {
    std::vector<Handle> current;
    current.reserve(listeners_.size());
    for (const std::weak_ptr<const Listener>& weak : listeners_) {
      if (Handle handle = weak.lock()) current.push_back(std::move(handle));
    }
    listeners_.assign(current.begin(), current.end());
    return current;
  }

  // Returns how many handles live.
  size_t size() { return Current().size(); }

 private:
  std::vector<std::weak_ptr<const Listener>> listeners_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_REGISTRY_LISTENERS_H_
