// window_join.hpp: a join of rows of one window with each other, when the window has ended. What
// WindowJoin is to the interpreter (stream/graph/join_operators.hpp): the same rows in the same
// order, and the same bytes in the state.
//
// A `Definition` is as of join_rules.hpp.
//
// State, of each side  [window_end, has NULL, key, number] -> row; numbers: the next one. Where
//        memory has not all rows, it has those since the last checkpoint, and those of the window
//        that ends.
// Order  By has NULL, then the keys' bytes: in a key the left rows as they came, each with its
//        partners as they came, then right rows that are shown alone.
// Costs  O(1) for a row; at the end of a window O(rows) and the pairs that are compared.
#pragma once

#include <holdfast/stream/compile/runtime/join_rules.hpp>
#include <holdfast/stream/compile/runtime/slices.hpp>
#include <holdfast/stream/compile/runtime/window_map.hpp>

namespace holdfast::query {

// The rows of one window, by key. Groups of windows come in the order of their keys: keys of each
// side are listed while they come so, else all are in a table.
template <class Key, class Left, class Right>
class WindowRows {
 public:
  // Of keys whose order is found without their bytes.
  static constexpr bool kLists = Key::kFixedBytes != 0;

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
    auto& item = all.add(row, number);
    if constexpr (Row::kTexts) {
      const auto bytes = row.text_bytes();
      item.row.move_texts(texts_.take(bytes));
      text_bytes_ += bytes;
    }
    append<kSide>(list_of<kSide>(key));
    return item;
  }
  template <Side kSide>
  auto& item(std::uint32_t number) {
    return items<kSide>()[number - 1];
  }
  // visit(key, item) for each of this side -> go on.
  template <Side kSide, class Visit>
  bool for_each(const Visit& visit) {
    const auto visit_list = [&](const Key& key, const List& list) {
      for (auto at = list.first; at != 0; at = item<kSide>(at).next) {
        if (!visit(key, item<kSide>(at))) return false;
      }
      return true;
    };
    for (const auto& [key, list] : listed<kSide>()) {
      if (!visit_list(key, list)) return false;
    }
    for (const auto& entry : keys_.entries()) {
      if (!visit_list(entry.key, list<kSide>(entry.state))) return false;
    }
    return true;
  }
  bool empty() const { return left_.empty() && right_.empty(); }
  // Whether all keys are listed. Else all are in the table.
  bool are_listed() const { return are_listed_; }
  const Table<Key, Lists>& keys() const { return keys_; }
  // Those that are listed, in their order: visit(lists) until one gives false.
  template <class Visit>
  void for_each_listed(const Visit& visit) const {
    const auto* left = left_keys_.begin();
    const auto* right = right_keys_.begin();
    while (left != left_keys_.end() || right != right_keys_.end()) {
      const int order = left == left_keys_.end()     ? 1
                        : right == right_keys_.end() ? -1
                                                     : Key::compare(left->key, right->key);
      Lists lists;
      if (order <= 0) lists.left = (left++)->list;
      if (order >= 0) lists.right = (right++)->list;
      if (!visit(lists)) return;
    }
  }
  std::uint64_t bytes() const {
    return keys_.bytes() + left_.size() * sizeof(left_[0]) + right_.size() * sizeof(right_[0]) +
           (left_keys_.size() + right_keys_.size()) * sizeof(Listed) + text_bytes_;
  }
  // Its memory stays for the next ones.
  void clear() {
    keys_.clear();
    left_keys_.clear();
    right_keys_.clear();
    are_listed_ = kLists;
    left_.clear();
    right_.clear();
    texts_.clear();
    text_bytes_ = 0;
  }

 private:
  template <Side kSide>
  auto& items() {
    if constexpr (kSide == Side::kLeft)
      return left_;
    else
      return right_;
  }
  struct Listed {
    Key key;
    List list;
  };

