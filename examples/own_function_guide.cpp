// own_function_guide.cpp: a query that calls a function of the program which runs it.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include <holdfast/stream/query.hpp>

namespace fn = holdfast::functions;

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "orders.csv";
  std::ofstream(path) << "de,100\nfr,200\nde,300\nxx,400\n";

  // It keeps what it captures for as long as the program runs.
  const std::map<std::string, double, std::less<>> rates = {{"de", 0.19}, {"fr", 0.20}};
  const auto tax = fn::scalar([rates](std::string_view country, std::int64_t cents) {
    const auto rate = rates.find(country);
    return rate == rates.end() ? std::nullopt
                               : std::optional(static_cast<double>(cents) * rate->second);
  });

  holdfast::stream::Queries queries;
  queries.define("tax", tax).value();
  queries
      .define(
          "CREATE TABLE orders (country STRING, cents BIGINT)"
          " WITH ('connector' = 'filesystem', 'path' = '" +
          path + "', 'format' = 'csv')")
      .value();
  const auto taxed = queries.from("orders")
                         .where("tax(country, cents) IS NOT NULL")
                         .select({"country", "tax(country, cents) AS tax"});
  const auto done = taxed.for_each([](auto, const holdfast::sql::Row& row) {
    std::printf("%s %.0f\n", row[0].text.c_str(), row[1].real);
    return holdfast::Status();
  });
  if (!done) std::fprintf(stderr, "%s\n", done.error().detail.c_str());
  return done ? 0 : 1;
}
