// window_join.hpp: a join of rows of one window with each other, when the window has ended. What
// WindowJoin is to the interpreter (stream/graph/join_operators.hpp): the same rows in the same
// order, and the same bytes in the state.
//
// A `Definition` is as of join_rules.hpp.
//
// State, of each side  [window_end, has NULL, key, number] -> row.
// Order  By has NULL, then the keys' bytes: in a key the left rows as they came, each with its
//        partners as they came, then right rows that are shown alone.
// Costs  O(1) for a row; at the end of a window O(rows) and the pairs that are compared.
#pragma once

#include <holdfast/stream/compile/runtime/join_rules.hpp>
#include <holdfast/stream/compile/runtime/slices.hpp>

namespace holdfast::query {

// The rows of one window, by key.
template <class Key, class Left, class Right>
class WindowRows {
 public:
  template <class Row>
  struct Item {
    Row row;  // Its texts are in the window's memory.
    std::int64_t number;
    Mark mark{};
    std::uint32_t next = 0;  // Of its key, counted from 1; 0: it is the last.
  };
  template <Side kSide>
  using ItemOn = Item<std::conditional_t<kSide == Side::kLeft, Left, Right>>;

  // The rows of one key on one side.
  struct List {
    std::uint32_t first = 0, last = 0;
  };
  struct Lists {
    List left, right;
  };
  template <Side kSide, class AnyLists>
  static auto& list(AnyLists& lists) {
    if constexpr (kSide == Side::kLeft)
      return lists.left;
    else
      return lists.right;
  }

  // Numbers only grow, but for rows of a state. Valid until the next call.
  template <Side kSide, class Row>
  Item<Row>& add(const Key& key, const Row& row, std::int64_t number) {
    auto& all = items<kSide>();
    if (all.size() == UINT32_MAX) throw std::bad_alloc();
    all.push_back({row, number});
    auto& item = all.back();
    if constexpr (Row::kTexts) item.row.move_texts(texts_.take(row.text_bytes()));
    append<kSide>(list<kSide>(keys_.at(key, key.hash())));
    return item;
  }
  template <Side kSide>
  auto& item(std::uint32_t number) {
    return items<kSide>()[number - 1];
  }
  // visit(key, item) for each of this side -> go on.
  template <Side kSide, class Visit>
  bool for_each(const Visit& visit) {
    for (const auto& entry : keys_.entries()) {
      for (auto at = list<kSide>(entry.state).first; at != 0; at = item<kSide>(at).next) {
        if (!visit(entry.key, item<kSide>(at))) return false;
      }
    }
    return true;
  }
  const Table<Key, Lists>& keys() const { return keys_; }

 private:
  template <Side kSide>
  auto& items() {
    if constexpr (kSide == Side::kLeft)
      return left_;
    else
      return right_;
  }
  // The newest item, to the list of its key.
  template <Side kSide>
  void append(List& list) {
    auto& all = items<kSide>();
    const auto added = static_cast<std::uint32_t>(all.size());
    if (list.last == 0) {
      list = {added, added};
    } else if (item<kSide>(list.last).number < all.back().number) {
      item<kSide>(list.last).next = added;
      list.last = added;
    } else {  // A state gives its rows in any order.
      auto* place = &list.first;
      while (*place != 0 && item<kSide>(*place).number < all.back().number)
        place = &item<kSide>(*place).next;
      all.back().next = *place;
      *place = added;
    }
  }

  Table<Key, Lists> keys_;
  std::vector<ItemOn<Side::kLeft>> left_;
  std::vector<ItemOn<Side::kRight>> right_;
  TextArena texts_;
};

template <class Definition>
class WindowJoin : JoinRules<Definition> {
  using Rules = JoinRules<Definition>;
  using Key = typename Definition::Key;
  using Window = WindowRows<Key, typename Rules::Left, typename Rules::Right>;
  template <Side kSide>
  using RowOn = typename Rules::template RowOn<kSide>;

 public:
  explicit WindowJoin(Run& run)
      : run_(run),
        stored_{StoredEntries<Definition>(run.host, first_slice(Definition::kNode)),
                StoredEntries<Definition>(run.host, first_slice(Definition::kNode) + 1)} {}

