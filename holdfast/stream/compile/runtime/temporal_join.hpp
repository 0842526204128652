// temporal_join.hpp: joins of rows with a table as it was at their time, and as it is, in a graph.
// What TemporalJoin and LookupJoin are to the interpreter (stream/graph/time_joins.cpp): the same
// rows in the same order, and the same bytes in the state.
//
// A `Definition` is as of join_rules.hpp; of versions it has left_time(row) and right_time(row),
// too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/due_rows.hpp>
#include <holdfast/stream/compile/runtime/join_rules.hpp>

namespace holdfast::query {

// Each left row with the right row of its key that was the newest at its time, when the watermark
// has passed that time. A version goes when a later one of its key comes and no row can ask for it.
//
// Left rows that memory does not have are found when the watermark comes to them, versions by their
// key.
//
// State  left: [time, number] -> row; right: [key, time] -> row; numbers: the next one.
// Costs  A left row O(log waiting rows), then O(log versions of its key). A right row O(log
//        versions of its key) and what it makes superfluous.
template <class Definition>
class TemporalJoin : JoinRules<Definition> {
  using Rules = JoinRules<Definition>;
  using Key = typename Definition::Key;
  using Left = typename Rules::Left;
  using Right = typename Rules::Right;

 public:
  explicit TemporalJoin(Run& run)
      : run_(run),
        left_(run.host, kLeftSlice, Grouping::kKey),
        right_(run.host, kLeftSlice + 1, Grouping::kFirstPart),
        numbers_(run.host, kLeftSlice + 2) {}

  template <Side kSide, class Graph>
  void take(Graph&, Change, const typename Rules::template RowOn<kSide>& row) {
    if constexpr (kSide == Side::kLeft)
      wait(row);
    else
      come(row);
  }
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    while (!run_.failed) {
      const auto next = waiting_.empty() ? INT64_MAX : waits_until(waiting_.begin()->first);
      if (std::min(next, next_stored_) >= watermark) break;
      if constexpr (may_store<Definition>()) {
        if (next_stored_ <= next) {
          if (!find_left(watermark)) run_.failed = true;
          continue;
        }
      }
      const auto first = waiting_.begin();
      left_.erase(first->second.mark, key_of_left(first->first));
      show(graph, first->first.first, first->second.kept.row());
      if constexpr (Left::kTexts) run_.flush();  // It may have been written.
      waiting_.erase(first);
    }
    now_ = watermark;
    // All that is left in the store is later.
    least_stored_ = std::max(least_stored_, watermark == kEndOfTime ? watermark : watermark + 1);
    if (!lent_.empty()) look_at_lent();  // A version that comes may change them.
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  void adopt_stored(std::int64_t table) {
    if (table != 0) return right_.become_partial();
    left_.become_partial();
    next_stored_ = now_;
    if constexpr (may_store<Definition>()) find_least();
  }
  bool adopt(const GraphEntry& entry) {
    if (entry.slice == kLeftSlice) return adopt_left(entry);
    if (entry.slice == kLeftSlice + 1) return adopt_right(entry);
    return entry.slice == kLeftSlice + 2 && numbers_.adopt(entry);
  }
  bool put_state() {
    if (!put_left() || !put_right() || !numbers_.put()) return false;
    if ((left_.is_partial() || left_.wants_room(left_bytes())) && !leave_left()) return false;
    if (right_.wants_room(right_bytes()) && !leave_right()) return false;
    if (now_ != kNoTime) left_.end_until(now_ - 1);
    return true;
  }

  static constexpr std::uint64_t late_rows = 0;
  std::uint64_t rows_without_time = 0;

 private:
  static constexpr std::int64_t kLeftSlice = first_slice(Definition::kNode);
  template <class Row>
  struct Item {
    Kept<Row> kept;
    Mark mark{};
  };
  using Place = std::pair<std::int64_t, std::int64_t>;   // Time and number.
  using Versions = std::map<std::int64_t, Item<Right>>;  // By time.
  using Entry = typename KeyedValues<Key, Versions>::Entry;

