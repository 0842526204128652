// session_rows.hpp: rows of sessions in a graph, each beside the bounds of its session, when that
// has ended. What AssignSessionRows is to the interpreter (stream/graph/simple_operators.hpp): the
// same rows in the same order, and the same bytes in the state.
//
// A `Definition` is what the generated source says of its node:
//
//   kNode, kGapMs                         its number; rows further apart are of two sessions
//   Row, Out                              what comes in, what goes out
//   Key, key(row, run), time(row)
//   give(graph, change, row, start, end)  to those that read it
//
// State  [key, time, number] -> row. Rows that memory does not have are fetched by their key when a
//        row of it comes, or when a session of it may end.
// Order  By the ends of sessions, then by the keys' bytes; in a session by time, then as they came.
// Costs  A row O(1); out of order O(log open sessions of its key) and O(what stands behind it). A
//        session is looked at where its end was expected: once for each gap that it lasts.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/changes.hpp>
#include <holdfast/stream/compile/runtime/pool.hpp>
#include <holdfast/stream/compile/runtime/slices.hpp>

namespace holdfast::query {

template <class Definition>
class SessionRows {
  using Row = typename Definition::Row;
  using Key = typename Definition::Key;

 public:
  explicit SessionRows(Run& run) : run_(run), stored_(run.host, kSlice, Grouping::kFirstPart) {}

  template <class Graph>
  void take(Graph&, Change, const Row& row) {
    const auto time = Definition::time(row);
    if (!time.known) return static_cast<void>(++rows_without_time);
    const auto key = Definition::key(row, run_);
    if (run_.failed) return;
    const auto hash = key.hash();
    if (stored_.is_partial() && sessions_.find(key, hash) == nullptr && !fetch(key))
      return static_cast<void>(run_.failed = true);
    auto* const known = sessions_.find(key, hash);
    if (time.value + Definition::kGapMs - 1 <= now_ &&
        (known == nullptr || !is_near(known->value, time.value)))
      return drop_late<Definition>(run_, late_rows, row, now_);
    auto& entry = known == nullptr ? sessions_.at(key, hash) : *known;
    auto& item = add(entry, row, time.value, next_number_++);
    stored_.come(item.mark, key_of(entry.key, item));
    if (stored_.change(item.mark)) sessions_.note(entry);
    stored_.took_row([this] { return bytes(); });
  }
  template <class Graph>
  void pass(Graph& graph, std::int64_t, std::int64_t watermark) {
    while (!run_.failed) {
      const auto next = expected_.empty() ? INT64_MAX : last_of(expected_.begin()->first);
      if (std::min(next, next_stored_) >= watermark) break;
      if constexpr (may_store<Definition>()) {
        if (next_stored_ <= next) {
          if (!find_due()) run_.failed = true;
          continue;
        }
      }
      const auto at = expected_.extract(expected_.begin());
      end_sessions(graph, at.key(), at.mapped());
    }
    now_ = watermark;
  }
  void set_watermark(std::int64_t watermark) { now_ = watermark; }
  void adopt_stored(std::int64_t) {
    stored_.become_partial();
    next_stored_ = now_;
  }
  bool adopt(const GraphEntry& entry) {
    if (entry.state.size == 0) return stored_.adopt_gone(entry.key, entry.version), true;
    Text rest = entry.key, values, state = entry.state;
    Mark mark{entry.version, entry.changed};
    Key key;
    Row row;
    std::int64_t time = 0, number = 0;
    if (!take_part(rest, values) || !key.take(values) || !take_ordered(rest, time) ||
        !take_ordered(rest, number) || rest.size != 0 || !stored_.take_begin(state, mark) ||
        !row.take(state) || state.size != 0)
      return false;
    auto& of_key = sessions_.at(key);
    add(of_key, row, time, number).mark = mark;
    if (entry.changed) sessions_.note(of_key);
    next_number_ = std::max(next_number_, number + 1);
    return true;
  }
  bool put_state() {
    if (!stored_.put_gone()) return false;
    const auto put_entry = [this](Entry& entry) { return put(entry); };
    if (!(stored_.keeps() ? sessions_.for_each_noted(put_entry) : sessions_.for_each(put_entry)))
      return false;
    return !stored_.wants_room(bytes()) || leave();
  }

  std::uint64_t late_rows = 0, rows_without_time = 0;

