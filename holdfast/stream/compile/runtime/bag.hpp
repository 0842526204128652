// bag.hpp: rows of one key, as a join keeps them.
//
// Rows are in the order of their bytes, equal ones once, and counted. New ones are a list until the
// order is asked for, since most bags are seldom looked at. All memory is of a pool, and goes with
// it.
//
// Costs  add() O(1). find() and erase() compare O(log rows) rows, and move O(rows) pointers where a
//        row came or goes; after n rows came at once, find() sorts these and goes over all.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include <holdfast/stream/compile/runtime/apart.hpp>
#include <holdfast/stream/compile/runtime/changes.hpp>
#include <holdfast/stream/compile/runtime/pool.hpp>

#ifndef HOLDFAST_APART
#include <algorithm>
#include <bit>
#include <vector>
#endif

namespace holdfast::query {

// Items whatever their rows are: all that is done with them but to make them, and to compare them.
class AnyBag {
 public:
  struct AnyItem {
    AnyItem* older;
  };
  struct Rules {
    int (*compare)(const AnyItem& a, const AnyItem& b);  // Their rows.
    int (*compare_with)(const AnyItem& item, const void* row);
    void (*add_to)(Pool& pool, AnyItem& first, AnyItem& later);  // The later one goes.
  };

  bool empty() const { return fresh_ == nullptr && size_ == 0; }

 protected:
  void add(AnyItem* item) { fresh_ = item; }
  AnyItem* newest() const { return fresh_; }
  // Valid until the next call of another function.
  std::span<AnyItem* const> in_order(Pool& pool, const Rules& rules) {
    if (fresh_ != nullptr) settle(pool, rules);
    return {data(), size_};
  }
  // None: null.
  AnyItem* find(Pool& pool, const Rules& rules, const void* row);
  // An item that find() or in_order() gave; its memory is the caller's.
  void remove(Pool& pool, const Rules& rules, const AnyItem& item);

 private:
  static std::size_t room(std::size_t size);
  AnyItem** data() { return size_ > 1 ? many_ : &one_; }
  void settle(Pool& pool, const Rules& rules);
  void settle_many(Pool& pool, const Rules& rules);
  template <class IsBefore>
  std::size_t count_before(const IsBefore& is_before);
  void insert(Pool& pool, std::size_t at, AnyItem* item);
  void keep(Pool& pool, AnyItem** items, std::size_t size);

  AnyItem* fresh_ = nullptr;  // The newest of those that have no place yet.
  union {
    AnyItem* one_ = nullptr;  // If size_ is 1;
    AnyItem** many_;          // if it is more.
  };
  std::uint32_t size_ = 0;
};

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
class Bag : public AnyBag {
 public:
  struct Item : AnyItem {
    [[no_unique_address]] Packed<Row> packed;  // Its texts are behind the item.
    std::uint64_t times : 48;                  // In what the packed row leaves of a word.
    [[no_unique_address]] Notes notes;
    [[no_unique_address]] Group group;

    Item(AnyItem* before, const Row& row, std::int64_t count, const Notes& known)
        : AnyItem{before},
          packed(row),
          times(static_cast<std::uint64_t>(count) & kMost),
          notes(known) {}
    Row row() const { return packed.row(); }
    std::int64_t count() const { return static_cast<std::int64_t>(times); }
    void add(std::int64_t more) { times = static_cast<std::uint64_t>(count() + more) & kMost; }

    static constexpr std::uint64_t kMost = ~std::uint64_t{0} >> 16;
  };
  // Items in the order of their rows.
  class Items {
   public:
    explicit Items(std::span<AnyItem* const> items) : items_(items) {}

    struct Iterator {
      AnyItem* const* at;
      Item* operator*() const { return static_cast<Item*>(*at); }
      Iterator& operator++() { return ++at, *this; }
      bool operator==(const Iterator& other) const { return at == other.at; }
    };
    Iterator begin() const { return {items_.data()}; }
    Iterator end() const { return {items_.data() + items_.size()}; }
    std::size_t size() const { return items_.size(); }
    Item* operator[](std::size_t number) const { return static_cast<Item*>(items_[number]); }

   private:
    std::span<AnyItem* const> items_;
  };

  // Valid until the next call of another function.
  Item& add(Pool& pool, const Row& row, std::int64_t count, const Notes& notes) {
    auto* const place = pool.take(bytes_of(row));
    auto* const item = new (place) Item(newest(), row, count, notes);
    if constexpr (Row::kTexts) item->packed.move_texts(reinterpret_cast<char*>(item + 1));
    AnyBag::add(item);
    return *item;
  }
  Items in_order(Pool& pool) { return Items(AnyBag::in_order(pool, kRules)); }
  // None: null.
  Item* find(Pool& pool, const Row& row) {
    return static_cast<Item*>(AnyBag::find(pool, kRules, &row));
  }
  // An item that find() or in_order() gave.
  void erase(Pool& pool, Item& item) {
    remove(pool, kRules, item);
    release(pool, item);
  }

