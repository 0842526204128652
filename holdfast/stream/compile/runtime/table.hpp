// table.hpp: groups by key: entries one behind the other, and an index of their numbers.
//
// Costs  Look-ups and inserts O(1) expected; an entry is its key and its state, and about 8 bytes
//        of the index.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/apart.hpp>
#include <holdfast/stream/compile/runtime/bytes.hpp>
#include <holdfast/stream/compile/runtime/large_pages.hpp>
#include <holdfast/stream/compile/runtime/several.hpp>

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

// Whether the bytes of one come before those of the other: -1, 0, 1.
template <class T>
int order_of_bytes(const T& a, const T& b) {
  std::uint64_t x[(sizeof a + 7) / 8] = {}, y[(sizeof a + 7) / 8] = {};
  std::memcpy(x, &a, sizeof a);
  std::memcpy(y, &b, sizeof b);
  for (std::size_t i = 0; i < std::size(x); ++i) {
    if (x[i] != y[i]) return __builtin_bswap64(x[i]) < __builtin_bswap64(y[i]) ? -1 : 1;
  }
  return 0;
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
    return Maybe{values_.template get<kNumber>(), (nulls_ >> kNumber & 1) == 0};
  }
  bool operator==(const KeyOf& other) const {
    return (nulls_ == other.nulls_) & equal(other, Numbers());
  }
  std::uint64_t hash() const {
    std::uint64_t hash = nulls_;
    values_.apply([&](const auto&... value) { ((hash = hash_of(hash, value)), ...); });
    return hash;
  }
  void append(std::string& bytes) const { append(bytes, Numbers()); }
  // The order of the bytes that append() gives: -1, 0, 1. Of keys of kFixedBytes without NULL.
  static int compare(const KeyOf& a, const KeyOf& b) { return compare(a, b, Numbers()); }
  // Whether these bytes begin with a 1 and these eight, big-endian. False also where that is not at
  // hand: so it is of a first value that is no NULL, and a number of eight bytes or a text.
  bool begins_with(std::uint64_t& eight) const {
    if constexpr (sizeof...(Values) != 0) {
      const auto& value = values_.template get<0>();
      if ((nulls_ & 1) != 0) return false;
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Text>) {
        std::uint32_t text = 0;
        if (value.size < sizeof text) return false;
        std::memcpy(&text, value.data, sizeof text);
        eight = std::uint64_t{__builtin_bswap32(static_cast<std::uint32_t>(value.size))} << 32 |
                __builtin_bswap32(text);
        return true;
      } else if constexpr (sizeof value >= sizeof eight) {
        std::memcpy(&eight, &value, sizeof eight);
        eight = __builtin_bswap64(eight);
        return true;
      }
    }
    return false;
  }
  // Texts point into `bytes`. False: they are no such key.
  bool take(Text bytes) { return take(bytes, Numbers()) && bytes.size == 0; }
  bool has_null() const { return nulls_ != 0; }
  // Memory that its texts are in from now on.
  struct NoTexts {};
  using OwnTexts =
      std::conditional_t<(std::is_same_v<Values, Text> || ...), std::unique_ptr<char[]>, NoTexts>;
  OwnTexts own_texts() {
    if constexpr ((std::is_same_v<Values, Text> || ...)) {
      std::uint64_t bytes = 0;
      const auto each = [&](const auto& visit) {
        values_.apply([&](auto&... value) { (visit(value), ...); });
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
      return {};
    }
  }
  // Its texts are in the arena from now on.
  void keep_texts(TextArena& arena) {
    const auto keep = [&](auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Text>) value = arena.keep(value);
    };
    values_.apply([&](auto&... value) { (keep(value), ...); });
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
    return (same(values_.template get<kNumbers>(), other.values_.template get<kNumbers>()) && ...);
  }
  template <std::size_t... kNumbers>
  static int compare(const KeyOf& a, const KeyOf& b, std::index_sequence<kNumbers...>) {
    int order = 0;
    static_cast<void>((((order = order_of_bytes(a.values_.template get<kNumbers>(),
                                                b.values_.template get<kNumbers>())) == 0) &&
                       ...));
    return order;
  }
  template <std::size_t... kNumbers>
  void append(std::string& bytes, std::index_sequence<kNumbers...>) const {
    (append_value(get<kNumbers>(), bytes), ...);
  }
  template <std::size_t... kNumbers>
  bool take(Text& bytes, std::index_sequence<kNumbers...>) {
    Several<Maybe<Values>...> values;
    const bool taken = (take_value(bytes, values.template get<kNumbers>()) && ...);
    if (taken) *this = KeyOf(values.template get<kNumbers>()...);
    return taken;
  }

  Several<Values...> values_;
  static_assert(sizeof...(Values) <= 64, "a bit each");
  std::uint64_t nulls_ = 0;
};

