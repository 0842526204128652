// changes.hpp: rows that come and go, between the operators of a graph, and what operators keep of
// them: what stream/graph/operator.hpp is to the interpreter. The same bytes.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/pool.hpp>
#include <holdfast/stream/compile/runtime/several.hpp>
#include <holdfast/stream/compile/runtime/stored_entries.hpp>
#include <holdfast/stream/compile/runtime/table.hpp>

namespace holdfast::query {

// Whether the row is there from now on.
inline bool adds(Change change) {
  return change == Change::kInsert || change == Change::kUpdateAfter;
}

// ---- Late rows ----

// A row of this input of a node is late. `Definition`: kTellsLate, somebody wants to know it.
template <class Definition, class Row>
[[gnu::cold, gnu::noinline]] void drop_late(Run& run, std::uint64_t& late_rows, const Row& row,
                                            std::int64_t watermark, std::size_t input = 0) {
  ++late_rows;
  if constexpr (requires { Definition::kTellsLate; }) {
    const bool told = row.all().apply([&](const auto&... value) {
      const Slot slots[sizeof...(value) + 1] = {slot(value)...};
      return run.host.take_late(Definition::kNode, input, slots, watermark);
    });
    if (!told) run.failed = true;
  }
}

// ---- Rows ----

// As their bytes in the state would be compared.
template <class T>
int compare_bytes(const Maybe<T>& a, const Maybe<T>& b) {
  if (a.known != b.known) return a.known ? 1 : -1;
  if (!a.known) return 0;
  if constexpr (std::is_same_v<T, Text>) {
    const auto size = [](const Text& text) {
      return __builtin_bswap32(static_cast<std::uint32_t>(text.size));
    };
    if (a.value.size != b.value.size) return size(a.value) < size(b.value) ? -1 : 1;
    return a.value.size == 0 ? 0 : std::memcmp(a.value.data, b.value.data, a.value.size);
  } else if constexpr (std::is_same_v<T, double>) {
    const double x = canonical(a.value), y = canonical(b.value);
    return std::memcmp(&x, &y, sizeof x);
  } else {
    return std::memcmp(&a.value, &b.value, sizeof(T));
  }
}

// The columns of a row. Texts are anyone's.
template <class... Values>
class RowOf {
 public:
  static constexpr bool kTexts = (std::is_same_v<Values, Text> || ...);
  static constexpr std::size_t kColumns = sizeof...(Values);

  RowOf() = default;
  explicit RowOf(const Maybe<Values>&... values)
    requires(sizeof...(Values) > 0)
      : values_(values...) {}

  template <std::size_t kNumber>
  const auto& get() const {
    return values_.template get<kNumber>();
  }
  const auto& all() const { return values_; }
  void append(std::string& bytes) const {  // As a part of a key.
    values_.apply([&](const auto&... value) { (append_value(value, bytes), ...); });
  }
  void append_exactly(std::string& bytes) const {  // As state.
    values_.apply([&](const auto&... value) { (append_exact_value(value, bytes), ...); });
  }
  // Its texts point into `bytes`, which is what is left. False: they are no such row.
  bool take(Text& bytes) {
    return values_.apply([&](auto&... value) { return (take_value(bytes, value) && ...); });
  }
  std::uint64_t text_bytes() const {
    return values_.apply(
        [](const auto&... value) { return (std::uint64_t{0} + ... + size(value)); });
  }
  // Its texts are at `place` from now on.
  void move_texts(char* place) {
    const auto move = [&](auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value.value)>, Text>) {
        if (!value.known) return;
        if (value.value.size != 0) std::memcpy(place, value.value.data, value.value.size);
        value.value.data = place;
        place += value.value.size;
      }
    };
    values_.apply([&](auto&... value) { (move(value), ...); });
  }
  // Compares by bytes: -1, 0, 1. All that reads rows of a state compares so.
  static int compare(const RowOf& a, const RowOf& b) {
    return compare(a, b, std::index_sequence_for<Values...>());
  }
  // Compares by values: whether a reader of results takes them for the same.
  static bool equal(const RowOf& a, const RowOf& b) {
    return equal(a, b, std::index_sequence_for<Values...>());
  }

 private:
  template <class T>
  static std::uint64_t size(const Maybe<T>& value) {
    if constexpr (std::is_same_v<T, Text>)
      return value.known ? value.value.size : 0;
    else
      return 0;
  }
  template <std::size_t... kNumbers>
  static int compare(const RowOf& a, const RowOf& b, std::index_sequence<kNumbers...>) {
    int order = 0;
    static_cast<void>(
        (((order = compare_bytes(a.get<kNumbers>(), b.get<kNumbers>())) == 0) && ...));
    return order;
  }
  template <class T>
  static bool same_value(const Maybe<T>& a, const Maybe<T>& b) {
    return a.known == b.known && (!a.known || query::compare(a.value, b.value) == 0);
  }
  template <std::size_t... kNumbers>
  static bool equal(const RowOf& a, const RowOf& b, std::index_sequence<kNumbers...>) {
    return (same_value(a.get<kNumbers>(), b.get<kNumbers>()) && ...);
  }

  Several<Maybe<Values>...> values_;
};

