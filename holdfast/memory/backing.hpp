// backing.hpp: what Region asks of a place that holds bytes. Implemented by the file, directory,
// devdax and anonymous backings here, and by the simulated medium in crash/. Cold calls only: the
// hot path is data() + Persist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <holdfast/memory/region.hpp>

namespace holdfast::memory_detail {

class Backing {
 public:
  virtual ~Backing() = default;
  virtual std::byte* data() const = 0;  // Never changes.
  virtual std::uint64_t size_bytes() const = 0;
  virtual std::uint64_t unit_bytes() const = 0;
  virtual std::uint64_t max_size_bytes() const = 0;
  virtual Granularity granularity() const = 0;  // Never changes.
  virtual Persist persist() const = 0;          // Never changes.
  virtual bool read_only() const = 0;
  // Region has checked that the range is inside and the region writable. Called on page tiers only:
  // elsewhere Region copies into data() and persists, so that the traced build sees it.
  virtual Status write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Status write_gathered(std::uint64_t offset,
                                std::span<const std::span<const std::byte>> buffers) {
    for (const auto& buffer : buffers) {
      if (!buffer.empty()) HF_RETURN_IF_ERROR(write(offset, buffer));
      offset += buffer.size();
    }
    return {};
  }
  virtual Status sync() = 0;
  // Region has checked that the size is a multiple of the unit, and larger (grow) or smaller but
  // not zero (shrink) than before, and that the region is writable.
  virtual Status grow(std::uint64_t new_size_bytes) = 0;
  virtual Status shrink(std::uint64_t new_size_bytes) = 0;
  virtual Status prefault(std::uint64_t offset, std::uint64_t bytes) = 0;  // Inside; not empty.
  virtual void advise(std::uint64_t, std::uint64_t, ReadAdvice) {}         // Inside; not empty.
  // Where nothing has to be read from a device, all of this is true at once. Inside.
  virtual void read_ahead(std::span<const Extent>) {}
  virtual Status fetch(std::span<const Extent>) { return {}; }
  virtual bool resident(const Extent&) const { return true; }
  virtual std::string_view kind() const = 0;  // As in the report.
  virtual std::span<const std::string> damage() const { return {}; }
  virtual RegionReport report() const = 0;
};

}  // namespace holdfast::memory_detail