// The places of a table: each has the number of an entry, counted from 1, in its low bits, and in
// the others some of the hash, so that the entry of another key is seldom looked at. 0: it is free.
// At most half of them are taken.
class PlacesOfHashes {
 public:
  // `size`: a power of two, from 2 to 2^32.
  explicit PlacesOfHashes(std::size_t size);
  PlacesOfHashes(PlacesOfHashes&& other) noexcept;
  PlacesOfHashes& operator=(PlacesOfHashes&& other) noexcept;
  ~PlacesOfHashes();

  std::size_t size() const { return std::size_t{mask_} + 1; }
  std::uint64_t bytes() const { return size() * sizeof(*words_); }
  std::size_t home(std::uint64_t hash) const { return hash >> shift_; }
  std::size_t next(std::size_t place) const { return (place + 1) & mask_; }
  bool is_free(std::size_t place) const { return words_[place] == 0; }
  // Of the entry that stands there.
  std::uint32_t number(std::size_t place) const { return words_[place] & mask_; }
  // The place where is_it(number) is true, among those whose hash may be this one; or the free one
  // that the search ends at.
  template <class IsIt>
  std::size_t find(std::uint64_t hash, const IsIt& is_it) const {
    auto place = home(hash);
    for (const auto rest = rest_of(hash); words_[place] != 0; place = next(place)) {
      if ((words_[place] & ~mask_) == rest && is_it(words_[place] & mask_)) break;
    }
    return place;
  }
  std::size_t find_free(std::uint64_t hash) const {
    auto place = home(hash);
    while (words_[place] != 0)
      place = next(place);
    return place;
  }
  void put(std::size_t place, std::uint64_t hash, std::uint32_t number) {
    words_[place] = rest_of(hash) | number;
  }
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&words_[home(hash)], 1); }
  // So many, all free.
  void become(std::size_t size);
  void clear();
  using HashOf = std::uint64_t(const void* entry);
  // As many again, with those that are there.
  void grow(const std::byte* entries, std::size_t entry_bytes, HashOf* hash_of);
  // What stands behind the place moves up, so that no search ends at the hole.
  void remove(std::size_t place, const std::byte* entries, std::size_t entry_bytes,
              HashOf* hash_of);
  // So many, with the entries from 1 to `count`.
  void rebuild(std::size_t size, const std::byte* entries, std::size_t entry_bytes,
               std::size_t count, HashOf* hash_of);

 private:
  // The place is of the high bits.
  std::uint32_t rest_of(std::uint64_t hash) const {
    return static_cast<std::uint32_t>(hash) & ~mask_;
  }

  LargeVector<std::uint32_t> memory_;
  std::uint32_t* words_ = nullptr;  // Those of the memory.
  std::uint32_t mask_ = 0;          // Of a number.
  int shift_ = 0;
};

// Memory of entries, one behind the other, that grows. Without `move` they move as bytes.
class EntryMemory {
 public:
  using Move = void(void* from, std::size_t count, void* to);

  EntryMemory() = default;
  EntryMemory(EntryMemory&& other) noexcept;
  EntryMemory& operator=(EntryMemory&& other) noexcept;
  ~EntryMemory();

  std::byte* data() const { return data_; }
  std::size_t room() const { return room_; }
  // For one more than these.
  void grow(std::size_t count, std::size_t entry_bytes, Move* move);

 private:
  std::byte* data_ = nullptr;
  std::size_t room_ = 0, bytes_ = 0;
};

