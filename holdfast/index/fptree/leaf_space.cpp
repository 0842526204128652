#include <holdfast/index/fptree/leaf_space.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <string>

#include <holdfast/base/crew.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/memory/sealed_word.hpp>

namespace holdfast::index::fptree_detail {

Status LeafSpace::put_ever_used(std::uint32_t leaves) {
  return writer_.put_word(kEverUsedAt, seal_word<SealedWord>(leaves, ever_used_context(id_)));
}

// ---- Opening ----

struct LeafSpace::Part {
  std::uint32_t begin, end;
  std::vector<LeafEntry> entries;
  std::vector<std::uint32_t> free;
  std::optional<std::uint32_t> damaged;  // The first one.
};

void LeafSpace::scan(Part& part) const {
  constexpr std::uint32_t kAhead = 16;  // Lines asked for before they are read.
  const bool read_only = writer_.region().read_only();
  // A process that was killed may have stored what is read here and not waited. Each part writes
  // the number of leaves back, too: a fence holds for the write-backs of its own thread.
  if (!read_only) writer_.persist().write_back(writer_.at(kEverUsedAt), sizeof(std::uint64_t));
  for (auto number = part.begin; number < part.end; ++number) {
    if (number + kAhead < part.end)
      prefetch_for_read(writer_.at(shape_.leaf_at(number + kAhead) + kCacheLineBytes));
    const auto one = leaf(number);
    if (!read_only) one.write_back_use();
    switch (one.use(id_, number)) {
      case Leaf::Use::kFree: part.free.push_back(number); break;
      case Leaf::Use::kInUse: part.entries.push_back({one.low(), number}); break;
      case Leaf::Use::kDamaged: part.damaged = number; return;
    }
  }
  if (!read_only) writer_.persist().fence();
  std::ranges::sort(part.entries, {}, &LeafEntry::low);
}

Result<std::vector<LeafEntry>> LeafSpace::open(unsigned threads) {
  const Lock lock(mutex_);
  const auto ever_used = open_word<SealedWord>(writer_.word(kEverUsedAt), ever_used_context(id_));
  if (!ever_used || *ever_used == 0 || *ever_used > shape_.leaves)
    return Error{Errc::kCorrupt,
                 "fp-tree: the number of leaves that were ever used is damaged "
                 "(word at " +
                     std::to_string(kEverUsedAt) + "); restore it from a copy"};
  const auto all = ever_used_ = static_cast<std::uint32_t>(*ever_used);

  // A thread for each 64 Ki leaves at least: starting one takes as long as reading a thousand.
  const auto parts_wanted = std::clamp(all >> 16, 1u, std::max(threads, 1u));
  std::vector<Part> parts(parts_wanted);
  for (std::uint32_t i = 0; i < parts_wanted; ++i) {
    const auto border = [&](std::uint64_t part) {
      return static_cast<std::uint32_t>(all * part / parts_wanted);
    };
    Part& part = parts[i];
    part.begin = border(i), part.end = border(i + 1);
    // Here, where there may be too little memory: the threads allocate nothing.
    part.entries.reserve(part.end - part.begin);
    part.free.reserve(part.end - part.begin);
  }
  std::atomic<std::uint32_t> next{0};
  side_by_side(parts_wanted, [&] {
    for (std::uint32_t part; (part = next++) < parts_wanted;)
      scan(parts[part]);
  });

  std::vector<LeafEntry> entries = std::move(parts[0].entries);
  free_.reserve(all);
  for (const auto& part : parts) {
    if (part.damaged)
      return Error{Errc::kCorrupt, "fp-tree: the head of leaf " + std::to_string(*part.damaged) +
                                       " is damaged (at " +
                                       std::to_string(shape_.leaf_at(*part.damaged)) +
                                       "); restore it from a copy"};
    free_.insert(free_.end(), part.free.begin(), part.free.end());
    if (&part == &parts[0]) continue;
    const auto middle = static_cast<std::ptrdiff_t>(entries.size());
    entries.insert(entries.end(), part.entries.begin(), part.entries.end());
    std::ranges::inplace_merge(entries, entries.begin() + middle, {}, &LeafEntry::low);
  }
  std::ranges::reverse(free_);  // Taken from the end: the lowest first.
  return entries;
}

// ---- Taking ----

Status LeafSpace::raise() {
  const auto step = std::clamp(shape_.leaves / 16, 1u, 1'024u);
  const auto end = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(shape_.leaves, std::uint64_t{ever_used_} + step));
  if (end == ever_used_)
    return Error{Errc::kNoSpace, "fp-tree: all " + std::to_string(shape_.leaves) +
                                     " leaves are in use and one is full; find, scan, update and "
                                     "erase still work"};
  free_.reserve(end);
  const std::array<std::byte, kCacheLineBytes> zeros{};
  if (HF_MUTANT("T08", true, false)) {
    for (auto number = ever_used_; number < end; ++number)
      HF_RETURN_IF_ERROR(writer_.put(shape_.leaf_at(number) + kCacheLineBytes, zeros));
  }
  HF_RETURN_IF_ERROR(writer_.order());
  HF_RETURN_IF_ERROR(put_ever_used(end));
  HF_RETURN_IF_ERROR(writer_.order());
  for (auto number = end; number-- > ever_used_;)
    free_.push_back(number);
  ever_used_ = end;
  return {};
}

Result<std::uint32_t> LeafSpace::take() {
  const Lock lock(mutex_);
  if (free_.empty()) HF_RETURN_IF_ERROR(raise());
  const auto number = free_.back();
  free_.pop_back();
  return number;
}

void LeafSpace::give(std::uint32_t leaf) {
  const Lock lock(mutex_);
  free_.push_back(leaf);
}

std::uint32_t LeafSpace::in_use() const {
  const Lock lock(mutex_);
  return ever_used_ - static_cast<std::uint32_t>(free_.size());
}

}  // namespace holdfast::index::fptree_detail
