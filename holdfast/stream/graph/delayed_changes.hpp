// delayed_changes.hpp: late changes of windows, some time's together (Flink:
// 'table.exec.emit.late-fire.delay').
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <holdfast/stream/graph/operator.hpp>

namespace holdfast::stream::graph {

// Groups of windows come as CorrectedGroups gives them: a window's when it ends, and changes behind
// that. A change waits `delay_ms` by the clock, and what comes meanwhile of its group goes out with
// it: what was shown, and what is there now. The next one waits anew. When the watermark is
// `lateness_ms` behind the end of the window, all goes out before the watermark. So nothing is
// lost, and no change is late for what reads it.
//
// State  [end, start, keys] -> when it goes out, what was shown, what is there now. In memory, of
//        what waits.
// Order  Of what goes out by the clock: as the first changes came, of one millisecond by the keys'
//        bytes. By the watermark: by the end, the start, then the keys' bytes.
class DelayedChanges : public Operator {
 public:
  explicit DelayedChanges(const Parts& parts);
  Status take(std::size_t input, RowKind kind, const sql::Row& row) override;
  Status tick() override;
  Status restore() override;
  Status put_state() override { return waiting_.put_all(); }
  Status visit_state(VisitState visit) const override { return waiting_.visit_state(visit); }
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
  };
  using Table = StateTable<Change, Codec>;
  Status give(Table::iterator place);

  const sql::DelayChanges& delay_;
  std::int64_t (*const now_)();
  Table waiting_;
  std::set<std::pair<std::int64_t, std::string>> dues_;  // When, which key.
};

}  // namespace holdfast::stream::graph
