// compiled_operators.hpp: the operators of a chain as compiled code does them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/compile/compiled_host.hpp>
#include <holdfast/stream/compile/library.hpp>
#include <holdfast/stream/compile/query_source.hpp>
#include <holdfast/stream/sink.hpp>
#include <holdfast/stream/state_store.hpp>
#include <holdfast/stream/workers/part.hpp>

namespace holdfast::stream::compile {

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
  std::vector<OperatorProgress> operators() const override;
  std::set<std::int64_t> stored_slices() const override { return {}; }
  Status visit_entries(VisitEntry) const override { return {}; }
  std::unique_ptr<Part> make_part(std::int64_t watermark, Part::Give give) const override;
  void absorb(Parcel& parcel) override;
  const sql::Plan& plan() const override { return plan_; }
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
  std::vector<std::byte> records_;
};

}  // namespace holdfast::stream::compile
