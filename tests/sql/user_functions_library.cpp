// user_functions_library.cpp: a library of functions as a user writes one, for tests of CREATE
// FUNCTION: good ones, and such as are to be refused.
#include <holdfast/sql/function.hpp>

#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

namespace fn = holdfast::functions;

namespace {

std::int64_t plus(std::int64_t a, std::int64_t b) { return a + b; }
std::string plus_text(std::string_view a, std::string_view b) {
  return std::string(a) + "+" + std::string(b);
}
double half(double value) { return value / 2; }

fn::Outcome<std::string> checked(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  if (*text == "bad") return fn::Error{"this text is bad"};
  if (*text == "throw") throw std::runtime_error("thrown");
  return "<" + std::string(*text) + ">";
}

// SUM of BIGINT, with all that an aggregate can have.
struct Total {
  std::int64_t sum = 0, count = 0;

  fn::Outcome<void> add(std::int64_t value) {
    if (value == -999'999) return fn::Error{"-999999 is refused"};
    sum += value;
    ++count;
    return {};
  }
  void take_back(std::int64_t value) { sum -= value, --count; }
  void merge(const Total& other) { sum += other.sum, count += other.count; }
  std::optional<std::int64_t> result() const {
    return count == 0 ? std::nullopt : std::optional(sum);
  }
};

// The mean of values by their weights: of two arguments.
struct WeightedMean {
  std::int64_t sum = 0, weights = 0;

  void add(std::int64_t value, std::int32_t weight) { sum += value * weight, weights += weight; }
  void take_back(std::int64_t value, std::int32_t weight) {
    add(-value, weight), weights -= 2 * weight;
  }
  void merge(const WeightedMean& other) { sum += other.sum, weights += other.weights; }
  std::optional<double> result() const {
    if (weights == 0) return std::nullopt;
    return static_cast<double>(sum) / static_cast<double>(weights);
  }
};

// The text that is there most often, the least of several: it has a map, so bytes of its own; it
// takes nothing back.
struct Mode {
  std::map<std::string, std::uint32_t, std::less<>> counts;

  void add(std::string_view text) { ++counts[std::string(text)]; }
  void merge(const Mode& other) {
    for (const auto& [text, count] : other.counts)
      counts[text] += count;
  }
  std::optional<std::string> result() const {
    const std::string* most = nullptr;
    std::uint32_t times = 0;
    for (const auto& [text, count] : counts)
      if (count > times) most = &text, times = count;
    return most == nullptr ? std::nullopt : std::optional(*most);
  }
  std::string encode() const {
    std::string bytes;
    for (const auto& [text, count] : counts)
      bytes += std::to_string(count) + ' ' + std::to_string(text.size()) + ' ' + text;
    return bytes;
  }
  bool decode(std::string_view bytes) {
    const auto number = [&](std::size_t& value) {
      const auto end = bytes.find(' ');
      if (end == 0 || end == std::string_view::npos) return false;
      value = std::stoull(std::string(bytes.substr(0, end)));
      bytes.remove_prefix(end + 1);
      return true;
    };
    while (!bytes.empty()) {
      std::size_t count = 0, size = 0;
      if (!number(count) || !number(size) || size > bytes.size()) return false;
      counts[std::string(bytes.substr(0, size))] = static_cast<std::uint32_t>(count);
      bytes.remove_prefix(size);
    }
    return true;
  }
};

// The values in their order, NULL among them: neither merge() nor take_back().
struct Sequence {
  std::string all;

  void add(std::optional<std::int64_t> value) {
    all += (value ? std::to_string(*value) : "-") + ";";
  }
  std::string result() const { return all; }
  std::string encode() const { return all; }
  bool decode(std::string_view bytes) { return all = bytes, true; }
};

fn::Definition of_interface(std::uint32_t number) {
  auto definition = fn::scalar(half);
  definition.interface = number;
  return definition;
}
fn::Definition of_unknown_type() {
  static const fn::Type kUnknown{static_cast<fn::Kind>(200)};
  static fn::Overload overload = *fn::scalar(half).overloads;
  overload.arguments = &kUnknown;
  fn::Definition definition;
  definition.count = 1;
  definition.overloads = &overload;
  return definition;
}

// SUM of BIGINT whose state cannot be written while it is above 1000.
struct Unwritten {
  std::int64_t sum = 0;

  void add(std::int64_t value) { sum += value; }
  void merge(const Unwritten& other) { sum += other.sum; }
  std::int64_t result() const { return sum; }
  std::string encode() const {
    if (sum > 1000) throw std::runtime_error("too much");
    return std::to_string(sum);
  }
  bool decode(std::string_view bytes) { return sum = std::stoll(std::string(bytes)), true; }
};

}  // namespace

// other_functions_library.cpp has another class of this name.
struct OfOneName {
  std::int64_t sum = 0;
  void add(std::int64_t value) { sum += value; }
  void merge(const OfOneName& other) { sum += other.sum; }
  std::int64_t result() const { return sum; }
};

HF_FUNCTION(ones) = fn::aggregate<OfOneName>();
HF_FUNCTION(unwritten) = fn::aggregate<Unwritten>();
HF_FUNCTION(plus) = fn::scalar(plus, plus_text);
HF_FUNCTION(half) = fn::scalar(half);
HF_FUNCTION(half_2) = fn::scalar(half).with_version(2);
HF_FUNCTION(checked) = fn::scalar(checked);
HF_FUNCTION(total) = fn::aggregate<Total>();
HF_FUNCTION(total_2) = fn::aggregate<Total>().with_version(2);
HF_FUNCTION(weighted_mean) = fn::aggregate<WeightedMean>();
HF_FUNCTION(mode) = fn::aggregate<Mode>();
HF_FUNCTION(sequence) = fn::aggregate<Sequence>();
HF_FUNCTION(of_other_interface) = of_interface(fn::kInterface + 1);
HF_FUNCTION(of_unknown_type) = of_unknown_type();
