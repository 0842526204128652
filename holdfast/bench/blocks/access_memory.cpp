#include <holdfast/bench/blocks/access_suite.hpp>
#include <holdfast/bench/memory/tier.hpp>

namespace holdfast::bench::blocks {

std::uint64_t AccessMemory::footprint_bytes() const {
  // Beyond the caches where the region allows it.
  const auto wanted = std::max<std::uint64_t>(256 * MiB, 8 * context_.last_level_cache_bytes);
  return round_down(std::min(context_.options.region_bytes, wanted), 2 * MiB);
}

Result<std::byte*> AccessMemory::range(AccessMedium medium) {
  if (medium == AccessMedium::kRegion) return context_.region.data();
  if (!dram_) {
    HF_ASSIGN_OR_RETURN(dram_, open_dram(footprint_bytes()));
  }
  return dram_->data();
}

Status AccessMemory::prepare_content(AccessMedium medium) {
  auto& content = content_[static_cast<int>(medium)];
  if (content == Content::kLines) return {};
  HF_ASSIGN_OR_RETURN(auto* const base, range(medium));
  memory::fill_content(base, footprint_bytes(), context_.options.threads_most());
  content = Content::kLines;
  return {};
}

Result<std::vector<std::uint64_t>> AccessMemory::prepare_chase(AccessMedium medium,
                                                               std::uint64_t bytes, bool random) {
  HF_ASSIGN_OR_RETURN(auto* const base, range(medium));
  written(medium);
  // Windows of a line, which are visited in the order of a seed, are random too; in order is one
  // window after another by hand.
  if (random)
    return memory::link_chase(base, bytes, 0, context_.options.seed,
                              context_.options.threads_most());
  const auto lines = bytes / kCacheLineBytes;
  for (std::uint64_t line = 0; line < lines; ++line) {
    auto* const words = reinterpret_cast<std::uint64_t*>(base + line * kCacheLineBytes);
    words[0] = (line + 1 == lines ? 0 : line + 1) * kCacheLineBytes;
    words[1] = line;
  }
  constexpr std::uint64_t kStarts = 64;
  std::vector<std::uint64_t> starts(kStarts);
  for (std::uint64_t i = 0; i < kStarts; ++i)
    starts[i] = lines * i / kStarts * kCacheLineBytes;
  return starts;
}

Status AccessSubject::before(const Phase& phase) {
  const auto slots = shape_.footprint_bytes / shape_.access_bytes() / phase.threads;
  shares_.clear();
  for (unsigned t = 0; t < phase.threads; ++t) {
    Share share;
    share.first_slot = t * slots;
    share.slots = slots;
    if (shape_.order == AccessOrder::kRandom) {
      // So many that going over the list again finds nothing in a cache, if the range allows it.
      const auto wanted = 2 * context_.last_level_cache_bytes / shape_.access_bytes();
      const auto length = std::max<std::uint64_t>(4096, std::min(wanted, slots));
      share.list =
          memory::AccessList(length, {share.first_slot, slots}, memory::Distribution::kUniform, 0,
                             context_.options.seed + phase.number * 1000 + t, phase.threads);
    }
    shares_.push_back(std::move(share));
  }
  return {};
}

memory::Accesses AccessSubject::accesses(unsigned thread, std::uint64_t first,
                                         std::uint64_t count) const {
  const auto& share = shares_[thread];
  memory::Accesses accesses;
  accesses.base = base_;
  accesses.count = count;
  accesses.lines = shape_.lines;
  accesses.step_bytes = static_cast<std::int64_t>(shape_.access_bytes());
  switch (shape_.order) {
    case AccessOrder::kRandom: accesses.slots = share.list.data() + first; break;
    case AccessOrder::kSequential:
      accesses.first_byte = (share.first_slot + first) * shape_.access_bytes();
      break;
    case AccessOrder::kSameLine:
      accesses.first_byte = share.first_slot * shape_.access_bytes();
      accesses.step_bytes = 0;
      break;
  }
  return accesses;
}

std::uint64_t AccessSubject::place(unsigned thread, std::uint64_t access) const {
  const auto& share = shares_[thread];
  switch (shape_.order) {
    case AccessOrder::kRandom: return share.list.data()[access] * shape_.access_bytes();
    case AccessOrder::kSequential: return (share.first_slot + access) * shape_.access_bytes();
    case AccessOrder::kSameLine: break;
  }
  return share.first_slot * shape_.access_bytes();
}

std::uint64_t AccessSubject::period(unsigned thread) const {
  const auto& share = shares_[thread];
  return shape_.order == AccessOrder::kRandom ? share.list.size() : share.slots;
}

}  // namespace holdfast::bench::blocks
