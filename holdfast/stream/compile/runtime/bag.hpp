// bag.hpp: rows of one key, as a join keeps them.
//
// Rows are in the order of their bytes, equal ones once, and counted. New ones are a list until the
// order is asked for, since most bags are seldom looked at. All memory is of a pool, and goes with
// it.
//
// Costs  add() O(1). find() and erase() O(rows) in the size of a pointer.
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

template <class Row>
class Bag {
 public:
  struct Item {
    Row row;  // Its texts are behind the item.
    std::int64_t count = 1, partners = 0;
    Mark mark{};
    Item* older = nullptr;
  };

  bool empty() const { return fresh_ == nullptr && size_ == 0; }
  // Valid until the next call of another function.
  Item& add(Pool& pool, const Row& row, std::int64_t count, std::int64_t partners, Mark mark) {
    auto* const place = pool.take(bytes_of(row));
    auto* const item = new (place) Item{row, count, partners, mark, fresh_};
    item->row.move_texts(reinterpret_cast<char*>(item + 1));
    return *(fresh_ = item);
  }
  std::span<Item* const> in_order(Pool& pool) {
    if (fresh_ != nullptr) settle(pool);
    return {data(), size_};
  }
  // None: null.
  Item* find(Pool& pool, const Row& row) {
    const auto items = in_order(pool);
    const auto found = std::lower_bound(
        items.begin(), items.end(), row,
        [](const Item* item, const Row& key) { return Row::compare(item->row, key) < 0; });
    if (found == items.end() || Row::compare((*found)->row, row) != 0) return nullptr;
    return *found;
  }
  void erase(Pool& pool, Item& item) {
    const auto items = in_order(pool);
    if (items.size() == 1) {
      size_ = 0;
    } else {
      std::vector<Item*> left(items.begin(), items.end());
      left.erase(std::find(left.begin(), left.end(), &item));
      assign(pool, left);
    }
    release(pool, item);
  }

 private:
  static bool before(const Item* a, const Item* b) { return Row::compare(a->row, b->row) < 0; }
  static std::size_t bytes_of(const Row& row) { return sizeof(Item) + row.text_bytes(); }
  static void release(Pool& pool, Item& item) { pool.give(&item, bytes_of(item.row)); }
  Item* const* data() const { return size_ > 1 ? many_ : &one_; }

  // A row that came again adds to the one before it, of which the store may know.
  [[gnu::noinline]] void settle(Pool& pool) {
    if (size_ == 0 && fresh_->older == nullptr) {
      one_ = std::exchange(fresh_, nullptr);
      size_ = 1;
      return;
    }
    std::vector<Item*> all(data(), data() + size_);
    for (auto* item = std::exchange(fresh_, nullptr); item != nullptr; item = item->older)
      all.push_back(item);
    const auto middle = all.begin() + size_;
    std::reverse(middle, all.end());
    std::stable_sort(middle, all.end(), before);
    std::inplace_merge(all.begin(), middle, all.end(), before);
    std::size_t kept = 0;
    for (std::size_t i = 1; i < all.size(); ++i) {
      auto& last = *all[kept];
      if (Row::compare(last.row, all[i]->row) == 0) {
        last.count += all[i]->count;
        last.mark.changed = last.mark.changed || all[i]->mark.changed;
        release(pool, *all[i]);
      } else {
        all[++kept] = all[i];
      }
    }
    all.resize(kept + 1);
    assign(pool, all);
  }
  void assign(Pool& pool, const std::vector<Item*>& items) {
    const auto room = [](std::size_t size) { return std::bit_ceil(size) * sizeof(Item*); };
    if (size_ > 1 && (items.size() < 2 || room(size_) != room(items.size())))
      pool.give(many_, room(size_)), size_ = 0;
    if (items.size() == 1) one_ = items.front();
    if (items.size() > 1) {
      if (size_ < 2) many_ = static_cast<Item**>(pool.take(room(items.size())));
      std::copy(items.begin(), items.end(), many_);
    }
    size_ = static_cast<std::uint32_t>(items.size());
  }

  Item* fresh_ = nullptr;  // The newest of those that have no place yet.
  union {
    Item* one_ = nullptr;  // If size_ is 1;
    Item** many_;          // if it is more.
  };
  std::uint32_t size_ = 0;
};

}  // namespace holdfast::query
