// query_guide.cpp: sales of two shops, at the prices of their time: totals, and the best per hour.
#include <cstdio>
#include <fstream>
#include <string>

#include <holdfast/stream/query.hpp>

namespace hs = holdfast::stream;

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : ".";
  std::ofstream(directory + "/prices.csv") << "2026-01-01 08:00:00,tea,3\n"
                                              "2026-01-01 08:00:00,cake,5\n"
                                              "2026-01-01 10:00:00,tea,4\n";
  std::ofstream(directory + "/north.csv") << "2026-01-01 09:10:00,tea,2\n"
                                             "2026-01-01 10:20:00,tea,1\n";
  std::ofstream(directory + "/south.csv") << "2026-01-01 09:20:00,cake,2\n"
                                             "2026-01-01 10:30:00,pie,9\n";
  hs::Queries queries;
  const auto define = [&](const std::string& table, const std::string& file) {
    queries
        .define("CREATE TABLE " + table + " WITH ('connector' = 'filesystem', 'path' = '" +
                directory + "/" + file + "', 'format' = 'csv')")
        .value();
  };
  const std::string sales =
      " (at TIMESTAMP(3), item STRING, pieces BIGINT, WATERMARK FOR at AS at)";
  define("north" + sales, "north.csv");
  define("south" + sales, "south.csv");
  define(
      "prices (at TIMESTAMP(3), item STRING, price BIGINT, WATERMARK FOR at AS at, "
      "PRIMARY KEY (item) NOT ENFORCED)",
      "prices.csv");
  define("best (hour_of_day BIGINT, item STRING, total BIGINT)", "best");
  define("unpriced (item STRING, pieces BIGINT)", "unpriced");

  // The rows of both shops, each beside the price that its item had at the time of the sale.
  const auto sold = queries.from("north").union_all(queries.from("south")).as("s");
  const auto priced =
      sold.left_outer_join(queries.from("prices").as("p").as_of("s.at"), "s.item = p.item")
          .select({"s.at", "s.item", "s.pieces", "pieces * price AS total"});
  queries.define("priced", priced).value();  // From here on a view, for SQL and for from().

  // Sums per hour and item; of each hour the row with the greatest one.
  const auto best = queries.from("priced")
                        .where("total IS NOT NULL")
                        .tumble("at", std::chrono::hours(1))
                        .group_by({"item"})
                        .select({"window_start", "window_end", "item", "SUM(total) AS total"})
                        .select({"EXTRACT(HOUR FROM window_start) AS h", "item", "total",
                                 "ROW_NUMBER() OVER (PARTITION BY window_start, window_end"
                                 " ORDER BY total DESC) AS n"})
                        .where("n = 1")
                        .select({"h", "item", "total"});
  const auto unpriced = queries.from("priced").where("total IS NULL").select({"item", "pieces"});
  // Both run side by side, each into its table.
  const auto done = hs::insert_all({{"best", best}, {"unpriced", unpriced}});
  if (!done) std::fprintf(stderr, "%s\n", done.error().detail.c_str());

  // What was sold in one shop alone. The rows come to a function; a -D takes one back.
  const auto items_of = [&](const char* shop) { return queries.from(shop).select({"item"}); };
  hs::ScriptOptions at_the_end;
  at_the_end.final_state = true;
  const auto shown = items_of("north")
                         .minus(items_of("south"))
                         .for_each(
                             [](hs::RowKind, const holdfast::sql::Row& row) {
                               std::printf("north alone: %s\n", row[0].text.c_str());
                               return holdfast::Status();
                             },
                             at_the_end);
  return done && shown ? 0 : 1;
}
