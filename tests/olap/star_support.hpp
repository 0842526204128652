// star_support.hpp: stars in DRAM for tests, from the generator or from tables as texts.
#pragma once

#include <unistd.h>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <holdfast/olap/answer.hpp>
#include <holdfast/olap/rows/row_answer.hpp>
#include <holdfast/olap/ssb/load.hpp>
#include <holdfast/olap/ssb/load_rows.hpp>
#include <holdfast/olap/ssb/queries.hpp>
#include <holdfast/olap/touched.hpp>

namespace holdfast::olap {

struct TestStar {
  std::unique_ptr<Region> region;
  std::unique_ptr<StarStore> store;
};

inline TestStar empty_star() {
  TestStar star;
  star.region = std::make_unique<Region>(Region::open("dram").value());
  star.store = StarStore::create(*star.region).value();
  return star;
}

inline TestStar loaded_star(double scale, unsigned threads = 1, std::uint64_t seed = 1) {
  auto star = empty_star();
  const auto generator = ssb::Generator::create(scale, seed).value();
  ssb::load_generated(generator, "test", *star.store, threads).value();
  return star;
}

inline TestStar loaded_row_star(double scale, unsigned threads = 1, std::uint64_t seed = 1) {
  auto star = empty_star();
  const auto generator = ssb::Generator::create(scale, seed).value();
  ssb::load_generated_rows(generator, "test", *star.store, threads).value();
  return star;
}

// Dimensions of one row each.
inline std::vector<DimensionTable> one_row_each() {
  std::vector<DimensionTable> tables;
  for (std::size_t i = 0; i < kDimensions; ++i)
    tables.push_back(
        DimensionTable::build(static_cast<Dimension>(i), {{1, {"1", "1", "1", "1"}}}).value());
  return tables;
}

// The dimensions of a star of rows, with their indexes in DRAM.
struct TestCopies {
  std::unique_ptr<Region> region;
  DimensionCopies copies;
};
inline TestCopies copies_of(const StoredRows& rows) {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = round_up(DimensionCopy::bytes_needed(rows), kPageBytes);
  auto region = std::make_unique<Region>(Region::open("dram", options).value());
  DimensionCopies copies(DimensionCopy::build(rows, *region).value());
  return {std::move(region), std::move(copies)};
}

class TemporaryDirectory {
 public:
  TemporaryDirectory()
      : path_(std::filesystem::temp_directory_path() /
              ("holdfast_olap_" + std::to_string(::getpid()) + "_" + std::to_string(next_++))) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string path() const { return path_.string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }

 private:
  static inline int next_ = 0;
  std::filesystem::path path_;
};

// A small star as the texts of its files; a test changes what it is about.
struct TextTables {
  std::string date =
      "19940131|January 31, 1994|Monday|January|1994|199401|Jan1994|2|31|31|1|5|Winter|0|1|0|1|\n"
      "19940201|February 1, 1994|Tuesday|February|1994|199402|Feb1994|3|1|32|2|5|Winter|0|0|0|1|\n"
      "19940206|February 6, 1994|Sunday|February|1994|199402|Feb1994|1|6|37|2|6|Winter|0|0|0|0|\n";
  std::string customer =
      "1|Customer#000000001|x|UNITED KI1|UNITED KINGDOM|EUROPE|33-1|BUILDING|\n"
      "7|Customer#000000007|y|CHINA    3|CHINA|ASIA|28-1|MACHINERY|\n";
  std::string supplier = "1|Supplier#000000001|x|UNITED KI5|UNITED KINGDOM|EUROPE|33-1|\n";
  std::string part =
      "1|red blue|MFGR#2|MFGR#22|MFGR#2221|green|SMALL PLATED TIN|1|SM BOX|\n"
      "2|red tan|MFGR#2|MFGR#22|MFGR#2222|green|SMALL PLATED TIN|1|SM BOX|\n";
  std::string lineorder = fact("1", "1", "1", "19940206", "30", "100", "6", "94", "60") +
                          fact("7", "2", "1", "19940131", "10", "200", "0", "200", "120");

  static std::string fact(const std::string& customer, const std::string& part,
                          const std::string& supplier, const std::string& date,
                          const std::string& quantity, const std::string& price,
                          const std::string& discount, const std::string& revenue,
                          const std::string& cost) {
    return "1|1|" + customer + "|" + part + "|" + supplier + "|" + date + "|5-LOW|0|" + quantity +
           "|" + price + "|" + price + "|" + discount + "|" + revenue + "|" + cost +
           "|0|19940401|AIR|\n";
  }
  void write(const TemporaryDirectory& directory) const {
    directory.write("date.tbl", date), directory.write("customer.tbl", customer);
    directory.write("supplier.tbl", supplier), directory.write("part.tbl", part);
    directory.write("lineorder.tbl", lineorder);
  }
  Status load(StarStore& store, unsigned threads = 1) const {
    const TemporaryDirectory directory;
    write(directory);
    return ssb::load_tables(directory.path(), store, threads);
  }
  Status load_rows(StarStore& store, unsigned threads = 1) const {
    const TemporaryDirectory directory;
    write(directory);
    return ssb::load_table_rows(directory.path(), store, threads);
  }
};

inline const StarQuery& query(std::string_view name) {
  return *ssb::queries_of(name).value().front();
}

// By the star's own layout.
inline std::string csv_of(const StarStore& store, const StarQuery& query) {
  Team team(1);
  if (store.rows() != nullptr) {
    const auto built = copies_of(*store.rows());
    return answer(query, *store.rows(), built.copies, team).value().table.csv();
  }
  return answer(query, store, team, kernels(VectorWidth::kAvx512)).value().table.csv();
}

}  // namespace holdfast::olap
