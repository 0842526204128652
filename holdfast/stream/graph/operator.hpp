// operator.hpp: one operator of a graph: changes and watermarks come in, and go out to those that
// read it.
//
// A watermark says that no row with an earlier time is to come, but for late ones. An operator has
// that of all its inputs together, the least. What it gives out because of a watermark goes before
// it.
//
// Threads  One at a time.   Errors  Those of expressions and of the state store.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/graph/keys.hpp>
#include <holdfast/stream/graph/state_table.hpp>
#include <holdfast/stream/operators.hpp>
#include <holdfast/stream/row_kind.hpp>
#include <holdfast/stream/state_store.hpp>

namespace holdfast::stream::graph {

// StateTable::visit_state().
using VisitState = FunctionRef<Status(std::int64_t slice, std::string_view key,
                                      std::string_view state, std::uint64_t version, bool changed)>;

// What an operator is made of. All outlives it.
struct Parts {
  const sql::Node& node;
  std::vector<const std::vector<sql::Column>*> inputs;  // Columns of each.
  StateStore* store;                                    // Null: no checkpoints.
  std::int64_t first_slice;       // Its slices of the store are this and those behind it.
  Retention retention = {};       // Of what no watermark ends.
  std::size_t number = 0;         // Of the node.
  LateRows* late_rows = nullptr;  // Null: they are counted only.
};

// How many entries a state has in memory, and about how many bytes they have in a checkpoint.
struct StateSize {
  std::uint64_t entries = 0, bytes = 0;
  StateSize operator+(const StateSize& other) const {
    return {entries + other.entries, bytes + other.bytes};
  }
};

// What operators measure of their time: what is done now counts so often; 0: not at all.
struct Timing {
  double weight = 0;
};

class Operator {
 public:
  explicit Operator(const Parts& parts)
      : node_(parts.node),
        inputs_(parts.inputs),
        store_(parts.store),
        first_slice_(parts.first_slice),
        number_(parts.number),
        late_rows_to_(parts.late_rows),
        watermarks_(std::max<std::size_t>(1, parts.inputs.size()), kNoWatermark) {}
  virtual ~Operator() = default;
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  virtual Status take(std::size_t input, RowKind kind, const sql::Row& row) = 0;
  virtual Status advance(std::size_t input, std::int64_t watermark) {
    watermarks_[input] = watermark;
    const auto least = *std::min_element(watermarks_.begin(), watermarks_.end());
    if (least <= watermark_) return {};
    HF_RETURN_IF_ERROR(timing_ == nullptr ? pass(least) : pass_timed(least));
    watermark_ = least;
    return forward(least);
  }
  // The clock has gone on, also where no row comes. Asked of what follows_clock().
  virtual Status tick() { return {}; }
  // After a checkpoint: the watermarks it had, then its state.
  std::int64_t set_watermark(std::size_t input, std::int64_t watermark) {
    watermarks_[input] = watermark;
    return watermark_ = *std::min_element(watermarks_.begin(), watermarks_.end());
  }
  virtual Status restore() { return {}; }
  virtual Status put_state() { return {}; }
  // Another goes on from here: the entries of the state, and slices that the store has. Compiled
  // code takes a state over from the interpreter, which restored it; what is not told is lost.
  virtual Status visit_state(VisitState) const {
    if (state_size().entries == 0) return {};
    return Error{Errc::kUnsupported, "an operator of this query does not hand its state over"};
  }
  virtual std::set<std::int64_t> stored_slices() const { return {}; }
  virtual StateSize state_size() const { return {}; }
  // Of one that gives the rows in its state numbers, and keeps the next one: NextNumber. Several
  // that share a state begin again with the highest of theirs.
  virtual std::int64_t next_number() const { return 0; }
  virtual void raise_number(std::int64_t) {}
  // It outlives this. Passing on of watermarks is measured always, rows by the weight it has then.
  void measure(Timing& timing) { timing_ = &timing; }
  void add_seconds(double seconds) { seconds_ += seconds; }
  double seconds() const { return seconds_; }

  void add_reader(Operator& reader, std::size_t input) { readers_.push_back({&reader, input}); }
  const sql::Node& node() const { return node_; }
  std::int64_t watermark() const { return watermark_; }
  // What its readers get of a watermark.
  virtual std::int64_t forwarded(std::int64_t watermark) const {
    return watermark == kEndOfTime || watermark == kNoWatermark ? watermark
                                                                : watermark - held_back();
  }
  std::uint64_t late_rows = 0, rows_without_time = 0, rows_out = 0;

