// graph_joins.hpp: joins of streams in a graph. What stream/graph/join_operators.cpp is to the
// interpreter: rows meet in the same order, and the state has the same bytes.
//
// A `Definition` is what the generated source says of its node:
//
//   kNode, kKind                          its number, its kind
//   Left, Right, Out                      rows of its sides, and what goes out
//   Key, left_key(row, run), right_key(row, run)
//   holds(left, right, run)               the condition beside the keys
//   give(graph, change, out)              to those that read it
//   left_end(row), right_end(row)         window_end, of a join of windows
#pragma once

#include <holdfast/stream/compile/runtime/bag.hpp>
#include <holdfast/stream/compile/runtime/slices.hpp>

namespace holdfast::query {

enum class JoinKind : std::uint8_t { kInner, kLeft, kRight, kFull, kSemi, kAnti };
enum class Side : std::uint8_t { kLeft, kRight };

// What all joins do alike.
template <class Definition>
struct JoinRules {
  using Left = typename Definition::Left;
  using Right = typename Definition::Right;
  using Out = typename Definition::Out;
  template <Side kSide>
  using RowOn = std::conditional_t<kSide == Side::kLeft, Left, Right>;

  static constexpr auto kKind = Definition::kKind;
  static constexpr bool kLeftAlone = kKind == JoinKind::kSemi || kKind == JoinKind::kAnti;
  static constexpr Side other(Side side) {
    return side == Side::kLeft ? Side::kRight : Side::kLeft;
  }
  // The rows of this side are shown also where they have no partner.
  static constexpr bool keeps(Side side) {
    return kKind == JoinKind::kFull ||
           kKind == (side == Side::kLeft ? JoinKind::kLeft : JoinKind::kRight);
  }
  template <Side kSide>
  static auto key(const RowOn<kSide>& row, Run& run) {
    if constexpr (kSide == Side::kLeft)
      return Definition::left_key(row, run);
    else
      return Definition::right_key(row, run);
  }
  template <Side kSide>
  static bool holds(const RowOn<kSide>& row, const RowOn<other(kSide)>& partner, Run& run) {
    if constexpr (kSide == Side::kLeft)
      return Definition::holds(row, partner, run);
    else
      return Definition::holds(partner, row, run);
  }
  template <Side kSide, class Graph>
  static void give_pair(Graph& graph, Change change, const RowOn<kSide>& row,
                        const RowOn<other(kSide)>& partner) {
    if constexpr (kLeftAlone)
      return;
    else if constexpr (kSide == Side::kLeft)
      Definition::give(graph, change, beside<Out>(row, partner));
    else
      Definition::give(graph, change, beside<Out>(partner, row));
  }
  // Beside NULLs.
  template <Side kSide, class Graph>
  static void give_alone(Graph& graph, Change change, const RowOn<kSide>& row) {
    give_pair<kSide>(graph, change, row, RowOn<other(kSide)>());
  }
};

// Each change of a side with all rows that the other side has.
//
// State, of each side  [key, row] -> how often it is there, how many partners it has.
template <class Definition>
class RegularJoin : JoinRules<Definition> {
  using Rules = JoinRules<Definition>;
  using Key = typename Definition::Key;
  template <Side kSide>
  using RowOn = typename Rules::template RowOn<kSide>;

 public:
  explicit RegularJoin(Run& run)
      : run_(run),
        stored_{StoredEntries(run.host, first_slice(Definition::kNode)),
                StoredEntries(run.host, first_slice(Definition::kNode) + 1)} {}

  template <Side kSide, class Graph>
  void take(Graph& graph, Change change, const RowOn<kSide>& row) {
    constexpr auto kOther = Rules::other(kSide);
    const Key key = Rules::template key<kSide>(row, run_);
    if (run_.failed) return;
    if (key.has_null()) return show_alone<kSide>(graph, change, row, 0);
    Entry& entry = pairs_.at(key);
    const auto partners = bag<kOther>(entry.value).in_order(memory_);
    matches_.clear();
    std::int64_t count = 0;
    for (std::uint32_t i = 0; i < partners.size(); ++i) {
      const bool matches = Rules::template holds<kSide>(row, partners[i]->row, run_);
      if (run_.failed) return;
      if (!matches) continue;
      count += partners[i]->count;
      matches_.push_back(i);
    }
    // A row that goes is no more there when its partners are told.
    keep<kSide>(entry, change, row, count);
    for (const auto number : matches_) {
      auto& partner = *partners[number];
      if (stored_of<kOther>().change(partner.mark)) pairs_.note(entry);
      meet<kSide>(graph, change, row, partner);
      if (run_.failed) return;
    }
    show_alone<kSide>(graph, change, row, count);
    if (entry.value.left.empty() && entry.value.right.empty()) pairs_.erase(entry);
  }

