// window_state.hpp: what the groups of open windows have gathered, by slice and key.
//
// Windows are made of slices: a slice is as long as the windows' slide and is named by its end. A
// row is counted once, in its slice; a window that ends merges its slices. A query without windows
// has the one slice kNoWindow.
//
// Threads  One at a time.   Errors  Those of the state store.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/sql/aggregate.hpp>
#include <holdfast/stream/state_store.hpp>

namespace holdfast::stream {

inline constexpr std::int64_t kNoWindow = std::numeric_limits<std::int64_t>::max();

using Accumulators = std::vector<sql::Accumulator>;
using GroupMap = std::unordered_map<std::string, Accumulators>;
using SliceMap = std::map<std::int64_t, GroupMap>;

class WindowState {
 public:
  // `store` may be null: state is in DRAM only and has no checkpoints. Both outlive it.
  WindowState(const std::vector<sql::Aggregate>& aggregates, StateStore* store)
      : aggregates_(aggregates), store_(store) {}

  // After the store's open(): what it holds.
  Status restore();
  // The accumulators to add a row to. Valid until the next call of anything.
  Accumulators& at(std::int64_t slice, const std::string& key);
  // Each key of these slices once, in the order of the keys' bytes, merged.
  Status gather(std::span<const std::int64_t> slices,
                FunctionRef<Status(std::string_view key, const Accumulators&)> visit);
  void drop(std::int64_t slice);
  // Slices that hold anything, ascending.
  std::set<std::int64_t> slices() const;
  // Those of which the store has entries that it keeps.
  const std::set<std::int64_t>& stored_slices() const { return stored_; }
  // What is in memory, as the store would be given it.
  Status visit_entries(
      FunctionRef<Status(std::int64_t slice, std::string_view key, std::string_view state)> visit)
      const;
  // Puts into the store what the checkpoint needs.
  Status put_all();
  std::uint64_t entries() const;  // In memory.
  std::uint64_t bytes() const;    // About: all have the bytes of the first ones.
  // What is in memory of slices up to `last`; it is here no more.
  SliceMap take_slices(std::int64_t last);
  // The reverse.
  void absorb(SliceMap slices);

 private:
  Status read(std::string_view bytes, Accumulators& accumulators) const;
  Status read_stored(std::int64_t slice, std::map<std::string, Accumulators>& merged);
  void merge(Accumulators& into, const Accumulators& from) const;
  void look_at_room();

  const std::vector<sql::Aggregate>& aggregates_;
  StateStore* store_;
  SliceMap memory_;
  std::set<std::int64_t> stored_;  // Slices with entries in a store that keeps them.
  std::int64_t last_slice_ = 0;
  GroupMap* last_ = nullptr;   // Of last_slice_: rows of one time come together.
  std::uint64_t groups_ = 0;   // That are new since put_all();
  std::uint64_t look_at_ = 0;  // as many at the next look.
};

}  // namespace holdfast::stream