  static auto key_of_left(const Place& place) {
    return [place](std::string& bytes) {
      append_ordered(place.first, bytes);
      append_ordered(place.second, bytes);
    };
  }
  static auto key_of_right(const Key& key, std::int64_t time) {
    return [&key, time](std::string& bytes) {
      append_key_part(key, bytes);
      append_ordered(time, bytes);
    };
  }
  void wait(const Left& row) {
    const auto time = Definition::left_time(row);
    if (!time.known) return static_cast<void>(++rows_without_time);
    auto& item = waiting_[{time.value, numbers_.take()}];
    item.kept = Kept<Left>(row);
    left_.change(item.mark);
    left_.took_row([this] { return left_bytes(); });
  }
  void come(const Right& row) {
    const auto time = Definition::right_time(row);
    if (!time.known) return static_cast<void>(++rows_without_time);
    const Key key = Definition::right_key(row, run_);
    if (run_.failed || key.has_null()) return;
    if (!fetch(key)) return static_cast<void>(run_.failed = true);
    auto& entry = versions_.at(key);
    const auto [place, is_new] = entry.value.try_emplace(time.value);
    auto& item = place->second;
    version_count_ += is_new ? 1 : 0;
    if (is_new)
      right_.come(item.mark, key_of_right(entry.key, time.value));
    else if constexpr (Right::kTexts)
      run_.flush();  // What it replaces may have been written.
    item.kept = Kept<Right>(row);
    if (right_.change(item.mark)) versions_.note(entry);
    right_.took_row([this] { return right_bytes(); });
    forget_older(entry);
  }
  // Of the versions that the watermark has passed, new rows can ask for the newest only. Rows that
  // wait may ask for older ones.
  void forget_older(Entry& entry) {
    auto oldest = least_stored_;
    if (!waiting_.empty()) oldest = std::min(oldest, waiting_.begin()->first.first);
    auto least = std::min(now_, oldest - 1);
    if (least != kEndOfTime && least != kNoTime) ++least;
    auto& versions = entry.value;
    auto newest = versions.lower_bound(least);
    if (newest == versions.begin()) return;
    --newest;
    if constexpr (Right::kTexts) {
      if (versions.begin() != newest) run_.flush();
    }
    while (versions.begin() != newest) {
      const auto older = versions.begin();
      right_.erase(older->second.mark, key_of_right(entry.key, older->first));
      versions.erase(older);
      --version_count_;
    }
  }
  template <class Graph>
  void show(Graph& graph, std::int64_t time, const Left& row) {
    const Key key = Definition::left_key(row, run_);
    if (run_.failed) return;
    if (!key.has_null() && !borrow(key)) return static_cast<void>(run_.failed = true);
    auto* const entry = key.has_null() ? nullptr : versions_.find(key);
    if (entry != nullptr) {
      const auto behind = entry->value.upper_bound(time);
      if (behind != entry->value.begin()) {
        const auto& version = std::prev(behind)->second.kept.row();
        const bool matches = Definition::holds(row, version, run_);
        if (run_.failed) return;
        if (matches)
          return Rules::template give_pair<Side::kLeft>(graph, Change::kInsert, row, version);
      }
    }
    if constexpr (Rules::keeps(Side::kLeft))
      Rules::template give_alone<Side::kLeft>(graph, Change::kInsert, row);
  }

