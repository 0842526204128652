// The windows of TUMBLE, HOP, CUMULATE and SESSION, and TUMBLE_START and its like.
#include <algorithm>
#include <array>

#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/grouping_sets.hpp>

namespace holdfast::sql {

Result<Window> bind_window(std::string_view function, Position at, std::uint32_t time_column,
                           const std::vector<const syntax::Expression*>& sizes) {
  const bool session = function == "SESSION", cumulates = function == "CUMULATE";
  const bool hops = function == "HOP" || cumulates;
  const std::size_t least = hops ? 2 : 1;
  if (sizes.size() < least || sizes.size() > least + (session ? 0 : 1))
    return error_at(at,
                    std::string(function) + (session     ? " wants a time column and a gap"
                                             : cumulates ? " wants a time column, a step and a size"
                                             : hops ? " wants a time column, a slide and a size"
                                                    : " wants a time column and a size"));
  std::vector<std::int64_t> numbers;
  for (const auto* size : sizes) {
    HF_ASSIGN_OR_RETURN(auto bound, bind(*size, Scope{}));
    bound = folded(std::move(bound));
    if (bound->type.kind != Kind::kInterval || bound->operation != Operation::kLiteral)
      return error_at(size->at, "an INTERVAL is wanted", "INTERVAL '10' SECOND");
    numbers.push_back(static_cast<std::int64_t>(bound->literal.number));
  }
  Window window;
  window.time_column = time_column;
  window.cumulates = cumulates;
  window.slide_ms = numbers[0];
  window.size_ms = numbers[least - 1];
  window.offset_ms = numbers.size() > least ? numbers[least] : 0;
  if (window.slide_ms <= 0 || window.size_ms <= 0)
    return error_at(at, "a window is longer than nothing");
  if (window.size_ms % window.slide_ms != 0)
    return error_at(at, "the size of a window is a multiple of its slide");
  if (window.size_ms / window.slide_ms > 100'000)
    return error_at(at, "a window has more than 100000 slides");
  const std::int64_t unit = cumulates ? window.size_ms : window.slide_ms;
  if (window.size_ms > 36'500 * kDayMs) return error_at(at, "a window is shorter than 36500 days");
  if (!hops && (window.offset_ms <= -unit || window.offset_ms >= unit))
    return error_at(at, "the offset of TUMBLE is shorter than its size");
  window.offset_ms %= unit;  // Windows that begin each slide: a whole slide further are the same.
  return window;
}

Result<ExpressionPointer> window_property(const syntax::Expression& e, const Scope& scope) {
  if (is_row_window(e)) return error_at(e.at, e.name + " stands in GROUP BY only");
  const auto line = e.name.find('_');
  static constexpr std::array<std::string_view, 4> kProperties = {"START", "END", "ROWTIME",
                                                                  "PROCTIME"};
  const auto* const named =
      std::find(kProperties.begin(), kProperties.end(), e.name.substr(line + 1));
  if (named == kProperties.end())
    return unsupported_at(e.at, e.name, "_START, _END, _ROWTIME and _PROCTIME are");
  // The last two are one column: what the window's time is says which it was.
  const auto property = std::min<std::ptrdiff_t>(named - kProperties.begin(), 2);
  if (scope.group_window == nullptr)
    return error_at(e.at, e.name + " wants the same window in GROUP BY");
  std::vector<const syntax::Expression*> sizes;
  for (std::size_t i = 1; i < e.arguments.size(); ++i)
    sizes.push_back(e.arguments[i].get());
  if (e.arguments.empty() || e.arguments[0]->form != syntax::Form::kName)
    return error_at(e.at, e.name + " wants the time column first");
  HF_ASSIGN_OR_RETURN(
      const auto column,
      find_column(scope, e.arguments[0]->name, e.arguments[0]->at, e.arguments[0]->qualifier));
  const auto function = e.name.substr(0, line);
  HF_ASSIGN_OR_RETURN(const Window window, bind_window(function, e.at, column, sizes));
  if (!(window == *scope.group_window) || function != scope.group_function)
    return error_at(e.at, e.name + " names another window than GROUP BY");
  return column_of(scope.window_column + static_cast<std::uint32_t>(property), kTimestampType,
                   e.at);
}

}  // namespace holdfast::sql
