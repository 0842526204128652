#include <holdfast/crash/state_space.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

namespace holdfast::crash {

namespace {

constexpr std::uint64_t kMany = std::uint64_t{1} << 62;
constexpr std::size_t kWordsPerSector = kSectorBytes / kWordBytes;

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  return a != 0 && b > kMany / a ? kMany : a * b;
}

// The bits of `index` in the places of `mask`, lowest first.
std::uint64_t deposit(std::uint64_t index, std::uint64_t mask) {
  std::uint64_t out = 0;
  for (; mask != 0; mask &= mask - 1, index >>= 1) {
    if ((index & 1) != 0) out |= mask & (~mask + 1);
  }
  return out;
}

}  // namespace

StateSpace::StateSpace(const Medium& medium, std::uint64_t exhaust_limit,
                       std::uint64_t sample_limit, std::uint64_t seed)
    : medium_(medium),
      exhaust_limit_(exhaust_limit),
      sample_limit_(std::max<std::uint64_t>(sample_limit, 2)),
      random_(seed * 0x9e3779b97f4a7c15ULL + 0x5bd1e995),
      cells_(medium.dirty_cells()) {
  for (const std::uint32_t cell : cells_) {
    states_ = saturating_product(states_, count(cell));
  }
}

std::uint64_t StateSpace::random() {
  random_ ^= random_ >> 12;
  random_ ^= random_ << 25;
  random_ ^= random_ >> 27;
  return random_ * 0x2545f4914f6cdd1dULL;
}

// Bit w: word w of the sector differs between version `from` and version `to` (0: durable).
std::uint64_t StateSpace::differing_words(std::uint32_t sector, std::uint32_t from,
                                          std::uint32_t to) const {
  std::byte a[kSectorBytes];
  std::byte b[kSectorBytes];
  medium_.render(sector, {from, 0, 0}, a);
  medium_.render(sector, {to, 0, 0}, b);
  std::uint64_t mask = 0;
  for (std::size_t word = 0; word < kWordsPerSector; ++word) {
    if (std::memcmp(a + word * kWordBytes, b + word * kWordBytes, kWordBytes) != 0) {
      mask |= std::uint64_t{1} << word;
    }
  }
  return mask;
}

std::uint64_t StateSpace::count(std::uint32_t cell) const {
  const CellState newest = medium_.newest(cell);
  if (!medium_.page_mode()) {
    const int streamed = std::popcount(newest.mask);
    return streamed >= 62 ? kMany
                          : saturating_product(newest.kept + 1, std::uint64_t{1} << streamed);
  }
  std::uint64_t sum = newest.kept + 1;
  for (std::uint32_t from = 0; from < newest.kept; ++from) {
    for (std::uint32_t to = from + 1; to <= newest.kept; ++to) {
      const int words = std::popcount(differing_words(cell, from, to));
      if (words >= 62) return kMany;
      if (words > 1)
        sum += (std::uint64_t{1} << words) - 2;  // All and none are versions themselves.
      if (sum > kMany) return kMany;
    }
  }
  return sum;
}

// Only for cells whose count is within the limit.
std::vector<CellState> StateSpace::all_states(std::uint32_t cell) const {
  const CellState newest = medium_.newest(cell);
  std::vector<CellState> states;
  if (!medium_.page_mode()) {
    for (std::uint64_t mask = 0; mask <= newest.mask; ++mask) {
      for (std::uint32_t kept = 0; kept <= newest.kept; ++kept) {
        states.push_back({kept, 0, mask});
      }
    }
    return states;
  }
  for (std::uint32_t version = 0; version <= newest.kept; ++version) {
    states.push_back({version, 0, 0});
  }
  for (std::uint32_t from = 0; from < newest.kept; ++from) {
    for (std::uint32_t to = from + 1; to <= newest.kept; ++to) {
      const std::uint64_t differing = differing_words(cell, from, to);
      const int words = std::popcount(differing);
      for (std::uint64_t index = 1; words > 1 && index + 1 < std::uint64_t{1} << words; ++index) {
        states.push_back({from, to, deposit(index, differing)});
      }
    }
  }
  return states;
}

// The states of one cell that a covering set must contain: each prefix; and of unordered words each
// alone, each missing, and each boundary between new and old.
std::vector<CellState> StateSpace::telling_states(std::uint32_t cell) const {
  const CellState newest = medium_.newest(cell);
  std::vector<CellState> states;
  const auto add_masks = [&](CellState base, std::uint64_t words) {
    std::uint64_t below = 0;
    for (std::uint64_t left = words; left != 0; left &= left - 1) {
      const std::uint64_t bit = left & (~left + 1);
      for (const std::uint64_t mask : {bit, words & ~bit, below, words & ~below}) {
        base.mask = mask;
        states.push_back(base);
      }
      below |= bit;
    }
  };
  if (!medium_.page_mode()) {
    for (std::uint32_t kept = 0; kept <= newest.kept; ++kept) {
      states.push_back({kept, 0, 0});
      if (newest.mask != 0) states.push_back({kept, 0, newest.mask});
    }
    if (newest.mask != 0) {
      add_masks({0, 0, 0}, newest.mask);
      add_masks({newest.kept, 0, 0}, newest.mask);
    }
    return states;
  }
  for (std::uint32_t version = 0; version <= newest.kept; ++version) {
    states.push_back({version, 0, 0});
    if (version > 0) {
      add_masks({version - 1, version, 0}, differing_words(cell, version - 1, version));
    }
  }
  if (newest.kept > 1) add_masks({0, newest.kept, 0}, differing_words(cell, 0, newest.kept));
  return states;
}

