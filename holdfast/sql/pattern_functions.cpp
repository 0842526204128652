#include "pattern_functions.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/patterns.hpp>
#include <holdfast/sql/prepared_function.hpp>
#include <holdfast/sql/scalar_functions.hpp>

namespace holdfast::sql {
namespace {

using Arguments = std::span<const Value>;
constexpr std::string_view kSimilar = "SIMILAR TO";

std::size_t place_in(std::string_view text, std::string_view part) {
  return static_cast<std::size_t>(part.data() - text.data());
}

// Each match behind the one before, as often as `visit` says true: visit(match) -> bool. Behind an
// empty one the search goes on a character later, as Java's does.
template <class Visit>
void for_each_match(const Pattern& pattern, std::string_view text, Visit visit) {
  std::size_t from = 0;
  std::array<std::string_view, 1> found;
  while (from <= text.size() && pattern.find(text, from, found)) {
    const std::size_t begin = place_in(text, found[0]), end = begin + found[0].size();
    if (!visit(begin, end)) return;
    if (end > begin) {
      from = end;
    } else {
      if (end == text.size()) return;
      from = end + first_characters(text.substr(end), 1).size();
    }
  }
}

Status matches(const Pattern& pattern, Arguments a, Value& out) {
  out = Value::of(pattern.find(a[0].text, 0, {}) ? 1 : 0);
  return {};
}

// A group that there is not, or that took no part, is NULL.
Status extract(const Pattern& pattern, Arguments a, Value& out) {
  const Int128 number = a.size() == 1 ? 0 : a[1].number;
  out = Value();
  if (number < 0 || number > static_cast<Int128>(pattern.groups())) return {};
  const auto group = static_cast<std::size_t>(number);
  std::vector<std::string_view> found(group + 1);
  if (pattern.find(a[0].text, 0, found) && found[group].data() != nullptr)
    out = Value::of_text(std::string(found[group]));
  return {};
}

Status replace(const Pattern& pattern, Arguments a, Value& out) {
  const std::string_view text = a[0].text, by = a[1].text;
  std::string result;
  std::size_t copied = 0;
  for_each_match(pattern, text, [&](std::size_t begin, std::size_t end) {
    result += text.substr(copied, begin - copied);
    result += by;
    copied = end;
    return result.size() <= kMaxMadeText;
  });
  result += text.substr(copied);
  if (result.size() > kMaxMadeText)
    return Error{Errc::kInvalidOption, "REGEXP_REPLACE: a text is longer than 16 MiB"};
  out = Value::of_text(std::move(result));
  return {};
}

Status count(const Pattern& pattern, Arguments a, Value& out) {
  std::int64_t matches = 0;
  for_each_match(pattern, a[0].text, [&](std::size_t, std::size_t) { return ++matches, true; });
  out = Value::of(matches);
  return {};
}

// In characters, counted from 1; 0: there is no match.
Status place(const Pattern& pattern, Arguments a, Value& out) {
  const std::string_view text = a[0].text;
  std::array<std::string_view, 1> found;
  if (!pattern.find(text, 0, found)) return out = Value::of(0), Status();
  const auto before = text.substr(0, place_in(text, found[0]));
  const auto characters = std::count_if(before.begin(), before.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  });
  out = Value::of(characters + 1);
  return {};
}

struct Function {
  std::string_view name;
  Type type;
  std::string_view more;  // A letter per argument behind text and pattern: i INT, s STRING.
  std::size_t least;      // Of these.
  Status (*compute)(const Pattern&, Arguments, Value&);
};

// In the order of their names.
constexpr std::array<Function, 7> kFunctions = {{
    {"REGEXP", kBooleanType, "", 0, matches},
    {"REGEXP_COUNT", kIntType, "", 0, count},
    {"REGEXP_EXTRACT", kStringType, "i", 0, extract},
    {"REGEXP_INSTR", kIntType, "", 0, place},
    {"REGEXP_REPLACE", kStringType, "s", 1, replace},
    {"REGEXP_SUBSTR", kStringType, "", 0, extract},
    {kSimilar, kBooleanType, "", 0, matches},
}};

class PatternFunction : public PreparedFunction {
 public:
  PatternFunction(const Function& function, std::string written,
                  std::unique_ptr<const Pattern> pattern)
      : function_(function), written_(std::move(written)), pattern_(std::move(pattern)) {}

