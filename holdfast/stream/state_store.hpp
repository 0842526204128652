// state_store.hpp: where the state of a query is when the process is not.
//
// A store holds entries (slice, key, state) that were put before a checkpoint was completed.
// After a crash all entries put since the last completed checkpoint are gone: entries carry the
// epoch of their checkpoint, and open() ignores those of later epochs. Nothing counts twice.
//
// Threads  One at a time.
// Errors   kIo, kNoSpace, kCorrupt, and those of the medium.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/stream/compile/runtime/interface.hpp>

namespace holdfast::stream {

struct Checkpoint {
  std::uint64_t epoch = 0;  // Counted from 1.
  std::string metadata;     // Source positions, watermark, counters, sinks: checkpoint.hpp.
};

class StateStore {
 public:
  using Visit = FunctionRef<Status(std::string_view key, std::string_view state)>;

  using VisitVersion =
      FunctionRef<Status(std::string_view key, std::string_view state, std::uint64_t version)>;

  virtual ~StateStore() = default;
  // Called first. Returns the last completed checkpoint, if there was one.
  virtual Result<std::optional<Checkpoint>> open() = 0;
  // Slices that have entries.
  virtual Result<std::vector<std::int64_t>> slices() = 0;
  // The entries of completed checkpoints. There may be several of a key, which are to be merged.
  virtual Status for_each(std::int64_t slice, Visit visit) = 0;
  // Puts an entry of the checkpoint that complete() ends.
  virtual Status put(std::int64_t slice, std::string_view key, std::string_view state) = 0;
  // Puts an entry of a copy of a checkpoint: the number-th of its key, from 1 on. complete() is
  // then given an epoch that is no less than any number.
  virtual Status put_copy(std::int64_t slice, std::string_view key, std::string_view state,
                          std::uint64_t number) = 0;
  // As put(), for an entry that replaces an earlier one: the one of `version` (0: there was none).
  // `version` becomes that of the new entry. A `state` of no bytes removes the key, and `version`
  // means nothing then. A slice holds either entries that are merged or entries that replace one
  // another.
  virtual Status replace(std::int64_t slice, std::string_view key, std::string_view state,
                         std::uint64_t& version) = 0;
  // Visits entries that replace one another. Called once, before any are put. Of one key there may
  // be several, if a crash came before a replaced one was removed. The last one counts, also if it
  // has no bytes.
  virtual Status for_each_version(std::int64_t slice, VisitVersion visit) = 0;
  // The next checkpoint does without this version of the key: for_each_version() found a later one.
  virtual void remove_version(std::int64_t slice, std::string_view key, std::uint64_t version) = 0;

  // ---- The same, group by group, of a store that finds groups ----

  using Grouping = query::Grouping;
  static std::string_view group_of(std::string_view key, Grouping grouping) {
    if (grouping == Grouping::kKey || key.size() < 4) return key;
    std::size_t size = 0;
    for (int i = 0; i < 4; ++i)
      size = size << 8 | static_cast<unsigned char>(key[static_cast<std::size_t>(i)]);
    return key.substr(0, 4 + size);
  }
  // Whether the store finds groups. Then so many bytes of a table's entries may be in memory.
  virtual bool finds_groups(std::uint64_t& /*memory_bytes*/) const { return false; }
  // From now on for_each_of_group() may be called, in place of for_each_version(). False: the slice
  // has fewer bytes than that, and is to be read as a whole. How keys are grouped does not change.
  virtual Result<bool> group_by(std::int64_t /*slice*/, Grouping /*grouping*/,
                                std::uint64_t /*least_bytes*/) {
    return false;
  }
  // Visits the newest version of each key of a group, except those of no bytes, in no order. Not
  // called between an entry of a checkpoint and complete(). Nothing is put meanwhile. The first
  // call may read all of the slice.
  virtual Status for_each_of_group(std::int64_t /*slice*/, std::string_view /*group*/,
                                   VisitVersion /*visit*/) {
    return Error{Errc::kInvalidOption, "this store finds no groups"};
  }

