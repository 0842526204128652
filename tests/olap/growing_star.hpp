// growing_star.hpp: a star that is loaded in part, and the rest of its rows appended.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "star_support.hpp"

namespace holdfast::olap {

// lineorder lines of orders [first, end).
inline std::string lines_of(const ssb::Generator& generator, std::uint64_t first,
                            std::uint64_t end) {
  std::string text;
  for (auto number = first; number < end; ++number)
    generator.append_text(generator.order(number), text);
  return text;
}

inline std::string all_answers(const StarVersion& star) {
  Team team(2);
  std::string text;
  for (const auto& query : ssb::queries())
    text += answer(query, star, team, kernels(VectorWidth::kAvx512)).value().table.csv();
  return text;
}

// The tables of a generator, of which the star has the first `loaded` orders.
class Growing {
 public:
  explicit Growing(double scale, std::uint64_t loaded)
      : generator_(ssb::Generator::create(scale, 5).value()), next_(loaded) {
    for (std::size_t i = 0; i < kDimensions; ++i) {
      const auto dimension = static_cast<Dimension>(i);
      std::string text;
      for (std::uint32_t row = 0; row < generator_.rows(dimension); ++row)
        generator_.append_text(dimension, row, text);
      directory_.write(std::string(shape(dimension).table) + ".tbl", text);
    }
  }
  const ssb::Generator& generator() const { return generator_; }
  void load(StarStore& store) const {
    directory_.write("lineorder.tbl", lines_of(generator_, 0, next_));
    ssb::load_tables(directory_.path(), store, 1).value();
  }
  // The next `orders` orders, or all that are left.
  Result<std::uint64_t> append(StarStore& store, std::uint64_t orders) {
    const auto end = std::min(next_ + orders, generator_.orders());
    directory_.write("more.tbl", lines_of(generator_, next_, end));
    next_ = end;
    return ssb::append_lines(directory_.path() + "/more.tbl", store, 2);
  }
  // As if all had been loaded at once.
  std::string expected() const {
    auto star = empty_star();
    load(*star.store);
    return all_answers(*star.store->version());
  }

 private:
  TemporaryDirectory directory_;
  ssb::Generator generator_;
  std::uint64_t next_;
};

}  // namespace holdfast::olap
