// compiled_part.hpp: one worker's share of a plan, as compiled code does it.
#pragma once

#include <memory>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/compile/compiled_operators.hpp>
#include <holdfast/stream/workers/part.hpp>

namespace holdfast::stream::compile {

struct CompiledParcel final : Parcel {
  std::shared_ptr<const Library> library;  // Goes behind what its code made.
  std::unique_ptr<query::Parcel> given;
};

class CompiledPart final : public Part {
 public:
  // `plan` outlives it.
  CompiledPart(const sql::Plan& plan, std::shared_ptr<const QuerySource> source,
               std::shared_ptr<const Library> library, std::int64_t watermark, Give give);

  std::unique_ptr<Batch> make_batch() const override;
  void read(Source& source, Batch& batch) const override;
  void prepare(Batch& batch, bool watermark) override;
  Status take(const Batch& batch, std::size_t& failed) override;
  void own(std::uint32_t number, std::uint32_t of) override { query_->own(number, of); }
  Status advance(std::int64_t watermark) override;
  void give_rest() override { query_->give_rest(); }
  OperatorCounts counts() const override;

 private:
  class Giver final : public CompiledHost {
   public:
    Giver(const sql::Plan& plan, const QuerySource& source, std::shared_ptr<const Library> library,
          Give give)
        : CompiledHost(plan, source, nullptr, nullptr),
          library_(std::move(library)),
          give_(std::move(give)) {}
    void give(std::int64_t end, query::Parcel* given) override;

   private:
    std::shared_ptr<const Library> library_;
    Give give_;
  };

  const sql::Plan& plan_;
  const std::shared_ptr<const QuerySource> source_;
  const RecordLayout& layout_;
  std::shared_ptr<const Library> library_;
  Giver host_;
  std::unique_ptr<query::Query> query_;  // Goes before the library.
};

}  // namespace holdfast::stream::compile
