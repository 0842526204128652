#include "json_path.hpp"

#include <charconv>
#include <utility>

#include <holdfast/sql/position.hpp>

namespace holdfast::sql {
namespace {

class StepReader {
 public:
  explicit StepReader(std::string_view text) : text_(text) {}

  // `lax` or `strict` before the $.
  Result<bool> mode() {
    skip_blanks();
    const bool lax = accept_word("lax");
    if (!lax) accept_word("strict");
    skip_blanks();
    if (!accept('$')) return wrong(Errc::kInvalidOption, "a path begins with $");
    return lax;
  }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  Result<JsonStep> next() {
    if (accept('[')) return bracketed();
    if (!accept('.')) return wrong(Errc::kInvalidOption, "a step begins with . or [");
    skip_blanks();
    if (accept('.'))
      return wrong(Errc::kUnsupported, "searching at any depth (..) is not supported");
    if (accept('*')) return JsonStep();
    if (accept('[')) return bracketed();
    return named();
  }

 private:
  Error wrong(Errc code, const char* what) const {
    return Error{code, "the path, at character " + std::to_string(at_ + 1) + ": " + what};
  }
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
  }
  bool accept(char c) { return at_ < text_.size() && text_[at_] == c && ++at_ != 0; }
  bool accept_word(std::string_view word) {
    const auto here = text_.substr(at_, word.size() + 1);
    if (here.size() != word.size() + 1 || here.back() != ' ' || !here.starts_with(word))
      return false;
    at_ += word.size();
    return true;
  }

  Result<JsonStep> named() {
    const auto end = text_.find_first_of(".[]()?@'\"*,: \t\n", at_);
    const auto name = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
    if (name.empty())
      return wrong(Errc::kInvalidOption,
                   "behind a . stands a name or *; nothing else is supported");
    at_ += name.size();
    return JsonStep{JsonStep::Kind::kMember, std::string(name)};
  }

  // Behind the [.
  Result<JsonStep> bracketed() {
    constexpr const char* kWanted =
        "in [] stands a number up to 4294967295, a name in quotes or *; nothing else is supported";
    skip_blanks();
    JsonStep step;
    if (accept('\'') || accept('"')) {
      HF_ASSIGN_OR_RETURN(step.name, quoted_name(text_[at_ - 1]));
      step.kind = JsonStep::Kind::kMember;
    } else if (!accept('*')) {
      const char* const begin = text_.data() + at_;
      const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), step.number);
      if (end == begin || code != std::errc()) return wrong(Errc::kUnsupported, kWanted);
      step.kind = JsonStep::Kind::kElement;
      at_ += static_cast<std::size_t>(end - begin);
    }
    skip_blanks();
    if (at_ < text_.size() && (text_[at_] == ',' || text_[at_] == ':'))
      return wrong(Errc::kUnsupported, "lists and ranges are not supported");
    if (!accept(']')) return wrong(Errc::kInvalidOption, "a [ has no ]");
    return step;
  }

  // Behind the quote; a backslash takes the next character as it is.
  Result<std::string> quoted_name(char quote) {
    std::string name;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      name += text_[at_++];
    }
    if (!accept(quote)) return wrong(Errc::kInvalidOption, "a quote has no partner");
    return name;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

// What `step` finds in `node`.
void take_step(const JsonStep& step, const JsonNode& node, std::vector<const JsonNode*>& found) {
  using Kind = JsonStep::Kind;
  const bool object = node.kind == JsonNode::Kind::kObject;
  if (step.kind == Kind::kAll) {
    for (const auto& part : node.parts)
      found.push_back(&part);
  } else if (step.kind == Kind::kMember && object) {
    if (const auto* member = node.member(step.name)) found.push_back(member);
  } else if (step.kind == Kind::kElement && !object && step.number < node.parts.size()) {
    found.push_back(&node.parts[step.number]);
  }
}

}  // namespace

Result<JsonPath> JsonPath::parse(std::string_view written) {
  StepReader reader(written);
  JsonPath path;
  path.written_ = written;
  HF_ASSIGN_OR_RETURN(path.lax_, reader.mode());
  while (!reader.at_end()) {
    if (path.steps_.size() == kMaxSteps)
      return Error{Errc::kInvalidOption, "the path has more than 200 steps"};
    HF_ASSIGN_OR_RETURN(auto step, reader.next());
    path.steps_.push_back(std::move(step));
  }
  return path;
}

JsonPath::Found JsonPath::find(const JsonNode& root) const {
  Found found;
  found.nodes = {&root};
  std::vector<const JsonNode*> next;
  for (const auto& step : steps_) {
    const bool all = step.kind == JsonStep::Kind::kAll;
    next.clear();
    for (const auto* node : found.nodes)
      take_step(step, *node, next);
    const bool nothing =
        all ? !found.nodes.empty() && !found.nodes[0]->is_container() : next.empty();
    found.nodes.swap(next);
    if (!found.many && nothing) return found.missing = true, found;
    found.many = found.many || all;
  }
  return found;
}

}  // namespace holdfast::sql
