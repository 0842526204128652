#include "patterns.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

namespace holdfast::sql {
namespace {

std::atomic<CompilePattern> engine{nullptr};

std::function<Status()>& loader() {
  static std::function<Status()> load;
  return load;
}

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80 || c == ' ';
}

void append_literal(char c, std::string& pattern) {
  if (c == '\n') {
    pattern += "\\n";
  } else {
    if (!is_plain(c) && static_cast<unsigned char>(c) > ' ' && c != '\x7f') pattern += '\\';
    pattern += c;
  }
}

// What SIMILAR TO says, as a regular expression.
class Translator {
 public:
  Translator(std::string_view similar, char escape) : similar_(similar), escape_(escape) {}

  Result<std::string> run() {
    while (at_ < similar_.size()) {
      const char c = similar_[at_++];
      if (escape_ != '\0' && c == escape_) {
        HF_RETURN_IF_ERROR(escaped());
      } else if (c == '[') {
        HF_RETURN_IF_ERROR(characters());
      } else if (c == '{') {
        HF_RETURN_IF_ERROR(repetition());
      } else if (c == '(' && at_ < similar_.size() && similar_[at_] == '?') {
        return wrong("a ? has nothing before it");
      } else if (c == '%') {
        pattern_ += ".*";
      } else if (c == '_') {
        pattern_ += '.';
      } else if (std::string_view("|*+?()").find(c) != std::string_view::npos) {
        pattern_ += c;
      } else {
        append_literal(c, pattern_);
      }
    }
    return "\\A(?s:" + pattern_ + ")\\z";
  }

 private:
  static Error wrong(const char* what) {
    return Error{Errc::kInvalidOption, std::string("the pattern of SIMILAR TO: ") + what};
  }

  Status escaped() {
    if (at_ == similar_.size()) return wrong("nothing is behind the last ESCAPE");
    append_literal(similar_[at_++], pattern_);
    return {};
  }

  // {2}, {1,3}, {2,}
  Status repetition() {
    const auto end = similar_.find('}', at_);
    const auto count = similar_.substr(at_, end - at_);
    const auto comma = count.find_first_not_of("0123456789");
    const bool one = comma == std::string_view::npos;
    const bool two = !one && count[comma] == ',' &&
                     count.find_first_not_of("0123456789", comma + 1) == std::string_view::npos;
    if (end == std::string_view::npos || count.empty() || comma == 0 || !(one || two))
      return wrong("a { wants numbers and a }, as in {1,2}");
    pattern_ += '{' + std::string(count) + '}';
    at_ = end + 1;
    return {};
  }

  // [a-z], [^0-9], [[:digit:]_]
  Status characters() {
    pattern_ += '[';
    if (at_ < similar_.size() && similar_[at_] == '^') pattern_ += similar_[at_++];
    while (at_ < similar_.size()) {
      const char c = similar_[at_++];
      if (escape_ != '\0' && c == escape_) {
        HF_RETURN_IF_ERROR(escaped());
      } else if (c == ']') {
        pattern_ += c;
        return {};
      } else if (const auto end = similar_.find(":]", at_);
                 c == '[' && similar_.substr(at_, 1) == ":" && end != std::string_view::npos) {
        pattern_ += similar_.substr(at_ - 1, end + 2 - (at_ - 1));
        at_ = end + 2;
      } else if (c == '-') {
        pattern_ += c;
      } else {
        append_literal(c, pattern_);
      }
    }
    return wrong("a [ has no ]");
  }

  const std::string_view similar_;
  const char escape_;
  std::size_t at_ = 0;
  std::string pattern_;
};

}  // namespace

void offer_patterns(CompilePattern compile) { engine.store(compile); }

void set_pattern_loader(std::function<Status()> load) { loader() = std::move(load); }

Result<std::unique_ptr<const Pattern>> compile_pattern(std::string_view pattern) {
  static std::mutex mutex;
  if (engine.load() == nullptr) {
    const std::scoped_lock lock(mutex);
    if (!loader())
      return Error{Errc::kUnsupported, "this program loads no engine of regular expressions"};
    if (engine.load() == nullptr) HF_RETURN_IF_ERROR(loader()());
    if (engine.load() == nullptr)
      return Error{Errc::kUnsupported, "the module of re2 offers no regular expressions"};
  }
  return engine.load()(pattern);
}

Result<std::string> pattern_of_similar(std::string_view similar, char escape) {
  return Translator(similar, escape).run();
}

}  // namespace holdfast::sql
