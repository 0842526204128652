// region.cpp: Region hands its cold verbs to the backing it was made over.
#include <holdfast/memory/region.hpp>

#include <utility>

#include <holdfast/memory/backing.hpp>

namespace holdfast {

Region::Region(std::unique_ptr<memory_detail::Backing> backing)
    : backing_(std::move(backing)),
      data_(backing_->data()),
      granularity_(backing_->granularity()),
      persist_(backing_->persist()) {}
Region::Region(Region&&) noexcept = default;
Region& Region::operator=(Region&&) noexcept = default;
Region::~Region() = default;

std::uint64_t Region::size_bytes() const { return backing_->size_bytes(); }
std::uint64_t Region::unit_bytes() const { return backing_->unit_bytes(); }
std::uint64_t Region::max_size_bytes() const { return backing_->max_size_bytes(); }
bool Region::read_only() const { return backing_->read_only(); }

Status Region::write(std::uint64_t offset, std::span<const std::byte> bytes,
                     [[maybe_unused]] Site site) {
  if (granularity_ == Granularity::kPage) {
#ifdef HOLDFAST_TRACED
    trace_sink().on_region_call(site);
#endif
    return backing_->write(offset, bytes);
  }
  persist_.copy(data_ + offset, bytes.data(), bytes.size(), site);
  persist_.persist(data_ + offset, bytes.size(), site);
  return ok_status();
}

Status Region::sync([[maybe_unused]] Site site) {
#ifdef HOLDFAST_TRACED
  if (trace_sink().drops(TraceSink::kSync, site)) return ok_status();
  trace_sink().on_region_call(site);
#endif
  return backing_->sync();
}

Status Region::grow(std::uint64_t new_size_bytes, [[maybe_unused]] Site site) {
#ifdef HOLDFAST_TRACED
  trace_sink().on_region_call(site);
#endif
  return backing_->grow(new_size_bytes);
}

Status Region::shrink(std::uint64_t new_size_bytes, [[maybe_unused]] Site site) {
#ifdef HOLDFAST_TRACED
  trace_sink().on_region_call(site);
#endif
  return backing_->shrink(new_size_bytes);
}

Status Region::prefault(std::uint64_t offset, std::uint64_t bytes) {
  return backing_->prefault(offset, bytes);
}

RegionReport Region::report() const { return backing_->report(); }

}  // namespace holdfast
