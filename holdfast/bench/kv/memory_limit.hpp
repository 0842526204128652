// memory_limit.hpp: a control group with a memory limit, version 1 or 2, for a comparison of stores
// that are larger than memory.
//
// The limit holds for everything: page cache, anonymous memory, the kernel's own for the group.
// Swap is forbidden to the group where the kernel lets one say so. What a process had before it
// joined stays with its old group, so join right after a fork.
//
// The group is made below the group of this process, so that limits above it still hold; in
// version 2, where a group that has processes may have no groups with controllers, beside it.
#pragma once

#include <cstdint>
#include <string>

#include <holdfast/base/result.hpp>

namespace holdfast::bench::kv {

class MemoryLimit {
 public:
  // Errors: kUnsupported, with what was tried and why it was refused.
  static Result<MemoryLimit> make(std::uint64_t bytes);
  MemoryLimit(MemoryLimit&& other) noexcept;
  MemoryLimit& operator=(MemoryLimit&&) = delete;
  ~MemoryLimit();  // Removes the group; its processes must have ended.

  // From now on this process and the children it forks are in the group. Errors: kIo.
  Status join() const;
  // How often the kernel killed a process of the group for want of memory.
  std::uint64_t kills() const;
  const std::string& directory() const { return directory_; }

 private:
  MemoryLimit(std::string directory, bool version_2)
      : directory_(std::move(directory)), version_2_(version_2) {}

  std::string directory_;
  bool version_2_;
};

}  // namespace holdfast::bench::kv
