// slice_table.hpp: the groups of one slice, and which of them the next checkpoint has to write.
//
// Costs  A bit per group, once they have been written and are more than fit the cache. Before that
//        all groups are written: they have all changed, or they are few.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/apart.hpp>
#include <holdfast/stream/compile/runtime/blocks.hpp>
#include <holdfast/stream/compile/runtime/interface.hpp>
#include <holdfast/stream/compile/runtime/order.hpp>
#include <holdfast/stream/compile/runtime/table.hpp>

namespace holdfast::query {

inline constexpr std::size_t kCacheBytes = 1 << 20;  // Smaller tables fit the cache.

// Takes a block. False: it was refused.
class TakeBlock {
 public:
  virtual bool block(Text block) = 0;

 protected:
  ~TakeBlock() = default;
};

// The groups of a slice, whatever they are: what is done with them once a window or once a
// checkpoint.
class AnySlice {
 public:
  virtual ~AnySlice() = default;
  virtual std::size_t groups() const = 0;
  virtual std::size_t bytes() const = 0;
  // Its memory stays for the next ones.
  virtual void clear() = 0;
  // Adds what another has, of the same types.
  virtual void merge(const AnySlice& other) = 0;
  // Adds an entry to what its group has. False: it is none of these types; so are those below.
  virtual bool take(Text key, Text state) = 0;
  // An entry takes the place of what its group has, until there are no more.
  virtual bool take_block(Text block) = 0;
  // Of a group, by its number.
  virtual void append_key(std::size_t number, std::string& bytes) const = 0;
  virtual void append_state(std::size_t number, std::string& bytes) const = 0;
  virtual void prefetch(std::size_t number) const = 0;
  virtual std::span<const Place> in_order(Places& memory) const = 0;

  // Whether change() has anything to note. Until then each put() gives all groups.
  bool tracks() const { return tracks_; }
  // Gives the changed groups, or all, as blocks. False: a block was refused.
  bool put(std::string& block, bool& all, TakeBlock& to);
  // Gives all groups as blocks, in the order of their keys.
  bool put_run(std::string& block, Places& places, TakeBlock& to) const;

  std::uint64_t generation = 0;  // Of the blocks that the store has of it; 0: it has none.
  bool touched = false;          // Some group may have changed since put().

 protected:
  void mark(std::size_t number) {
    const std::size_t word = number / 64;
    if (word >= changed_.size()) [[unlikely]]
      note_until(word);
    changed_[word] |= std::uint64_t{1} << number % 64;
  }
  void forget_changes();

 private:
  void note_until(std::size_t word);
  void append_entry(std::size_t number, std::string& block) const;
  std::uint64_t changes() const;
  void change_all();

  bool tracks_ = false;
  std::vector<std::uint64_t> changed_;  // A bit per entry, if it tracks them.
  std::uint64_t written_ = 0;           // Entries in the blocks that the store has.
};

// `kStored`: a store may have some of it.
template <class Key, class State, bool kStored = true>
class SliceTable final : public AnySlice, public Table<Key, State> {
 public:
  using typename Table<Key, State>::Entry;
  // A state is the same few bytes, whatever was added to it: a checkpoint writes it whole and it
  // stays in memory. Others own memory and grow: a checkpoint writes what was added since the last.
  static constexpr bool kBounded = std::is_trivially_destructible_v<State>;

