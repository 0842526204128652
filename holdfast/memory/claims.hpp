// claims.hpp: all claims of one region (claim.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/memory/extent.hpp>

namespace holdfast::memory_detail {

class Claims {
 public:
  // Errors: kBusy, naming both ranges and the owner that was there before.
  Result<std::uint64_t> add(const Extent& extent, std::string_view owner, bool shared)
      HF_EXCLUDES(mutex_);
  void remove(std::uint64_t number) HF_EXCLUDES(mutex_);

 private:
  struct Entry {
    std::uint64_t number;
    Extent extent;
    std::string owner;
    bool shared;
  };
  Mutex mutex_;
  std::vector<Entry> entries_ HF_GUARDED_BY(mutex_);
  std::uint64_t next_number_ HF_GUARDED_BY(mutex_) = 1;
};

}  // namespace holdfast::memory_detail
