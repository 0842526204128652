// log.hpp: a durable log of records in a ring of segments.
// Public header.
//
//   auto log = Log::create(region, whole(region)).value();
//   const Lsn lsn = log.append(bytes).value();           // Durable when it returns. One fence.
//   auto appender = log.appender().value();              // For each further thread.
//   for (auto reader = log.read(); reader.next().value();) use(reader.lsn(), reader.record());
//   log.truncate(lsn).value();                           // Records before `lsn` go.
//
// Guarantee  append() and append_many() return after their records are durable. After a crash the
//            log holds every acknowledged record from the head on; of a call in flight, a prefix of
//            its records in their order. LSNs rise in the order of appends, also over threads: if
//            one append returned before another began, its LSN is the smaller one.
// Gaps       LSNs strictly increase but have gaps. Each lane has every `lanes`-th one; an open and
//            a failed append leave some out. A crash may lose a record in flight of one thread and
//            keep a later one of another.
// Page media (a plain file) append() returns when its records survive the process; sync() makes
//            them survive power loss.
// Invariants (1) A frame is a record iff its format says so (frames.hpp) and its LSN is above the
//                one before in its lane and below the durable limit. A torn frame at a tail is made
//                unable to become one before anything is appended over it.
//            (2) open() hands out LSNs from the old limit on, and durably raises the limit first.
//                So nothing that a crash left behind a tail can come back.
//            (3) A segment is taken only when the durable head is above all its LSNs; truncation is
//                one word.
//            (4) A lane's new segment names the last LSN before it. So a segment or record that the
//                medium lost is kCorrupt, never a shorter log.
// Sharing    One object per extent: a second one that overlaps it, of whatever kind, is kBusy while
//            this one lives (Region::claim). Read-only regions may be shared.
// Threads    append(), append_many(): one thread at a time. Each appender: one thread at a time;
//            several appenders and readers beside one another. truncate(), sync(), read(): any.
// Costs      docs/blocks_log.md: fences, lines, bytes.   Format: there, too.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/blocks/log/frames.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::blocks {

struct Lsn {
  std::uint64_t value = 0;  // From 1.
  auto operator<=>(const Lsn&) const = default;
};

// Where a record lies: until truncate() passes its LSN it stays there.
struct LogPlace {
  Lsn lsn;
  std::uint64_t at_bytes = 0;  // Of its frame, from the start of the extent; a multiple of 8.
};

struct LogOptions {
  LogFormat format = LogFormat::kChecksum;  // Others only where they are registered; frames.hpp.
  std::uint64_t segment_bytes = 1 * MiB;    // Multiple of 4096, 4 KiB to 256 MiB.
  std::uint32_t lanes = 8;                  // Threads that may append at once; 1 to 64.
  // Each append begins on a line of its own: no line is written back twice. Off: at multiples of 8.
  bool padded = true;

  Status validate() const;  // kInvalidOption, naming the field, the value seen and the rule.
};

namespace log_detail {
class Space;
struct Lane;
struct Cursor;
}  // namespace log_detail

// One thread's way to append beside others. Given back when destroyed; the log must outlive it.
class LogAppender {
 public:
  LogAppender(LogAppender&&) noexcept;
  LogAppender& operator=(LogAppender&&) noexcept;
  ~LogAppender();

  // As Log::append and Log::append_many.
  Result<Lsn> append(Record record);
  Result<Lsn> append_many(std::span<const Record> records);
  Result<LogPlace> append_placed(Record record);

 private:
  friend class Log;
  LogAppender(log_detail::Space* space, log_detail::Lane* lane) : space_(space), lane_(lane) {}
  log_detail::Space* space_;
  log_detail::Lane* lane_;
};

// Reads the records from an LSN on, by rising LSN: first those that were acknowledged when the
// reader was made. After next() has said false, it also gives those acknowledged since. While it
// lives, segments with records that it has still to give are not reused. The log must outlive it.
class LogReader {
 public:
  LogReader(LogReader&&) noexcept;
  LogReader& operator=(LogReader&&) noexcept;
  ~LogReader();

  // Goes on to the next record; false after the last. The next call looks for what has been
  // acknowledged meanwhile, so a reader can follow a log. That look costs as much as Log::stable().
  // Errors: kCorrupt (a record that was there when the log was opened or appended to is not there
  // any more; names segment and offset).
  Result<bool> next();
  // After next() said kCorrupt: leaves out what is damaged, up to the next group of records that is
  // whole or the lane's next segment. False if there was nothing to leave out.
  bool skip_damage();
  // Of the record that next() went to. `record` is valid until the next call.
  Lsn lsn() const { return lsn_; }
  LogPlace place() const { return {lsn_, at_bytes_}; }
  Record record() const { return record_; }

