// part.hpp: one worker's share of a query, and what merges the shares: docs/stream_workers.md.
//
// A part has the conditions and the groups of a query, and never ends a window. What it has
// gathered for a window that ended goes out as a parcel, with the end of that window.
//
// Guarantee  A part judges each row by the watermark that it is told and by those of its own rows
//            behind that, as the one worker of a query would.
// Threads    A part is one thread's at a time. read() is for the worker that holds the source.
// Errors     Those of source and expressions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/operators.hpp>
#include <holdfast/stream/source.hpp>

namespace holdfast::stream {

class Parcel {
 public:
  virtual ~Parcel() = default;
};

// Rows that were taken off a source together.
class Batch {
 public:
  virtual ~Batch() = default;

  std::uint64_t number = 0;  // Counted from 0 within a round.
  std::string position;      // Of the source, before them.
  std::size_t rows = 0;
  bool ended = false;  // The source has no more.
  Status source;       // What it said behind them.
  // Set by prepare(): how many rows can be taken before one that has no watermark, what is wrong
  // with that row, and the highest watermark of the others.
  std::size_t sound = 0;
  Status unsound;
  std::int64_t highest = kNoWatermark;
};

class Part {
 public:
  using Give = std::function<void(std::int64_t end, std::unique_ptr<Parcel> parcel)>;

  virtual ~Part() = default;
  virtual std::unique_ptr<Batch> make_batch() const = 0;
  // Takes some rows off the source: little work, since the others wait for it.
  virtual void read(Source& source, Batch& batch) const = 0;
  // What is to be done with the rows before they are taken. `watermark`: batch.highest is wanted.
  virtual void prepare(Batch& batch, bool watermark) = 0;
  // Adds the rows. With an error: `failed` is the number of the row in its batch.
  virtual Status take(const Batch& batch, std::size_t& failed) = 0;
  // Of rows to come, only those whose key has this number among `of` are this part's; 0 of 1: all.
  virtual void own(std::uint32_t number, std::uint32_t of) = 0;
  // All rows with lower watermarks than this have been taken by some part, or will be judged by it.
  virtual Status advance(std::int64_t watermark) = 0;
  // All there is, of windows that are open.
  virtual void give_rest() = 0;
  virtual OperatorCounts counts() const = 0;
  // Its groups to those that the merging operators have. What nobody counts is not added.
  virtual void add_state(OperatorProgress&) const {}
};

// Operators that can have parts: what these give comes together here, and goes to sink and store.
class MergingOperators : public Operators {
 public:
  // A part that begins at this watermark. It does not outlive these operators.
  virtual std::unique_ptr<Part> make_part(std::int64_t watermark, Part::Give give) const = 0;
  virtual void absorb(Parcel& parcel) = 0;
  virtual const sql::Plan& plan() const = 0;
  // Ends the windows that it has passed.
  virtual Status advance(std::int64_t watermark) = 0;
};

// Up to `rows.size()` rows that are there, into batch.rows of them. A source that has none for now
// is not waited for once there is one.
void read_rows(Source& source, std::vector<sql::Row>& rows, Batch& batch);

// Goes to where the source stood behind the last of so many rows from `position`, as far as it can:
// its place() is that of a row that failed, not of the last one that was read.
void go_behind(Source& source, std::string_view position, std::size_t rows, std::size_t columns);

}  // namespace holdfast::stream
