#include <holdfast/memory/claims.hpp>

#include <algorithm>

#include <holdfast/memory/claim.hpp>

namespace holdfast {
namespace memory_detail {
namespace {

std::string text(const Extent& extent) {
  return "bytes " + std::to_string(extent.offset_bytes) + " to " +
         std::to_string(extent.offset_bytes + extent.size_bytes) + " of the region";
}

}  // namespace

Result<std::uint64_t> Claims::add(const Extent& extent, std::string_view owner, bool shared) {
  const Lock lock(mutex_);
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
  const Lock lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.number == number; });
}

}  // namespace memory_detail

void Claim::release() {
  if (const auto claims = std::move(claims_)) claims->remove(number_);
}

}  // namespace holdfast