  Status compute(Arguments arguments, Value& out) const override {
    for (const auto& argument : arguments) {
      if (argument.null) return out = Value(), Status();
    }
    return function_.compute(*pattern_, arguments, out);
  }
  bool can_fail() const override { return function_.compute == replace; }
  std::string text() const override {
    return std::string(function_.name) + " " + quoted_text(written_) + " ";
  }

 private:
  const Function& function_;
  const std::string written_;
  const std::unique_ptr<const Pattern> pattern_;
};

Result<ExpressionPointer> text_literal(ExpressionPointer argument, std::string_view name,
                                       std::string_view what) {
  HF_ASSIGN_OR_RETURN(argument, converted(folded(std::move(argument)), kStringType, name));
  if (argument->operation != Operation::kLiteral)
    return unsupported_at(argument->at,
                          std::string(name) + " with " + std::string(what) + " that is no literal");
  return argument;
}

// Takes the ESCAPE of SIMILAR TO out of its arguments.
Result<char> escape_of(std::vector<ExpressionPointer>& arguments) {
  if (arguments.size() < 3) return '\0';
  HF_ASSIGN_OR_RETURN(const auto escape,
                      text_literal(std::move(arguments[2]), kSimilar, "an ESCAPE"));
  arguments.pop_back();
  if (escape->literal.text.size() != 1)
    return error_at(escape->at, "ESCAPE wants a text of one ASCII character");
  return escape->literal.text[0];
}

}  // namespace

std::span<const std::string_view> pattern_functions() {
  static const auto names = [] {
    std::array<std::string_view, kFunctions.size()> all;
    std::transform(kFunctions.begin(), kFunctions.end(), all.begin(),
                   [](const Function& function) { return function.name; });
    return all;
  }();
  return names;
}

Result<ExpressionPointer> bind_pattern_function(std::string_view name, Position at,
                                                std::vector<ExpressionPointer> arguments) {
  const auto& function = *std::find_if(kFunctions.begin(), kFunctions.end(),
                                       [&](const Function& one) { return one.name == name; });
  const bool similar = name == kSimilar;
  const std::size_t least = 2 + function.least, most = similar ? 3 : 2 + function.more.size();
  if (arguments.size() < least || arguments.size() > most)
    return error_at(at, std::string(name) + " wants " + std::to_string(least) +
                            (least == most ? "" : " to " + std::to_string(most)) + " arguments");
  auto call = made(Operation::kPrepared, function.type, at);
  HF_ASSIGN_OR_RETURN(const auto pattern, text_literal(std::move(arguments[1]), name, "a pattern"));
  if (pattern->literal.null) return literal_of(Value(), function.type, at);
  std::string written = pattern->literal.text;
  if (similar) {
    HF_ASSIGN_OR_RETURN(const char escape, escape_of(arguments));
    auto translated = pattern_of_similar(written, escape);
    if (!translated) return error_at(pattern->at, translated.error().detail);
    written = *std::move(translated);
  }
  auto compiled = compile_pattern(written);
  if (!compiled) {
    Error error = error_at(pattern->at, compiled.error().detail);
    error.code = compiled.error().code;
    return error;
  }
  call->prepared =
      std::make_shared<PatternFunction>(function, std::move(written), *std::move(compiled));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (i == 1) continue;
    const bool number = i > 1 && function.more[i - 2] == 'i';
    HF_ASSIGN_OR_RETURN(auto argument,
                        converted(std::move(arguments[i]), number ? kIntType : kStringType, name));
    call->arguments.push_back(std::move(argument));
  }
  return call;
}

}  // namespace holdfast::sql
