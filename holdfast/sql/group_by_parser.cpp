#include "group_by_parser.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include <holdfast/sql/expression_parser.hpp>

namespace holdfast::sql {
namespace {

using namespace syntax;
using Set = std::vector<std::uint32_t>;  // Members of group_by, by number.

class GroupByParser {
 public:
  GroupByParser(TokenReader& tokens, Select& select) : tokens_(tokens), select_(select) {}

  // Of elements side by side, each set of one goes with each of the others.
  Status run() {
    const Position at = tokens_.peek().at;
    std::vector<Set> all = {{}};
    bool has_sets = false;
    do {
      std::vector<Set> element;
      HF_ASSIGN_OR_RETURN(const bool sets, grouping_element(element));
      has_sets = has_sets || sets;
      std::vector<Set> product;
      HF_RETURN_IF_ERROR(check_sets(at, all.size() * element.size()));
      for (const auto& one : all) {
        for (const auto& other : element) {
          product.push_back(one);
          product.back().insert(product.back().end(), other.begin(), other.end());
        }
      }
      all = std::move(product);
      if (select_.group_by.size() > kMaxColumns)
        return error_at(at, "GROUP BY has more than " + std::to_string(kMaxColumns) + " keys");
    } while (tokens_.accept_sign(","));
    if (has_sets) select_.grouping_sets = std::move(all);
    return {};
  }

 private:
  static Status check_sets(Position at, std::size_t count) {
    if (count <= kMaxGroupingSets) return {};
    return error_at(at, "more than " + std::to_string(kMaxGroupingSets) + " grouping sets");
  }

  // False: it is an expression.
  Result<bool> grouping_element(std::vector<Set>& sets) {
    const bool listed = tokens_.is("GROUPING") && tokens_.is("SETS", 1);
    const bool nothing = tokens_.is_sign("(") && tokens_.is_sign(")", 1);
    if (!listed && !nothing && !begins_rollup()) {
      HF_ASSIGN_OR_RETURN(auto one, parse_expression(tokens_));
      sets.push_back(member(std::move(one)));
      return false;
    }
    if (!listed) {
      HF_RETURN_IF_ERROR(one_of_sets(sets));
      return true;
    }
    const Position at = tokens_.take().at;
    tokens_.take();
    HF_RETURN_IF_ERROR(tokens_.expect_sign("("));
    do {
      HF_RETURN_IF_ERROR(one_of_sets(sets));
      HF_RETURN_IF_ERROR(check_sets(at, sets.size()));
    } while (tokens_.accept_sign(","));
    HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    return true;
  }

  bool begins_rollup() const {
    return (tokens_.is("ROLLUP") || tokens_.is("CUBE")) && tokens_.is_sign("(", 1);
  }

  // Within GROUPING SETS: a set, ROLLUP or CUBE.
  Status one_of_sets(std::vector<Set>& sets) {
    if (tokens_.is("GROUPING") && tokens_.is("SETS", 1))
      return unsupported_at(tokens_.peek().at, "GROUPING SETS within GROUPING SETS",
                            "its sets may stand in the outer list");
    if (!begins_rollup()) {
      Set set;
      HF_RETURN_IF_ERROR(set_of(set));
      sets.push_back(std::move(set));
      return {};
    }
    const Token word = tokens_.take();
    tokens_.take();
    std::vector<Set> parts;
    do {
      HF_RETURN_IF_ERROR(set_of(parts.emplace_back()));
    } while (tokens_.accept_sign(","));
    HF_RETURN_IF_ERROR(tokens_.expect_sign(")"));
    const bool cube = word.upper == "CUBE";
    if (cube ? parts.size() > 8 : parts.size() >= kMaxGroupingSets)
      return check_sets(word.at, kMaxGroupingSets + 1);
    // The sets with most keys first.
    const auto add = [&](const auto& has) {
      Set set;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (has(i)) set.insert(set.end(), parts[i].begin(), parts[i].end());
      }
      sets.push_back(std::move(set));
    };
    if (cube) {
      for (std::size_t left_out = 0; left_out < std::size_t{1} << parts.size(); ++left_out)
        add([&](std::size_t i) { return (left_out >> (parts.size() - 1 - i) & 1) == 0; });
    } else {
      for (std::size_t keys = parts.size() + 1; keys-- > 0;)
        add([&](std::size_t i) { return i < keys; });
    }
    return {};
  }

  // a, (a, b) or ().
  Status set_of(Set& set) {
    const bool wrapped = tokens_.accept_sign("(");
    if (wrapped && tokens_.accept_sign(")")) return {};
    do {
      HF_ASSIGN_OR_RETURN(auto one, parse_expression(tokens_));
      const auto added = member(std::move(one));
      set.insert(set.end(), added.begin(), added.end());
    } while (wrapped && tokens_.accept_sign(","));
    return wrapped ? tokens_.expect_sign(")") : Status();
  }

  Set member(ExpressionPointer key) {
    select_.group_by.push_back(std::move(key));
    return {static_cast<std::uint32_t>(select_.group_by.size() - 1)};
  }

  TokenReader& tokens_;
  Select& select_;
};

}  // namespace

Status parse_group_by(TokenReader& tokens, Select& select) {
  return GroupByParser(tokens, select).run();
}

}  // namespace holdfast::sql
