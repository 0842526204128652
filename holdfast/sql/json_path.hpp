// json_path.hpp: a path into JSON: lax $.orders[0].items[*]['the name'].
//
// Steps   .name, ['name'], ["name"], [number from 0], [*] and .* (every part). Names of letters,
//         digits and such need no quotes.
// Mode    `strict`, or nothing: that a step finds nothing is an error; `lax`: the result is empty.
//         Behind a [*] parts without the step are left out in both.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/json_tree.hpp>

namespace holdfast::sql {

struct JsonStep {
  enum class Kind : std::uint8_t { kMember, kElement, kAll };
  Kind kind = Kind::kAll;
  std::string name;          // kMember
  std::uint32_t number = 0;  // kElement
};

class JsonPath {
 public:
  static constexpr std::size_t kMaxSteps = 200;

  struct Found {
    bool missing = false;  // A step before any [*] found nothing.
    bool many = false;     // The path has a [*].
    std::vector<const JsonNode*> nodes;
  };

  // Errors: kInvalidOption, kUnsupported, with the character's number.
  static Result<JsonPath> parse(std::string_view written);

  bool is_lax() const { return lax_; }
  const std::string& written() const { return written_; }
  // The nodes are those of `root`, which stays.
  Found find(const JsonNode& root) const;

 private:
  std::string written_;
  bool lax_ = false;
  std::vector<JsonStep> steps_;
};

}  // namespace holdfast::sql