template <class T>
class EntryList {
 public:
  EntryList() = default;
  EntryList(EntryList&& other) noexcept
      : memory_(std::move(other.memory_)), count_(std::exchange(other.count_, 0)) {}
  EntryList& operator=(EntryList&& other) noexcept {
    clear();
    memory_ = std::move(other.memory_);
    count_ = std::exchange(other.count_, 0);
    return *this;
  }
  ~EntryList() { clear(); }

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  T* data() { return reinterpret_cast<T*>(memory_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.data()); }
  T& operator[](std::size_t number) { return data()[number]; }
  const T& operator[](std::size_t number) const { return data()[number]; }
  T* begin() { return data(); }
  T* end() { return data() + count_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + count_; }
  T& back() { return data()[count_ - 1]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  template <class... Parts>
  T& add(Parts&&... parts) {
    if (count_ == memory_.room()) [[unlikely]]
      memory_.grow(count_, sizeof(T), kAsBytes ? nullptr : &move);
    T& entry = *new (data() + count_) T{std::forward<Parts>(parts)...};
    ++count_;
    return entry;
  }
  void remove_last() { data()[--count_].~T(); }
  void clear() {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      for (auto& entry : *this)
        entry.~T();
    }
    count_ = 0;
  }

 private:
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  // What has nothing to end owns nothing, and moves as bytes.
  static constexpr bool kAsBytes = std::is_trivially_destructible_v<T>;

  static void move([[maybe_unused]] void* from, [[maybe_unused]] std::size_t count,
                   [[maybe_unused]] void* to) {
    if constexpr (!kAsBytes) {
      auto* const entries = static_cast<T*>(from);
      for (std::size_t i = 0; i < count; ++i) {
        new (static_cast<T*>(to) + i) T(std::move(entries[i]));
        entries[i].~T();
      }
    }
  }

  EntryMemory memory_;
  std::size_t count_ = 0;
};

// `kLeast`: places of the index of a table that is empty or small, a power of two.
template <class Key, class State, std::size_t kLeast = 64>
class Table {
 public:
  struct Entry {
    Key key;
    [[no_unique_address]] State state;
  };

  // The bytes of entries and index.
  std::size_t bytes() const { return entries_.size() * sizeof(Entry) + index_.bytes(); }
  // Those of the texts of its keys.
  std::uint64_t text_bytes() const { return texts_.bytes(); }
  // The key's state, a new one if there was none. Valid until the next call. `hash` is the key's.
  State& at(const Key& key, std::uint64_t hash) {
    if constexpr (kOne) {
      if (!entries_.empty()) return entries_.front().state;
    }
    const auto place = place_of(key, hash);
    if (index_.is_free(place)) return insert(key, hash, place);
    return entries_[index_.number(place) - 1].state;
  }
  // None: null.
  const State* find(const Key& key, std::uint64_t hash) const {
    if constexpr (kOne) return entries_.empty() ? nullptr : &entries_.front().state;
    const auto place = place_of(key, hash);
    return index_.is_free(place) ? nullptr : &entries_[index_.number(place) - 1].state;
  }
  // Brings what at() will want from memory: first the places in the index, then the entries. Valid
  // until the next at().
  class View {
   public:
    explicit View(const Table& table) : index_(table.index_), entries_(table.entries_.data()) {}

    void prefetch_index(std::uint64_t hash) const { index_.prefetch(hash); }
    void prefetch_entry(std::uint64_t hash) const {
      const auto number = index_.number(index_.home(hash));
      if (number != 0) __builtin_prefetch(entries_ + number - 1, 1);
    }

   private:
    const PlacesOfHashes& index_;
    const Entry* entries_;
  };
  View view() const { return View(*this); }
  const EntryList<Entry>& entries() const { return entries_; }
  EntryList<Entry>& entries() { return entries_; }
  // Its memory stays for the next ones.
  void clear() {
    entries_.clear();
    texts_.clear();
    index_.clear();
  }

 private:
  static constexpr bool kOne = std::is_same_v<Key, KeyOf<>>;  // There is no other key.

  std::size_t place_of(const Key& key, std::uint64_t hash) const {
    return index_.find(hash, [&](std::uint32_t number) { return entries_[number - 1].key == key; });
  }
  [[gnu::noinline]] State& insert(const Key& key, std::uint64_t hash, std::size_t place) {
    if (entries_.size() * 2 >= index_.size()) {
      index_.rebuild(index_.size() * 2, reinterpret_cast<const std::byte*>(entries_.data()),
                     sizeof(Entry), entries_.size(), hash_of_entry);
      place = index_.find_free(hash);
    }
    if (entries_.size() == UINT32_MAX) throw std::bad_alloc();
    Entry& entry = entries_.add(key, State());
    entry.key.keep_texts(texts_);
    index_.put(place, hash, static_cast<std::uint32_t>(entries_.size()));
    return entry.state;
  }
  static std::uint64_t hash_of_entry(const void* entry) {
    return static_cast<const Entry*>(entry)->key.hash();
  }