  template <Side kSide>
  auto& listed() {
    if constexpr (kSide == Side::kLeft)
      return left_keys_;
    else
      return right_keys_;
  }
  template <Side kSide>
  List& list_of(const Key& key) {
    if constexpr (kLists) {
      if (are_listed_) {
        auto& keys = listed<kSide>();
        const int order = keys.empty() ? -1 : Key::compare(keys.back().key, key);
        if (order < 0 && !key.has_null()) return keys.add(key, List()).list;
        if (order == 0 && !key.has_null()) return keys.back().list;
        put_into_table<Side::kLeft>();
        put_into_table<Side::kRight>();
        are_listed_ = false;
      }
    }
    return list<kSide>(keys_.at(key, key.hash()));
  }
  template <Side kSide>
  void put_into_table() {
    for (const auto& [key, list_of_key] : listed<kSide>())
      list<kSide>(keys_.at(key, key.hash())) = list_of_key;
    listed<kSide>().clear();
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

  bool are_listed_ = kLists;
  EntryList<Listed> left_keys_, right_keys_;  // Without NULL, each once.
  Table<Key, Lists> keys_;
  EntryList<ItemOn<Side::kLeft>> left_;
  EntryList<ItemOn<Side::kRight>> right_;
  TextArena texts_;
  std::uint64_t text_bytes_ = 0;
};

// Orders keys as append_key_part() does. Where all have as many bytes, their number says nothing.
struct PartOfKey {
  template <class Key>
  void operator()(const Key& key, std::string& bytes) const {
    append_key_part(key, bytes);
  }
  template <class Key>
  Place place(const Key& key, std::uint32_t entry) const {
    if constexpr (Key::kFixedBytes != 0) return BytesOfKey().place(key, entry);
    std::string bytes;
    append_key_part(key, bytes);
    return place_of_bytes(bytes, entry);
  }
};

// Entries of a store, in the order of the numbers that their keys end with.
class NumberedEntries {
 public:
  NumberedEntries();
  ~NumberedEntries();

  // False: its key has no number.
  bool add(Text key, Text state);
  void sort();
  std::size_t size() const;
  GraphEntry operator[](std::size_t place) const;

 private:
  struct Entry {
    std::int64_t number;
    std::string key, state;
  };

  std::vector<Entry> all_;
};

template <class Definition>
class WindowJoin : JoinRules<Definition> {
  using Rules = JoinRules<Definition>;
  using Key = typename Definition::Key;
  using Window = WindowRows<Key, typename Rules::Left, typename Rules::Right>;
  using Windows = WindowsOf<Window>;
  using WindowOfEnd = typename Windows::Window;
  template <Side kSide>
  using RowOn = typename Rules::template RowOn<kSide>;

 public:
  explicit WindowJoin(Run& run)
      : run_(run),
        stored_{StoredEntries<Definition>(run.host, kSlice, Grouping::kKey),
                StoredEntries<Definition>(run.host, kSlice + 1, Grouping::kKey)},
        numbers_(run.host, kSlice + 2) {}

