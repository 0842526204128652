#include "position.hpp"

#include <string>
#include <utility>

namespace holdfast::sql {

Error error_at(Position at, std::string_view what, std::string_view hint) {
  std::string text = "line " + std::to_string(at.line) + ", column " + std::to_string(at.column) +
                     ": " + std::string(what);
  if (!hint.empty()) text += "; " + std::string(hint);
  return Error{Errc::kInvalidOption, std::move(text)};
}

Error unsupported_at(Position at, std::string_view what, std::string_view hint) {
  std::string text(what);
  text += " is not supported";
  Error error = error_at(at, text, hint);
  error.code = Errc::kUnsupported;
  return error;
}

}  // namespace holdfast::sql
