// compiled_operators.hpp: the operators of a plan as compiled code does them, and the command's
// side of it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/compile/library.hpp>
#include <holdfast/stream/compile/query_source.hpp>
#include <holdfast/stream/sink.hpp>
#include <holdfast/stream/state_store.hpp>
#include <holdfast/stream/workers/part.hpp>

namespace holdfast::stream::compile {

// What compiled code asks of us. The first error is kept; all calls after it fail.
class CompiledHost : public query::Host {
 public:
  CompiledHost(const sql::Plan& plan, const QueryParts& parts, Sink* sink, StateStore* store);

  bool evaluate(std::uint32_t expression, const query::Slot* columns, query::Slot& out) override;
  bool average(std::uint32_t failure, query::Int128 sum, std::int64_t count, std::uint32_t shift,
               query::Int128& out) override;
  void forget_texts() override { texts_.clear(); }
  bool write(const query::Slot* row) override;
  void fail(std::uint32_t failure) override { take(parts_.failures[failure]); }
  bool put(std::int64_t slice, query::Text key, query::Text state) override;
  bool for_each(std::int64_t slice, query::VisitEntry& visit) override;
  void drop(std::int64_t slice) override { store_->drop(slice); }
  void give(std::int64_t, query::Parcel* parcel) override { delete parcel; }

  Status status() const { return status_; }
  // So that calls succeed again.
  Status take_status() { return std::exchange(status_, Status()); }
  std::uint64_t rows_out = 0;

 private:
  bool take(const Status& status);

  const sql::Plan& plan_;
  const QueryParts& parts_;
  Sink* sink_;  // Null: there are no results, nor is there a store.
  StateStore* store_;
  Status status_;
  sql::Row out_;                   // A row for the sink.
  sql::Row row_;                   // What an interpreted expression reads.
  std::deque<std::string> texts_;  // Of interpreted expressions.
};

class CompiledOperators final : public MergingOperators {
 public:
  // `plan` outlives it. Goes on where `before` is. Errors: kCorrupt, an entry of the
  // state is none of this query.
  static Result<std::unique_ptr<CompiledOperators>> after(const Operators& before,
                                                          const sql::Plan& plan,
                                                          std::shared_ptr<const QuerySource> source,
                                                          std::shared_ptr<const Library> library,
                                                          Sink& sink, StateStore* store);

  // It goes on where others are: after().
  Status restore(const OperatorCounts&) override { return {}; }
  Result<Progress> take(Source& source) override;
  Status end() override;
  Status put_state() override;
  OperatorCounts counts() const override;
  std::set<std::int64_t> stored_slices() const override { return {}; }
  Status visit_entries(VisitEntry) const override { return {}; }
  std::unique_ptr<Part> make_part(std::int64_t watermark, Part::Give give) const override;
  void absorb(Parcel& parcel) override;
  std::size_t source_columns() const override { return plan_.source().columns.size(); }
  Status advance(std::int64_t watermark) override;

 private:
  CompiledOperators(const sql::Plan& plan, std::shared_ptr<const QuerySource> source,
                    std::shared_ptr<const Library> library, Sink& sink, StateStore* store);
  Result<Progress> take_rows(Source& source);
  Status take_records(Source& source, std::span<const std::byte> records,
                      const std::string& position);

  const sql::Plan& plan_;
  const std::shared_ptr<const QuerySource> source_;
  const RecordLayout& layout_;
  StateStore* store_;
  std::shared_ptr<const Library> library_;
  CompiledHost host_;
  std::unique_ptr<query::Query> query_;  // Goes before the library.
  std::vector<sql::Row> rows_;           // Their texts are those of records_.
  std::unique_ptr<std::byte[]> memory_;
  std::byte* records_ = nullptr;
};

}  // namespace holdfast::stream::compile
