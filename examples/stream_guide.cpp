// stream_guide.cpp: sums per item and minute of a file of orders, row by row into a function.
#include <cstdio>
#include <fstream>
#include <string>

#include <holdfast/stream/query.hpp>

using holdfast::stream::RowKind;

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "orders.csv";
  std::ofstream(path) << "2026-01-01 09:00:10,tea,3\n"
                         "2026-01-01 09:00:50,cake,5\n"
                         "2026-01-01 09:00:40,tea,4\n"
                         "2026-01-01 09:01:20,tea,1\n";

  holdfast::stream::Queries queries;
  queries
      .define(
          "CREATE TABLE orders (at TIMESTAMP(3), item STRING, price BIGINT,"
          "  WATERMARK FOR at AS at - INTERVAL '15' SECOND)"
          " WITH ('connector' = 'filesystem', 'path' = '" +
          path + "', 'format' = 'csv')")
      .value();
  const auto sums =
      queries.from("orders")
          .tumble("at", std::chrono::minutes(1))
          .group_by({"item"})
          .select({"EXTRACT(MINUTE FROM window_start) AS m", "item", "SUM(price) AS total"});

  // A row is there when its minute has ended; the type of each column is that of the query.
  const auto done = sums.for_each([](RowKind, const holdfast::sql::Row& row) {
    std::printf("minute %d: %s %d\n", static_cast<int>(row[0].number), row[1].text.c_str(),
                static_cast<int>(row[2].number));
    return holdfast::Status();
  });
  if (!done) std::fprintf(stderr, "%s\n", done.error().detail.c_str());
  return done ? 0 : 1;
}