  EntryList<Entry> entries_;
  PlacesOfHashes index_{kLeast};
  TextArena texts_;
};

#ifndef HOLDFAST_APART

HF_APART PlacesOfHashes::PlacesOfHashes(std::size_t size) { become(size); }
HF_APART PlacesOfHashes::PlacesOfHashes(PlacesOfHashes&& other) noexcept
    : memory_(std::move(other.memory_)),
      words_(memory_.data()),
      mask_(other.mask_),
      shift_(other.shift_) {}
HF_APART PlacesOfHashes& PlacesOfHashes::operator=(PlacesOfHashes&& other) noexcept {
  memory_ = std::move(other.memory_);
  words_ = memory_.data();
  mask_ = other.mask_;
  shift_ = other.shift_;
  return *this;
}
HF_APART PlacesOfHashes::~PlacesOfHashes() {}
HF_APART void PlacesOfHashes::become(std::size_t size) {
  make_room(memory_, size);
  memory_.assign(size, 0);
  words_ = memory_.data();
  mask_ = static_cast<std::uint32_t>(size - 1);
  shift_ = 64 - __builtin_ctzll(size);
}
HF_APART void PlacesOfHashes::clear() { std::fill(memory_.begin(), memory_.end(), 0); }
HF_APART void PlacesOfHashes::grow(const std::byte* entries, std::size_t entry_bytes,
                                   HashOf* hash_of) {
  const auto mask = mask_;
  const auto before = std::exchange(memory_, {});
  become(2 * before.size());
  for (const auto word : before) {
    if (word == 0) continue;
    const auto number = word & mask;
    const auto hash = hash_of(entries + (number - 1) * entry_bytes);
    put(find_free(hash), hash, number);
  }
}
HF_APART void PlacesOfHashes::remove(std::size_t place, const std::byte* entries,
                                     std::size_t entry_bytes, HashOf* hash_of) {
  for (auto at = next(place); !is_free(at); at = next(at)) {
    const auto wanted = home(hash_of(entries + (number(at) - 1) * entry_bytes));
    if (((at - wanted) & mask_) < ((at - place) & mask_)) continue;
    words_[place] = words_[at];
    place = at;
  }
  words_[place] = 0;
}
// What it wants of the new places is asked for ahead.
HF_APART void PlacesOfHashes::rebuild(std::size_t size, const std::byte* entries,
                                      std::size_t entry_bytes, std::size_t count, HashOf* hash_of) {
  constexpr std::size_t kAhead = 16;
  std::uint64_t hashes[kAhead];
  become(size);
  for (std::size_t begin = 0; begin < count; begin += kAhead) {
    const auto some = std::min(kAhead, count - begin);
    for (std::size_t i = 0; i < some; ++i) {
      hashes[i] = hash_of(entries + (begin + i) * entry_bytes);
      prefetch(hashes[i]);
    }
    for (std::size_t i = 0; i < some; ++i)
      put(find_free(hashes[i]), hashes[i], static_cast<std::uint32_t>(begin + i + 1));
  }
}

HF_APART EntryMemory::EntryMemory(EntryMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      room_(std::exchange(other.room_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}
HF_APART EntryMemory& EntryMemory::operator=(EntryMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(room_, other.room_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
HF_APART EntryMemory::~EntryMemory() { give_pages(data_, bytes_); }
// Twice as many; and of a large one many more: memory that nobody has touched costs nothing, but
// what moves is copied, to pages that the kernel clears first.
HF_APART void EntryMemory::grow(std::size_t count, std::size_t entry_bytes, Move* move) {
  constexpr std::size_t kStep = 256;
  auto room = count == 0 ? 1 : 2 * count;
  void* made = nullptr;
  if (room * entry_bytes >= kLargeBytes) {
    try {
      made = take_pages(room * kStep * entry_bytes);
      room *= kStep;
    } catch (const std::bad_alloc&) {  // There is a limit on addresses; less may do.
    }
  }
  if (made == nullptr) made = take_pages(room * entry_bytes);
  if (move != nullptr)
    move(data_, count, made);
  else if (count != 0)
    std::memcpy(made, data_, count * entry_bytes);
  give_pages(std::exchange(data_, static_cast<std::byte*>(made)),
             std::exchange(bytes_, room * entry_bytes));
  room_ = room;
}

#endif

}  // namespace holdfast::query