 private:
  struct Item {
    Row row;  // Its texts are behind the item.
    std::int64_t time, number;
    Mark mark{};
  };
  struct Session {
    std::vector<Item*> rows;          // By time and number.
    std::int64_t expected = kNoTime;  // When it is looked at: its end, or before.

    std::int64_t start() const { return rows.front()->time; }
    std::int64_t end() const { return rows.back()->time + Definition::kGapMs; }
  };
  using Sessions = std::vector<Session>;  // Of a key, further apart than the gap, by time.
  using Entry = typename KeyedValues<Key, Sessions>::Entry;
  static constexpr std::int64_t kSlice = first_slice(Definition::kNode);

  static auto key_of(const Key& key, const Item& item) {
    return [&](std::string& bytes) {
      append_key_part(key, bytes);
      append_ordered(item.time, bytes);
      append_ordered(item.number, bytes);
    };
  }
  static bool is_before(const Item* a, const Item* b) {
    return a->time != b->time ? a->time < b->time : a->number < b->number;
  }
  static bool reaches(const Session& session, std::int64_t time) {
    return session.start() - Definition::kGapMs <= time && time <= session.end();
  }
  static bool is_near(const Sessions& sessions, std::int64_t time) {
    const auto count = begun_by(sessions, time + Definition::kGapMs);
    return count > 0 && reaches(sessions[count - 1], time);
  }

  // How many sessions begin no later than at `time`.
  static std::size_t begun_by(const Sessions& sessions, std::int64_t time) {
    auto count = sessions.size();
    if (count == 0 || sessions.back().start() <= time) return count;  // The newest one, mostly.
    const auto end =
        std::partition_point(sessions.begin(), sessions.end(),
                             [time](const Session& session) { return session.start() <= time; });
    return static_cast<std::size_t>(end - sessions.begin());
  }
  Item& add(Entry& entry, const Row& row, std::int64_t time, std::int64_t number) {
    auto* const item = new (memory_.take(bytes_of(row))) Item{row, time, number};
    item->row.move_texts(reinterpret_cast<char*>(item + 1));
    auto& sessions = entry.value;
    auto place = begun_by(sessions, time + Definition::kGapMs);
    if (place > 0 && reaches(sessions[place - 1], time)) {
      --place;
      insert(sessions[place].rows, item);
      // It may be what two of them have between them.
      if (place > 0 && reaches(sessions[place - 1], sessions[place].start())) {
        merge(sessions[place - 1], sessions[place]);
        sessions.erase(sessions.begin() + static_cast<std::ptrdiff_t>(place--));
      }
    } else {
      sessions.insert(sessions.begin() + static_cast<std::ptrdiff_t>(place), Session{{item}});
    }
    auto& session = sessions[place];
    // A session that grows is expected earlier, and looked at again.
    if (session.expected == kNoTime) expect(entry, session, time + Definition::kGapMs);
    return *item;
  }
  static void insert(std::vector<Item*>& rows, Item* item) {
    if (is_before(rows.back(), item)) return rows.push_back(item);
    rows.insert(std::upper_bound(rows.begin(), rows.end(), item, is_before), item);
  }
  static void merge(Session& into, Session& from) {
    into.rows.insert(into.rows.end(), from.rows.begin(), from.rows.end());
    into.expected = std::max(into.expected, from.expected);  // Either would do.
  }
  void expect(Entry& entry, Session& session, std::int64_t end) {
    session.expected = end;
    if (newest_ == nullptr || newest_end_ != end) {
      newest_ = &expected_[end];
      newest_end_ = end;
    }
    newest_->push_back(sessions_.number_of(entry));
  }

