#include <holdfast/index/dash/directory.hpp>

#include <string>

#include <holdfast/base/mutant.hpp>
#include <holdfast/memory/sealed_word.hpp>

namespace holdfast::index::dash_detail {

Status Directory::put_entry(std::uint32_t place, std::uint32_t segment) {
  HF_RETURN_IF_ERROR(
      writer_.put_word(entry_at(place), seal_word<SealedWord>(segment, entry_context(id_, place))));
  if (HF_MUTANT("D45", true, false)) known(place).store(segment + 1, std::memory_order_relaxed);
  return {};
}

Status Directory::put_depth(std::uint32_t depth) {
  return writer_.put_word(kDepthAt, seal_word<SealedWord>(depth, depth_context(id_)));
}

Status Directory::create() {
  HF_RETURN_IF_ERROR(put_entry(0, 0));
  return put_depth(0);
}

Status Directory::open() {
  const auto depth = open_word<SealedWord>(writer_.word(kDepthAt), depth_context(id_));
  if (!depth || *depth > shape_.max_depth)
    return Error{Errc::kCorrupt, "dash index: the depth of its directory is damaged (word at " +
                                     std::to_string(kDepthAt) + "); restore it from a copy"};
  depth_.store(static_cast<std::uint32_t>(*depth), std::memory_order_release);
  return {};
}

std::optional<std::uint64_t> Directory::word(std::uint32_t place) const {
  return open_word<SealedWord>(writer_.word(entry_at(place)), entry_context(id_, place));
}

bool Directory::leads_to(std::uint32_t place, std::uint32_t segment) const {
  return word(place) == segment;
}

Result<std::uint32_t> Directory::entry(std::uint32_t place) const {
  const auto segment = word(place);
  if (segment && HF_MUTANT("D29", *segment < in_use(), true))
    return static_cast<std::uint32_t>(*segment);
  return Error{Errc::kCorrupt, "dash index: place " + std::to_string(place) +
                                   " of its directory is damaged; restore it from a copy"};
}

Result<std::uint32_t> Directory::learn(std::uint32_t place) const {
  HF_ASSIGN_OR_RETURN(const auto segment, entry(place));
  // Whoever has changed the place meanwhile has said so here, and that stays.
  auto unknown = std::uint32_t{0};
  if (known(place).compare_exchange_strong(unknown, segment + 1)) return segment;
  return unknown - 1;
}

Status Directory::grow() {
  const auto before = depth();
  if (before == shape_.max_depth)
    return Error{Errc::kNoSpace, "dash index: its directory has reached max_depth=" +
                                     std::to_string(shape_.max_depth) +
                                     "; find, update and erase still work"};
  const auto places = std::uint32_t{1} << before;
  if (HF_MUTANT("D28", false, true)) HF_RETURN_IF_ERROR(put_depth(before + 1));
  for (std::uint32_t place = 0; place < places; ++place) {
    HF_ASSIGN_OR_RETURN(const auto segment, entry(place));
    HF_RETURN_IF_ERROR(put_entry(places + place, segment));
  }
  HF_RETURN_IF_ERROR(writer_.order());
  HF_RETURN_IF_ERROR(put_depth(before + 1));
  HF_RETURN_IF_ERROR(writer_.order());
  depth_.store(before + 1, std::memory_order_release);
  return {};
}

Status Directory::link(const SegmentKeys& keys, std::uint32_t segment) {
  const auto places = std::uint64_t{1} << depth();
  for (std::uint64_t place = keys.pattern; place < places; place += std::uint64_t{1} << keys.depth)
    HF_RETURN_IF_ERROR(put_entry(static_cast<std::uint32_t>(place), segment));
  return {};
}

}  // namespace holdfast::index::dash_detail