  bool adopt(const GraphEntry& entry) {
    if (entry.slice == first_slice(Definition::kNode)) return adopt_on<Side::kLeft>(entry);
    return adopt_on<Side::kRight>(entry);
  }
  bool put_state() {
    if (!stored_[0].put_gone() || !stored_[1].put_gone()) return false;
    const auto put_entry = [this](Entry& entry) { return put(entry); };
    return stored_[0].keeps() ? pairs_.for_each_noted(put_entry) : pairs_.for_each(put_entry);
  }
  static constexpr std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  struct Pair {
    Bag<typename Rules::Left> left;
    Bag<typename Rules::Right> right;
  };
  using Entry = typename KeyedValues<Key, Pair>::Entry;

  template <Side kSide>
  static auto& bag(Pair& pair) {
    if constexpr (kSide == Side::kLeft)
      return pair.left;
    else
      return pair.right;
  }
  template <Side kSide>
  StoredEntries& stored_of() {
    return stored_[static_cast<std::size_t>(kSide)];
  }
  template <class Row>
  static auto key_of(const Key& key, const Row& row) {
    return [&](std::string& bytes) {
      append_key_part(key, bytes);
      row.append(bytes);
    };
  }

  template <Side kSide>
  void keep(Entry& entry, Change change, const RowOn<kSide>& row, std::int64_t partners) {
    auto& rows = bag<kSide>(entry.value);
    auto& stored = stored_of<kSide>();
    if (adds(change)) {
      auto& mark = rows.add(memory_, row, 1, partners, {}).mark;
      stored.come(mark, key_of(entry.key, row));
      if (stored.change(mark)) pairs_.note(entry);
      return;
    }
    auto* const found = rows.find(memory_, row);
    if (found == nullptr) return;
    if (stored.change(found->mark)) pairs_.note(entry);
    if (--found->count != 0) return;
    stored.erase(found->mark, key_of(entry.key, row));
    rows.erase(memory_, *found);
  }
  // A row of `kSide` comes or goes, and is a partner of `other`.
  template <Side kSide, class Graph, class Item>
  void meet(Graph& graph, Change change, const RowOn<kSide>& row, Item& other) {
    constexpr auto kOther = Rules::other(kSide);
    const auto before = other.partners;
    other.partners += adds(change) ? 1 : -1;
    if constexpr (Rules::kLeftAlone) {
      if constexpr (kSide == Side::kRight) meet_semi(graph, before, change, other);
    } else {
      const bool alone_before = Rules::keeps(kOther) && adds(change) && before == 0;
      const bool alone_after = Rules::keeps(kOther) && !adds(change) && other.partners == 0;
      for (std::int64_t i = 0; i < other.count && !run_.failed; ++i) {
        if (alone_before) Rules::template give_alone<kOther>(graph, Change::kDelete, other.row);
        if (!run_.failed) Rules::template give_pair<kSide>(graph, change, row, other.row);
        if (alone_after && !run_.failed)
          Rules::template give_alone<kOther>(graph, Change::kInsert, other.row);
      }
    }
  }
  // The first partner of a left row comes, or its last goes.
  template <class Graph, class Item>
  void meet_semi(Graph& graph, std::int64_t before, Change change, Item& left) {
    if (adds(change) ? before != 0 : left.partners != 0) return;
    const bool shows = adds(change) == (Rules::kKind == JoinKind::kSemi);
    for (std::int64_t i = 0; i < left.count && !run_.failed; ++i)
      Definition::give(graph, shows ? Change::kInsert : Change::kDelete, left.row);
  }
  // A row that is shown without a partner's columns, because of how many it has.
  template <Side kSide, class Graph>
  void show_alone(Graph& graph, Change change, const RowOn<kSide>& row, std::int64_t partners) {
    if constexpr (Rules::kLeftAlone) {
      if constexpr (kSide == Side::kLeft) {
        if ((Rules::kKind == JoinKind::kSemi) == (partners > 0))
          Definition::give(graph, change, row);
      }
    } else if constexpr (Rules::keeps(kSide)) {
      if (partners == 0) Rules::template give_alone<kSide>(graph, change, row);
    }
  }

