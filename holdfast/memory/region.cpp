#include <holdfast/memory/region.hpp>

#include <holdfast/memory/backing.hpp>
#include <holdfast/memory/backings.hpp>
#include <holdfast/memory/claims.hpp>
#include <holdfast/memory/spec.hpp>

namespace holdfast {
namespace {

Error invalid(std::string detail) { return {Errc::kInvalidOption, std::move(detail)}; }

Status inside(const Region& region, std::string_view what, std::uint64_t offset,
              std::uint64_t bytes) {
  const auto size = region.size_bytes();
  if (offset <= size && bytes <= size - offset) return {};
  return invalid(std::string(what) + " of " + std::to_string(bytes) + " bytes at offset " +
                 std::to_string(offset) + " lies outside of the region of " + std::to_string(size) +
                 " bytes");
}

// The traced build tells its sink where a call that a backing does on its own came from.
void trace_call([[maybe_unused]] const Site& site) {
#ifdef HF_TRACED
  trace_sink().on_region_call(site);
#endif
}

Status writable(const Region& region, std::string_view what) {
  if (!region.read_only()) return {};
  return Error{Errc::kReadOnly, std::string(what) +
                                    ": the region is read-only, either opened so or "
                                    "since a sync failed"};
}

}  // namespace

Status RegionOptions::validate() const {
  const auto multiple_of_page = [](const char* field, std::uint64_t value) -> Status {
    if (value != 0 && value % kPageBytes == 0) return {};
    return invalid(std::string("RegionOptions.") + field + "=" + std::to_string(value) +
                   " must be a positive multiple of 4096");
  };
  HF_RETURN_IF_ERROR(multiple_of_page("unit_bytes", unit_bytes));
  HF_RETURN_IF_ERROR(multiple_of_page("size_bytes", size_bytes));
  HF_RETURN_IF_ERROR(multiple_of_page("reserve_bytes", reserve_bytes));
  if (size_bytes % unit_bytes != 0) {
    return invalid("RegionOptions.size_bytes=" + std::to_string(size_bytes) +
                   " must be a multiple of unit_bytes=" + std::to_string(unit_bytes));
  }
  if (file_bytes % unit_bytes != 0) {
    return invalid("RegionOptions.file_bytes=" + std::to_string(file_bytes) +
                   " must be 0 or a multiple of unit_bytes=" + std::to_string(unit_bytes));
  }
  if (tolerate_damage && access != RegionAccess::kOpenReadOnly) {
    return invalid(
        "RegionOptions.tolerate_damage=true needs access=kOpenReadOnly: what is missing "
        "reads as zeros, and those must not be written back");
  }
  return {};
}

Result<Region> Region::open(std::string_view spec_text, const RegionOptions& options) {
  HF_RETURN_IF_ERROR(options.validate());
  HF_ASSIGN_OR_RETURN(const auto spec, RegionSpec::parse(spec_text));
  HF_ASSIGN_OR_RETURN(auto backing, spec.kind == RegionSpec::Kind::kPath
                                        ? memory_detail::open_path(spec, options)
                                        : memory_detail::open_anonymous(spec, options));
  return Region(std::move(backing));
}

Region::Region(std::unique_ptr<memory_detail::Backing> backing)
    : backing_(std::move(backing)),
      claims_(std::make_shared<memory_detail::Claims>()),
      data_(backing_->data()),
      granularity_(backing_->granularity()),
      persist_(backing_->persist().on(backing_->read_only()                ? Mapping::kReadOnly
                                      : granularity_ == Granularity::kPage ? Mapping::kPageMedium
                                                                           : Mapping::kWritable)) {}

Region::Region(Region&&) noexcept = default;
Region& Region::operator=(Region&&) noexcept = default;
Region::~Region() = default;

std::uint64_t Region::size_bytes() const { return backing_->size_bytes(); }
std::uint64_t Region::unit_bytes() const { return backing_->unit_bytes(); }
std::uint64_t Region::max_size_bytes() const { return backing_->max_size_bytes(); }
bool Region::read_only() const { return backing_->read_only(); }

Status Region::write(std::uint64_t offset, std::span<const std::byte> bytes, Site site) {
  return write(offset, std::span<const std::span<const std::byte>>(&bytes, 1), site);
}

Status Region::write(std::uint64_t offset, std::span<const std::span<const std::byte>> buffers,
                     Site site) {
  std::uint64_t total_bytes = 0;
  for (const auto& buffer : buffers)
    total_bytes += buffer.size();
  HF_RETURN_IF_ERROR(writable(*this, "write"));
  HF_RETURN_IF_ERROR(inside(*this, "write", offset, total_bytes));
  if (granularity_ == Granularity::kPage) {
    trace_call(site);
    return backing_->write_gathered(offset, buffers);
  }
  auto* to = data_ + offset;
  for (const auto& buffer : buffers) {
    if (buffer.empty()) continue;
    persist_.copy(to, buffer.data(), buffer.size(), site);
    to += buffer.size();
  }
  persist_.persist(data_ + offset, total_bytes, site);
  return {};
}

Status Region::sync(Site site) {
#ifdef HF_TRACED
  if (trace_sink().drops(TraceSink::kSync, site)) return {};
#endif
  trace_call(site);
  return backing_->sync();
}

Status Region::grow(std::uint64_t new_size_bytes, Site site) {
  HF_RETURN_IF_ERROR(writable(*this, "grow"));
  const auto size = size_bytes();
  if (new_size_bytes % unit_bytes() != 0 || new_size_bytes < size) {
    return invalid("grow to " + std::to_string(new_size_bytes) +
                   " bytes: must be a multiple of the unit of " + std::to_string(unit_bytes()) +
                   " and at least the present " + std::to_string(size));
  }
  if (new_size_bytes == size) return {};
  if (new_size_bytes > max_size_bytes()) {
    return Error{Errc::kNoSpace,
                 "grow to " + std::to_string(new_size_bytes) + " bytes: at most " +
                     std::to_string(max_size_bytes()) +
                     " are possible here (the device, or RegionOptions.reserve_bytes)"};
  }
  trace_call(site);
  return backing_->grow(new_size_bytes);
}

Status Region::shrink(std::uint64_t new_size_bytes, Site site) {
  HF_RETURN_IF_ERROR(writable(*this, "shrink"));
  const auto size = size_bytes();
  if (new_size_bytes % unit_bytes() != 0 || new_size_bytes > size || new_size_bytes == 0) {
    return invalid("shrink to " + std::to_string(new_size_bytes) +
                   " bytes: must be a multiple of the unit of " + std::to_string(unit_bytes()) +
                   ", at least one, and at most the present " + std::to_string(size));
  }
  if (new_size_bytes == size) return {};
  trace_call(site);
  return backing_->shrink(new_size_bytes);
}

Status Region::prefault(std::uint64_t offset, std::uint64_t bytes) {
  HF_RETURN_IF_ERROR(inside(*this, "prefault", offset, bytes));
  if (bytes == 0) return {};
  return backing_->prefault(offset, bytes);
}

Status Region::advise(std::uint64_t offset, std::uint64_t bytes, ReadAdvice advice) {
  HF_RETURN_IF_ERROR(inside(*this, "advise", offset, bytes));
  if (bytes > 0) backing_->advise(offset, bytes, advice);
  return {};
}

Status Region::read_ahead(std::span<const Extent> ranges) {
  for (const Extent& range : ranges)
    HF_RETURN_IF_ERROR(inside(*this, "read_ahead", range.offset_bytes, range.size_bytes));
  backing_->read_ahead(ranges);
  return {};
}

Status Region::fetch(std::span<const Extent> ranges) {
  if (ranges.empty()) return {};
  for (const Extent& range : ranges)
    HF_RETURN_IF_ERROR(inside(*this, "fetch", range.offset_bytes, range.size_bytes));
  return backing_->fetch(ranges);
}

bool Region::resident(const Extent& range) const {
  return inside(*this, "resident", range.offset_bytes, range.size_bytes) &&
         backing_->resident(range);
}

Result<Claim> Region::claim(const Extent& extent, std::string_view owner) {
  HF_RETURN_IF_ERROR(inside(*this, owner, extent.offset_bytes, extent.size_bytes));
  if (extent.size_bytes == 0) return invalid(std::string(owner) + ": an empty range was claimed");
  HF_ASSIGN_OR_RETURN(const auto number, claims_->add(extent, owner, read_only()));
  return Claim(claims_, number);
}

std::string_view Region::kind() const { return backing_->kind(); }

std::span<const std::string> Region::damage() const { return backing_->damage(); }

bool RegionReport::power_is_assumed() const {
  const std::string_view source = granularity_source;
  if (!source.starts_with("assumed")) return false;
  constexpr std::string_view kFound = "found: ";  // "assumed (granularity=line); found: page, …"
  const auto at = source.find(kFound);
  const auto found = at == source.npos ? std::string_view{} : source.substr(at + kFound.size());
  return !found.starts_with("byte") &&
         !(granularity == Granularity::kLine && found.starts_with("line"));
}

RegionReport Region::report() const { return backing_->report(); }

}  // namespace holdfast
