// Any bytes as a Dash index, one of bytes, an FP-Tree or a FAST+FAIR tree: refused with a reason, or
// it finds, takes, drops and lists records, and opens again.
//
// Input: which index and whether to repair it, then patches (offset, value) to a small index that
// was made with records. On demand words with a check are sealed again with the patched value, so that
// the fuzzer gets behind the checks. An index has a random id: an input is not repeated to the bit.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include <holdfast/base/check.hpp>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/index/dash/dash.hpp>
#include <holdfast/index/fastfair/fastfair.hpp>
#include <holdfast/index/fptree/fptree.hpp>
#include <holdfast/memory/sealed_word.hpp>

#include "../index/dash/byte_dash_support.hpp"
#include "fuzz_region.hpp"

namespace {

using namespace holdfast;  // NOLINT: a fuzz target of one file.
using index::Dash;
using index::FastFair;
using index::FpTree;
using index::NumberedBytes;

constexpr std::uint64_t kBytes = 64 * KiB, kKeys = 100;
constexpr index::dash_detail::DashShape kDashShape{4, 1, 30, 6};
constexpr index::fptree_detail::FpTreeShape kFpTreeShape{6, 80};
constexpr index::fastfair_detail::FastFairShape kFastFairShape{6, 80};

Region& region() { return fuzz_region<kBytes>(); }
std::uint64_t& word(std::uint64_t at) {
  return *reinterpret_cast<std::uint64_t*>(region().data() + at);
}
std::uint64_t random_id() {
  SuperblockHeader header;
  std::memcpy(&header, region().data(), sizeof header);
  return header.id;
}
// The word's value, whatever it is, with its check put right.
void seal(std::uint64_t at, std::uint64_t context) {
  word(at) = seal_word<SealedWord>(SealedWord::value(word(at)), context);
}

void make(Dash*) {
  index::DashOptions options;
  options.buckets = kDashShape.buckets, options.stash_buckets = kDashShape.stash_buckets;
  options.segments = kDashShape.segments, options.max_depth = kDashShape.max_depth;
  const auto dash = Dash::create(region(), blocks::whole(region()), options).value();
  for (std::uint64_t key = 0; key < kKeys; ++key)
    dash->insert(key, key).value();
}
void make(FpTree*) {
  index::FpTreeOptions options;
  options.records = kFpTreeShape.records, options.leaves = kFpTreeShape.leaves;
  const auto tree = FpTree::create(region(), blocks::whole(region()), options).value();
  for (std::uint64_t key = 0; key < kKeys; ++key)
    tree->insert(key * 37 % kKeys, key).value();
}
void make(FastFair*) {
  index::FastFairOptions options;
  options.slots = kFastFairShape.slots, options.nodes = kFastFairShape.nodes;
  const auto tree = FastFair::create(region(), blocks::whole(region()), options).value();
  for (std::uint64_t key = 0; key < kKeys; ++key)
    tree->insert(key * 37 % kKeys, key).value();
}
void make(NumberedBytes*) {
  const auto bytes = NumberedBytes::create(region(), blocks::whole(region()), {}).value();
  for (std::uint64_t key = 0; key < kKeys / 4; ++key)
    bytes->insert(key, key).value();
}

void seal_all(NumberedBytes*, std::uint64_t) {}
void seal_all(Dash*, std::uint64_t id) {
  using namespace index::dash_detail;
  seal(kDepthAt, depth_context(id));
  seal(kSplitAt, split_context(id));
  for (std::uint32_t place = 0; place < 1u << kDashShape.max_depth; ++place)
    seal(kDirectoryAt + 8 * place, entry_context(id, place));
  for (std::uint32_t number = 0; number < kDashShape.segments; ++number) {
    const auto at = kDashShape.segment_at(number) + kCacheLineBytes + offsetof(Line, extra);
    if (word(at) != 0) seal(at, segment_context(id, number));  // Else it was never in use.
  }
}
void seal_all(FpTree*, std::uint64_t id) {
  using namespace index::fptree_detail;
  seal(kEverUsedAt, ever_used_context(id));
  for (std::uint32_t leaf = 0; leaf < kFpTreeShape.leaves; ++leaf) {
    const auto at = kFpTreeShape.leaf_at(leaf);
    auto& state = word(at + offsetof(LeafHead, state));
    if (state == 0) continue;
    state = seal_word<SealedWord>(kLeafInUse,
                                  leaf_context(id, leaf, word(at + offsetof(LeafHead, low))));
  }
}
void seal_all(FastFair*, std::uint64_t id) {
  using namespace index::fastfair_detail;
  seal(kRootAt, root_context(id));
  seal(kTakenAt, taken_context(id));
  for (std::uint32_t node = 0; node < kFastFairShape.nodes; ++node) {
    const auto at = kFastFairShape.node_at(node);
    const auto low = word(at + offsetof(NodeHead, low));
    seal(at + offsetof(NodeHead, level), level_context(id, node, low));
    if (word(at + offsetof(NodeHead, sibling)) != 0)
      seal(at + offsetof(NodeHead, sibling), sibling_context(id, node));
    // Above the leaves. Children are bound to the keys beside them.
    if (word(at + offsetof(NodeHead, leftmost)) == 0) continue;
    seal(at + offsetof(NodeHead, leftmost), child_context(id, low));
    for (std::uint32_t slot = 0; slot < kFastFairShape.slots; ++slot) {
      const auto entry = at + sizeof(NodeHead) + slot * sizeof(Entry);
      seal(entry + offsetof(Entry, value), child_context(id, word(entry)));
    }
  }
}

void list(const Dash& dash) {
  (void)dash.for_each([](std::uint64_t, std::uint64_t) {});
}
void list(const NumberedBytes& bytes) {
  (void)bytes.each([](std::uint64_t, std::uint64_t) {});
}
template <class Tree>
void list(const Tree& tree) {
  // Ascending, so it ends.
  std::uint64_t last = 0;
  bool first = true;
  (void)tree.scan(0, [&](std::uint64_t key, std::uint64_t) {
    HF_CHECK(first || key > last);
    first = false, last = key;
    return true;
  });
}

template <class Index>
void exercise(bool undamaged) {
  for (unsigned opening = 0; opening < 2; ++opening) {
    const auto opened = Index::open(region(), blocks::whole(region()));
    HF_CHECK(opened || !undamaged);
    if (!opened) return;
    auto& index = **opened;
    list(index);
    for (std::uint64_t key = 0; key < kKeys + 60; ++key) {
      (void)index.find(key);
      if (key % 3 == opening) (void)index.erase(key);
      if (key % 5 == 0) (void)index.update(key, key);
      if (index.put(key, ~key)) HF_CHECK(index.find(key).value() == ~key);
    }
    list(index);
  }
}

template <class Index>
void one(std::span<const std::uint8_t> patches, bool repair) {
  make(static_cast<Index*>(nullptr));
  const auto id = random_id();
  const bool undamaged = patches.size() < 10;
  for (; patches.size() >= 10; patches = patches.subspan(10)) {
    std::uint16_t place = 0;
    std::uint64_t value = 0;
    std::memcpy(&place, patches.data(), 2);
    std::memcpy(&value, patches.data() + 2, 8);
    word(place * std::uint64_t{8} % kBytes) = value;
  }
  if (repair) seal_all(static_cast<Index*>(nullptr), id);
  exercise<Index>(undamaged);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  std::memset(region().data(), 0, kBytes);
  const bool repair = (data[0] & 2) != 0;
  const std::span<const std::uint8_t> patches(data + 1, size - 1);
  if ((data[0] & 8) != 0)
    one<NumberedBytes>(patches, repair);
  else if ((data[0] & 4) != 0)
    one<FastFair>(patches, repair);
  else if ((data[0] & 1) != 0)
    one<Dash>(patches, repair);
  else
    one<FpTree>(patches, repair);
  return 0;
}
