// regular_join.hpp: a join of streams in a graph, each row with all that were before it. What
// RegularJoin is to the interpreter (stream/graph/join_operators.hpp): rows meet in the same order,
// and the state has the same bytes.
//
// A `Definition` is as of join_rules.hpp.
#pragma once

#include <holdfast/stream/compile/runtime/bag.hpp>
#include <holdfast/stream/compile/runtime/join_rules.hpp>

namespace holdfast::query {

// Each change of a side with all rows that the other side has. Those of a key are fetched when one
// of it comes. Either both sides have all of their rows in memory, or neither.
//
// State, of each side  [key, row] -> how often it is there, how many partners it has; had when it
//                      came, where it does not matter.
template <class Definition>
class RegularJoin : JoinRules<Definition> {
  using Rules = JoinRules<Definition>;
  using Key = typename Definition::Key;
  template <Side kSide>
  using RowOn = typename Rules::template RowOn<kSide>;

 public:
  explicit RegularJoin(Run& run)
      : run_(run),
        stored_{StoredEntries<Definition>(run.host, Rules::slice_of(Side::kLeft),
                                          Grouping::kFirstPart, run.host.idle_ms()),
                StoredEntries<Definition>(run.host, Rules::slice_of(Side::kRight),
                                          Grouping::kFirstPart, run.host.idle_ms())} {}

  template <Side kSide, class Graph>
  void take(Graph& graph, Change change, const RowOn<kSide>& row) {
    if (stored_[0].is_sweep_due()) end_idle();
    const Key key = Rules::template key<kSide>(row, run_);
    if (run_.failed) return;
    if (key.has_null()) return show_alone<kSide>(graph, change, row, 0);
    const auto hash = key.hash();
    if (is_partial() && pairs_.find(key, hash) == nullptr) fetch(key);
    if (run_.failed) return;
    stored_[0].took_row([this] { return bytes(); });
    Entry& entry = pairs_.at(key, hash);
    if constexpr (requires { Definition::kOnlyComes; })
      come<kSide>(graph, entry, row);
    else
      change_pairs<kSide>(graph, entry, change, row);
  }

  void adopt_stored(std::int64_t) {
    for (auto& stored : stored_)
      stored.become_partial();
  }
  bool adopt(const GraphEntry& entry) {
    if (entry.slice == Rules::slice_of(Side::kLeft)) return adopt_on<Side::kLeft>(entry);
    return adopt_on<Side::kRight>(entry);
  }
  bool put_state() {
    if (!stored_[0].put_gone() || !stored_[1].put_gone()) return false;
    const auto put_entry = [this](Entry& entry) { return put(entry); };
    if (!(stored_[0].keeps() ? pairs_.for_each_noted(put_entry) : pairs_.for_each(put_entry)))
      return false;
    if (!stored_[0].wants_room(bytes())) return true;
    pairs_ = {};
    memory_ = {};
    return stored_[0].leave() && stored_[1].leave();
  }
  static constexpr std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  template <Side kSide>
  using Notes = std::conditional_t<std::is_same_v<MarkOf<Definition>, NoMark> &&
                                       !Rules::counts_partners(kSide),
                                   NotNoted, Noted<MarkOf<Definition>>>;
  // Whether rows of this side remember the group of their pairs.
  static constexpr bool remembers(Side side) {
    if constexpr (requires { Definition::kGroupOf; })
      return Definition::kGroupOf == side;
    else
      return false;
  }
  template <Side kSide>
  using BagOn = Bag<RowOn<kSide>, Notes<kSide>,
                    std::conditional_t<remembers(kSide), GroupNumber, NoGroupNumber>>;
  struct Pair {
    BagOn<Side::kLeft> left;
    BagOn<Side::kRight> right;
  };
  using Entry = typename KeyedValues<Key, Pair>::Entry;