  template <Side kSide, class Graph>
  void take(Graph&, Change, const RowOn<kSide>& row) {
    const auto end = end_of<kSide>(row);
    if (!end.known) return static_cast<void>(++rows_without_time);
    if (end.value - 1 <= now_) return static_cast<void>(++late_rows);
    const auto key = Rules::template key<kSide>(row, run_);
    if (run_.failed) return;
    auto& item = window_at(end.value).template add<kSide>(key, row, next_number_++);
    stored_of<kSide>().change(item.mark);
  }
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    while (!windows_.empty() && windows_.begin()->first - 1 <= watermark && !run_.failed) {
      newest_ = nullptr;
      auto window = windows_.extract(windows_.begin());
      leave_state<Side::kLeft>(window.key(), window.mapped());
      leave_state<Side::kRight>(window.key(), window.mapped());
      join_window(graph, window.mapped());
      if constexpr (Rules::Left::kTexts || Rules::Right::kTexts) run_.flush();  // Of the window.
    }
    now_ = watermark;
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  bool adopt(const GraphEntry& entry) {
    if (entry.slice == first_slice(Definition::kNode)) return adopt_on<Side::kLeft>(entry);
    return adopt_on<Side::kRight>(entry);
  }
  bool put_state() { return put_on<Side::kLeft>() && put_on<Side::kRight>(); }

  std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  template <Side kSide>
  StoredEntries<Definition>& stored_of() {
    return stored_[static_cast<std::size_t>(kSide)];
  }
  Window& window_at(std::int64_t end) {
    if (newest_ == nullptr || newest_end_ != end) {
      newest_ = &windows_[end];
      newest_end_ = end;
    }
    return *newest_;
  }
  template <Side kSide>
  static Maybe<std::int64_t> end_of(const RowOn<kSide>& row) {
    if constexpr (kSide == Side::kLeft)
      return Definition::left_end(row);
    else
      return Definition::right_end(row);
  }

  // ---- The end of a window ----

  template <class Graph>
  void join_window(Graph& graph, Window& window) {
    const auto join = [&](const auto& entry) {
      join_key(graph, window, entry.state.left.first, entry.state.right.first);
      forget_given<Definition>(run_);
      return !run_.failed;
    };
    const auto shows = [](const auto& entry) {
      return !entry.key.has_null() && may_show(entry.state);
    };
    // As of append_key_part: where all keys have as many bytes, their number says nothing.
    const auto append = [](const Key& key, std::string& bytes) {
      if constexpr (Key::kFixedBytes != 0)
        key.append(bytes);
      else
        append_key_part(key, bytes);
    };
    if (visit_in_order(window.keys(), shows, append, places_, join)) show_nulls(graph, window);
  }
  // NULL has no partner.
  template <class Graph>
  void show_nulls(Graph& graph, Window& window) {
    if constexpr (!shows_alone(Side::kLeft) && !shows_alone(Side::kRight)) return;
    std::map<std::string, typename Window::Lists> by_key;
    for (const auto& [key, lists] : window.keys().entries()) {
      if (!key.has_null()) continue;
      std::string bytes;
      append_key_part(key, bytes);
      by_key.emplace(std::move(bytes), lists);
    }
    for (const auto& [key, lists] : by_key) {
      join_key(graph, window, lists.left.first, 0);
      join_key(graph, window, 0, lists.right.first);
    }
  }
  // Whether a row of this side is shown where it has no partner.
  static constexpr bool shows_alone(Side side) {
    return Rules::keeps(side) || (side == Side::kLeft && Rules::kKind == JoinKind::kAnti);
  }
  static bool may_show(const typename Window::Lists& lists) {
    const bool left = lists.left.first != 0, right = lists.right.first != 0;
    return (left && right) || (left && shows_alone(Side::kLeft)) ||
           (right && shows_alone(Side::kRight));
  }
  template <class Graph>
  void join_key(Graph& graph, Window& window, std::uint32_t left, std::uint32_t right) {
    matched_.clear();
    for (auto at = left; at != 0 && !run_.failed; at = window.template item<Side::kLeft>(at).next) {
      const auto& row = window.template item<Side::kLeft>(at).row;
      const bool any = join_row(graph, window, row, right);
      if (run_.failed) return;
      if constexpr (Rules::kLeftAlone) {
        if (any == (Rules::kKind == JoinKind::kSemi)) Definition::give(graph, Change::kInsert, row);
      } else if (Rules::keeps(Side::kLeft)) {
        if (!any) Rules::template give_alone<Side::kLeft>(graph, Change::kInsert, row);
      }
    }
    if constexpr (Rules::keeps(Side::kRight)) {
      std::size_t i = 0;
      for (auto at = right; at != 0 && !run_.failed; ++i) {
        const auto& item = window.template item<Side::kRight>(at);
        if (i >= matched_.size() || !matched_[i])
          Rules::template give_alone<Side::kRight>(graph, Change::kInsert, item.row);
        at = item.next;
      }
    }
  }
  // With all partners of its key. Whether it has any.
  template <class Graph>
  bool join_row(Graph& graph, Window& window, const typename Rules::Left& row,
                std::uint32_t right) {
    bool any = false;
    std::size_t i = 0;
    for (auto at = right; at != 0 && !run_.failed; ++i) {
      const auto& partner = window.template item<Side::kRight>(at);
      at = partner.next;
      if (Rules::keeps(Side::kRight) && i == matched_.size()) matched_.push_back(false);
      if (!Definition::holds(row, partner.row, run_) || run_.failed) continue;
      any = true;
      if constexpr (Rules::keeps(Side::kRight)) matched_[i] = true;
      if (Rules::kLeftAlone) break;
      Rules::template give_pair<Side::kLeft>(graph, Change::kInsert, row, partner.row);
    }
    return any;
  }

