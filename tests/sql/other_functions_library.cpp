// other_functions_library.cpp: a library with a state class that another one has by the same name:
// each has its own.
#include <holdfast/sql/function.hpp>

#include <cstdint>

struct OfOneName {
  std::int64_t sum = 0;
  void add(std::int64_t value) { sum += 1000 * value; }
  void merge(const OfOneName& other) { sum += other.sum; }
  std::int64_t result() const { return sum; }
};

HF_FUNCTION(thousands) = holdfast::functions::aggregate<OfOneName>();
