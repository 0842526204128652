// groups.hpp: the groups that one worker has met: their keys, and what the aggregates gathered.
//
// Where the values of the keys make few groups, a group's number is computed of theirs, else its
// keys are looked up in a hash table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <holdfast/olap/mart/aggregate_state.hpp>
#include <holdfast/olap/mart/group_table.hpp>
#include <holdfast/olap/mart/load_parts.hpp>
#include <holdfast/olap/mart/prepared_plan.hpp>
#include <holdfast/olap/mart/star_plan.hpp>

namespace holdfast::olap::mart {

class Groups {
 public:
  // Both must outlive it.
  Groups(const StarPlan& plan, const PreparedPlan& prepared);

  // Rows of a block that pass. Errors: of programs.
  Status add(const Input& input, std::span<const std::uint32_t> rows);
  // Numbers that groups have so far.
  std::size_t count() const { return dense_ ? *dense_ : table_.size(); }
  // Whether equal keys have equal words in all Groups, so that a group has its part in all of them.
  bool has_parts() const;
  // Takes over those groups of another that are of this part of `parts`.
  void merge(const Groups& other, std::uint32_t part, std::uint32_t parts);

  // Groups that have a row, ascending.
  std::vector<std::uint32_t> met() const;
  // Errors: an aggregate of one of these does not fit its type.
  Status check(std::span<const std::uint32_t> groups) const;
  // Column `number` of [keys, aggregates] of these, as values `at` and on. Texts lie here, and in
  // the plan. Errors: as check().
  Status column(std::size_t number, std::span<const std::uint32_t> groups, Vector& to,
                std::size_t at) const;

 private:
  bool is_made(const GroupKey& key) const {  // A text that a program makes.
    return !key.slot && form_of(key.type) == Form::kTexts;
  }
  void grow();
  void reserve();
  Status number_rows(const Input& input, std::span<const std::uint32_t> rows);
  Status add_words(const Input& input, std::span<const std::uint32_t> rows);
  Status add_aggregates(const Input& input, std::span<const std::uint32_t> rows);
  // Where the groups of another are here, some at a time.
  void find_groups(const Groups& other, std::uint32_t part, std::uint32_t parts,
                   std::vector<std::uint32_t>& to);
  void key_column(std::size_t number, std::span<const std::uint32_t> groups, Vector& to,
                  std::size_t at) const;

  const StarPlan& plan_;
  const PreparedPlan& prepared_;
  std::optional<std::uint32_t> dense_;
  std::size_t key_words_;
  GroupTable table_;
  std::vector<TextNumbers> texts_;  // By key; of texts that programs make.
  std::vector<std::uint8_t> met_;   // Of groups whose numbers are computed.
  std::vector<AggregateState> states_;
  std::size_t room_ = 0;  // Of the states.
  bool reserved_ = false;
  // Of the rows at hand.
  std::vector<std::uint32_t> numbers_, indexes_;
  std::vector<std::int64_t> words_;
};

}  // namespace holdfast::olap::mart
