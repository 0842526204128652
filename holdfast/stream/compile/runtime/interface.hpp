// interface.hpp: where compiled code and the command meet. Both include it, and kInterface is in
// the name of the function that the one calls of the other.
//
// Calls that return bool return false after a failure, which the command keeps: the run is over.
//
// Threads  One at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::query {

// Changes with any declaration here.
#define HOLDFAST_QUERY_ENTRY holdfast_query_12
#define HOLDFAST_GRAPH_ENTRY holdfast_graph_12

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

// UTF-8, of anyone's memory.
struct Text {
  const char* data;
  std::uint64_t size;
};

// A value of any type. Which member it is, its type says (sql/value.hpp).
struct Slot {
  union {
    Int128 number = 0;
    double real;
    Text text;
  };
  bool null = true;
};

// What a row of a changelog does to the rows before it (stream/row_kind.hpp).
enum class Change : std::uint8_t { kInsert, kUpdateBefore, kUpdateAfter, kDelete };

// Entries that a store has of a slice beside blocks; they are merged. False: they are none of this
// query.
class VisitEntries {
 public:
  virtual bool entry(Text key, Text state) = 0;

 protected:
  ~VisitEntries() = default;
};

// What a group of keys has in common: each key is one; or their first part (stream/graph/keys.hpp).
enum class Grouping : std::uint8_t { kKey, kFirstPart };

constexpr std::int64_t kNoSlice = INT64_MIN;

// Entries that replace one another. False: they are none of this query.
class VisitVersions {
 public:
  virtual bool entry(Text key, Text state, std::uint64_t version) = 0;

 protected:
  ~VisitVersions() = default;
};

// Where a block of entries (blocks.hpp) is in its generation: in the order in which they were put.
struct BlockPlace {
  std::uint64_t epoch = 0;  // Of the checkpoint.
  std::uint32_t number = 0;
};

// What one of several workers gathered for windows that have ended.
class Parcel {
 public:
  virtual ~Parcel() = default;
};

// An aggregate that a user wrote, as the command calls it. A state is null while it has no value.
// Those that return bool return false where the state has failed: Host::fail_user().
//
// Threads  Any number, each with states of its own.
class UserAggregate {
 public:
  virtual void* copy(const void* state) const = 0;
  virtual void destroy(void* state) const = 0;
  virtual bool add(void*& state, const Slot* arguments) const = 0;
  virtual bool take_back(void*& state, const Slot* arguments) const = 0;
  virtual void merge(void*& state, const void* other) const = 0;
  // Valid until the next call of this thread.
  virtual Text write(const void* state) const = 0;
  // False: the bytes do not begin with a state. Else they are then what stands behind it.
  virtual bool take(void*& state, Text& bytes) const = 0;

 protected:
  ~UserAggregate() = default;
};

// Times of one distance to UTC: sql/zone.hpp. At first none is in it.
struct ZoneSpan {
  std::int64_t from = INT64_MAX, until = INT64_MIN, shift_ms = 0, least_wall = INT64_MAX;
};

