#include "part.hpp"

#include <chrono>

namespace holdfast::stream {

// A source may wait for its rows: those that are there are not kept waiting with it.
void read_rows(Source& source, std::vector<sql::Row>& rows, Batch& batch) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPatience{10};
  batch.rows = 0;
  batch.ended = false;
  batch.source = {};
  const auto patient_until = Clock::now() + kPatience;
  while (batch.rows < rows.size() && Clock::now() < patient_until) {
    const auto more = source.next(rows[batch.rows]);
    if (!more) {
      batch.source = more.error();
      return;
    }
    if (!*more) {
      batch.ended = source.ended();
      return;
    }
    ++batch.rows;
  }
}

void go_behind(Source& source, std::string_view position, std::size_t rows, std::size_t columns) {
  sql::Row row(columns);
  bool there = bool(source.seek(position));
  for (; rows > 0 && there; --rows)
    there = bool(source.next(row));
}

}  // namespace holdfast::stream