  bool adopt_left(const GraphEntry& entry) {
    if (entry.state.size == 0) return left_.adopt_gone(entry.key, entry.version), true;
    Place place;
    Left row;
    if (!take_left(entry.key, entry.state, place, row)) return false;
    waiting_[place] = {Kept<Left>(row), Mark{entry.version, entry.changed}};
    numbers_.raise_to(place.second + 1);
    return true;
  }
  bool take_left(Text key, Text state, Place& place, Left& row) {
    Mark unused;
    return take_ordered(key, place.first) && take_ordered(key, place.second) && key.size == 0 &&
           left_.take_begin(state, unused) && row.take(state) && state.size == 0;
  }
  bool adopt_right(const GraphEntry& entry) {
    if (entry.state.size == 0) return right_.adopt_gone(entry.key, entry.version), true;
    Text rest = entry.key, values, state = entry.state;
    Mark mark{entry.version, entry.changed};
    Key key;
    Right row;
    std::int64_t time = 0;
    if (!take_part(rest, values) || !key.take(values) || !take_ordered(rest, time) ||
        rest.size != 0 || !right_.take_begin(state, mark) || !row.take(state) || state.size != 0)
      return false;
    auto& versions = versions_.at(key);
    version_count_ +=
        versions.value.insert_or_assign(time, Item<Right>{Kept<Right>(row), mark}).second;
    if (entry.changed) versions_.note(versions);
    return true;
  }

  // ---- State ----

  // The last watermark that does not end it: a row whose time has passed waits for the next one.
  std::int64_t waits_until(const Place& place) const { return std::max(place.first - 1, now_); }
  bool put_left() {
    if (!left_.put_gone()) return false;
    for (auto& [place, item] : waiting_) {
      if (left_.keeps() && !item.mark.changed) continue;
      const auto until = waits_until(place);
      if (!left_.put(item.mark, &until, key_of_left(place),
                     [&](std::string& bytes) { item.kept.row().append_exactly(bytes); }))
        return false;
    }
    return true;
  }
  bool put_right() {
    if (!right_.put_gone()) return false;
    const auto put_versions = [this](Entry& entry) {
      for (auto& [time, item] : entry.value) {
        if (right_.keeps() && !item.mark.changed) continue;
        if (!right_.put(item.mark, key_of_right(entry.key, time),
                        [&](std::string& bytes) { item.kept.row().append_exactly(bytes); }))
          return false;
      }
      return true;
    };
    return right_.keeps() ? versions_.for_each_noted(put_versions)
                          : versions_.for_each(put_versions);
  }

  // ---- Rows that memory does not have ----

  static constexpr std::uint64_t kAround = 64;  // What a tree has for each row, about.
  std::uint64_t left_bytes() const {
    return waiting_.size() * (sizeof(Item<Left>) + kAround + left_.bytes_of_entry());
  }
  std::uint64_t right_bytes() const {
    return versions_.bytes() +
           version_count_ * (sizeof(Item<Right>) + kAround + right_.bytes_of_entry());
  }
  bool leave_left() {
    if (!waiting_.empty()) least_stored_ = std::min(least_stored_, waiting_.begin()->first.first);
    waiting_.clear();
    next_stored_ = now_;
    return left_.leave();
  }
  bool leave_right() {
    versions_ = {};
    version_count_ = 0;
    return right_.leave();
  }
  // The next left rows that the store has. They end there by themselves.
  [[gnu::noinline]] bool find_left(std::int64_t watermark) {
    const auto take = [this](Text key, Text state, std::uint64_t) {
      Place place;
      Left row;
      return take_left(key, state, place, row) &&
             due_.take(waits_until(place), place, Kept<Left>(row));
    };
    const auto from = next_stored_;
    const auto until = due_.begin(from, watermark - 1);
    std::int64_t beyond = INT64_MAX;
    if (!left_.for_each_of_times(from, until, take, beyond)) return false;
    next_stored_ = due_.finish(beyond, [this](const Place& place, Kept<Left>&& kept) {
      waiting_[place] = {std::move(kept), Mark()};
    });
    return true;
  }
  // Of rows whose time the watermark has passed, and that wait for the next one.
  [[gnu::noinline]] void find_least() {
    const auto take = [this](Text key, Text, std::uint64_t) {
      std::int64_t time = 0;
      if (!take_ordered(key, time)) return false;
      least_stored_ = std::min(least_stored_, time);
      return true;
    };
    std::int64_t beyond = INT64_MAX;
    if (!left_.for_each_of_times(now_, now_, take, beyond)) run_.failed = true;
  }
  // The versions of a key, for a row that is shown.
  bool borrow(const Key& key) {
    constexpr std::size_t kBetweenLooks = 64;
    if (!right_.is_partial() || versions_.find(key) != nullptr) return true;
    if (lent_.size() == kBetweenLooks) look_at_lent();
    if (!fetch(key)) return false;
    const auto* const entry = versions_.find(key);
    if (entry != nullptr) lent_.push_back(versions_.number_of(*entry));
    return true;
  }
  // Versions that were read for rows which were shown: they leave memory if it has no room.
  [[gnu::noinline]] void look_at_lent() {
    if (right_.wants_room(right_bytes())) {
      if constexpr (Right::kTexts) run_.flush();  // They may have been written.
      for (const auto number : lent_) {
        auto& entry = *versions_.of_number(number);
        version_count_ -= entry.value.size();
        versions_.erase(entry);
      }
    }
    lent_.clear();
  }
  // The versions of a key that memory has none of.
  bool fetch(const Key& key) {
    if (!right_.is_partial() || versions_.find(key) != nullptr) return true;
    right_.took_row([this] { return right_bytes(); });
    const auto take = [this](Text bytes, Text state, std::uint64_t version) {
      return adopt_right({kLeftSlice + 1, bytes, state, version, false});
    };
    return right_.fetch([&](std::string& bytes) { append_key_part(key, bytes); }, take);
  }

