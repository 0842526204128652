// bag.hpp: rows of one key, as a join keeps them.
//
// Rows are in the order of their bytes, equal ones once, and counted. New ones are a list until the
// order is asked for, since most bags are seldom looked at. All memory is of a pool, and goes with
// it.
//
// Costs  add() O(1). find() and erase() compare O(log rows) rows, and move O(rows) pointers where a
//        row came or goes; after n rows came at once, find() sorts these and goes over all.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/changes.hpp>
#include <holdfast/stream/compile/runtime/pool.hpp>

namespace holdfast::query {

// ---- Pointers in the order of what they point to. Once in a query, whatever the bags have: a sort
// is what a compiler takes longest for ----

using IsBeforeAt = bool(const void* a, const void* b);

// Two parts that are in order, the second behind `middle`; equal ones stay as they are. `other` has
// room for the first.
inline void merge_parts(void** all, std::size_t middle, std::size_t count, void** other,
                        IsBeforeAt* is_before) {
  if (middle == 0 || middle == count || !is_before(all[middle], all[middle - 1])) return;
  std::copy(all, all + middle, other);
  std::size_t to = 0, second = middle;
  for (std::size_t first = 0; first < middle;) {
    const bool second_next = second < count && is_before(all[second], other[first]);
    all[to++] = second_next ? all[second++] : other[first++];
  }
}
[[gnu::noinline]] inline void sort_parts(void** all, std::size_t count, void** other,
                                         IsBeforeAt* is_before) {
  if (count < 2) return;
  const std::size_t middle = count / 2;
  sort_parts(all, middle, other, is_before);
  sort_parts(all + middle, count - middle, other, is_before);
  merge_parts(all, middle, count, other, is_before);
}
// The first `sorted` are in order. Then all are; equal ones stay as they are.
[[gnu::noinline]] inline void sort_behind(std::vector<void*>& all, std::size_t sorted,
                                          IsBeforeAt* is_before) {
  std::vector<void*> other(all.size());
  sort_parts(all.data() + sorted, all.size() - sorted, other.data(), is_before);
  merge_parts(all.data(), sorted, all.size(), other.data(), is_before);
}

// What a join knows of a row beside how often it is there.
template <class AnyMark>
struct Noted {
  std::int64_t partners = 0;
  [[no_unique_address]] AnyMark mark{};
};
// Where it need not know it.
struct NotNoted {
  NotNoted() = default;
  NotNoted(std::int64_t /*partners*/, NoMark) {}

  static constexpr std::int64_t partners = 0;
  static inline NoMark mark;
};

// The number of the group that pairs of a row were in last, where it is remembered.
struct GroupNumber {
  std::uint32_t value = ~std::uint32_t{0};
};
struct NoGroupNumber {};

template <class Row, class Notes = Noted<Mark>, class Group = NoGroupNumber>
class Bag {
 public:
  struct Item {
    Item* older;
    [[no_unique_address]] Packed<Row> packed;  // Its texts are behind the item.
    std::uint64_t times : 48;                  // In what the packed row leaves of a word.
    [[no_unique_address]] Notes notes;
    [[no_unique_address]] Group group;

    Item(Item* before, const Row& row, std::int64_t count, const Notes& known)
        : older(before),
          packed(row),
          times(static_cast<std::uint64_t>(count) & kMost),
          notes(known) {}
    Row row() const { return packed.row(); }
    std::int64_t count() const { return static_cast<std::int64_t>(times); }
    void add(std::int64_t more) { times = static_cast<std::uint64_t>(count() + more) & kMost; }

    static constexpr std::uint64_t kMost = ~std::uint64_t{0} >> 16;
  };

  bool empty() const { return fresh_ == nullptr && size_ == 0; }
  // Valid until the next call of another function.
  Item& add(Pool& pool, const Row& row, std::int64_t count, const Notes& notes) {
    auto* const place = pool.take(bytes_of(row));
    auto* const item = new (place) Item(fresh_, row, count, notes);
    if constexpr (Row::kTexts) item->packed.move_texts(reinterpret_cast<char*>(item + 1));
    return *(fresh_ = item);
  }
  std::span<Item* const> in_order(Pool& pool) {
    if (fresh_ != nullptr) settle(pool);
    return {data(), size_};
  }
  // None: null.
  Item* find(Pool& pool, const Row& row) {
    const auto items = in_order(pool);
    const std::size_t at = place_of(row);
    return is_at(at, row) ? items[at] : nullptr;
  }
  // An item that find() or in_order() gave.
  void erase(Pool& pool, Item& item) {
    remove(pool, place_of(item.row()));
    release(pool, item);
  }

