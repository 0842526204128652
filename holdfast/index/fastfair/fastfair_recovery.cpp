// How a FAST+FAIR tree comes into being, and how it is found again.
//
//  found                       how it arises, and what is done
//  the last node taken is      a split or a new root was interrupted before anything led to it:
//  led to by nothing           the next one takes it again
//  a node's sibling begins     between the two stores that link them: the node ends there; what it
//  below the node's end        holds above goes at the first access
//  keys at or above the end    a split was interrupted before it dropped them: the same
//  two neighbours, one key     a shift was interrupted: the right one counts; at the first access
//                              the left one goes
//  a node that only its left   a split was interrupted before the level above knew: the next writer
//  neighbour leads to          that comes by the neighbour enters it there (adopt)
//  a root with a sibling       the same; a new root is made
#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/index/fastfair/fastfair.hpp>
#include <holdfast/index/index_medium.hpp>
#include <holdfast/memory/sealed_word.hpp>
#include <holdfast/memory/superblock.hpp>

namespace holdfast::index {

using namespace fastfair_detail;

Status FastFairOptions::validate() const {
  const auto check = [](const char* field, std::uint64_t seen, std::uint64_t least,
                        std::uint64_t most) {
    return detail::check_option("fast+fair tree", field, seen, least, most);
  };
  HF_RETURN_IF_ERROR(check("slots", slots, FastFairShape::kMinSlots, FastFairShape::kMaxSlots));
  return check("nodes", nodes, 0, FastFairShape::kMaxNodes);
}

namespace {

// As asked for, or as many nodes as fit.
Result<FastFairShape> place_nodes(const FastFairOptions& options, const Extent& extent) {
  FastFairShape shape{options.slots, std::max(options.nodes, 1u)};
  if (shape.bytes() > extent.size_bytes)
    return Error{Errc::kNoSpace,
                 "fast+fair tree: " + std::to_string(shape.nodes) + " nodes of " +
                     std::to_string(shape.node_bytes()) + " bytes need " +
                     std::to_string(shape.bytes()) +
                     " bytes in all; extent.size_bytes=" + std::to_string(extent.size_bytes)};
  if (options.nodes == 0)
    shape.nodes = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        (extent.size_bytes - kNodesAt) / shape.node_bytes(), FastFairShape::kMaxNodes));
  return shape;
}

}  // namespace

FastFair::FastFair(Region& region, const Extent& extent, const FastFairShape& shape,
                   std::uint64_t id, Claim claim)
    : claim_(std::move(claim)),
      writer_(region, extent),
      shape_(shape),
      id_(id),
      read_only_(region.read_only()),
      states_(shape.nodes) {}

// ---- Creation ----

Status FastFair::write_first_root() {
  node_at(0).fill({0, 0, kNoKey, {}, 0, {}});
  HF_RETURN_IF_ERROR(put_root(0));
  return put_taken(1);
}

// Everything that the tree reads, then the superblock: it is the commit of all.
Result<std::unique_ptr<FastFair>> FastFair::create(Region& region, const Extent& extent,
                                                   const FastFairOptions& options) {
  HF_RETURN_IF_ERROR(options.validate());
  HF_RETURN_IF_ERROR(detail::check_medium("fast+fair tree", region, extent));
  if (region.read_only())
    return Error{Errc::kReadOnly, "fast+fair tree: cannot be created in a read-only region"};
  HF_ASSIGN_OR_RETURN(const auto shape, place_nodes(options, extent));
  HF_ASSIGN_OR_RETURN(auto claim, region.claim(extent, "fast+fair tree"));
  HF_RETURN_IF_ERROR(refuse_to_overwrite("fast+fair tree", region, extent));
  const auto body = std::as_bytes(std::span(&shape, 1));
  HF_ASSIGN_OR_RETURN(const auto header, new_header(kFastFairFormat, body));
  std::unique_ptr<FastFair> tree(new FastFair(region, extent, shape, header.id, std::move(claim)));
  HF_RETURN_IF_ERROR(tree->write_first_root());
  HF_RETURN_IF_ERROR(write_superblock(tree->writer_, 0, header, body));
  HF_RETURN_IF_ERROR(tree->recover());
  return tree;
}

// ---- Opening ----

Result<std::unique_ptr<FastFair>> FastFair::open(Region& region, const Extent& extent) {
  HF_RETURN_IF_ERROR(detail::check_medium("fast+fair tree", region, extent));
  HF_ASSIGN_OR_RETURN(auto claim, region.claim(extent, "fast+fair tree"));
  FastFairShape shape;
  HF_ASSIGN_OR_RETURN(
      const auto header,
      read_superblock(kFastFairFormat, {region.data() + extent.offset_bytes, kPageBytes},
                      std::as_writable_bytes(std::span(&shape, 1))));
  HF_RETURN_IF_ERROR(detail::check_shape("fast+fair tree", shape, extent));
  std::unique_ptr<FastFair> tree(new FastFair(region, extent, shape, header.id, std::move(claim)));
  write_back_superblock(tree->writer_, 0, header);  // recover() has the fence.
  HF_RETURN_IF_ERROR(tree->recover());
  return tree;
}

Status FastFair::recover() {
  if (!read_only_) {
    // A process that was killed may have stored them and not waited. What follows rests on them, of
    // all threads: the fence of another one would not wait for these.
    writer_.persist().write_back(writer_.at(kRootAt), sizeof(std::uint64_t));
    writer_.persist().write_back(writer_.at(kTakenAt), sizeof(std::uint64_t));
    HF_RETURN_IF_ERROR(writer_.order());
  }
  const auto taken = open_word<SealedWord>(writer_.word(kTakenAt), taken_context(id_));
  if (!taken || *taken == 0 || *taken > shape_.nodes)
    return Error{Errc::kCorrupt,
                 "fast+fair tree: the number of nodes that were taken is damaged "
                 "(word at " +
                     std::to_string(kTakenAt) + "); restore it from a copy"};
  HF_RETURN_IF_ERROR(root());
  const auto last = static_cast<std::uint32_t>(*taken) - 1;
  bool spare = false;
  if (!read_only_ && last != 0) {
    HF_ASSIGN_OR_RETURN(const bool linked, this->linked(last));
    spare = !linked;
  }
  const Lock lock(split_mutex_);
  taken_ = last + 1;
  last_is_spare_ = spare;
  return {};
}

// By the keys that its head names: if anything leads to it, a search for them does. A head that is
// no node's was never durable, so nothing leads to it either.
Result<bool> FastFair::linked(std::uint32_t number) const {
  const auto node = node_at(number);
  const auto level = node.level();
  if (!level) return false;
  HF_ASSIGN_OR_RETURN(const auto top, root());
  if (HF_MUTANT("R36", *level > *top.level(), false)) return false;
  HF_ASSIGN_OR_RETURN(const auto found, descend(node.low(), *level));
  return found.number() == number;
}

std::uint32_t FastFair::nodes() const {
  const Lock lock(split_mutex_);
  return taken_ - (last_is_spare_ ? 1 : 0);
}

Result<std::uint32_t> FastFair::levels() const {
  HF_ASSIGN_OR_RETURN(const auto top, root());
  return *top.level() + 1;
}

}  // namespace holdfast::index
