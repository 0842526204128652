// bad_lines.hpp: what is wrong with lines of a file: the first ten, and how many there are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>

namespace holdfast::olap {

// Lines by their number within a piece, or, once pieces were added up, within the file.
class BadLines {
 public:
  struct Line {
    std::uint64_t number;  // From 1.
    std::string what;      // "lo_quantity 'x': …"
  };
  void add(std::uint64_t number, std::string what);
  // Those of a piece that begins behind `lines_before` lines.
  void add(const BadLines& piece, std::uint64_t lines_before);
  std::uint64_t count() const { return count_; }
  // kCorrupt with all that is known, or success where there are none.
  Status status(const std::string& path) const;

 private:
  static constexpr std::size_t kShown = 10;
  std::uint64_t count_ = 0;
  std::vector<Line> first_;
};

}  // namespace holdfast::olap
