// How an FP-Tree comes into being, and how it is found again.
//
//  a leaf's state         what it is
//  0                      free: never in use, unlinked, or taken by a split that did not get so far
//  in use                 complete, with all records for the keys from its low up to the next low.
//                         What lies above that was moved by a split that did not end: it does not
//                         count, and goes at the first access (Leaf::repair)
//  check fails            kCorrupt
//
// Leaves from the ever-used number on have no state yet.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/index/fptree/fptree.hpp>
#include <holdfast/index/index_medium.hpp>
#include <holdfast/memory/superblock.hpp>

namespace holdfast::index {

using namespace fptree_detail;

Status FpTreeOptions::validate() const {
  const auto check = [](const char* field, std::uint64_t seen, std::uint64_t least,
                        std::uint64_t most) {
    return detail::check_option("fp-tree", field, seen, least, most);
  };
  HF_RETURN_IF_ERROR(check("records", records, FpTreeShape::kMinRecords, FpTreeShape::kMaxRecords));
  return check("leaves", leaves, 0, FpTreeShape::kMaxLeaves);
}

namespace {

// As asked for, or as many leaves as fit.
Result<FpTreeShape> place_leaves(const FpTreeOptions& options, const Extent& extent) {
  FpTreeShape shape{options.records, std::max(options.leaves, 1u)};
  if (shape.bytes() > extent.size_bytes)
    return Error{Errc::kNoSpace,
                 "fp-tree: " + std::to_string(shape.leaves) + " leaves of " +
                     std::to_string(shape.leaf_bytes()) + " bytes need " +
                     std::to_string(shape.bytes()) +
                     " bytes in all; extent.size_bytes=" + std::to_string(extent.size_bytes)};
  if (options.leaves == 0)
    shape.leaves = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        (extent.size_bytes - kLeavesAt) / shape.leaf_bytes(), FpTreeShape::kMaxLeaves));
  return shape;
}

}  // namespace

FpTree::FpTree(Region& region, const Extent& extent, const FpTreeShape& shape, std::uint64_t id,
               Claim claim)
    : claim_(std::move(claim)),
      writer_(region, extent),
      shape_(shape),
      id_(id),
      read_only_(region.read_only()),
      space_(writer_, shape_, id),
      latches_(shape.leaves) {}

// ---- Creation ----

// Leaves, ascending; an empty tree has one. Not durable before the next fence.
Status FpTree::write_leaves(Source* next) {
  const auto fill = std::max(shape_.records / 8 * 7, 1u);
  std::array<FpRecord, FpTreeShape::kMaxRecords> records;
  std::optional<FpRecord> pending = next != nullptr ? (*next)() : std::nullopt;
  std::uint32_t number = 0;
  do {
    if (number == shape_.leaves)
      return Error{Errc::kNoSpace, "fp-tree: the records need more than its " +
                                       std::to_string(shape_.leaves) + " leaves"};
    const auto low = HF_MUTANT("T22", number == 0, false) || !pending ? 0 : pending->key;
    std::uint32_t count = 0;
    while (pending && count < fill) {
      records[count++] = *pending;
      pending = (*next)();
      if (pending && pending->key <= records[count - 1].key)
        return Error{Errc::kInvalidOption, "fp-tree: records to load must ascend by key: key " +
                                               std::to_string(pending->key) + " follows " +
                                               std::to_string(records[count - 1].key)};
    }
    const auto one = leaf(number);
    one.fill(std::span(records).first(count));
    one.enter(id_, number, low);
    ++number;
  } while (pending);
  return space_.put_ever_used(number);
}

// Everything that the tree reads, then the superblock: it is the commit of all.
Result<std::unique_ptr<FpTree>> FpTree::make(Region& region, const Extent& extent, Source* next,
                                             const FpTreeOptions& options) {
  HF_RETURN_IF_ERROR(options.validate());
  HF_RETURN_IF_ERROR(detail::check_medium("fp-tree", region, extent));
  if (region.read_only())
    return Error{Errc::kReadOnly, "fp-tree: cannot be created in a read-only region"};
  HF_ASSIGN_OR_RETURN(const auto shape, place_leaves(options, extent));
  HF_ASSIGN_OR_RETURN(auto claim, region.claim(extent, "fp-tree"));
  HF_RETURN_IF_ERROR(refuse_to_overwrite("fp-tree", region, extent));
  const auto body = std::as_bytes(std::span(&shape, 1));
  HF_ASSIGN_OR_RETURN(const auto header, new_header(kFpTreeFormat, body));
  std::unique_ptr<FpTree> tree(new FpTree(region, extent, shape, header.id, std::move(claim)));
  HF_RETURN_IF_ERROR(tree->write_leaves(next));
  HF_RETURN_IF_ERROR(write_superblock(tree->writer_, 0, header, body));
  HF_RETURN_IF_ERROR(tree->recover(0));
  return tree;
}

Result<std::unique_ptr<FpTree>> FpTree::create(Region& region, const Extent& extent,
                                               const FpTreeOptions& options) {
  return make(region, extent, nullptr, options);
}

Result<std::unique_ptr<FpTree>> FpTree::load(Region& region, const Extent& extent, Source next,
                                             const FpTreeOptions& options) {
  return make(region, extent, &next, options);
}

// ---- Opening ----

Result<std::unique_ptr<FpTree>> FpTree::open(Region& region, const Extent& extent,
                                             unsigned threads) {
  HF_RETURN_IF_ERROR(detail::check_medium("fp-tree", region, extent));
  HF_ASSIGN_OR_RETURN(auto claim, region.claim(extent, "fp-tree"));
  FpTreeShape shape;
  HF_ASSIGN_OR_RETURN(
      const auto header,
      read_superblock(kFpTreeFormat, {region.data() + extent.offset_bytes, kPageBytes},
                      std::as_writable_bytes(std::span(&shape, 1))));
  HF_RETURN_IF_ERROR(detail::check_shape("fp-tree", shape, extent));
  std::unique_ptr<FpTree> tree(new FpTree(region, extent, shape, header.id, std::move(claim)));
  write_back_superblock(tree->writer_, 0, header);
  if (!region.read_only()) HF_RETURN_IF_ERROR(tree->writer_.order());
  HF_RETURN_IF_ERROR(tree->recover(threads));
  return tree;
}

Status FpTree::recover(unsigned threads) {
  if (threads == 0) threads = std::thread::hardware_concurrency();
  HF_ASSIGN_OR_RETURN(const auto entries, space_.open(threads));
  if (entries.empty() || entries[0].low != 0)
    return Error{Errc::kCorrupt,
                 "fp-tree: no leaf is in use for key 0: one is missing; restore it from a copy"};
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].low == entries[i - 1].low)
      return Error{Errc::kCorrupt, "fp-tree: leaves " + std::to_string(entries[i - 1].leaf) +
                                       " and " + std::to_string(entries[i].leaf) +
                                       " are for the same keys; restore it from a copy"};
  }
  inner_.build(entries);
  return {};
}

}  // namespace holdfast::index
