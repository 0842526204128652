// compiled_host.hpp: the command's side of compiled code.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/compile/query_source.hpp>
#include <holdfast/stream/compile/runtime/interface.hpp>
#include <holdfast/stream/graph/retention.hpp>
#include <holdfast/stream/operators.hpp>
#include <holdfast/stream/record.hpp>
#include <holdfast/stream/state_store.hpp>

namespace holdfast::stream::compile {

inline query::Text text_of(std::string_view text) { return {text.data(), text.size()}; }

// What compiled code asks of us. The first error is kept; all calls after it fail.
class CompiledHost : public query::Host {
 public:
  // `plan` and `source` outlive it. `retention`: of what no watermark ends.
  CompiledHost(const sql::Plan& plan, const QuerySource& source, Sink* sink, StateStore* store,
               const graph::Retention& retention = {}, LateRows* late_rows = nullptr);

  bool evaluate(std::uint32_t expression, const query::Slot* columns, query::Slot& out) override;
  bool call(std::uint32_t call, const query::Slot* arguments, query::Slot& out) override;
  const query::UserAggregate* user_aggregate(std::uint32_t number) override;
  bool user_result(std::uint32_t number, const void* state, query::Slot& out) override;
  void fail_user(std::uint32_t number, const void* state) override;
  bool average(std::uint32_t failure, query::Int128 sum, std::int64_t count, std::uint32_t shift,
               query::Int128& out) override;
  void forget_texts() override { texts_.clear(); }
  bool write(const query::Change* changes, const std::byte* records, std::size_t count) override;
  void fail(std::uint32_t failure) override { take(parts_.failures[failure]); }
  bool put(std::int64_t slice, query::Text key, query::Text state) override;
  bool for_each(std::int64_t slice, query::VisitEntries& visit) override;
  void drop(std::int64_t slice) override { store_->drop(slice); }
  bool replace(std::int64_t slice, query::Text key, query::Text state,
               std::uint64_t& version) override;
  bool keeps_entries() const override { return store_ != nullptr && store_->keeps_entries(); }
  bool takes_blocks(std::uint64_t& memory_bytes) const override {
    return store_ != nullptr && store_->takes_blocks(memory_bytes);
  }
  bool finds_groups(std::uint64_t& memory_bytes) const override {
    return store_ != nullptr && store_->finds_groups(memory_bytes);
  }
  bool group_by(std::int64_t slice, query::Grouping grouping) override;
  bool for_each_of_group(std::int64_t slice, query::Text group,
                         query::VisitVersions& visit) override;
  bool for_each_of_times(std::int64_t slice, std::int64_t from, std::int64_t until,
                         query::VisitVersions& visit, std::int64_t& beyond) override;
  void ask_for_checkpoint() override { store_->ask_for_checkpoint(); }
  std::int64_t idle_ms() const override { return retention_.idle_ms; }
  std::int64_t now_ms() const override { return now_ms_; }
  void end_idle(std::int64_t slice, std::int64_t oldest_ms, std::int64_t began_ms,
                std::int64_t parts) override {
    store_->end_idle(slice, oldest_ms, began_ms, parts);
  }
  bool put_block(std::int64_t slice, query::Text block, bool in_run,
                 std::uint64_t& generation) override;
  void drop_older(std::int64_t slice, std::uint64_t generation) override {
    store_->drop_older(slice, generation);
  }
  bool next_generation(std::int64_t slice, std::uint64_t& generation,
                       query::BlockPlace& run) override;
  bool next_block(std::int64_t slice, std::uint64_t generation, query::BlockPlace& place,
                  query::Text& block) override;
  void refuse_entry() override;
  bool take_late(std::size_t node, std::size_t input, const query::Slot* columns,
                 std::int64_t watermark) override;
  void find_span(bool of_walls, std::int64_t time, query::ZoneSpan& span) const override;

  void give(std::int64_t, query::Parcel* parcel) override { delete parcel; }

  // Before rows are taken.
  void look_at_clock() { now_ms_ = retention_.now(); }

  Status status() const { return status_; }
  // Takes the failure, if any; calls succeed again.
  Status take_status() { return std::exchange(status_, Status()); }
  std::uint64_t rows_out = 0;

 private:
  bool take(const Status& status);
  void give(sql::Value value, const sql::Type& type, query::Slot& out);
  Status write_row(query::Change change, const std::byte* record);

  const sql::Plan& plan_;
  const std::vector<sql::Column>& columns_;  // Of a row for the sink.
  const RecordLayout& layout_;
  const QueryParts& parts_;
  Sink* sink_;           // Null: there are no results, or write() is overridden.
  RecordSink* records_;  // The sink, if it takes records.
  StateStore* store_;
  const graph::Retention retention_;
  LateRows* const late_rows_;  // Null: nobody takes them.
  std::int64_t now_ms_ = 0;
  Status status_;
  sql::Row out_;                   // A row for the sink.
  std::vector<RowKind> kinds_;     // Of records for the sink.
  sql::Row row_;                   // What an interpreted expression reads.
  std::deque<std::string> texts_;  // Of interpreted expressions.
  std::string block_;              // That was read last.
};

}  // namespace holdfast::stream::compile