// A row as it is kept: in few bytes. Its texts are anyone's.
template <class Row>
class Packed;
template <class... Values>
class Packed<RowOf<Values...>> {
 public:
  explicit Packed(const RowOf<Values...>& row) { set(row, std::index_sequence_for<Values...>()); }
  RowOf<Values...> row() const { return row(std::index_sequence_for<Values...>()); }
  std::uint64_t text_bytes() const { return row().text_bytes(); }
  // Its texts are at `place` from now on.
  void move_texts(char* place) {
    auto moved = row();
    moved.move_texts(place);
    *this = Packed(moved);
  }

 private:
  template <std::size_t... kNumbers>
  void set(const RowOf<Values...>& row, std::index_sequence<kNumbers...>) {
    ((values_.template get<kNumbers>() = row.template get<kNumbers>().value,
      known_[kNumbers / 8] |=
      static_cast<std::uint8_t>(row.template get<kNumbers>().known << kNumbers % 8)),
     ...);
  }
  template <std::size_t... kNumbers>
  RowOf<Values...> row(std::index_sequence<kNumbers...>) const {
    return RowOf<Values...>(Maybe<Values>{values_.template get<kNumbers>(),
                                          (known_[kNumbers / 8] >> kNumbers % 8 & 1) != 0}...);
  }

  Several<Values...> values_;
  std::uint8_t known_[sizeof...(Values) / 8 + 1] = {};  // A bit each.
};

// The columns of one row, then those of another.
template <class Row, class Left, class Right, std::size_t... kLeft, std::size_t... kRight>
[[gnu::always_inline]] inline Row beside(const Left& left, const Right& right,
                                         std::index_sequence<kLeft...>,
                                         std::index_sequence<kRight...>) {
  return Row(left.template get<kLeft>()..., right.template get<kRight>()...);
}
template <class Row, class Left, class Right>
[[gnu::always_inline]] inline Row beside(const Left& left, const Right& right) {
  return beside<Row>(left, right, std::make_index_sequence<Left::kColumns>(),
                     std::make_index_sequence<Right::kColumns>());
}
// The same with values.
template <class Row, class Left, class... More>
Row followed_by(const Left& left, const Maybe<More>&... more) {
  return left.all().apply([&](const auto&... value) { return Row(value..., more...); });
}

// A row with memory for its texts.
template <class Row>
class Kept {
 public:
  Kept() = default;
  explicit Kept(const Row& row) : row_(row) {
    if constexpr (Row::kTexts) {
      const auto bytes = row.text_bytes();
      if (bytes == 0) return;
      texts_ = std::make_unique_for_overwrite<char[]>(bytes);
      row_.move_texts(texts_.get());
    }
  }
  const Row& row() const { return row_; }

 private:
  struct Nothing {};
  Row row_;
  [[no_unique_address]] std::conditional_t<Row::kTexts, std::unique_ptr<char[]>, Nothing> texts_;
};

// The same, in a pool: release() gives back what it has there. All of it goes with the pool.
template <class Row>
class Pooled {
 public:
  Pooled() = default;
  Pooled(const Row& row, Pool& pool) : row_(row) {
    if constexpr (Row::kTexts) {
      const auto bytes = row.text_bytes();
      if (bytes == 0) return;
      texts_.place = static_cast<char*>(pool.take(bytes));
      row_.move_texts(texts_.place);
    }
  }
  void release(Pool& pool) {
    if constexpr (Row::kTexts) {
      if (texts_.place != nullptr) pool.give(texts_.place, row_.text_bytes());
    }
  }
  const Row& row() const { return row_; }

 private:
  struct Nothing {};
  struct Texts {
    char* place = nullptr;
  };
  Row row_;
  [[no_unique_address]] std::conditional_t<Row::kTexts, Texts, Nothing> texts_;
};

// Called after a node gave out rows because the watermark moved. No node has them any more, so
// texts that were made for them may go. Not called where a clock moves the watermark while other
// rows are on their way.
template <class Definition>
void forget_given(Run& run) {
  if constexpr (!requires { Definition::kFollowsClock; }) run.forget_texts();
}

// ---- State ----

// Slices of an operator begin here (graph_operators.cpp: kSlicesOfOperator).
constexpr std::int64_t first_slice(std::int64_t node) {
  return (node + 1) * (std::int64_t{1} << 50);
}
// Times are before and behind it.
constexpr std::int64_t node_of_slice(std::int64_t slice) {
  return ((slice + (std::int64_t{1} << 49)) >> 50) - 1;
}

// Values by key, each of which may go. `Key` is a KeyOf.
template <class Key, class Value>
class KeyedValues {
 public:
  struct Entry {
    Key key;
    Value value;
    [[no_unique_address]] typename Key::OwnTexts texts;
    bool used = false;
    bool noted = false;
  };

