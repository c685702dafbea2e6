// Listeners: who wants to hear of an event.
//
//   auto handle = listeners.Add([](const Event& e) { ... });  // drop to end
//   for (const auto& listener : listeners.Current()) (*listener)(event);
//
// What ended listeners leave behind is bounded by what lives: watchers come and
// go for months between two events.
//
// Ending is dropping the handle, so that nobody has to unsubscribe from within
// a callback. A call that runs at that moment still completes: a callback holds
// weakly what may be gone.
//
// Thread safety: none; the owner's mutex guards it. Call listeners without
// that mutex.
#ifndef WAVETUNE_SERVER_JOBS_LISTENERS_H_
#define WAVETUNE_SERVER_JOBS_LISTENERS_H_

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
    if (listeners_.size() >= 2 * live_ + kSlack) {
      std::erase_if(listeners_,
                    [](const auto& weak) { return weak.expired(); });
      live_ = listeners_.size();
    }
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
    live_ = listeners_.size();
    return current;
  }

  // Returns how many handles live.
  size_t size() { return Current().size(); }

  // Returns how many places are taken, by ended ones too: at most twice those
  // that lived at some time since the last event, and a few.
  size_t places() const { return listeners_.size(); }

 private:
  static constexpr size_t kSlack = 64;

  std::vector<std::weak_ptr<const Listener>> listeners_;
  size_t live_ = 0;  // When the ended ones were last forgotten.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_LISTENERS_H_
