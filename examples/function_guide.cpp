// function_guide.cpp: a library of functions for SQL: a card that shows its last digits, and a mean
// by weights.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <holdfast/sql/function.hpp>

namespace fn = holdfast::functions;

// A function of values. Where an argument is NULL it is not called, and the result is NULL.
fn::Outcome<std::string> masked(std::string_view card) {
  if (card.size() < 4) return fn::Error{"a card has at least four digits"};
  return std::string(card.size() - 4, '*') + std::string(card.substr(card.size() - 4));
}
HF_FUNCTION(masked) = fn::scalar(masked);

// An aggregate: an object is the state of one group.
struct WeightedMean {
  double sum = 0;
  std::int64_t weights = 0;

  void add(double value, std::int64_t weight) {
    sum += value * static_cast<double>(weight);
    weights += weight;
  }
  // Undoes an add(): where rows of the input change.
  void take_back(double value, std::int64_t weight) { add(value, -weight); }
  // Rows of one group that others have gathered: where windows overlap, and where state is stored.
  void merge(const WeightedMean& other) {
    sum += other.sum;
    weights += other.weights;
  }
  std::optional<double> result() const {
    if (weights == 0) return std::nullopt;
    return sum / static_cast<double>(weights);
  }
};
HF_FUNCTION(weighted_mean) = fn::aggregate<WeightedMean>();
