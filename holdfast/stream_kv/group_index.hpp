// group_index.hpp: which entries of a log may be of a group: numbers by a hash of 32 bits.
//
// A hash is in the chain of its upper bits. A chain may also hold numbers of other groups, and one
// hash may be that of two groups: the caller compares keys.
//
// Memory   12 bytes for each number up to the highest, 4 to 8 for each that has a hash.
// Costs    set() and erase() O(1), amortised; for_each() O(numbers of the chain).
// Threads  One at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include <holdfast/base/mutant.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/stream/compile/runtime/large_pages.hpp>

namespace holdfast::stream {

class GroupIndex {
 public:
  GroupIndex() : heads_(kLeast, kNone) {}

  // The number has this hash from now on.
  void set(std::uint32_t number, std::uint32_t hash) {
    if (number >= links_.size()) {
      query::make_room(links_, number + std::size_t{1});
      links_.resize(number + std::size_t{1});
    }
    if (has(number)) {
      if (links_[number].hash == hash) return;
      HF_MUTANT("KS18", erase(number), void());
    }
    if (count_ == heads_.size() && count_ < kMost) spread(2 * count_);
    links_[number].hash = hash;
    ++count_;
    enter(number);
  }
  // None where it has no hash.
  void erase(std::uint32_t number) {
    if (number >= links_.size() || !has(number)) return;
    Link& link = links_[number];
    (link.previous == kNone ? heads_[home(link.hash)] : links_[link.previous].next) = link.next;
    if (HF_MUTANT("KS17", link.next != kNone, false)) links_[link.next].previous = link.previous;
    link = {};
    --count_;
  }
  // Makes room for so many numbers.
  void reserve(std::size_t count) {
    links_.reserve(count);
    std::size_t size = heads_.size();
    while (size < count && size < kMost)
      size *= 2;
    if (size != heads_.size()) spread(size);
  }
  // Asks for the memory that set() of this hash will read: first for one part, then for the other.
  void prefetch_chain(std::uint32_t hash) const { __builtin_prefetch(&heads_[home(hash)], 1); }
  void prefetch_first(std::uint32_t hash) const {
    const auto first = heads_[home(hash)];
    if (first != kNone) __builtin_prefetch(&links_[first], 1);
  }
  // Those with this hash, in no order: visit(number) -> Status. It does not change the index.
  template <class Visit>
  Status for_each(std::uint32_t hash, Visit visit) const {
    for (auto number = heads_[home(hash)]; number != kNone; number = links_[number].next) {
      if (links_[number].hash == hash) HF_RETURN_IF_ERROR(visit(number));
    }
    return {};
  }
  std::size_t size() const { return count_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX, kNoHash = UINT32_MAX - 1;
  static constexpr std::size_t kLeast = 64, kMost = std::size_t{1} << 32;

  struct Link {
    std::uint32_t next = kNone;
    std::uint32_t previous = kNoHash;  // In its chain; kNoHash: it is in none.
    std::uint32_t hash = 0;
  };

  bool has(std::uint32_t number) const { return links_[number].previous != kNoHash; }
  std::size_t home(std::uint32_t hash) const {
    return hash >> (32 - static_cast<unsigned>(__builtin_ctzll(heads_.size())));
  }
  void enter(std::uint32_t number) {
    auto& head = heads_[home(links_[number].hash)];
    links_[number].next = head;
    links_[number].previous = kNone;
    if (HF_MUTANT("KS20", head != kNone, false)) links_[head].previous = number;
    head = number;
  }
  void spread(std::size_t chains) {
    heads_.assign(chains, kNone);
    for (std::uint32_t number = 0; number < links_.size(); ++number) {
      if (HF_MUTANT("KS19", has(number), true)) enter(number);
    }
  }

  query::LargeVector<std::uint32_t> heads_;
  query::LargeVector<Link> links_;
  std::size_t count_ = 0;
};

}  // namespace holdfast::stream