 private:
  static const Item& of(const AnyItem& item) { return static_cast<const Item&>(item); }
  static std::size_t bytes_of(const Row& row) { return sizeof(Item) + row.text_bytes(); }
  static void release(Pool& pool, Item& item) { pool.give(&item, bytes_of(item.row())); }

  static int compare(const AnyItem& a, const AnyItem& b) {
    return Row::compare(of(a).row(), of(b).row());
  }
  static int compare_with(const AnyItem& item, const void* row) {
    return Row::compare(of(item).row(), *static_cast<const Row*>(row));
  }
  // The same row, which came later: the store may know of the first.
  static void add_to(Pool& pool, AnyItem& first, AnyItem& later) {
    auto& item = static_cast<Item&>(first);
    item.add(of(later).count());
    item.notes.mark.change_with(of(later).notes.mark);
    release(pool, static_cast<Item&>(later));
  }
  static constexpr Rules kRules = {compare, compare_with, add_to};
};

#ifndef HOLDFAST_APART

HF_APART AnyBag::AnyItem* AnyBag::find(Pool& pool, const Rules& rules, const void* row) {
  const auto items = in_order(pool, rules);
  const auto at = count_before([&](const auto& item) { return rules.compare_with(item, row) < 0; });
  return at < items.size() && rules.compare_with(*items[at], row) == 0 ? items[at] : nullptr;
}
HF_APART void AnyBag::remove(Pool& pool, const Rules& rules, const AnyItem& item) {
  const auto at = count_before([&](const auto& other) { return rules.compare(other, item) < 0; });
  AnyItem** const from = data();
  const bool moves = size_ > 2 && room(size_) != room(size_ - 1);
  AnyItem** const to = moves ? static_cast<AnyItem**>(pool.take(room(size_ - 1))) : from;
  if (moves) std::copy(from, from + at, to);
  std::copy(from + at + 1, from + size_, to + at);
  keep(pool, to, size_ - 1);
}
HF_APART std::size_t AnyBag::room(std::size_t size) {
  return std::bit_ceil(size) * sizeof(AnyItem*);
}
template <class IsBefore>
std::size_t AnyBag::count_before(const IsBefore& is_before) {
  const auto* const end = std::partition_point(
      data(), data() + size_, [&](const AnyItem* item) { return is_before(*item); });
  return static_cast<std::size_t>(end - data());
}
HF_APART void AnyBag::insert(Pool& pool, std::size_t at, AnyItem* item) {
  AnyItem** const from = data();
  const bool moves = size_ == 1 || room(size_) != room(size_ + 1);
  AnyItem** const to = moves ? static_cast<AnyItem**>(pool.take(room(size_ + 1))) : from;
  std::copy_backward(from + at, from + size_, to + size_ + 1);
  if (moves) std::copy(from, from + at, to);
  to[at] = item;
  keep(pool, to, size_ + 1);
}
// The items stand at `items` now: the room that they had, or another of the pool's.
HF_APART void AnyBag::keep(Pool& pool, AnyItem** items, std::size_t size) {
  AnyItem** const had = size_ > 1 ? many_ : nullptr;
  const std::size_t had_room = room(size_);
  size_ = static_cast<std::uint32_t>(size);
  if (size > 1) {
    many_ = items;
  } else if (size == 1) {
    one_ = *items;
  }
  if (had != nullptr && (size < 2 || items != had)) pool.give(had, had_room);
}
HF_APART void AnyBag::settle(Pool& pool, const Rules& rules) {
  if (fresh_->older != nullptr) return settle_many(pool, rules);
  auto& item = *std::exchange(fresh_, nullptr);
  if (size_ == 0) {
    one_ = &item;
    size_ = 1;
    return;
  }
  const auto at = count_before([&](const auto& other) { return rules.compare(other, item) < 0; });
  if (at < size_ && rules.compare(*data()[at], item) == 0)
    return rules.add_to(pool, *data()[at], item);
  insert(pool, at, &item);
}
// Equal rows stay as they came.
HF_APART void AnyBag::settle_many(Pool& pool, const Rules& rules) {
  const auto is_before = [&](const AnyItem* a, const AnyItem* b) {
    return rules.compare(*a, *b) < 0;
  };
  std::vector<AnyItem*> all(data(), data() + size_);
  for (auto* item = std::exchange(fresh_, nullptr); item != nullptr; item = item->older)
    all.push_back(item);
  const auto fresh = all.begin() + size_;
  std::reverse(fresh, all.end());
  std::stable_sort(fresh, all.end(), is_before);
  std::inplace_merge(all.begin(), fresh, all.end(), is_before);
  std::size_t size = 1;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (rules.compare(*all[size - 1], *all[i]) == 0)
      rules.add_to(pool, *all[size - 1], *all[i]);
    else
      all[size++] = all[i];
  }
  AnyItem** const items = size > 1 ? static_cast<AnyItem**>(pool.take(room(size))) : &all.front();
  if (size > 1) std::copy_n(all.begin(), size, items);
  keep(pool, items, size);
}

#endif

}  // namespace holdfast::query