  bool is_partial() const { return stored_[0].is_partial(); }
  // The rows of a key that memory has none of.
  void fetch(const Key& key) {
    if (!Rules::fetch(stored_, key, [this](const GraphEntry& entry) { return adopt(entry); }))
      run_.failed = true;
  }
  std::uint64_t bytes() const { return pairs_.bytes() + memory_.bytes(); }

  // Rows that have not changed for long end. What was shown of them stays so.
  [[gnu::noinline]] void end_idle() {
    run_.flush();  // They may have been written.
    stored_[1].begin_sweep();
    pairs_.for_each([this](Entry& entry) {
      end_idle_on<Side::kLeft>(entry);
      end_idle_on<Side::kRight>(entry);
      erase_if_empty(entry);
      return true;
    });
  }
  template <Side kSide>
  void end_idle_on(Entry& entry) {
    auto& stored = stored_of<kSide>();
    std::vector<typename BagOn<kSide>::Item*> idle;
    for (auto* const item : bag<kSide>(entry.value).in_order(memory_)) {
      if (stored.is_idle(item->notes.mark)) idle.push_back(item);
    }
    for (auto* const item : idle) {
      stored.erase(item->notes.mark, key_of(entry.key, item->row()));
      bag<kSide>(entry.value).erase(memory_, *item);
    }
  }

  template <Side kSide>
  static auto& bag(Pair& pair) {
    if constexpr (kSide == Side::kLeft)
      return pair.left;
    else
      return pair.right;
  }
  template <Side kSide>
  StoredEntries<Definition>& stored_of() {
    return stored_[static_cast<std::size_t>(kSide)];
  }
  template <class Row>
  static auto key_of(const Key& key, const Row& row) {
    return [&](std::string& bytes) {
      append_key_part(key, bytes);
      row.append(bytes);
    };
  }

  void erase_if_empty(Entry& entry) {
    if (entry.value.left.empty() && entry.value.right.empty()) pairs_.erase(entry);
  }

  // A row where none goes, and no condition fails: it is kept behind its partners' turn.
  template <Side kSide, class Graph>
  void come(Graph& graph, Entry& entry, const RowOn<kSide>& row) {
    constexpr auto kOther = Rules::other(kSide);
    for (auto* const partner : bag<kOther>(entry.value).in_order(memory_)) {
      if (!Rules::template holds<kSide>(row, partner->row(), run_)) continue;
      meet<kSide>(graph, Change::kInsert, row, *partner);
      if (run_.failed) return;
    }
    keep<kSide>(entry, Change::kInsert, row, 0);
  }
  template <Side kSide, class Graph>
  void change_pairs(Graph& graph, Entry& entry, Change change, const RowOn<kSide>& row) {
    constexpr auto kOther = Rules::other(kSide);
    const auto partners = bag<kOther>(entry.value).in_order(memory_);
    matches_.clear();
    std::int64_t count = 0;
    for (std::uint32_t i = 0; i < partners.size(); ++i) {
      const bool matches = Rules::template holds<kSide>(row, partners[i]->row(), run_);
      if (run_.failed) return;
      if (!matches) continue;
      count += partners[i]->count();
      matches_.push_back(i);
    }
    // A row that goes is no more there when its partners are told.
    if (!keep<kSide>(entry, change, row, count)) return erase_if_empty(entry);
    for (const auto number : matches_) {
      auto& partner = *partners[number];
      if (Rules::counts_partners(kOther) && stored_of<kOther>().change(partner.notes.mark))
        pairs_.note(entry);
      meet<kSide>(graph, change, row, partner);
      if (run_.failed) return;
    }
    show_alone<kSide>(graph, change, row, count);
    erase_if_empty(entry);
  }

