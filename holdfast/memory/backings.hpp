// backings.hpp: the places a region can lie in, and what they have in common. Internal.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <holdfast/memory/backing.hpp>
#include <holdfast/memory/medium.hpp>
#include <holdfast/memory/pages.hpp>
#include <holdfast/memory/spec.hpp>

namespace holdfast::memory_detail {

// "dram" and "node:N". anonymous.cpp.
Result<std::unique_ptr<Backing>> open_anonymous(const RegionSpec& spec,
                                                const RegionOptions& options);
// A file, a directory of files, or a devdax, as the path is or is to become.
Result<std::unique_ptr<Backing>> open_path(const RegionSpec& spec, const RegionOptions& options);
// One file. file.cpp.
Result<std::unique_ptr<Backing>> open_file(const RegionSpec& spec, const RegionOptions& options);
// A directory of segment files. directory.cpp.
Result<std::unique_ptr<Backing>> open_directory(const RegionSpec& spec,
                                                const RegionOptions& options);
// The path is a character device. devdax.cpp.
Result<std::unique_ptr<Backing>> open_devdax(const RegionSpec& spec, const RegionOptions& options);

// A backing mapped into one AddressRange.
class MappedBacking : public Backing {
 public:
  MappedBacking(RegionSpec spec, const RegionOptions& options)
      : spec_(std::move(spec)), options_(options) {}

  std::byte* data() const override { return addresses_.data(); }
  std::uint64_t size_bytes() const override { return size_bytes_.load(std::memory_order_acquire); }
  std::uint64_t unit_bytes() const override { return unit_bytes_; }
  std::uint64_t max_size_bytes() const override {
    return addresses_.most() / unit_bytes_ * unit_bytes_;
  }
  Granularity granularity() const override { return medium_.granularity; }
  Persist persist() const override { return persist_for(medium_.granularity, spec_); }
  bool read_only() const override { return options_.access == RegionAccess::kOpenReadOnly; }
  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  Status sync() override { return {}; }
  Status prefault(std::uint64_t offset, std::uint64_t bytes) override;
  std::string_view kind() const override { return kind_; }
  std::span<const std::string> damage() const override { return damage_; }
  RegionReport report() const override;

 protected:
  // Whether the mapping itself may be stored to.
  bool map_writable() const { return !read_only() && medium_.granularity != Granularity::kPage; }
  // Why 2 MiB pages, or 1 GiB pages where those were asked for, cannot be had from the start; empty
  // where they can.
  virtual std::string no_huge_reason() const { return {}; }
  virtual std::string no_giant_reason() const { return {}; }
  // Puts 2 MiB pages in place of small ones, where they are wanted and the kernel can. A refusal
  // shows in the report.
  void make_pages_huge(std::uint64_t offset, std::uint64_t bytes) const;
  bool wants_huge_pages() const {
    return spec_.huge != HugePages::kOff && no_huge_reason().empty();
  }
  // Errors: kNoSpace.
  Status reserve(std::uint64_t least_bytes);
  // Sets addresses aside, before anything is mapped there. Errors: kNoSpace.
  Status reserve_up_to(std::uint64_t bytes) { return addresses_.extend(bytes); }
  std::byte* at(std::uint64_t offset) const { return addresses_.data() + offset; }

  RegionSpec spec_;
  RegionOptions options_;
  Medium medium_;
  AddressRange addresses_;
  std::uint64_t unit_bytes_ = 0;
  std::atomic<std::uint64_t> size_bytes_{0};
  std::string kind_;
  std::string mapping_;
  std::vector<std::string> damage_;
};

}  // namespace holdfast::memory_detail
