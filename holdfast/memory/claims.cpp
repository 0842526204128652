#include <holdfast/memory/claims.hpp>

#include <algorithm>

namespace holdfast::memory_detail {
namespace {

std::string text(const Extent& extent) {
  return "bytes " + std::to_string(extent.offset_bytes) + " to " +
         std::to_string(extent.offset_bytes + extent.size_bytes) + " of the region";
}

}  // namespace

Result<std::uint64_t> Claims::add(const Extent& extent, std::string_view owner, bool shared) {
  const std::lock_guard hold(mutex_);
  for (const auto& entry : entries_) {
    if (!entry.extent.overlaps(extent) || (shared && entry.shared)) continue;
    return Error{Errc::kBusy, std::string(owner) + ": " + text(extent) + ": " + text(entry.extent) +
                                  " are in use by another object of this process (" + entry.owner +
                                  "); destroy that one first, or choose a range of its own"};
  }
  entries_.push_back({next_number_, extent, std::string(owner), shared});
  return next_number_++;
}

void Claims::remove(std::uint64_t number) {
  const std::lock_guard hold(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.number == number; });
}

}  // namespace holdfast::memory_detail