  // Ends sessions of entries that may have one that ends here. Some of these entries are gone, or
  // come twice.
  template <class Graph>
  void end_sessions(Graph& graph, std::int64_t end, const std::vector<std::uint32_t>& numbers) {
    newest_ = nullptr;
    ending_.clear();
    for (const auto number : numbers) {
      auto* const entry = sessions_.of_number(number);
      if (entry == nullptr) continue;
      // It has a row of that time, whatever came since.
      const auto count = begun_by(entry->value, end - Definition::kGapMs);
      if (count == 0) continue;
      auto& session = entry->value[count - 1];
      if (session.expected != end) continue;
      if (session.end() != end) {
        expect(*entry, session, session.end());
        continue;
      }
      session.expected = kNoTime;  // Once, though it may be asked for again.
      ending_.emplace_back(std::string(), number);
      entry->key.append(ending_.back().first);
    }
    std::sort(ending_.begin(), ending_.end());
    for (const auto& [bytes, number] : ending_) {
      auto& entry = *sessions_.of_number(number);
      auto& sessions = entry.value;
      const auto found = sessions.begin() + static_cast<std::ptrdiff_t>(
                                                begun_by(sessions, end - Definition::kGapMs) - 1);
      const Session session = std::move(*found);
      sessions.erase(found);
      leave(entry, session);
      if (sessions.empty()) sessions_.erase(entry);
      show(graph, session);
      if (run_.failed) return;
    }
  }
  void leave(const Entry& entry, const Session& session) {
    if (!stored_.keeps()) return;
    for (const auto* item : session.rows)
      stored_.erase(item->mark, key_of(entry.key, *item));
  }
  template <class Graph>
  void show(Graph& graph, const Session& session) {
    for (auto* const item : session.rows) {
      if (!run_.failed)
        Definition::give(graph, Change::kInsert, item->row, session.start(), session.end());
    }
    forget_given<Definition>(run_);
    if constexpr (Row::kTexts) run_.flush();
    for (auto* const item : session.rows)
      memory_.give(item, bytes_of(item->row));
  }
  static std::size_t bytes_of(const Row& row) { return sizeof(Item) + row.text_bytes(); }

  bool put(Entry& entry) {
    for (auto& session : entry.value) {
      for (auto* const item : session.rows) {
        if (stored_.keeps() && !item->mark.changed) continue;
        const auto last = last_of(item->time + Definition::kGapMs);
        const bool put = stored_.put(item->mark, &last, key_of(entry.key, *item),
                                     [&](std::string& bytes) { item->row.append_exactly(bytes); });
        if (!put) return false;
      }
    }
    return true;
  }

  // ---- Rows that memory does not have ----

  // The last watermark that does not end a session.
  static std::int64_t last_of(std::int64_t end) { return end - 2; }
  // About.
  std::uint64_t bytes() const {
    constexpr std::uint64_t kAround = 64;  // A list of rows, and where it is expected.
    return sessions_.bytes() + sessions_.size() * (sizeof(Session) + kAround) + memory_.bytes();
  }
  bool leave() {
    sessions_ = {};
    memory_ = {};
    expected_.clear();
    newest_ = nullptr;
    next_stored_ = now_;
    return stored_.leave();
  }
  bool fetch(const Key& key) {
    const auto take = [this](Text bytes, Text state, std::uint64_t version) {
      return adopt({kSlice, bytes, state, version, false});
    };
    return stored_.fetch([&](std::string& bytes) { append_key_part(key, bytes); }, take);
  }
  // All rows of the keys that have a session which may end next.
  [[gnu::noinline]] bool find_due() {
    constexpr std::int64_t kParts = 32;
    std::set<std::string> keys;
    const auto take = [&keys](Text bytes, Text, std::uint64_t) {
      Text values;
      if (!take_part(bytes, values)) return false;
      keys.emplace(values.data, values.size);
      return true;
    };
    const auto from = next_stored_;
    const auto until = from + Definition::kGapMs / kParts;
    if (!stored_.for_each_of_times(from, until, take, next_stored_)) return false;
    for (const auto& bytes : keys) {
      Text values{bytes.data(), bytes.size()};
      Key key;
      if (!key.take(values)) return false;
      if (sessions_.find(key) == nullptr && !fetch(key)) return false;
    }
    return true;
  }

  Run& run_;
  StoredEntries<Definition> stored_;
  Pool memory_;  // Of the rows.
  KeyedValues<Key, Sessions> sessions_;
  // Numbers of entries by the time at which a session of theirs may end.
  std::map<std::int64_t, std::vector<std::uint32_t>> expected_;
  std::vector<std::uint32_t>* newest_ = nullptr;  // Those of the last time that was added.
  std::int64_t newest_end_ = 0;
  std::vector<std::pair<std::string, std::uint32_t>> ending_;
  std::int64_t next_number_ = 0;
  // Sessions of the store that have not been looked at live so long at least.
  std::int64_t next_stored_ = INT64_MAX;
  std::int64_t now_ = kNoTime;  // The watermark.
};

}  // namespace holdfast::query