  template <Side kSide, class Graph>
  void take(Graph&, Change, const RowOn<kSide>& row) {
    const auto end = end_of<kSide>(row);
    if (!end.known) return static_cast<void>(++rows_without_time);
    if (end.value - 1 <= now_)
      return drop_late<Definition>(run_, late_rows, row, now_, static_cast<std::size_t>(kSide));
    const auto key = Rules::template key<kSide>(row, run_);
    if (run_.failed) return;
    auto& item = window_at(end.value).template add<kSide>(key, row, numbers_.take());
    stored_of<kSide>().change(item.mark);
    stored_[0].took_row([this] { return bytes(); });
  }
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    while (!run_.failed) {
      const auto* const first = windows_.first();
      const auto next = first == nullptr ? INT64_MAX : last_of(first->bounds.end);
      if (std::min(next, next_stored_) >= watermark) break;
      if constexpr (may_store<Definition>()) {
        if (next_stored_ <= next) {
          if (!find_window()) run_.failed = true;
          continue;
        }
      }
      auto& window = windows_.take_first();
      leave_state<Side::kLeft>(window);
      leave_state<Side::kRight>(window);
      join_window(graph, window.value);
      if constexpr (Rules::Left::kTexts || Rules::Right::kTexts) run_.flush();  // Of the window.
      window.value.clear();
      windows_.reuse_taken();
    }
    now_ = watermark;
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  void adopt_stored(std::int64_t) {
    for (auto& stored : stored_)
      stored.become_partial();
    next_stored_ = now_;
  }
  bool adopt(const GraphEntry& entry) {
    if (entry.slice == kSlice) return adopt_on<Side::kLeft>(entry);
    if (entry.slice == kSlice + 1) return adopt_on<Side::kRight>(entry);
    return entry.slice == kSlice + 2 && numbers_.adopt(entry);
  }
  bool put_state() {
    if (!put_on<Side::kLeft>() || !put_on<Side::kRight>() || !numbers_.put()) return false;
    if ((stored_[0].is_partial() || stored_[0].wants_room(bytes())) && !leave()) return false;
    if (now_ == kNoTime) return true;
    for (auto& stored : stored_)
      stored.end_until(now_ - 1);
    return true;
  }

  std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  static constexpr std::int64_t kSlice = first_slice(Definition::kNode);

  template <Side kSide>
  StoredEntries<Definition>& stored_of() {
    return stored_[static_cast<std::size_t>(kSide)];
  }
  // The last watermark that does not end a window.
  static std::int64_t last_of(std::int64_t end) { return end - 2; }
  Window& window_at(std::int64_t end) { return windows_.at({end, 0}); }
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
    const auto join = [&](const typename Window::Lists& lists) {
      join_key(graph, window, lists.left.first, lists.right.first);
      forget_given<Definition>(run_);
      return !run_.failed;
    };
    if constexpr (Window::kLists) {
      const auto join_listed = [&](const auto& lists) { return !may_show(lists) || join(lists); };
      if (window.are_listed()) return window.for_each_listed(join_listed);
    }
    const auto shows = [](const auto& entry) {
      return !entry.key.has_null() && may_show(entry.state);
    };
    const auto join_entry = [&](const auto& entry) { return join(entry.state); };
    if (visit_in_order(window.keys(), shows, PartOfKey(), places_, join_entry))
      show_nulls(graph, window);
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
      if (Rules::keeps(Side::kRight) && i == matched_.size()) matched_.add(false);
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
  void leave_state(WindowOfEnd& window) {
    auto& stored = stored_of<kSide>();
    if (!stored.keeps()) return;
    window.value.template for_each<kSide>([&](const Key& key, const auto& item) {
      stored.erase(item.mark, key_of(window.bounds.end, key, item.number));
      return true;
    });
  }
  template <Side kSide>
  bool adopt_on(const GraphEntry& entry) {
    if (entry.state.size == 0) return stored_of<kSide>().adopt_gone(entry.key, entry.version), true;
    Mark mark{entry.version, entry.changed};
    return take_row<kSide>(entry, mark,
                           [&](std::int64_t end) -> Window& { return window_at(end); });
  }
  // An entry of a store, to the window that window(end) gives.
  template <Side kSide, class AnyWindow>
  bool take_row(const GraphEntry& entry, Mark mark, const AnyWindow& window) {
    Text bytes = entry.key, state = entry.state, key_bytes;
    Mark unused;
    std::int64_t end = 0, number = 0;
    RowOn<kSide> row;
    Key key;
    if (!take_ordered(bytes, end) || bytes.size == 0 ||
        !stored_of<kSide>().take_begin(state, unused) || !row.take(state) || state.size != 0)
      return false;
    bytes = {bytes.data + 1, bytes.size - 1};  // Whether there is a NULL, the key says itself.
    if (!take_part(bytes, key_bytes) || !key.take(key_bytes) || !take_ordered(bytes, number) ||
        bytes.size != 0)
      return false;
    window(end).template add<kSide>(key, row, number).mark = mark;
    numbers_.raise_to(number + 1);
    return true;
  }
  template <Side kSide>
  bool put_on() {
    auto& stored = stored_of<kSide>();
    if (!stored.put_gone()) return false;
    return windows_.for_each([&](WindowOfEnd& window) {
      const auto end = window.bounds.end, last = last_of(end);
      return window.value.template for_each<kSide>([&](const Key& key, auto& item) {
        if (stored.keeps() && !item.mark.changed) return true;
        return stored.put(item.mark, &last, key_of(end, key, item.number),
                          [&](std::string& bytes) { item.row.append_exactly(bytes); });
      });
    });
  }

