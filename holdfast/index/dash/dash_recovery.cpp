// How a Dash index comes into being, and how it is found again.
//
//  split word             the state of that split
//  0                      there was none: segment 0 holds everything
//  {from, to}             `to` is complete. The directory may lead to it in part; `from` may still
//                         hold its records. Both are done again, which changes nothing if they were
//                         done before. Segments behind `to` were never in use.
//  check fails            kCorrupt
//  older than a later     kCorrupt: the segment behind `to` is led to, or there is one behind that
//
// Records within segments: Segment::repair(), at the first access to each.
#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/index/dash/dash.hpp>
#include <holdfast/index/index_medium.hpp>
#include <holdfast/memory/sealed_word.hpp>
#include <holdfast/memory/superblock.hpp>

namespace holdfast::index {

using namespace dash_detail;

Status DashOptions::validate() const {
  const auto check = [](const char* field, std::uint64_t seen, std::uint64_t least,
                        std::uint64_t most) {
    return detail::check_option("dash index", field, seen, least, most);
  };
  HF_RETURN_IF_ERROR(check("buckets", buckets, 2, DashShape::kMaxBuckets));
  HF_RETURN_IF_ERROR(check("stash_buckets", stash_buckets, 0, DashShape::kMaxStashBuckets));
  HF_RETURN_IF_ERROR(check("segments", segments, 0, DashShape::kMaxSegments));
  return check("max_depth", max_depth, 0, DashShape::kMaxDepth);
}

namespace {

// As asked for, or as many segments as fit.
Result<DashShape> place(const DashOptions& options, const Extent& extent) {
  DashShape shape{options.buckets, options.stash_buckets, std::max(options.segments, 1u), 0};
  const std::uint64_t wanted =
      options.segments != 0 ? options.segments
                            : std::min<std::uint64_t>(extent.size_bytes / shape.segment_bytes(),
                                                      DashShape::kMaxSegments);
  // Four to eight places per segment, and all of the directory's first page.
  const auto ample =
      std::clamp(static_cast<std::uint32_t>(std::bit_width(wanted)) + 2, 9u, DashShape::kMaxDepth);
  shape.max_depth = options.max_depth != 0 ? options.max_depth : ample;
  if (shape.bytes() > extent.size_bytes)
    return Error{Errc::kNoSpace,
                 "dash index: " + std::to_string(shape.segments) + " segments of " +
                     std::to_string(shape.segment_bytes()) + " bytes and a directory of depth " +
                     std::to_string(shape.max_depth) + " need " + std::to_string(shape.bytes()) +
                     " bytes in all; extent.size_bytes=" + std::to_string(extent.size_bytes)};
  if (options.segments == 0)
    shape.segments = static_cast<std::uint32_t>(
        std::min<std::uint64_t>((extent.size_bytes - shape.segments_at()) / shape.segment_bytes(),
                                DashShape::kMaxSegments));
  return shape;
}

}  // namespace

Dash::Dash(Region& region, const Extent& extent, const DashShape& shape, std::uint64_t id,
           Claim claim)
    : claim_(std::move(claim)),
      writer_(region, extent),
      shape_(shape),
      segments_(writer_.at(shape.segments_at())),
      segment_bytes_(shape.segment_bytes()),
      id_(id),
      read_only_(region.read_only()),
      directory_(writer_, shape_, id),
      latches_(shape.segments) {}

Result<std::unique_ptr<Dash>> Dash::create(Region& region, const Extent& extent,
                                           const DashOptions& options) {
  HF_RETURN_IF_ERROR(options.validate());
  HF_RETURN_IF_ERROR(detail::check_medium("dash index", region, extent));
  if (region.read_only())
    return Error{Errc::kReadOnly, "dash index: cannot be created in a read-only region"};
  HF_ASSIGN_OR_RETURN(const auto shape, place(options, extent));
  HF_ASSIGN_OR_RETURN(auto claim, region.claim(extent, "dash index"));
  HF_RETURN_IF_ERROR(refuse_to_overwrite("dash index", region, extent));
  const auto body = std::as_bytes(std::span(&shape, 1));
  HF_ASSIGN_OR_RETURN(const auto header, new_header(kDashFormat, body));

  // Everything that an empty index reads, then the superblock. Places and segments that are not in
  // use are written before they are.
  std::unique_ptr<Dash> dash(new Dash(region, extent, shape, header.id, std::move(claim)));
  HF_RETURN_IF_ERROR(dash->writer_.put_word(kSplitAt, 0));
  HF_RETURN_IF_ERROR(dash->directory_.create());
  dash->segment(0).create(0, {});
  HF_RETURN_IF_ERROR(write_superblock(dash->writer_, 0, header, body));
  return dash;
}

Result<std::unique_ptr<Dash>> Dash::open(Region& region, const Extent& extent) {
  HF_RETURN_IF_ERROR(detail::check_medium("dash index", region, extent));
  HF_ASSIGN_OR_RETURN(auto claim, region.claim(extent, "dash index"));
  DashShape shape;
  HF_ASSIGN_OR_RETURN(
      const auto header,
      read_superblock(kDashFormat, {region.data() + extent.offset_bytes, kPageBytes},
                      std::as_writable_bytes(std::span(&shape, 1))));
  HF_RETURN_IF_ERROR(detail::check_shape("dash index", shape, extent));
  std::unique_ptr<Dash> dash(new Dash(region, extent, shape, header.id, std::move(claim)));
  write_back_superblock(dash->writer_, 0, header);  // recover() has the fence.
  HF_RETURN_IF_ERROR(dash->recover());
  return dash;
}

bool Dash::is_split_word_lost() const {
  const auto next = directory_.in_use();
  const auto keys_at = [&](std::uint32_t number) -> std::optional<SegmentKeys> {
    if (number >= shape_.segments) return std::nullopt;
    return segment(number).keys(number);
  };
  // A split that a crash interrupted may have made the next segment, but no place leads there.
  const auto keys = keys_at(next);
  if (HF_MUTANT("D42", keys && keys->depth <= depth(), false) &&
      directory_.leads_to(keys->pattern, next))
    return true;
  return HF_MUTANT("D43", keys_at(next + 1).has_value(), false);
}

Status Dash::recover() {
  if (!read_only_) {
    // A process that was killed may have stored them and not waited. What follows rests on them.
    writer_.persist().write_back(writer_.at(kDepthAt), sizeof(std::uint64_t));
    writer_.persist().write_back(writer_.at(kSplitAt), sizeof(std::uint64_t));
    HF_RETURN_IF_ERROR(writer_.order());
  }
  HF_RETURN_IF_ERROR(directory_.open());
  const auto word = open_or_unwritten<SealedWord>(writer_.word(kSplitAt), split_context(id_));
  const auto split = SplitWord::of(word.value_or(0));
  if (!word || split.to >= shape_.segments || (split.to != 0 && split.from >= split.to))
    return Error{Errc::kCorrupt, "dash index: the word of its last split is damaged (at " +
                                     std::to_string(kSplitAt) + "); restore it from a copy"};
  last_split_ = split;
  directory_.set_in_use(HF_MUTANT("D30", split.to + 1, split.to));
  if (is_split_word_lost())
    return Error{Errc::kCorrupt, "dash index: segments behind the " +
                                     std::to_string(directory_.in_use()) +
                                     " that were in use after its last split have records; the "
                                     "word of a later split is lost (at " +
                                     std::to_string(kSplitAt) + "); restore it from a copy"};
  if (split.to == 0) return {};
  HF_ASSIGN_OR_RETURN(const auto upper, keys_of(split.to));
  HF_ASSIGN_OR_RETURN(const auto from, keys_of(split.from));
  if (!upper.is_upper_half() || upper.depth > depth() ||
      (from != upper.lower_twin() && from.upper_half() != upper))
    return Error{Errc::kCorrupt, "dash index: segments " + std::to_string(split.from) + " and " +
                                     std::to_string(split.to) +
                                     " are not the halves of one; restore it from a copy"};
  if (read_only_) return {};
  // A damaged key may seem to be one that leaves. Then nothing is removed from that segment; a
  // later access to it reports the damage.
  const bool whole = HF_MUTANT("D41", bool(segment(split.from).check(from, upper)), true);
  if (!whole) {
    HF_RETURN_IF_ERROR(directory_.link(upper, split.to));
    return writer_.order();
  }
  return HF_MUTANT("D20", finish_split(split, upper), Status{});
}

}  // namespace holdfast::index
