// absent_region.hpp: a region of which nothing ever is in memory, as far as it can tell: what a file
// much larger than memory looks like to a store.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <holdfast/memory/backing.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::kv {

// What tests change of it while it is in use.
struct Absence {
  std::atomic<bool> ended{false};       // All is in memory.
  std::function<void()> at_next_fetch;  // Called once.
};

class AbsentBacking final : public memory_detail::Backing {
 public:
  AbsentBacking(Region region, Absence* absence) : region_(std::move(region)), absence_(absence) {}

  std::byte* data() const override { return region_.data(); }
  std::uint64_t size_bytes() const override { return region_.size_bytes(); }
  std::uint64_t unit_bytes() const override { return region_.unit_bytes(); }
  std::uint64_t max_size_bytes() const override { return region_.max_size_bytes(); }
  Granularity granularity() const override { return region_.granularity(); }
  Persist persist() const override { return region_.persist(); }
  bool read_only() const override { return region_.read_only(); }
  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return region_.write(offset, bytes);
  }
  Status write_gathered(std::uint64_t offset,
                        std::span<const std::span<const std::byte>> buffers) override {
    return region_.write(offset, buffers);
  }
  Status sync() override { return region_.sync(); }
  Status grow(std::uint64_t new_size_bytes) override { return region_.grow(new_size_bytes); }
  Status shrink(std::uint64_t new_size_bytes) override { return region_.shrink(new_size_bytes); }
  Status prefault(std::uint64_t offset, std::uint64_t bytes) override {
    return region_.prefault(offset, bytes);
  }
  bool resident(const Extent&) const override { return absence_ != nullptr && absence_->ended; }
  Status fetch(std::span<const Extent>) override {
    if (absence_ != nullptr && absence_->at_next_fetch)
      std::exchange(absence_->at_next_fetch, nullptr)();
    return {};
  }
  std::string_view kind() const override { return region_.kind(); }
  RegionReport report() const override { return region_.report(); }

 private:
  Region region_;
  Absence* absence_;
};

inline Region absent(Region region, Absence* absence = nullptr) {
  return Region(std::make_unique<AbsentBacking>(std::move(region), absence));
}

}  // namespace holdfast::kv
