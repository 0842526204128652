// diagnostics.hpp: everything that is wrong with a workload file, at once, with places.
//
//   raw.yaml:7:18: access_size: "1oo" is no number of bytes, for example 4096, 64M or 1.5GiB
//
// A reader that stops at the first mistake makes people run it ten times; so mistakes are
// collected, each once, and shown in the order of the file.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::yaml {

// Lines and columns count from 1; line 0: no place in the file.
struct Position {
  unsigned line = 0;
  unsigned column = 0;
  auto operator<=>(const Position&) const = default;
};

struct Diagnostic {
  std::string file;
  Position position;
  std::string message;
  bool operator==(const Diagnostic&) const = default;
};

class Diagnostics {
 public:
  // The same mistake at the same place is kept once: a matrix meets it in many combinations.
  void add(const std::string& file, Position position, std::string message);
  bool empty() const { return all_.empty(); }
  std::size_t count() const { return all_.size(); }
  // In the order of files, then of places.
  std::vector<Diagnostic> sorted() const;
  // One line each. At most `lines_max`, then how many more there are.
  std::string text(std::size_t lines_max = 50) const;

 private:
  std::vector<Diagnostic> all_;
};

// "; did you mean \"access_size\"?", or the words there are where none is near.
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);
// The text as it may be shown on a terminal, in quotes.
std::string in_quotes(std::string_view text);

}  // namespace holdfast::yaml
