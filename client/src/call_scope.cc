#include "client/src/call_scope.h"

#include <utility>

namespace wavetune {
namespace {

constinit thread_local CallScope* scope_of_thread = nullptr;

}  // namespace

void CallScope::Cancel() {
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  if (running_) running_();
}

CallScope::Use::Use(CallScope* scope)
    : outer_(std::exchange(scope_of_thread, scope)) {}

CallScope::Use::~Use() { scope_of_thread = outer_; }

CallScope::Call::Call(std::function<void()> cancel) : scope_(scope_of_thread) {
  if (scope_ == nullptr) return;
  std::lock_guard lock(scope_->mutex_);
  if (scope_->cancelled_) cancel();
  scope_->running_ = std::move(cancel);
}

CallScope::Call::~Call() {
  if (scope_ == nullptr) return;
  std::lock_guard lock(scope_->mutex_);
  scope_->running_ = nullptr;
}

}  // namespace wavetune