// The command, as compiled code sees it.
class Host {
 public:
  // The value of an expression that is not compiled, of the columns it reads. A text lives until
  // forget_texts().
  virtual bool evaluate(std::uint32_t expression, const Slot* columns, Slot& out) = 0;
  // A call of a function that a user wrote. A text lives until forget_texts().
  virtual bool call(std::uint32_t call, const Slot* arguments, Slot& out) = 0;
  // An aggregate of the query, by its number. It lives as long as the process.
  virtual const UserAggregate* user_aggregate(std::uint32_t number) = 0;
  virtual bool user_result(std::uint32_t number, const void* state, Slot& out) = 0;
  virtual void fail_user(std::uint32_t number, const void* state) = 0;
  // sum / count, rounded, with `shift` digits more.
  virtual bool average(std::uint32_t failure, Int128 sum, std::int64_t count, std::uint32_t shift,
                       Int128& out) = 0;
  virtual void forget_texts() = 0;
  // Rows for the sink, as records in the layout of its columns (stream/record.hpp). `changes`: of
  // each row.
  virtual bool write(const Change* changes, const std::byte* records, std::size_t count) = 0;
  // One of the query's failures, by its number.
  virtual void fail(std::uint32_t failure) = 0;
  // The state store.
  virtual bool put(std::int64_t slice, Text key, Text state) = 0;
  virtual bool for_each(std::int64_t slice, VisitEntries& visit) = 0;
  virtual void drop(std::int64_t slice) = 0;
  // Of a query that is a part: for windows up to this end. The command owns it from now on.
  virtual void give(std::int64_t end, Parcel* parcel) = 0;
  // An entry that takes the place of the one of `version`, which becomes its own; of no bytes: none
  // does.
  virtual bool replace(std::int64_t slice, Text key, Text state, std::uint64_t& version) = 0;
  // Whether there is a store that keeps what it is given.
  virtual bool keeps_entries() const = 0;
  // Whether it takes blocks of entries. Then state may stay in memory beside it, so many bytes.
  virtual bool takes_blocks(std::uint64_t& memory_bytes) const = 0;
  // Whether there is a store that finds entries by their group (stream/state_store.hpp). Then so
  // many bytes of a table's entries may be in memory.
  virtual bool finds_groups(std::uint64_t& memory_bytes) const = 0;
  // From now on groups of this slice are asked for.
  virtual bool group_by(std::int64_t slice, Grouping grouping) = 0;
  virtual bool for_each_of_group(std::int64_t slice, Text group, VisitVersions& visit) = 0;
  // The same, of entries that say a time from `from` to `until`. `beyond`: the least time behind
  // them that one may say; INT64_MAX: none does.
  virtual bool for_each_of_times(std::int64_t slice, std::int64_t from, std::int64_t until,
                                 VisitVersions& visit, std::int64_t& beyond) = 0;
  // State in memory is more than that: the next checkpoint is not to wait for its time.
  virtual void ask_for_checkpoint() = 0;
  // How long state is kept that no row changes and no watermark ends; 0: for ever.
  virtual std::int64_t idle_ms() const = 0;
  // The machine's clock, when the rows came that are taken now.
  virtual std::int64_t now_ms() const = 0;
  // Of a slice whose groups are asked for, and of which memory has no entry that ends so: what has
  // not changed since `oldest_ms`, or says an end up to there, goes with this checkpoint. What does
  // not say when has at `began_ms`. `parts`: another slice whose groups are asked for, by the first
  // part of a key; that of an entry which goes does, too. Or kNoSlice.
  virtual void end_idle(std::int64_t slice, std::int64_t oldest_ms, std::int64_t began_ms,
                        std::int64_t parts) = 0;
  // A block; generation 0: a new one, which it becomes. `in_run`: those of this checkpoint have all
  // of the generation, in the order of the keys, each key once; it gets no more of them.
  virtual bool put_block(std::int64_t slice, Text block, bool in_run,
                         std::uint64_t& generation) = 0;
  // Blocks of this generation from earlier checkpoints go with the next: that one has all of it.
  virtual void drop_older(std::int64_t slice, std::uint64_t generation) = 0;
  // The next generation of the slice's blocks, from 0 on; 0: there is none. `run`: where its run
  // begins; of epoch 0: it has none.
  virtual bool next_generation(std::int64_t slice, std::uint64_t& generation, BlockPlace& run) = 0;
  // The block at this place of a generation, or the first one behind it. The place is then behind
  // it, in its epoch. No bytes: there is none. Valid until the next call.
  virtual bool next_block(std::int64_t slice, std::uint64_t generation, BlockPlace& place,
                          Text& block) = 0;
  // What the store gave is no entry of this query.
  virtual void refuse_entry() = 0;
  // The operator of this node has dropped a row of this input as late.
  virtual bool take_late(std::size_t node, std::size_t input, const Slot* columns,
                         std::int64_t watermark) = 0;
  // Of the query's time zone: around an instant, or a wall clock.
  virtual void find_span(bool of_walls, std::int64_t time, ZoneSpan& span) const = 0;