  Run& run_;
  StoredEntries<Definition> left_, right_;
  StoredNumber<Definition> numbers_;
  std::map<Place, Item<Left>> waiting_;
  KeyedValues<Key, Versions> versions_;
  std::uint64_t version_count_ = 0;  // Of all keys.
  // Left rows of the store wait so long at least, and none of them is of an earlier time.
  std::int64_t next_stored_ = INT64_MAX, least_stored_ = INT64_MAX;
  DueRows<Place, Kept<Left>> due_;
  std::vector<std::uint32_t> lent_;  // Numbers of keys, read for rows that were shown.
  std::int64_t now_ = kNoTime;       // The watermark.
};

// Each left row with the rows of a table that was read before compiled code took over. No state:
// the next run reads the table again.
template <class Definition>
class LookupJoin : JoinRules<Definition> {
  using Rules = JoinRules<Definition>;
  using Key = typename Definition::Key;
  using Left = typename Rules::Left;
  using Right = typename Rules::Right;

 public:
  explicit LookupJoin(Run& run) : run_(run) {}

  template <Side kSide, class Graph>
  void take(Graph& graph, Change change, const typename Rules::template RowOn<kSide>& row) {
    if constexpr (kSide == Side::kLeft) look_up(graph, change, row);
  }
  bool adopt(const GraphEntry& entry) {
    Text rest = entry.key, values, state = entry.state;
    std::int64_t used_ms = 0;
    Key key;
    Right row;
    if (!take_part(rest, values) || !key.take(values) || rest.size != 0 ||
        !take_begin(state, used_ms) || !row.take(state) || state.size != 0)
      return false;
    table_.at(key).value.emplace_back(row);
    return true;
  }
  bool put_state() { return true; }

  static constexpr std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  template <class Graph>
  void look_up(Graph& graph, Change change, const Left& row) {
    const Key key = Definition::left_key(row, run_);
    if (run_.failed) return;
    bool matched = false;
    auto* const found = key.has_null() ? nullptr : table_.find(key);
    if (found != nullptr) {
      for (const auto& other : found->value) {
        const bool matches = Definition::holds(row, other.row(), run_);
        if (run_.failed) return;
        if (!matches) continue;
        matched = true;
        Rules::template give_pair<Side::kLeft>(graph, change, row, other.row());
        if (run_.failed) return;
      }
    }
    if constexpr (Rules::keeps(Side::kLeft)) {
      if (!matched) Rules::template give_alone<Side::kLeft>(graph, change, row);
    }
  }

  Run& run_;
  KeyedValues<Key, std::vector<Kept<Right>>> table_;
};

}  // namespace holdfast::query