  template <Side kSide>
  bool adopt_on(const GraphEntry& entry) {
    Text key_bytes = entry.key, values, state = entry.state;
    if (state.size == 0) return stored_of<kSide>().adopt_gone(entry.key, entry.version), true;
    state = {state.data + 1, state.size - 1};
    Key key;
    RowOn<kSide> row;
    std::int64_t count = 0, partners = 0;
    if (!take_part(key_bytes, values) || !key.take(values) || !take_ordered(state, count) ||
        !take_ordered(state, partners) || !row.take(state) || state.size != 0)
      return false;
    auto& pair = pairs_.at(key);
    bag<kSide>(pair.value).add(memory_, row, count, partners, {entry.version, entry.changed});
    if (entry.changed) pairs_.note(pair);
    return true;
  }
  bool put(Entry& entry) { return put_on<Side::kLeft>(entry) && put_on<Side::kRight>(entry); }
  template <Side kSide>
  bool put_on(Entry& entry) {
    auto& stored = stored_of<kSide>();
    for (auto* const item : bag<kSide>(entry.value).in_order(memory_)) {
      if (stored.keeps() && !item->mark.changed) continue;
      const bool put =
          stored.put(item->mark, key_of(entry.key, item->row), [&](std::string& bytes) {
            append_ordered(item->count, bytes);
            append_ordered(item->partners, bytes);
            item->row.append(bytes);
          });
      if (!put) return false;
    }
    return true;
  }

  Run& run_;
  StoredEntries stored_[2];
  Pool memory_;  // Of the rows.
  KeyedValues<Key, Pair> pairs_;
  std::vector<std::uint32_t> matches_;
};

// Rows of one window with each other, when it has ended.
//
// State, of each side  [window_end, has NULL, key, number] -> row.
template <class Definition>
class WindowJoin : JoinRules<Definition> {
  using Rules = JoinRules<Definition>;
  template <Side kSide>
  using RowOn = typename Rules::template RowOn<kSide>;

 public:
  explicit WindowJoin(Run& run)
      : run_(run),
        stored_{StoredEntries(run.host, first_slice(Definition::kNode)),
                StoredEntries(run.host, first_slice(Definition::kNode) + 1)} {}

