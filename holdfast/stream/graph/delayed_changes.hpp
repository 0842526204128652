// delayed_changes.hpp: late changes of windows, some time's together (Flink:
// 'table.exec.emit.late-fire.delay').
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <holdfast/stream/compile/runtime/due_rows.hpp>
#include <holdfast/stream/graph/operator.hpp>

namespace holdfast::stream::graph {

// Groups of windows come as CorrectedGroups gives them: a window's when it ends, and changes behind
// that. A change waits `delay_ms` by the clock, and what comes meanwhile of its group goes out with
// it: what was shown, and what is there now. The next one waits anew. When the watermark is
// `lateness_ms` behind the end of the window, all goes out before the watermark. So nothing is
// lost, and no change is late for what reads it.
//
// Where memory has not all that waits, it has what came since the last checkpoint. The rest comes
// back by the clock, some thousand at once, and of a window when the watermark comes to it.
//
// State  [end, start, keys] -> when it goes out, what was shown, what is there now; it says as its
//        time when it goes out.
// Order  Of what goes out by the clock: as the first changes came, of one millisecond by the keys'
//        bytes. By the watermark: by the end, the start, then the keys' bytes.
class DelayedChanges : public Operator {
 public:
  explicit DelayedChanges(const Parts& parts);
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status tick() override;
  Status restore() override;
  Status put_state() override;
  Status visit_state(VisitState visit) const override { return waiting_.visit_state(visit); }
  std::set<std::int64_t> stored_slices() const override {
    return waiting_.is_partial() ? std::set{slice(0)} : std::set<std::int64_t>();
  }
  StateSize state_size() const override { return size_of(waiting_); }

 protected:
  Status pass(std::int64_t watermark) override;

 private:
  struct Change {
    std::int64_t due_ms = 0;
    std::optional<sql::Row> shown, now;  // None: there is no such group.
  };
  struct Codec {
    const std::vector<sql::Column>* columns;
    KeyForm form = {2, 0, 0};
    void encode(const Change& change, std::string& bytes) const;
    bool decode(std::string_view& bytes, Change& change) const;
    std::int64_t end_of(std::string_view, const Change& change) const { return change.due_ms; }
  };
  using Table = StateTable<Change, Codec>;
  // When the changes of a window go out, the first and the last one.
  using Dues = std::pair<std::int64_t, std::int64_t>;
  static std::int64_t end_of(std::string_view key) { return take_ordered(key); }
  Status fetch(const std::string& key);
  Status fetch_due(std::int64_t now);
  Status fetch_window(std::int64_t end, const Dues& dues);
  Status give(Table::iterator place);
  void note_stored(std::string_view key, std::int64_t due_ms);
  Status leave();

  const sql::DelayChanges& delay_;
  std::int64_t (*const now_)();
  Table waiting_;
  std::set<std::pair<std::int64_t, std::string>> dues_;  // When, which key: of those in memory.
  // Windows, by their ends, of which the store may have changes that wait. None of them goes out
  // before the last one.
  std::map<std::int64_t, Dues> stored_;
  std::int64_t next_stored_ = kEndOfTime;
  query::DueRows<std::string, bool> due_;
};

}  // namespace holdfast::stream::graph