  // ---- State ----

  static auto key_of(std::int64_t end, const Key& key, std::int64_t number) {
    return [=, &key](std::string& bytes) {
      append_ordered(end, bytes);
      bytes += key.has_null() ? '\1' : '\0';
      append_key_part(key, bytes);
      append_ordered(number, bytes);
    };
  }
  template <Side kSide>
  void leave_state(std::int64_t end, Window& window) {
    auto& stored = stored_of<kSide>();
    if (!stored.keeps()) return;
    window.template for_each<kSide>([&](const Key& key, const auto& item) {
      stored.erase(item.mark, key_of(end, key, item.number));
      return true;
    });
  }
  template <Side kSide>
  bool adopt_on(const GraphEntry& entry) {
    if (entry.state.size == 0) return stored_of<kSide>().adopt_gone(entry.key, entry.version), true;
    Text bytes = entry.key, state = entry.state, key_bytes;
    Mark mark{entry.version, entry.changed};
    std::int64_t end = 0, number = 0;
    RowOn<kSide> row;
    Key key;
    if (!take_ordered(bytes, end) || bytes.size == 0 ||
        !stored_of<kSide>().take_begin(state, mark) || !row.take(state) || state.size != 0)
      return false;
    bytes = {bytes.data + 1, bytes.size - 1};  // Whether there is a NULL, the key says itself.
    if (!take_part(bytes, key_bytes) || !key.take(key_bytes) || !take_ordered(bytes, number) ||
        bytes.size != 0)
      return false;
    auto& item = window_at(end).template add<kSide>(key, row, number);
    item.mark = mark;
    next_number_ = std::max(next_number_, number + 1);
    return true;
  }
  template <Side kSide>
  bool put_on() {
    auto& stored = stored_of<kSide>();
    if (!stored.put_gone()) return false;
    for (auto& [end, window] : windows_) {
      const bool put = window.template for_each<kSide>([&, end = end](const Key& key, auto& item) {
        if (stored.keeps() && !item.mark.changed) return true;
        return stored.put(item.mark, key_of(end, key, item.number),
                          [&](std::string& bytes) { item.row.append_exactly(bytes); });
      });
      if (!put) return false;
    }
    return true;
  }

  Run& run_;
  StoredEntries<Definition> stored_[2];
  std::map<std::int64_t, Window> windows_;  // By their ends.
  Window* newest_ = nullptr;                // That of the last row.
  std::int64_t newest_end_ = 0;
  std::int64_t next_number_ = 0;
  std::int64_t now_ = kNoTime;  // The watermark.
  std::vector<bool> matched_;   // Right rows of one key.
  Places places_;
};

}  // namespace holdfast::query
