// checkpoint.hpp: the structure that examples/crash_test.cpp tests: where a consumer stands, in two
// copies and a selector that says which one counts. docs/test_your_structure.md.
#pragma once

#include <cstdint>

#include <holdfast/memory/region.hpp>

struct Position {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  bool operator==(const Position&) const = default;
};

class Checkpoint {
 public:
  // On the medium, at the start of the region. Zeros are a valid checkpoint: position 0, 0.
  explicit Checkpoint(holdfast::Region& region)
      : persist_(region.persist()), media_(reinterpret_cast<Media*>(region.data())) {
    // What a process left that was killed may be in the caches only: durable before anyone reads it.
    persist_.persist(media_, sizeof *media_);
  }

  Position read() const { return media_->copies[holdfast::Persist::load(&media_->selector) & 1]; }

  // Durable when it returns. `careful` off leaves a step out, for the test to find.
  void update(const Position& next, bool careful = true) {
    const auto other = (holdfast::Persist::load(&media_->selector) & 1) ^ 1;
    persist_.copy(&media_->copies[other], &next, sizeof next);
    persist_.write_back(&media_->copies[other], sizeof next);
    if (careful) persist_.fence();  // The copy is durable before the selector says so.
    persist_.store(&media_->selector, other);
    persist_.persist(&media_->selector, sizeof media_->selector);
  }

 private:
  struct Media {
    alignas(64) std::uint64_t selector;
    alignas(64) Position copies[2];
  };
  const holdfast::Persist& persist_;
  Media* media_;
};