 protected:
  ~Host() = default;
};

struct Counts {
  std::int64_t watermark = INT64_MIN;
  std::uint64_t late_rows = 0, rows_without_time = 0;
};

// A compiled query.
class Query {
 public:
  virtual ~Query() = default;
  // Goes on where another has ended: its counts, then slices the store has entries of, and entries.
  virtual void adopt(const Counts& counts) = 0;
  virtual void adopt_stored(std::int64_t slice) = 0;
  virtual bool adopt_entry(std::int64_t slice, Text key, Text state) = 0;
  // `taken`: how many records were taken, the one that failed among them.
  virtual bool take(const std::byte* records, std::size_t count, std::size_t& taken) = 0;
  virtual bool end() = 0;
  // `kept`: what is put need not be put again.
  virtual bool put_state(bool kept) = 0;
  virtual Counts counts() const = 0;

  // ---- Several workers: stream/workers/part.hpp. Of queries with groups. ----

  // From now on windows do not end here: what was gathered for them goes to Host::give().
  virtual void become_part() {}
  virtual void own(std::uint32_t /*number*/, std::uint32_t /*of*/) {}
  // The highest watermark of the first `sound` records: false: the next one has none, it fails.
  virtual bool find_watermark(const std::byte* /*records*/, std::size_t /*count*/,
                              std::int64_t& /*highest*/, std::size_t& /*sound*/) {
    return true;
  }
  virtual bool advance_to(std::int64_t /*watermark*/) { return true; }
  virtual void give_rest() {}
  virtual void absorb(Parcel& /*parcel*/) {}
};

using MakeQuery = Query*(Host& host);

// A table that a graph reads.
struct GraphInput {
  const std::byte* records = nullptr;  // That have not been taken.
  std::size_t count = 0;
  std::int64_t watermark = INT64_MIN;
  std::uint64_t rows = 0;  // So far.
  bool waits = false;      // Has none now; the others do not wait for it.
  bool ended = false;
};

// An entry of the state, in a store or in memory only. No state: it is gone.
struct GraphEntry {
  std::int64_t slice;
  Text key, state;
  std::uint64_t version;
  bool changed;
};

// A compiled graph of operators.
class Graph {
 public:
  virtual ~Graph() = default;
  // Goes on where another has ended: the watermarks of the inputs, entries, slices the store has
  // entries of. False: an entry is none of this query.
  virtual void adopt(const GraphInput* inputs) = 0;
  // The watermark of a node that follows the clock; before adopt().
  virtual void adopt_clock(std::size_t node, std::int64_t watermark) = 0;
  virtual bool adopt_entry(const GraphEntry& entry) = 0;
  // Of a slice of entries that replace one another: it is grouped, and memory has not all of them.
  virtual void adopt_stored(std::int64_t slice) = 0;
  // Takes records in the order of the inputs' watermarks, until `most` of them, or until the input
  // that is next has none: its number, or that of no input if all have ended or wait.
  virtual bool take(GraphInput* inputs, std::uint64_t most, std::size_t& next) = 0;
  // The clock goes on, also where no row comes.
  virtual bool tick() = 0;
  // The watermark of the input is this one now.
  virtual bool advance(GraphInput* inputs, std::size_t input, std::int64_t watermark) = 0;
  // The input has ended.
  virtual bool end(GraphInput* inputs, std::size_t input) = 0;
  virtual bool put_state() = 0;
  // Rows that a node has dropped.
  virtual std::uint64_t late_rows(std::size_t node) const = 0;
  virtual std::uint64_t rows_without_time(std::size_t node) const = 0;
  // Of a node that follows the clock. False: it does not.
  virtual bool clock_watermark(std::size_t node, std::int64_t& watermark) const = 0;
  // Rows that a node has given out; false: nobody counts them, since the inputs' say how many.
  virtual bool rows_out(std::size_t node, std::uint64_t& rows) const = 0;
};

using MakeGraph = Graph*(Host& host);

}  // namespace holdfast::query