  // False: the row that goes is not there. It was late, or its time was over, so rows that came
  // since have not counted it as a partner.
  template <Side kSide>
  bool keep(Entry& entry, Change change, const RowOn<kSide>& row, std::int64_t partners) {
    auto& rows = bag<kSide>(entry.value);
    auto& stored = stored_of<kSide>();
    if (adds(change)) {
      auto& mark = rows.add(memory_, row, 1, {partners, {}}).notes.mark;
      stored.come(mark, key_of(entry.key, row));
      if (stored.change(mark)) pairs_.note(entry);
      return true;
    }
    auto* const found = rows.find(memory_, row);
    if (found == nullptr) return false;
    if (stored.change(found->notes.mark)) pairs_.note(entry);
    found->add(-1);
    if (found->count() != 0) return true;
    stored.erase(found->notes.mark, key_of(entry.key, row));
    if constexpr (RowOn<kSide>::kTexts) run_.flush();  // It may have been written.
    rows.erase(memory_, *found);
    return true;
  }
  // A row of `kSide` comes or goes, and is a partner of `other`.
  template <Side kSide, class Graph, class Item>
  void meet(Graph& graph, Change change, const RowOn<kSide>& row, Item& other) {
    constexpr auto kOther = Rules::other(kSide);
    auto& notes = other.notes;
    [[maybe_unused]] const auto before = notes.partners;
    if constexpr (Rules::counts_partners(kOther)) notes.partners += adds(change) ? 1 : -1;
    if constexpr (Rules::kLeftAlone) {
      if constexpr (kSide == Side::kRight) meet_semi(graph, before, change, other);
    } else {
      const bool alone_before = Rules::keeps(kOther) && adds(change) && before == 0;
      const bool alone_after = Rules::keeps(kOther) && !adds(change) && notes.partners == 0;
      const auto partner = other.row();
      for (std::int64_t i = 0; i < other.count() && !run_.failed; ++i) {
        if (alone_before) Rules::template give_alone<kOther>(graph, Change::kDelete, partner);
        if constexpr (remembers(kOther)) run_.group = &other.group.value;
        if (!run_.failed) Rules::template give_pair<kSide>(graph, change, row, partner);
        if constexpr (remembers(kOther)) run_.group = nullptr;
        if (alone_after && !run_.failed)
          Rules::template give_alone<kOther>(graph, Change::kInsert, partner);
      }
    }
  }
  // The first partner of a left row comes, or its last goes.
  template <class Graph, class Item>
  void meet_semi(Graph& graph, std::int64_t before, Change change, Item& left) {
    if (adds(change) ? before != 0 : left.notes.partners != 0) return;
    const bool shows = adds(change) == (Rules::kKind == JoinKind::kSemi);
    for (std::int64_t i = 0; i < left.count() && !run_.failed; ++i)
      Definition::give(graph, shows ? Change::kInsert : Change::kDelete, left.row());
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
    MarkOf<Definition> mark{entry.version, entry.changed};
    Key key;
    RowOn<kSide> row;
    std::int64_t count = 0, partners = 0;
    if (!take_part(key_bytes, values) || !key.take(values) ||
        !stored_of<kSide>().take_begin(state, mark) || !take_ordered(state, count) ||
        !take_ordered(state, partners) || !row.take(state) || state.size != 0)
      return false;
    auto& pair = pairs_.at(key);
    bag<kSide>(pair.value).add(memory_, row, count, {partners, mark});
    if (entry.changed) pairs_.note(pair);
    return true;
  }
  bool put(Entry& entry) { return put_on<Side::kLeft>(entry) && put_on<Side::kRight>(entry); }
  template <Side kSide>
  bool put_on(Entry& entry) {
    auto& stored = stored_of<kSide>();
    for (auto* const item : bag<kSide>(entry.value).in_order(memory_)) {
      if (stored.keeps() && !item->notes.mark.changed) continue;
      const bool put =
          stored.put(item->notes.mark, key_of(entry.key, item->row()), [&](std::string& bytes) {
            append_ordered(item->count(), bytes);
            append_ordered(item->notes.partners, bytes);
            item->row().append_exactly(bytes);
          });
      if (!put) return false;
    }
    return true;
  }

  Run& run_;
  StoredEntries<Definition> stored_[2];
  Pool memory_;  // Of the rows.
  KeyedValues<Key, Pair> pairs_;
  std::vector<std::uint32_t> matches_;
};

}  // namespace holdfast::query