 private:
  static const Item& item_at(const void* place) { return *static_cast<const Item*>(place); }
  static std::size_t bytes_of(const Row& row) { return sizeof(Item) + row.text_bytes(); }
  static void release(Pool& pool, Item& item) { pool.give(&item, bytes_of(item.row())); }
  static std::size_t room(std::size_t size) { return std::bit_ceil(size) * sizeof(Item*); }
  Item** data() { return size_ > 1 ? many_ : &one_; }
  // Where a row stands, or would.
  std::size_t place_of(const Row& row) {
    const auto less = [](const Item* item, const Row& key) {
      return Row::compare(item->row(), key) < 0;
    };
    return static_cast<std::size_t>(std::lower_bound(data(), data() + size_, row, less) - data());
  }
  bool is_at(std::size_t at, const Row& row) {
    return at < size_ && Row::compare(data()[at]->row(), row) == 0;
  }
  void insert(Pool& pool, std::size_t at, Item* item) {
    Item** const from = data();
    const bool moves = size_ == 1 || room(size_) != room(size_ + 1);
    Item** const to = moves ? static_cast<Item**>(pool.take(room(size_ + 1))) : from;
    std::copy_backward(from + at, from + size_, to + size_ + 1);
    if (moves) std::copy(from, from + at, to);
    to[at] = item;
    keep(pool, to, size_ + 1);
  }
  void remove(Pool& pool, std::size_t at) {
    Item** const from = data();
    const bool moves = size_ > 2 && room(size_) != room(size_ - 1);
    Item** const to = moves ? static_cast<Item**>(pool.take(room(size_ - 1))) : from;
    if (moves) std::copy(from, from + at, to);
    std::copy(from + at + 1, from + size_, to + at);
    keep(pool, to, size_ - 1);
  }
  // The items stand at `items` now: the room that they had, or another of the pool's.
  void keep(Pool& pool, Item** items, std::size_t size) {
    Item** const had = size_ > 1 ? many_ : nullptr;
    const std::size_t had_room = room(size_);
    size_ = static_cast<std::uint32_t>(size);
    if (size > 1) {
      many_ = items;
    } else if (size == 1) {
      one_ = *items;
    }
    if (had != nullptr && (size < 2 || items != had)) pool.give(had, had_room);
  }

  [[gnu::noinline]] void settle(Pool& pool) {
    if (size_ == 0 && fresh_->older == nullptr) {
      one_ = std::exchange(fresh_, nullptr);
      size_ = 1;
      return;
    }
    if (fresh_->older == nullptr) {
      auto* const item = std::exchange(fresh_, nullptr);
      const std::size_t at = place_of(item->row());
      return is_at(at, item->row()) ? add_to(pool, *data()[at], *item) : insert(pool, at, item);
    }
    std::vector<void*> all(data(), data() + size_);
    for (auto* item = std::exchange(fresh_, nullptr); item != nullptr; item = item->older)
      all.push_back(item);
    std::reverse(all.begin() + size_, all.end());
    sort_behind(all, size_, [](const void* a, const void* b) {
      return Row::compare(item_at(a).row(), item_at(b).row()) < 0;
    });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < all.size(); ++i) {
      auto& last = *static_cast<Item*>(all[kept]);
      auto& item = *static_cast<Item*>(all[i]);
      if (Row::compare(last.row(), item.row()) == 0)
        add_to(pool, last, item);
      else
        all[++kept] = &item;
    }
    const std::size_t size = kept + 1;
    auto* one = static_cast<Item*>(all.front());
    Item** const items = size > 1 ? static_cast<Item**>(pool.take(room(size))) : &one;
    for (std::size_t i = 0; i < size; ++i)
      items[i] = static_cast<Item*>(all[i]);
    keep(pool, items, size);
  }
  // The same row, which came later: the store may know of the first.
  static void add_to(Pool& pool, Item& first, Item& later) {
    first.add(later.count());
    first.notes.mark.change_with(later.notes.mark);
    release(pool, later);
  }

  Item* fresh_ = nullptr;  // The newest of those that have no place yet.
  union {
    Item* one_ = nullptr;  // If size_ is 1;
    Item** many_;          // if it is more.
  };
  std::uint32_t size_ = 0;
};

}  // namespace holdfast::query
