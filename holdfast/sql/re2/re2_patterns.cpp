// Regular expressions by RE2: the module of libre2 (holdfast/peers/CMakeLists.txt).
#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/sql/patterns.hpp>

namespace holdfast::sql {
namespace {

re2::StringPiece piece_of(std::string_view text) { return {text.data(), text.size()}; }

class Re2Pattern : public Pattern {
 public:
  Re2Pattern(std::string_view pattern, const re2::RE2::Options& options)
      : expression_(piece_of(pattern), options) {}

  const re2::RE2& expression() const { return expression_; }

  bool find(std::string_view text, std::size_t from,
            std::span<std::string_view> found) const override {
    const auto wanted = std::min(found.size(), groups() + 1);
    std::vector<re2::StringPiece> pieces(wanted);
    if (!expression_.Match(piece_of(text), from, text.size(), re2::RE2::UNANCHORED, pieces.data(),
                           static_cast<int>(wanted)))
      return false;
    for (std::size_t i = 0; i < found.size(); ++i)
      found[i] = i < wanted && pieces[i].data() != nullptr
                     ? std::string_view(pieces[i].data(), pieces[i].size())
                     : std::string_view();
    return true;
  }
  std::size_t groups() const override {
    return static_cast<std::size_t>(expression_.NumberOfCapturingGroups());
  }

 private:
  re2::RE2 expression_;
};

Result<std::unique_ptr<const Pattern>> compile(std::string_view pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto made = std::make_unique<const Re2Pattern>(pattern, options);
  if (made->expression().ok()) return std::unique_ptr<const Pattern>(std::move(made));
  return Error{Errc::kInvalidOption,
               "this is no regular expression: " + made->expression().error() +
                   "; the syntax is RE2's, without look-around and references back"};
}

const struct Offer {
  Offer() { offer_patterns(compile); }
} offer;

}  // namespace
}  // namespace holdfast::sql
