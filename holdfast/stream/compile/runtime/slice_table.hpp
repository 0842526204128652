// slice_table.hpp: the groups of one slice, and which of them the next checkpoint has to write.
//
// Costs  A bit per group, once they have been written and are more than fit the cache. Before that
//        all groups are written: they have all changed, or they are few.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/blocks.hpp>
#include <holdfast/stream/compile/runtime/interface.hpp>
#include <holdfast/stream/compile/runtime/order.hpp>
#include <holdfast/stream/compile/runtime/table.hpp>

namespace holdfast::query {

inline constexpr std::size_t kCacheBytes = 1 << 20;  // Smaller tables fit the cache.

template <class Key, class State>
class SliceTable : public Table<Key, State> {
 public:
  using typename Table<Key, State>::Entry;
  // A state is the same few bytes, whatever was added to it: a checkpoint writes it whole and it
  // stays in memory. Others own memory and grow: a checkpoint writes what was added since the last.
  static constexpr bool kBounded = std::is_trivially_destructible_v<State>;

  // As at(), of a group that changes.
  State& change(const Key& key, std::uint64_t hash) {
    State& state = this->at(key, hash);
    if (tracks_) mark(state);
    return state;
  }
  // Whether change() has anything to note. Until then each put() gives all groups.
  bool tracks() const { return tracks_; }
  void clear() {
    Table<Key, State>::clear();
    changed_.clear();
    tracks_ = touched = false;
    generation = written_ = 0;
  }

  // Gives the changed groups, or all, as blocks: give(block). False: a block was refused.
  template <class Give>
  bool put(std::string& block, bool& all, const Give& give) {
    constexpr std::uint64_t kMostCopies = 4;  // Of a group, on average, in blocks of its slice.
    const std::uint64_t groups = this->entries().size(), changed = changes();
    all = written_ != 0 && written_ + changed > kMostCopies * groups;
    if (all || !tracks_) change_all();
    written_ = all ? groups : written_ + changed;
    tracks_ = this->bytes() > kCacheBytes;
    touched = false;
    for (std::size_t i = 0; i < changed_.size(); ++i) {
      for (auto word = std::exchange(changed_[i], 0); word != 0; word &= word - 1) {
        const Entry& entry = this->entries()[i * 64 + static_cast<unsigned>(__builtin_ctzll(word))];
        append_entry(entry, block);
        if (block.size() >= kBlockBytes && !give_block(block, give)) return false;
      }
    }
    return block.empty() || give_block(block, give);
  }

  // Gives all groups as blocks, in the order of their keys.
  template <class Give>
  bool put_run(std::string& block, Places& places, const Give& give) const {
    const bool taken = visit_in_order(*this, places, [&](const Entry& entry) {
      append_entry(entry, block);
      return block.size() < kBlockBytes || give_block(block, give);
    });
    return taken && (block.empty() || give_block(block, give));
  }

  std::uint64_t generation = 0;  // Of the blocks that the store has of it; 0: it has none.
  bool touched = false;          // Some group may have changed since put().

 private:
  static void append_entry(const Entry& entry, std::string& block) {
    append_sized(block, [&](std::string& bytes) { entry.key.append(bytes); });
    append_sized(block, [&](std::string& bytes) { entry.state.append(bytes); });
  }
  void mark(const State& state) {
    const auto place = reinterpret_cast<const char*>(&state) -
                       reinterpret_cast<const char*>(this->entries().data());
    const auto number = static_cast<std::size_t>(place) / sizeof(Entry);
    const std::size_t word = number / 64;
    if (word >= changed_.size()) [[unlikely]]
      changed_.resize(word + 1);
    changed_[word] |= std::uint64_t{1} << number % 64;
  }
  std::uint64_t changes() const {
    if (!tracks_) return this->entries().size();
    std::uint64_t count = 0;
    for (const auto word : changed_)
      count += static_cast<std::uint64_t>(__builtin_popcountll(word));
    return count;
  }
  void change_all() {
    changed_.assign(this->entries().size() / 64 + 1, ~std::uint64_t{0});
    changed_.back() = (std::uint64_t{1} << this->entries().size() % 64) - 1;
  }
  template <class Give>
  static bool give_block(std::string& block, const Give& give) {
    const bool taken = give(Text{block.data(), block.size()});
    block.clear();
    return taken;
  }

  bool tracks_ = false;
  std::vector<std::uint64_t> changed_;  // A bit per entry, if it tracks them.
  std::uint64_t written_ = 0;           // Entries in the blocks that the store has.
};

// Adds what another has. What one wants of the other from memory is asked for ahead of its turn.
template <class Slice>
void merge_groups(Slice& into, const Slice& from) {
  constexpr std::size_t kAhead = 16;
  const auto& entries = from.entries();
  std::uint64_t hashes[kAhead];
  for (std::size_t begin = 0; begin < entries.size(); begin += kAhead) {
    const std::size_t count = std::min(kAhead, entries.size() - begin);
    const auto view = into.view();
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = entries[begin + i].key.hash();
      view.prefetch_index(hashes[i]);
    }
    for (std::size_t i = 0; i < count; ++i)
      view.prefetch_entry(hashes[i]);
    for (std::size_t i = 0; i < count; ++i)
      into.change(entries[begin + i].key, hashes[i]).merge(entries[begin + i].state);
  }
}

// What a store has of a slice, added to `merged`. `newest` is empty before and after.
template <class Key, class State>
class StoredGroups final : public VisitEntries {
 public:
  using Slice = SliceTable<Key, State>;
  StoredGroups(Slice& merged, Slice& newest) : merged_(merged), newest_(newest) {}

  bool entry(Text key, Text state) override {
    Key taken;
    State gathered;
    if (!taken.take(key) || !gathered.take(state)) return false;
    merged_.at(taken, taken.hash()).merge(gathered);
    return true;
  }
  // All of this generation.
  bool merge(Host& host, std::int64_t slice, std::uint64_t generation) {
    BlockPlace place;
    for (Text block{};;) {
      if (!host.next_block(slice, generation, place, block)) return false;
      if (block.size == 0) break;
      while (block.size != 0) {
        if (!take_some(block)) return host.refuse_entry(), false;
      }
    }
    if (merged_.entries().empty())
      std::swap(merged_, newest_);
    else
      merge_groups(merged_, newest_);
    newest_.clear();
    return true;
  }

 private:
  bool take_some(Text& block) {
    constexpr std::size_t kAhead = 16;
    Key keys[kAhead];
    State states[kAhead];
    std::uint64_t hashes[kAhead];
    std::size_t count = 0;
    const auto view = newest_.view();
    for (; count < kAhead && block.size != 0; ++count) {
      Text key{}, state{};
      if (!take_block_entry(block, key, state) || !keys[count].take(key) ||
          !states[count].take(state))
        return false;
      hashes[count] = keys[count].hash();
      view.prefetch_index(hashes[count]);
    }
    for (std::size_t i = 0; i < count; ++i)
      view.prefetch_entry(hashes[i]);
    for (std::size_t i = 0; i < count; ++i)
      newest_.at(keys[i], hashes[i]) = std::move(states[i]);
    return true;
  }

  Slice& merged_;
  Slice& newest_;
};

}  // namespace holdfast::query