  // ---- Rows that memory does not have ----

  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    windows_.for_each([&](const WindowOfEnd& window) {
      bytes += window.value.bytes();
      return true;
    });
    return bytes;
  }
  bool leave() {
    windows_.clear();
    next_stored_ = now_;
    return stored_[0].leave() && stored_[1].leave();
  }
  // Those of the next window that the store has. They end there by themselves.
  [[gnu::noinline]] bool find_window() {
    const auto at = next_stored_;
    next_stored_ = INT64_MAX;
    Window whole;
    if (!find_rows<Side::kLeft>(whole, at) || !find_rows<Side::kRight>(whole, at)) return false;
    if (whole.empty()) return true;
    auto& window = window_at(at + 2);
    add_rows<Side::kLeft>(window, whole);
    add_rows<Side::kRight>(window, whole);
    window = std::move(whole);
    return true;
  }
  // In the order of their numbers: so each is the last of its key.
  template <Side kSide>
  bool find_rows(Window& whole, std::int64_t at) {
    NumberedEntries all;
    const auto take = [&all](Text key, Text state, std::uint64_t) { return all.add(key, state); };
    std::int64_t beyond = INT64_MAX;
    if (!stored_of<kSide>().for_each_of_times(at, at, take, beyond)) return false;
    next_stored_ = std::min(next_stored_, beyond);
    all.sort();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!take_row<kSide>(all[i], {}, [&](std::int64_t) -> Window& { return whole; }))
        return false;
    }
    return true;
  }
  template <Side kSide>
  static void add_rows(Window& window, Window& whole) {
    window.template for_each<kSide>([&](const Key& key, const auto& item) {
      whole.template add<kSide>(key, item.row, item.number).mark = item.mark;
      return true;
    });
  }

  Run& run_;
  StoredEntries<Definition> stored_[2];
  StoredNumber<Definition> numbers_;
  // Windows of the store that have not been joined live so long at least.
  std::int64_t next_stored_ = INT64_MAX;
  Windows windows_;             // By their ends; they start at 0.
  std::int64_t now_ = kNoTime;  // The watermark.
  EntryList<bool> matched_;     // Right rows of one key.
  Places places_;
};

#ifndef HOLDFAST_APART

HF_APART NumberedEntries::NumberedEntries() {}
HF_APART NumberedEntries::~NumberedEntries() {}
HF_APART bool NumberedEntries::add(Text key, Text state) {
  if (key.size < 8) return false;
  Text last{key.data + key.size - 8, 8};
  std::int64_t number = 0;
  static_cast<void>(take_ordered(last, number));
  all_.push_back({number, {key.data, key.size}, {state.data, state.size}});
  return true;
}
HF_APART void NumberedEntries::sort() {
  std::sort(all_.begin(), all_.end(),
            [](const Entry& a, const Entry& b) { return a.number < b.number; });
}
HF_APART std::size_t NumberedEntries::size() const { return all_.size(); }
HF_APART GraphEntry NumberedEntries::operator[](std::size_t place) const {
  const auto& [number, key, state] = all_[place];
  return {0, {key.data(), key.size()}, {state.data(), state.size()}, 0, false};
}

#endif

}  // namespace holdfast::query
