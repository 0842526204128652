// simulated_backing.hpp: what lies under a Region over a simulated medium.
//
// Internal to medium.cpp. The medium outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <holdfast/crash/medium.hpp>
#include <holdfast/memory/backing.hpp>

namespace holdfast::crash {

class SimulatedBacking final : public memory_detail::Backing {
 public:
  explicit SimulatedBacking(Medium& medium) : medium_(medium) {}
  std::byte* data() const override { return medium_.data(); }
  std::uint64_t size_bytes() const override { return medium_.size_bytes(); }
  std::uint64_t unit_bytes() const override { return medium_.options().unit_bytes; }
  std::uint64_t max_size_bytes() const override { return medium_.options().max_size_bytes; }
  Granularity granularity() const override { return medium_.model().granularity; }
  Persist persist() const override {
    switch (medium_.model().granularity) {
      case Granularity::kLine:
        return Persist{WriteBackInstruction::kClwb, medium_.model().nt_evicts};
      case Granularity::kByte: return Persist::byte();
      default: return Persist::none();
    }
  }
  bool read_only() const override { return false; }
  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return medium_.write(offset, bytes);
  }
  Status sync() override { return medium_.sync(); }
  Status write_gathered(std::uint64_t offset,
                        std::span<const std::span<const std::byte>> buffers) override {
    std::vector<std::byte> all;
    for (const auto& buffer : buffers) {
      all.insert(all.end(), buffer.begin(), buffer.end());
    }
    return medium_.write(offset, all);
  }
  Status grow(std::uint64_t new_size_bytes) override { return medium_.resize(new_size_bytes); }
  Status shrink(std::uint64_t new_size_bytes) override { return medium_.resize(new_size_bytes); }
  Status prefault(std::uint64_t, std::uint64_t) override { return ok_status(); }
  std::string_view kind() const override { return "simulated"; }
  RegionReport report() const override {
    RegionReport report;
    report.spec = "simulated";
    report.kind = kind();
    report.granularity = granularity();
    report.granularity_source = "crash checker, model " + name(medium_.model());
    report.mapping = "MAP_PRIVATE anonymous";
    report.page_bytes = kPageBytes;
    report.page_reason = "simulated";
    report.write_back = persist().instruction();
    report.nt_evicts = medium_.model().nt_evicts;
    report.nt_evicts_source = "model";
    return report;
  }

 private:
  Medium& medium_;
};

}  // namespace holdfast::crash