  // Called after group_by(), while memory has no entry of the slice that ends so. The next
  // checkpoint leaves out entries that have not changed since `oldest_ms`, or that say an end up to
  // there. An entry that says no time (compile/runtime/mark.hpp) has that of `began_ms`. `parts`: a
  // slice whose keys are grouped by their first part. With an entry the group goes that its key is
  // the part of; no entry of that one has changed since the last checkpoint. Or query::kNoSlice.
  virtual void end_idle(std::int64_t /*slice*/, std::int64_t /*oldest_ms*/,
                        std::int64_t /*began_ms*/, std::int64_t /*parts*/) {}

  // ---- Entries that say when they end (runtime/mark.hpp), of a store that finds groups ----

  // Whether each entry of the slice says it.
  virtual Result<bool> says_times(std::int64_t /*slice*/) { return false; }
  // As for_each_of_group(), of the keys whose entry says a time from `from` to `until`. Gives the
  // least time beyond `until` that one may say; INT64_MAX: none does.
  virtual Result<std::int64_t> for_each_of_times(std::int64_t /*slice*/, std::int64_t /*from*/,
                                                 std::int64_t /*until*/, VisitVersion /*visit*/) {
    return Error{Errc::kInvalidOption, "this store finds no times"};
  }

  // The next checkpoint does without this slice. Until it is complete the entries stay.
  virtual void drop(std::int64_t slice) = 0;
  virtual Status complete(const Checkpoint& checkpoint) = 0;
  // True: entries are deltas. What was put need not be put again, nor kept in memory. False: each
  // checkpoint is given all entries.
  virtual bool keeps_entries() const = 0;

  // ---- Blocks of entries (compile/runtime/blocks.hpp), of a store that takes them ----

  // Whether the store takes blocks. Then so many bytes of state may be in memory, including what
  // was put as blocks.
  virtual bool takes_blocks(std::uint64_t& /*memory_bytes*/) const { return false; }
  // Puts a block of entries of the checkpoint that complete() ends. In a generation a later entry
  // of a key replaces an earlier one. Generation 0: a new generation, whose number is stored there.
  // `in_run`: the blocks of this checkpoint are a run. They have all of the generation, in the
  // order of the keys, each key once, and no later blocks follow.
  virtual Status put_block(std::int64_t /*slice*/, std::string_view /*block*/, bool /*in_run*/,
                           std::uint64_t& /*generation*/) {
    return Error{Errc::kInvalidOption, "this store takes no blocks"};
  }
  // The next checkpoint has all of this generation, and does without its blocks of earlier ones.
  virtual void drop_older(std::int64_t /*slice*/, std::uint64_t /*generation*/) {}
  // What for_each() gives, in two parts. Entries that were put one by one:
  virtual Status for_each_entry(std::int64_t slice, Visit visit) { return for_each(slice, visit); }
  // Blocks: the next generation, from 0 on; 0: there is none. `run`: where its run begins; of epoch
  // 0: it has none.
  virtual Status next_generation(std::int64_t /*slice*/, std::uint64_t& generation,
                                 query::BlockPlace& /*run*/) {
    generation = 0;
    return {};
  }
  // The block at this place of a generation, or the first one behind it, in the order in which they
  // were put. The place is then behind it, in its epoch. Of no bytes: there is none.
  virtual Status next_block(std::int64_t /*slice*/, std::uint64_t /*generation*/,
                            query::BlockPlace& /*place*/, std::string& block) {
    block.clear();
    return {};
  }

  // Called by a query that has more state in memory than it may have: asks for an early checkpoint,
  // with which the state leaves memory.
  void ask_for_checkpoint() { asked_ = true; }
  // Whether an early checkpoint was asked for. True once per request.
  bool take_request() { return std::exchange(asked_, false); }

  // After complete(): about how many bytes the state takes on its medium.
  virtual std::uint64_t bytes() const { return 0; }

 private:
  bool asked_ = false;
};

}  // namespace holdfast::stream
