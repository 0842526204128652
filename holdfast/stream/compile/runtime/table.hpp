// table.hpp: groups by key: entries one behind the other, and an index of their numbers.
//
// Costs  Look-ups and inserts O(1) expected; an entry is its key and its state, and about 8 bytes
//        of the index.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/bytes.hpp>
#include <holdfast/stream/compile/runtime/large_pages.hpp>

namespace holdfast::query {

inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  const Uint128 product = static_cast<Uint128>(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd6e8feb86659fd93u);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <class T>
std::uint64_t hash_of(std::uint64_t seed, const T& value) {
  if constexpr (std::is_same_v<T, Text>) {
    std::uint64_t hash = mixed(seed, value.size), word = 0, at = 0;
    for (; at + 8 <= value.size; at += 8) {
      std::memcpy(&word, value.data + at, 8);
      hash = mixed(hash, word);
    }
    word = 0;
    if (at < value.size) std::memcpy(&word, value.data + at, value.size - at);
    return mixed(hash, word);
  } else if constexpr (std::is_same_v<T, double>) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return mixed(seed, bits);
  } else if constexpr (sizeof(T) == 16) {
    return mixed(mixed(seed, static_cast<std::uint64_t>(value)),
                 static_cast<std::uint64_t>(static_cast<Uint128>(value) >> 64));
  } else {
    return mixed(seed, static_cast<std::uint64_t>(value));
  }
}

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Text>)
    return a.size == b.size && (a.size == 0 || std::memcmp(a.data, b.data, a.size) == 0);
  else if constexpr (std::is_same_v<T, double>)
    return std::memcmp(&a, &b, sizeof a) == 0;  // Canonical: equal values have equal bits.
  else
    return a == b;
}

// The values that rows of a group have in common. NULL is a value here, equal to itself.
template <class... Values>
class KeyOf {
 public:
  // Bytes of every key that holds no NULL; 0: they differ.
  static constexpr std::size_t kFixedBytes =
      (std::is_same_v<Values, Text> || ...) ? 0 : (0 + ... + (1 + sizeof(Values)));

  KeyOf() = default;
  explicit KeyOf(const Maybe<Values>&... values)
    requires(sizeof...(Values) > 0)
      : values_(plain(values)...) {
    std::uint64_t bit = 1;
    ((nulls_ |= values.known ? 0 : bit, bit <<= 1), ...);
  }

  template <std::size_t kNumber>
  auto get() const {
    return Maybe{std::get<kNumber>(values_), (nulls_ >> kNumber & 1) == 0};
  }
  bool operator==(const KeyOf& other) const {
    return (nulls_ == other.nulls_) & equal(other, Numbers());
  }
  std::uint64_t hash() const {
    std::uint64_t hash = nulls_;
    std::apply([&](const auto&... value) { ((hash = hash_of(hash, value)), ...); }, values_);
    return hash;
  }
  void append(std::string& bytes) const { append(bytes, Numbers()); }
  // Texts point into `bytes`. False: they are no such key.
  bool take(Text bytes) { return take(bytes, Numbers()) && bytes.size == 0; }
  bool has_null() const { return nulls_ != 0; }
  // Memory that its texts are in from now on.
  std::unique_ptr<char[]> own_texts() {
    if constexpr ((std::is_same_v<Values, Text> || ...)) {
      std::uint64_t bytes = 0;
      const auto each = [&](const auto& visit) {
        std::apply([&](auto&... value) { (visit(value), ...); }, values_);
      };
      each([&](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Text>) bytes += value.size;
      });
      auto memory = std::make_unique_for_overwrite<char[]>(bytes);
      char* place = memory.get();
      each([&](auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Text>) {
          if (value.size != 0) std::memcpy(place, value.data, value.size);
          value.data = place;
          place += value.size;
        }
      });
      return memory;
    } else {
      return nullptr;
    }
  }
  // Its texts are in the arena from now on.
  void keep_texts(TextArena& arena) {
    const auto keep = [&](auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Text>) value = arena.keep(value);
    };
    std::apply([&](auto&... value) { (keep(value), ...); }, values_);
  }

 private:
  using Numbers = std::index_sequence_for<Values...>;

  template <class T>
  static T plain(const Maybe<T>& value) {
    if (!value.known) return T{};
    if constexpr (std::is_same_v<T, double>)
      return canonical(value.value);
    else
      return value.value;
  }
  template <std::size_t... kNumbers>
  bool equal(const KeyOf& other, std::index_sequence<kNumbers...>) const {
    return (same(std::get<kNumbers>(values_), std::get<kNumbers>(other.values_)) && ...);
  }
  template <std::size_t... kNumbers>
  void append(std::string& bytes, std::index_sequence<kNumbers...>) const {
    (append_value(get<kNumbers>(), bytes), ...);
  }
  template <std::size_t... kNumbers>
  bool take(Text& bytes, std::index_sequence<kNumbers...>) {
    std::tuple<Maybe<Values>...> values;
    const bool taken = (take_value(bytes, std::get<kNumbers>(values)) && ...);
    if (taken) *this = KeyOf(std::get<kNumbers>(values)...);
    return taken;
  }

  std::tuple<Values...> values_;
  static_assert(sizeof...(Values) <= 64, "a bit each");
  std::uint64_t nulls_ = 0;
};

