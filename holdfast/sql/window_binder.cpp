// The windows of TUMBLE, HOP, CUMULATE and SESSION.
#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/calendar.hpp>
#include <holdfast/sql/evaluate.hpp>

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
  if (window.size_ms > 36'500 * kDayMs || window.offset_ms <= -unit || window.offset_ms >= unit)
    return error_at(at, "a window is shorter than 36500 days, and its offset than its slide");
  return window;
}

}  // namespace holdfast::sql