  template <Side kSide, class Graph>
  void take(Graph&, Change, const RowOn<kSide>& row) {
    const auto end = end_of<kSide>(row);
    if (!end.known) return static_cast<void>(++rows_without_time);
    if (end.value - 1 <= now_) return static_cast<void>(++late_rows);
    const auto key = Rules::template key<kSide>(row, run_);
    if (run_.failed) return;
    auto& item = rows_of<kSide>(windows_[end.value]).emplace_back();
    item.kept = Kept<RowOn<kSide>>(row);
    item.key.assign(1, key.has_null() ? '\1' : '\0');
    append_key_part(key, item.key);
    item.number = next_number_++;
    stored_[static_cast<std::size_t>(kSide)].change(item.mark);
  }
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    while (!windows_.empty() && windows_.begin()->first - 1 <= watermark && !run_.failed) {
      auto window = windows_.extract(windows_.begin());
      sort<Side::kLeft>(window.key(), window.mapped());
      sort<Side::kRight>(window.key(), window.mapped());
      join(graph, window.mapped());
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
  template <class Row>
  struct Item {
    Kept<Row> kept;
    std::string key;  // As the state has it between the window's end and the number.
    std::int64_t number = 0;
    Mark mark;
  };
  template <class Row>
  using Items = std::vector<Item<Row>>;
  struct Window {
    Items<typename Rules::Left> left;
    Items<typename Rules::Right> right;
  };

  template <Side kSide>
  static auto& rows_of(Window& window) {
    if constexpr (kSide == Side::kLeft)
      return window.left;
    else
      return window.right;
  }
  template <Side kSide>
  static Maybe<std::int64_t> end_of(const RowOn<kSide>& row) {
    if constexpr (kSide == Side::kLeft)
      return Definition::left_end(row);
    else
      return Definition::right_end(row);
  }
  template <class Row>
  static auto key_of(std::int64_t end, const Item<Row>& item) {
    return [end, &item](std::string& bytes) {
      append_ordered(end, bytes);
      bytes += item.key;
      append_ordered(item.number, bytes);
    };
  }

  // They leave the state.
  template <Side kSide>
  void sort(std::int64_t end, Window& window) {
    auto& items = rows_of<kSide>(window);
    for (const auto& item : items)
      stored_[static_cast<std::size_t>(kSide)].erase(item.mark, key_of(end, item));
    std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) {
      const int order = a.key.compare(b.key);
      return order != 0 ? order < 0 : a.number < b.number;
    });
  }
  // Key by key, those of both sides at once; NULL has no partner.
  template <class Graph>
  void join(Graph& graph, const Window& window) {
    std::size_t left = 0, right = 0;
    while ((left < window.left.size() || right < window.right.size()) && !run_.failed) {
      const bool of_left =
          right == window.right.size() ||
          (left < window.left.size() && window.left[left].key <= window.right[right].key);
      const auto key = of_left ? window.left[left].key : window.right[right].key;
      const auto left_end = end_of_key(window.left, left, key);
      const auto right_end = end_of_key(window.right, right, key);
      if (key.front() == '\0') {
        join(graph, window, {left, left_end}, {right, right_end});
      } else {
        join(graph, window, {left, left_end}, {right, right});
        join(graph, window, {left, left}, {right, right_end});
      }
      left = left_end, right = right_end;
    }
  }
  template <class Row>
  static std::size_t end_of_key(const Items<Row>& items, std::size_t from, const std::string& key) {
    while (from < items.size() && items[from].key == key)
      ++from;
    return from;
  }
  using Range = std::pair<std::size_t, std::size_t>;
  template <class Graph>
  void join(Graph& graph, const Window& window, Range lefts, Range rights) {
    std::vector<bool> matched(rights.second - rights.first);
    for (auto i = lefts.first; i < lefts.second && !run_.failed; ++i) {
      const auto& row = window.left[i].kept.row();
      const bool any = join_row(graph, row, window, rights, matched);
      if (run_.failed) return;
      if constexpr (Rules::kLeftAlone) {
        if (any == (Rules::kKind == JoinKind::kSemi)) Definition::give(graph, Change::kInsert, row);
      } else if (!any && Rules::keeps(Side::kLeft)) {
        Rules::template give_alone<Side::kLeft>(graph, Change::kInsert, row);
      }
    }
    for (auto i = rights.first; i < rights.second && !run_.failed; ++i) {
      if (Rules::keeps(Side::kRight) && !matched[i - rights.first])
        Rules::template give_alone<Side::kRight>(graph, Change::kInsert,
                                                 window.right[i].kept.row());
    }
  }
  template <class Graph>
  bool join_row(Graph& graph, const typename Rules::Left& row, const Window& window, Range rights,
                std::vector<bool>& matched) {
    bool any = false;
    for (auto i = rights.first; i < rights.second && !run_.failed; ++i) {
      const auto& partner = window.right[i].kept.row();
      if (!Definition::holds(row, partner, run_) || run_.failed) continue;
      any = matched[i - rights.first] = true;
      if (Rules::kLeftAlone) break;
      Rules::template give_pair<Side::kLeft>(graph, Change::kInsert, row, partner);
    }
    return any;
  }

  template <Side kSide>
  bool adopt_on(const GraphEntry& entry) {
    auto& stored = stored_[static_cast<std::size_t>(kSide)];
    if (entry.state.size == 0) return stored.adopt_gone(entry.key, entry.version), true;
    Text key = entry.key, state{entry.state.data + 1, entry.state.size - 1};
    std::int64_t end = 0;
    RowOn<kSide> row;
    // Behind the end: whether there is a NULL, the size of the key, the key, the number.
    if (!take_ordered(key, end) || key.size < 13 || !row.take(state) || state.size != 0)
      return false;
    auto& item = rows_of<kSide>(windows_[end]).emplace_back();
    item.kept = Kept<RowOn<kSide>>(row);
    item.key.assign(key.data, key.size - 8);
    Text number{key.data + key.size - 8, 8};
    take_ordered(number, item.number);
    item.mark = {entry.version, entry.changed};
    next_number_ = std::max(next_number_, item.number + 1);
    return true;
  }
  template <Side kSide>
  bool put_on() {
    auto& stored = stored_[static_cast<std::size_t>(kSide)];
    if (!stored.put_gone()) return false;
    for (auto& [end, window] : windows_) {
      for (auto& item : rows_of<kSide>(window)) {
        if (stored.keeps() && !item.mark.changed) continue;
        if (!stored.put(item.mark, key_of(end, item),
                        [&](std::string& bytes) { item.kept.row().append(bytes); }))
          return false;
      }
    }
    return true;
  }

  Run& run_;
  StoredEntries stored_[2];
  std::map<std::int64_t, Window> windows_;  // By their ends.
  std::int64_t next_number_ = 0;
  std::int64_t now_ = kNoTime;  // The watermark.
};

}  // namespace holdfast::query
