// interpreted_part.hpp: one worker's share of a plan, interpreted.
#pragma once

#include <memory>
#include <vector>

#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/group_operator.hpp>
#include <holdfast/stream/workers/part.hpp>

namespace holdfast::stream {

class InterpretedParcel final : public Parcel {
 public:
  explicit InterpretedParcel(SliceMap given) : slices(std::move(given)) {}
  SliceMap slices;
};

class InterpretedPart final : public Part {
 public:
  // `plan` has its groups at `group_node`, and outlives the part.
  InterpretedPart(const sql::Plan& plan, std::size_t group_node, std::int64_t watermark, Give give);

  std::unique_ptr<Batch> make_batch() const override;
  void read(Source& source, Batch& batch) const override;
  void prepare(Batch& batch, bool watermark) override;
  Status take(const Batch& batch, std::size_t& failed) override;
  void own(std::uint32_t number, std::uint32_t of) override { group_.own(number, of); }
  Status advance(std::int64_t watermark) override;
  void give_rest() override { group_.give_rest(); }
  OperatorCounts counts() const override;
  void add_state(OperatorProgress& group) const override {
    group.entries += group_.entries();
    group.state_bytes += group_.bytes();
  }

 private:
  Status prepare_row(sql::Row& row, std::int64_t& watermark) const;
  Status take_row(const sql::Row& row);

  const sql::Plan& plan_;
  const std::size_t group_node_;
  GroupOperator group_;
  std::int64_t watermark_;
};

}  // namespace holdfast::stream