  std::size_t size() const { return entries_.size() - free_.size(); }
  // Without what keys and values have elsewhere.
  std::uint64_t bytes() const { return entries_.size() * sizeof(Entry) + index_.bytes(); }
  // None: null. Valid until the next at().
  Entry* find(const Key& key) { return find(key, key.hash()); }
  Entry* find(const Key& key, std::uint64_t hash) {
    const auto place = place_of(key, hash);
    return index_.is_free(place) ? nullptr : &entries_[index_.number(place) - 1];
  }
  // Made if there is none.
  Entry& at(const Key& key) { return at(key, key.hash()); }
  Entry& at(const Key& key, std::uint64_t hash) {
    auto place = place_of(key, hash);
    if (!index_.is_free(place)) return entries_[index_.number(place) - 1];
    if (size() * 2 >= index_.size()) {
      index_.grow(bytes_of_entries(), sizeof(Entry), hash_of);
      place = index_.find_free(hash);
    }
    const auto number = take_free();
    index_.put(place, hash, number);
    Entry& entry = entries_[number - 1];
    entry.key = key;
    entry.used = true;
    entry.texts = entry.key.own_texts();
    return entry;
  }
  // The entry of this number, if it has this key.
  Entry* of_number(std::uint32_t number, const Key& key) {
    if (number >= entries_.size()) return nullptr;
    auto& entry = entries_[number];
    return entry.used && entry.key == key ? &entry : nullptr;
  }
  // A number of the entry until it goes; then of another one, perhaps.
  std::uint32_t number_of(const Entry& entry) const {
    return static_cast<std::uint32_t>(&entry - entries_.data());
  }
  // None has it: null.
  Entry* of_number(std::uint32_t number) {
    return entries_[number].used ? &entries_[number] : nullptr;
  }
  // It is among those that the next checkpoint needs.
  void note(Entry& entry) {
    if (!std::exchange(entry.noted, true)) noted_.add(number_of(entry));
  }
  void erase(Entry& entry) {
    const auto place = place_of(entry.key, entry.key.hash());
    const auto number = index_.number(place);
    index_.remove(place, bytes_of_entries(), sizeof(Entry), hash_of);
    entry = Entry();
    free_.add(number);
  }
  // All that are there, in no order: visit(entry) -> go on.
  template <class Visit>
  bool for_each(const Visit& visit) {
    for (auto& entry : entries_) {
      if (entry.used && !visit(entry)) return false;
    }
    return true;
  }
  // Those that were noted since the last time; one that went, and came again, once.
  template <class Visit>
  bool for_each_noted(const Visit& visit) {
    for (const auto number : noted_) {
      auto& entry = entries_[number];
      if (std::exchange(entry.noted, false) && !visit(entry)) return false;
    }
    noted_.clear();
    return true;
  }

 private:
  static constexpr std::size_t kLeast = 64;

  std::size_t place_of(const Key& key, std::uint64_t hash) const {
    return index_.find(hash, [&](std::uint32_t number) { return entries_[number - 1].key == key; });
  }
  std::uint32_t take_free() {
    if (!free_.empty()) {
      const auto number = free_.back();
      free_.remove_last();
      return number;
    }
    if (entries_.size() == UINT32_MAX) throw std::bad_alloc();
    entries_.add();
    return static_cast<std::uint32_t>(entries_.size());
  }
  const std::byte* bytes_of_entries() const {
    return reinterpret_cast<const std::byte*>(entries_.data());
  }
  static std::uint64_t hash_of(const void* entry) {
    return static_cast<const Entry*>(entry)->key.hash();
  }

  EntryList<Entry> entries_;
  PlacesOfHashes index_{kLeast};
  EntryList<std::uint32_t> free_;
  EntryList<std::uint32_t> noted_;  // Some may be gone.
};

// The watermark behind an operator that gives out rows so much older than its own.
inline std::int64_t held_back(std::int64_t watermark, std::int64_t by) {
  return watermark == kNoTime || watermark == kEndOfTime ? watermark : watermark - by;
}

// The watermarks of an operator's inputs, and the least: its own.
template <std::size_t kInputs>
class Marks {
 public:
  Marks() {
    for (auto& input : inputs_)
      input = INT64_MIN;
  }
  std::int64_t now() const { return now_; }
  // The least of all, if it is above now().
  bool move(std::size_t input, std::int64_t watermark) {
    inputs_[input] = watermark;
    next_ = least();
    return next_ > now_;
  }
  std::int64_t next() const { return next_; }
  void settle() { now_ = next_; }
  std::int64_t set(const std::int64_t (&inputs)[kInputs]) {
    for (std::size_t i = 0; i < kInputs; ++i)
      inputs_[i] = inputs[i];
    return now_ = next_ = least();
  }

 private:
  std::int64_t least() const {
    auto least = inputs_[0];
    for (const auto input : inputs_)
      least = input < least ? input : least;
    return least;
  }

  std::int64_t inputs_[kInputs];
  std::int64_t now_ = INT64_MIN, next_ = INT64_MIN;
};

}  // namespace holdfast::query