// `kLeast`: places of the index of a table that is empty or small, a power of two.
template <class Key, class State, std::size_t kLeast = 64>
class Table {
 public:
  struct Entry {
    Key key;
    [[no_unique_address]] State state;
  };

  Table() : index_(kLeast) {}

  // The bytes of entries and index.
  std::size_t bytes() const { return entries_.size() * sizeof(Entry) + index_.size() * 4; }
  // The key's state, a new one if there was none. Valid until the next call. `hash` is the key's.
  State& at(const Key& key, std::uint64_t hash) {
    std::size_t place = hash >> shift_;
    for (; index_[place] != 0; place = (place + 1) & (index_.size() - 1)) {
      Entry& entry = entries_[index_[place] - 1];
      if (entry.key == key) return entry.state;
    }
    return insert(key, place);
  }
  // None: null.
  const State* find(const Key& key, std::uint64_t hash) const {
    for (std::size_t place = hash >> shift_; index_[place] != 0;
         place = (place + 1) & (index_.size() - 1)) {
      const Entry& entry = entries_[index_[place] - 1];
      if (entry.key == key) return &entry.state;
    }
    return nullptr;
  }
  // Brings what at() will want from memory: first the places in the index, then the entries. Valid
  // until the next at().
  class View {
   public:
    explicit View(const Table& table)
        : index_(table.index_.data()), entries_(table.entries_.data()), shift_(table.shift_) {}

    void prefetch_index(std::uint64_t hash) const { __builtin_prefetch(index_ + (hash >> shift_)); }
    void prefetch_entry(std::uint64_t hash) const {
      const auto number = index_[hash >> shift_];
      if (number != 0) __builtin_prefetch(entries_ + number - 1, 1);
    }

   private:
    const std::uint32_t* index_;
    const Entry* entries_;
    int shift_;
  };
  View view() const { return View(*this); }
  const LargeVector<Entry>& entries() const { return entries_; }
  LargeVector<Entry>& entries() { return entries_; }
  // Its memory stays for the next ones.
  void clear() {
    entries_.clear();
    texts_.clear();
    std::fill(index_.begin(), index_.end(), 0);
  }

 private:
  [[gnu::noinline]] State& insert(const Key& key, std::size_t place) {
    if (entries_.size() * 2 >= index_.size()) {
      rebuild(index_.size() * 2);
      place = key.hash() >> shift_;
      while (index_[place] != 0)
        place = (place + 1) & (index_.size() - 1);
    }
    if (entries_.size() == UINT32_MAX) throw std::bad_alloc();
    if (entries_.size() == entries_.capacity()) [[unlikely]]
      make_room(entries_, 2 * entries_.size());
    entries_.push_back(Entry{key, State()});
    entries_.back().key.keep_texts(texts_);
    index_[place] = static_cast<std::uint32_t>(entries_.size());
    return entries_.back().state;
  }
  // What it wants of the new index is asked for ahead.
  [[gnu::noinline]] void rebuild(std::size_t size) {
    constexpr std::size_t kAhead = 16;
    std::uint64_t hashes[kAhead];
    make_room(index_, size);
    index_.assign(size, 0);
    shift_ = 64 - __builtin_ctzll(size);
    for (std::size_t begin = 0; begin < entries_.size(); begin += kAhead) {
      const auto count = std::min(kAhead, entries_.size() - begin);
      for (std::size_t i = 0; i < count; ++i) {
        hashes[i] = entries_[begin + i].key.hash();
        __builtin_prefetch(&index_[hashes[i] >> shift_], 1);
      }
      for (std::size_t i = 0; i < count; ++i) {
        std::size_t place = hashes[i] >> shift_;
        while (index_[place] != 0)
          place = (place + 1) & (size - 1);
        index_[place] = static_cast<std::uint32_t>(begin + i + 1);
      }
    }
  }

  LargeVector<Entry> entries_;
  LargeVector<std::uint32_t> index_;  // Number of an entry, counted from 1; 0: free.
  int shift_ = 64 - __builtin_ctzll(kLeast);
  TextArena texts_;
};

}  // namespace holdfast::query
