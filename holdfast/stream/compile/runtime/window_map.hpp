// window_map.hpp: windows by their ends, whatever is in them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include <holdfast/stream/compile/runtime/apart.hpp>

namespace holdfast::query {

struct Bounds {
  std::int64_t end = 0, start = 0;

  bool operator==(const Bounds& other) const { return end == other.end && start == other.start; }
  bool operator<(const Bounds& other) const {
    return end != other.end ? end < other.end : start < other.start;
  }
};

class AnyWindow {
 public:
  explicit AnyWindow(const Bounds& of) : bounds(of) {}
  virtual ~AnyWindow() = default;

  Bounds bounds;
};

// In the order of their bounds. Valid until the window is taken, or all go.
class AnyWindows {
 public:
  AnyWindows();
  ~AnyWindows();

  // None: null; so are those below.
  AnyWindow* first() const;
  AnyWindow* first_from(const Bounds& bounds) const;
  AnyWindow* behind(const AnyWindow& window) const;
  // That of the last find_or_reuse(), or add(), if it is this one.
  AnyWindow* newest(const Bounds& bounds) const {
    return newest_ != nullptr && newest_->bounds == bounds ? newest_ : nullptr;
  }
  AnyWindow* find_or_reuse(const Bounds& bounds);
  // They own it from now on.
  void add(AnyWindow* window);
  // There is one. It is none of them any more, and ends with drop_taken().
  AnyWindow* take_first();
  void drop_taken();
  // Instead: it is empty, and the next that is wanted.
  void reuse_taken();
  void clear();

 private:
  std::map<Bounds, std::unique_ptr<AnyWindow>> windows_;
  std::unique_ptr<AnyWindow> taken_, spare_;
  AnyWindow* newest_ = nullptr;
};

template <class Value>
class WindowsOf {
 public:
  struct Window final : AnyWindow {
    using AnyWindow::AnyWindow;
    Value value;
  };

  Window* first() const { return of(windows_.first()); }
  Window* first_from(const Bounds& bounds) const { return of(windows_.first_from(bounds)); }
  Window* newest(const Bounds& bounds) const { return of(windows_.newest(bounds)); }
  // Made if there is none.
  Value& at(const Bounds& bounds) {
    auto* known = windows_.newest(bounds);
    if (known == nullptr) [[unlikely]]
      known = find_or_add(bounds);
    return of(known)->value;
  }
  // visit(window) for each -> go on.
  template <class Visit>
  bool for_each(const Visit& visit) const {
    for (auto* window = windows_.first(); window != nullptr; window = windows_.behind(*window)) {
      if (!visit(*of(window))) return false;
    }
    return true;
  }
  // As those of AnyWindows.
  Window& take_first() { return *of(windows_.take_first()); }
  void drop_taken() { windows_.drop_taken(); }
  void reuse_taken() { windows_.reuse_taken(); }
  void clear() { windows_.clear(); }

 private:
  static Window* of(AnyWindow* window) { return static_cast<Window*>(window); }
  [[gnu::noinline]] AnyWindow* find_or_add(const Bounds& bounds) {
    if (auto* const known = windows_.find_or_reuse(bounds); known != nullptr) return known;
    windows_.add(new Window(bounds));
    return windows_.newest(bounds);
  }

  AnyWindows windows_;
};

#ifndef HOLDFAST_APART

HF_APART AnyWindows::AnyWindows() {}
HF_APART AnyWindows::~AnyWindows() {}
HF_APART AnyWindow* AnyWindows::first() const {
  return windows_.empty() ? nullptr : windows_.begin()->second.get();
}
HF_APART AnyWindow* AnyWindows::first_from(const Bounds& bounds) const {
  const auto found = windows_.lower_bound(bounds);
  return found == windows_.end() ? nullptr : found->second.get();
}
HF_APART AnyWindow* AnyWindows::behind(const AnyWindow& window) const {
  const auto found = windows_.upper_bound(window.bounds);
  return found == windows_.end() ? nullptr : found->second.get();
}
HF_APART AnyWindow* AnyWindows::find_or_reuse(const Bounds& bounds) {
  if (const auto found = windows_.find(bounds); found != windows_.end())
    return newest_ = found->second.get();
  if (spare_ == nullptr) return nullptr;
  spare_->bounds = bounds;
  add(spare_.release());
  return newest_;
}
HF_APART void AnyWindows::add(AnyWindow* window) {
  windows_[window->bounds].reset(window);
  newest_ = window;
}
HF_APART AnyWindow* AnyWindows::take_first() {
  newest_ = nullptr;
  taken_ = std::move(windows_.extract(windows_.begin()).mapped());
  return taken_.get();
}
HF_APART void AnyWindows::drop_taken() { taken_ = nullptr; }
HF_APART void AnyWindows::reuse_taken() { spare_ = std::move(taken_); }
HF_APART void AnyWindows::clear() {
  newest_ = nullptr;
  windows_.clear();
}

#endif

}  // namespace holdfast::query