 protected:
  // The watermark of all inputs is `watermark` now; watermark() is still the one before.
  virtual Status pass(std::int64_t) { return {}; }
  // Rows may be given out that are so much older than the watermark.
  virtual std::int64_t held_back() const { return 0; }
  Status emit(RowKind kind, const sql::Row& row) {
    ++rows_out;
    if (timing_ != nullptr && timing_->weight != 0) return emit_timed(kind, row);
    for (const auto& [reader, input] : readers_)
      HF_RETURN_IF_ERROR(reader->take(input, kind, row));
    return {};
  }
  // Nothing where a reader of results takes both rows for the same.
  Status emit_update(const sql::Row& before, const sql::Row& after);
  // A row of this input is late: it goes no further.
  Status drop_late(std::size_t input, const sql::Row& row) {
    ++late_rows;
    return late_rows_to_ == nullptr ? Status()
                                    : late_rows_to_->take_late(number_, input, row, watermark_);
  }
  Status forward(std::int64_t watermark) {
    for (const auto& [reader, input] : readers_)
      HF_RETURN_IF_ERROR(reader->advance(input, forwarded(watermark)));
    return {};
  }
  const std::vector<sql::Column>& columns_of(std::size_t input) const { return *inputs_[input]; }
  StateStore* store() const { return store_; }
  std::int64_t slice(std::int64_t number) const { return first_slice_ + number; }

 private:
  // Time of readers is theirs.
  Status emit_timed(RowKind kind, const sql::Row& row);
  Status pass_timed(std::int64_t watermark);

  const sql::Node& node_;
  const std::vector<const std::vector<sql::Column>*> inputs_;
  StateStore* const store_;
  const std::int64_t first_slice_;
  const std::size_t number_;
  LateRows* const late_rows_to_;
  std::vector<std::int64_t> watermarks_;
  std::int64_t watermark_ = kNoWatermark;
  std::vector<std::pair<Operator*, std::size_t>> readers_;
  Timing* timing_ = nullptr;  // Null: nobody looks.
  double seconds_ = 0;
};

template <class... Tables>
StateSize size_of(const Tables&... tables) {
  return (StateSize{tables.size(), tables.bytes()} + ...);
}

// Rows as values of a table.
struct RowCodec {
  const std::vector<sql::Column>* columns;
  KeyForm form = {};
  void encode(const sql::Row& row, std::string& bytes) const {
    for (std::size_t i = 0; i < columns->size(); ++i)
      sql::append_exact_bytes(row[i], (*columns)[i].type, bytes);
  }
  bool decode(std::string_view& bytes, sql::Row& row) const {
    return take_row(bytes, *columns, row);
  }
};
using RowTable = StateTable<sql::Row, RowCodec>;

// Times, and numbers that count.
struct NumberCodec {
  void encode(std::int64_t number, std::string& bytes) const { append_ordered(number, bytes); }
  bool decode(std::string_view& bytes, std::int64_t& number) const {
    if (bytes.size() < 8) return false;
    return sql::is_summable(number = take_ordered(bytes));
  }
};
using NumberTable = StateTable<std::int64_t, NumberCodec>;

// The number of an operator's next row, as a table of its own with one entry.
class NextNumber {
 public:
  NextNumber(StateStore* store, std::int64_t slice) : table_(store, slice, {}) {}

  std::int64_t take() { return table_.at(kKey)++; }
  std::int64_t next() const {
    const auto found = table_.find(kKey);
    return found == table_.end() ? 0 : found->second.value;
  }
  // It is no less than this.
  void raise_to(std::int64_t next) {
    if (next > this->next()) table_.at(kKey) = next;
  }
  Status restore() { return table_.restore(); }
  Status put() { return table_.put_all(); }
  Status visit_state(VisitState visit) const { return table_.visit_state(visit); }

 private:
  static inline const std::string kKey = "n";
  NumberTable table_;
};

// The last eight bytes of a key whose form has a number behind: by it rows of one key are told
// apart, in their order.
inline std::int64_t sequence_of(std::string_view key) {
  std::string_view last = key.substr(key.size() - 8);
  return take_ordered(last);
}

}  // namespace holdfast::stream::graph