CellState StateSpace::random_state(std::uint32_t cell) {
  const CellState newest = medium_.newest(cell);
  switch (random() % 4) {
    case 0: return {};
    case 1: return newest;
    default: break;
  }
  if (!medium_.page_mode()) {
    return {static_cast<std::uint32_t>(random() % (newest.kept + 1)), 0, random() & newest.mask};
  }
  const auto from = static_cast<std::uint32_t>(random() % newest.kept);
  const auto to = static_cast<std::uint32_t>(from + 1 + random() % (newest.kept - from));
  return {from, to, random() & differing_words(cell, from, to)};
}

bool StateSpace::emit(const Visit& visit) {
  if (!exhaustive() && visited_ >= sample_limit_) return false;
  ++visited_;
  // The sum of the cells' shares is the image's, since no word lies in two cells.
  std::uint64_t delta = 0;
  scratch_.resize(current_.size());
  for (std::size_t i = 0; i < current_.size(); ++i) {
    scratch_[i] = current_[i].state;
    delta += current_[i].delta;
  }
  return visit(scratch_, medium_.hash_with(delta));
}

std::uint64_t StateSpace::for_each(const Visit& visit) {
  visited_ = 0;
  current_.assign(cells_.size(), Choice{{}, 0});
  exhaustive() ? visit_all(visit) : visit_some(visit);
  return visited_;
}

bool StateSpace::visit_all(const Visit& visit) {
  std::vector<std::vector<Choice>> choices(cells_.size());
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    for (const CellState& state : all_states(cells_[i])) {
      const std::uint64_t delta = medium_.hash_delta(cells_[i], state);
      const bool seen = std::any_of(choices[i].begin(), choices[i].end(),
                                    [&](const Choice& choice) { return choice.delta == delta; });
      if (!seen) choices[i].push_back({state, delta});
    }
  }
  std::vector<std::size_t> digit(cells_.size(), 0);
  while (true) {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      current_[i] = choices[i][digit[i]];
    }
    if (!emit(visit)) return false;
    std::size_t i = 0;
    while (i < cells_.size() && ++digit[i] == choices[i].size()) {
      digit[i++] = 0;
    }
    if (i == cells_.size()) return true;
  }
}

bool StateSpace::visit_some(const Visit& visit) {
  const std::size_t count = cells_.size();
  std::vector<Choice> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    const CellState newest = medium_.newest(cells_[i]);
    all[i] = {newest, medium_.hash_delta(cells_[i], newest)};
  }
  const auto set_by = [&](auto&& is_kept) {
    for (std::size_t i = 0; i < count; ++i) {
      current_[i] = is_kept(i) ? all[i] : Choice{{}, 0};
    }
  };
  for (const bool kept : {false, true}) {
    set_by([&](std::size_t) { return kept; });
    if (!emit(visit)) return false;
  }
  // Two cells differ in some bit of their number; with the two states above all four combinations
  // occur.
  for (std::size_t bit = 1; bit < count; bit <<= 1) {
    for (const std::size_t wanted : {std::size_t{0}, bit}) {
      set_by([&](std::size_t i) { return (i & bit) == wanted; });
      if (!emit(visit)) return false;
    }
  }
  if (count < 64 && std::uint64_t{1} << count <= sample_limit_ / 4) {
    for (std::uint64_t mask = 1; mask + 1 < std::uint64_t{1} << count; ++mask) {
      set_by([&](std::size_t i) { return (mask >> i & 1) != 0; });
      if (!emit(visit)) return false;
    }
  }
  // One cell special, all others none or all: in random order, so that a small limit takes a fair
  // part of them; a quarter of the limit is left to random states.
  struct Special {
    std::uint32_t cell;
    CellState state;
    bool others_kept;
  };
  std::vector<Special> specials;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const CellState& state : telling_states(cells_[i])) {
      specials.push_back({i, state, false});
      specials.push_back({i, state, true});
    }
  }
  for (std::size_t i = specials.size(); i > 1; --i) {
    std::swap(specials[i - 1], specials[random() % i]);
  }
  for (const Special& special : specials) {
    if (visited_ >= sample_limit_ - sample_limit_ / 4) break;
    set_by([&](std::size_t) { return special.others_kept; });
    current_[special.cell] = {special.state,
                              medium_.hash_delta(cells_[special.cell], special.state)};
    if (!emit(visit)) return false;
  }
  while (visited_ < sample_limit_) {
    for (std::size_t i = 0; i < count; ++i) {
      const CellState state = random_state(cells_[i]);
      current_[i] = {state, state == all[i].state  ? all[i].delta
                            : state == CellState{} ? 0
                                                   : medium_.hash_delta(cells_[i], state)};
    }
    if (!emit(visit)) return false;
  }
  return true;
}

}  // namespace holdfast::crash
