// state_space.hpp: the states in which a crash at this moment may leave a medium.
//
// Exhaustive where the product over the dirty cells is within exhaust_limit. Beyond it a covering
// set - nothing kept, everything kept, all pairs of cells in all four none/all combinations, every
// cell in each of its own telling states with all others none and with all others kept, every
// none/all combination if these are a quarter of the limit at most - and seeded random states up to
// sample_limit.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <holdfast/crash/medium.hpp>

namespace holdfast::crash {

class StateSpace {
 public:
  // `medium` must stand still while this is used.
  StateSpace(const Medium& medium, std::uint64_t exhaust_limit, std::uint64_t sample_limit,
             std::uint64_t seed);

  std::span<const std::uint32_t> cells() const { return cells_; }
  // Number of states, equal images counted each time; saturates.
  std::uint64_t states() const { return states_; }
  bool exhaustive() const { return states_ <= exhaust_limit_; }

  // Calls `visit` with one state per cell and the hash of the image, until it returns false or no
  // more than sample_limit states have been visited. Cells whose states look alike are visited once
  // for those. Returns the number of visits.
  using Visit = std::function<bool(std::span<const CellState>, std::uint64_t image_hash)>;
  std::uint64_t for_each(const Visit& visit);

 private:
  struct Choice {
    CellState state;
    std::uint64_t delta;  // Of the image's hash.
  };
  std::uint64_t count(std::uint32_t cell) const;
  std::vector<CellState> all_states(std::uint32_t cell) const;
  std::vector<CellState> telling_states(std::uint32_t cell) const;
  CellState random_state(std::uint32_t cell);
  std::uint64_t differing_words(std::uint32_t sector, std::uint32_t from, std::uint32_t to) const;
  bool visit_all(const Visit& visit);
  bool visit_some(const Visit& visit);
  bool emit(const Visit& visit);
  std::uint64_t random();

  const Medium& medium_;
  std::uint64_t exhaust_limit_;
  std::uint64_t sample_limit_;
  std::uint64_t random_;
  std::vector<std::uint32_t> cells_;
  std::uint64_t states_ = 1;
  std::uint64_t visited_ = 0;
  std::vector<Choice> current_;
  std::vector<CellState> scratch_;
};

}  // namespace holdfast::crash