 private:
  friend class Log;
  LogReader(log_detail::Space* space, Lsn from);
  void look_again();
  log_detail::Space* space_;
  std::vector<std::unique_ptr<log_detail::Cursor>> cursors_;  // One per lane.
  std::uint64_t pin_ = 0;                                     // The least LSN to give.
  std::uint64_t until_ = 0;                                   // The last one.
  bool at_end_ = false;                                       // next() has said false.
  log_detail::Cursor* damaged_ = nullptr;                     // next() has said kCorrupt.
  Lsn lsn_;
  std::uint64_t at_bytes_ = 0;
  Record record_;
};

class Log {
 public:
  // Makes an empty log where nothing of Holdfast's begins. Three fences. Errors: kAlreadyExists
  // (names what begins there), kBusy (an object in use overlaps), kInvalidOption, kReadOnly,
  // kUnsupported (a format that is not sound on page media), kIo.
  static Result<Log> create(Region& region, const Extent& where, const LogOptions& options = {});
  // The same, whatever lay there: it is gone. Errors: as above, without kAlreadyExists.
  static Result<Log> replace(Region& region, const Extent& where, const LogOptions& options = {});
  // Recovers: finds the tails, makes what was found durable and raises the limit of LSNs. A
  // read-only region is not changed. There damage in a last segment does not stop the open: readers
  // report it. Costs one pass over the last segment of each lane. Errors: kNotHoldfast,
  // kNewerFormat, kUnsupported (a format of frames that is not registered), kCorrupt (names what
  // and where), kBusy, kInvalidOption, kIo.
  static Result<Log> open(Region& region, const Extent& where);
  // open() where a log begins, create() where the extent begins with a word of zeros, as fresh
  // media do. A log that is there keeps its own options. Errors: those of both; kAlreadyExists:
  // something else than a log begins there.
  static Result<Log> open_or_create(Region& region, const Extent& where,
                                    const LogOptions& options = {});
  Log(Log&&) noexcept;
  Log& operator=(Log&&) noexcept;
  ~Log();

  // Returns the record's LSN when it is durable (page media: when it survives the process).
  // Errors: kTooLarge (more than a segment holds), kNoSpace (no segment is free: truncate),
  // kReadOnly, kIo. After an error of append nothing was appended.
  Result<Lsn> append(Record record);
  // Several records that share their fences. Returns the first one's LSN; the others follow at a
  // distance of options().lanes. Not atomic: of a call that a crash interrupts, the first records
  // may be there. `records` fits into one segment. Errors as above, and kInvalidOption (no
  // records).
  Result<Lsn> append_many(std::span<const Record> records);

  // As append(); also says where the record lies.
  Result<LogPlace> append_placed(Record record);

  // The record at a place that append_placed() or a reader told, and its LSN. If truncate() has
  // passed the record that lay there, another one may be returned: compare the LSN. Page media: as
  // the mapping has it. The bytes are those of the medium: the caller keeps appends from taking
  // their segment while they are read. Errors: kCorrupt (no whole record begins there).
  struct Found {
    Lsn lsn;
    Record record;
  };
  Result<Found> record_at(std::uint64_t at_bytes) const;

  // Errors: kBusy (all lanes are taken), kReadOnly.
  Result<LogAppender> appender();

  // From the first record at or after `from` (and the head).
  LogReader read(Lsn from = {}) const;

  // Records below `up_to` are gone; durable on return, one fence. At most stable() + 1. Space is
  // reused segment by segment. Errors: kInvalidOption, kReadOnly, kIo.
  Status truncate(Lsn up_to);

  // What was appended before survives power loss. Line and byte media: nothing to do.
  Status sync();

  Lsn head() const;  // Records below are gone.
  // No LSN up to here is in flight or will come: every record up to here is readable. With several
  // lanes it takes some microseconds, so that appends need not pay for it (lsn_clock.hpp).
  Lsn stable() const;
  std::uint64_t max_record_bytes() const;
  std::uint64_t free_segments() const;  // A lane takes one when its own is full.
  const LogOptions& options() const;
  const Extent& where() const;
  // How much of its extent it uses, from the beginning.
  std::uint64_t size_bytes() const;

 private:
  explicit Log(std::unique_ptr<log_detail::Space> space);
  std::unique_ptr<log_detail::Space> space_;
};

}  // namespace holdfast::blocks