  // As at(), of a group that changes.
  State& change(const Key& key, std::uint64_t hash) {
    State& state = this->at(key, hash);
    if (tracks()) mark(number_of(state));
    return state;
  }
  std::size_t groups() const override { return this->entries().size(); }
  std::size_t bytes() const override { return Table<Key, State>::bytes(); }
  void clear() override {
    Table<Key, State>::clear();
    forget_changes();
  }
  // What it wants of this table from memory is asked for ahead of its turn.
  void merge(const AnySlice& other) override {
    constexpr std::size_t kAhead = 16;
    const auto& entries = static_cast<const SliceTable&>(other).entries();
    std::uint64_t hashes[kAhead];
    for (std::size_t begin = 0; begin < entries.size(); begin += kAhead) {
      const std::size_t count = std::min(kAhead, entries.size() - begin);
      const auto view = this->view();
      for (std::size_t i = 0; i < count; ++i) {
        hashes[i] = entries[begin + i].key.hash();
        view.prefetch_index(hashes[i]);
      }
      for (std::size_t i = 0; i < count; ++i)
        view.prefetch_entry(hashes[i]);
      for (std::size_t i = 0; i < count; ++i)
        change(entries[begin + i].key, hashes[i]).merge(entries[begin + i].state);
    }
  }
  [[gnu::cold, gnu::noinline]] bool take(Text key, Text state) override {
    Key taken;
    State gathered;
    if (!taken.take(key) || !gathered.take(state)) return false;
    change(taken, taken.hash()).merge(gathered);
    return true;
  }
  bool take_block([[maybe_unused]] Text block) override {
    if constexpr (kStored) {
      while (block.size != 0) {
        if (!take_some(block)) return false;
      }
    }
    return true;
  }
  void append_key([[maybe_unused]] std::size_t number,
                  [[maybe_unused]] std::string& bytes) const override {
    if constexpr (kStored) this->entries()[number].key.append(bytes);
  }
  void append_state([[maybe_unused]] std::size_t number,
                    [[maybe_unused]] std::string& bytes) const override {
    if constexpr (kStored) this->entries()[number].state.append(bytes);
  }
  void prefetch(std::size_t number) const override { __builtin_prefetch(&this->entries()[number]); }
  std::span<const Place> in_order(Places& memory) const override {
    return query::in_order(*this, AnyEntry(), BytesOfKey(), memory);
  }

 private:
  std::size_t number_of(const State& state) const {
    const auto place = reinterpret_cast<const char*>(&state) -
                       reinterpret_cast<const char*>(this->entries().data());
    return static_cast<std::size_t>(place) / sizeof(Entry);
  }
  bool take_some(Text& block) {
    constexpr std::size_t kAhead = 16;
    Key keys[kAhead];
    State states[kAhead];
    std::uint64_t hashes[kAhead];
    std::size_t count = 0;
    const auto view = this->view();
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
      this->at(keys[i], hashes[i]) = std::move(states[i]);
    return true;
  }
};

#ifndef HOLDFAST_APART

HF_APART bool AnySlice::put(std::string& block, bool& all, TakeBlock& to) {
  constexpr std::uint64_t kMostCopies = 4;  // Of a group, on average, in blocks of its slice.
  const std::uint64_t count = groups(), changed = changes();
  all = written_ != 0 && written_ + changed > kMostCopies * count;
  if (all || !tracks_) change_all();
  written_ = all ? count : written_ + changed;
  tracks_ = bytes() > kCacheBytes;
  touched = false;
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    for (auto word = std::exchange(changed_[i], 0); word != 0; word &= word - 1) {
      append_entry(i * 64 + static_cast<unsigned>(__builtin_ctzll(word)), block);
      if (block.size() < kBlockBytes) continue;
      if (!to.block({block.data(), block.size()})) return false;
      block.clear();
    }
  }
  return block.empty() || to.block({block.data(), block.size()});
}
HF_APART bool AnySlice::put_run(std::string& block, Places& places, TakeBlock& to) const {
  constexpr std::size_t kAhead = 16;  // An entry is anywhere in the table.
  const auto order = in_order(places);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i + kAhead < order.size()) prefetch(order[i + kAhead].entry);
    append_entry(order[i].entry, block);
    if (block.size() < kBlockBytes) continue;
    if (!to.block({block.data(), block.size()})) return false;
    block.clear();
  }
  return block.empty() || to.block({block.data(), block.size()});
}
HF_APART void AnySlice::forget_changes() {
  changed_.clear();
  tracks_ = touched = false;
  generation = written_ = 0;
}
HF_APART void AnySlice::note_until(std::size_t word) { changed_.resize(word + 1); }
HF_APART void AnySlice::append_entry(std::size_t number, std::string& block) const {
  append_sized(block, [&](std::string& bytes) { append_key(number, bytes); });
  append_sized(block, [&](std::string& bytes) { append_state(number, bytes); });
}
HF_APART std::uint64_t AnySlice::changes() const {
  if (!tracks_) return groups();
  std::uint64_t count = 0;
  for (const auto word : changed_)
    count += static_cast<std::uint64_t>(__builtin_popcountll(word));
  return count;
}
HF_APART void AnySlice::change_all() {
  changed_.assign(groups() / 64 + 1, ~std::uint64_t{0});
  changed_.back() = (std::uint64_t{1} << groups() % 64) - 1;
}

#endif

}  // namespace holdfast::query
