// star_store.hpp: a star schema in a region: loaded as a whole, appended to, scanned in place.
//
// Guarantee  Loading writes the next version beside the present one and switches by one word; a
//            crash before leaves the old version, or none, a crash after the new one. So does
//            merge(). append() adds all of its rows or none. What they acknowledged is durable.
// Snapshots  version() is what a query sees: a catalogue, and what was appended until then. It
//            stays as it is while appends, merges and loads go on, and its place is not used again
//            before it is let go.
// Damage     star_version.hpp. verify() looks at what was appended, too.
// Media      Any. On page media the blocks are read through the page cache.
// Fences     create 2, open 1, load 2, append 2, merge 2, whatever the size.
// Layouts    A version is columns, or rows (rows/stored_rows.hpp), the baseline, which nothing can
//            be appended to.
// Threads    Any. append() and merge() wait for one another and for a StarWriter, which one thread
//            has from its beginning to its end; queries wait for nobody. What catalogue(), block()
//            and rows() return is of the present version, and gone when the next one is there: only
//            where nobody writes.
// Errors     kNotHoldfast, kCorrupt, kNewerFormat, kReadOnly, kBusy (another object uses the
//            region), kNoSpace (says how much is needed), kIo (also: an error of the
//            medium left it open which version is durable), and those of Region.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/memory/claim.hpp>
#include <holdfast/memory/durable_writer.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/olap/catalogue.hpp>
#include <holdfast/olap/free_space.hpp>
#include <holdfast/olap/star_version.hpp>

namespace holdfast::olap {

class StarStore {
 public:
  // A star without tables in a region that holds nothing of Holdfast's. Errors: kAlreadyExists.
  static Result<std::unique_ptr<StarStore>> create(Region& region);
  static Result<std::unique_ptr<StarStore>> open(Region& region);
  // The star that is there, or a new one where the region's first word is zero.
  static Result<std::unique_ptr<StarStore>> open_or_create(Region& region);

  // Null: nothing is loaded.
  std::shared_ptr<const StarVersion> version() const;
  bool loaded() const { return version() != nullptr; }
  // These are of the present version, and require loaded().
  const Catalogue& catalogue() const { return version()->catalogue(); }
  const std::byte* block(std::size_t number) const { return version()->block(number); }
  const StoredRows* rows() const { return version()->rows(); }
  Region& region() const { return *region_; }
  std::uint64_t id() const { return id_; }

  // Adds rows of the fact table, whose digits are those of the dimensions that are there. Durable
  // on return, all or none; queries that begin later see them. Costs two fences, and in DRAM a copy
  // of the directory of blocks: few large ones are cheaper than many small ones. Errors: kNotFound
  // (nothing is loaded), kUnsupported (a star of rows), kNoSpace, kReadOnly, kIo.
  Status append(std::span<const EncodedBlock> blocks);
  // Makes usual blocks of what was appended; other blocks stay where they are. Queries go on. From
  // any thread, so from one in the background, too. Errors: as append(); kCorrupt.
  Status merge();

  // Reads everything. What it finds, one text each; empty: all is well.
  std::vector<std::string> verify() const {
    const auto present = version();
    return present == nullptr ? std::vector<std::string>() : present->verify();
  }

  // For StarWriter. What must not be written to, now that nobody else writes;
  std::vector<Extent> begin_writing() HF_NO_THREAD_SAFETY_ANALYSIS {
    writing_.lock();
    return used();
  }
  void end_writing() HF_NO_THREAD_SAFETY_ANALYSIS { writing_.unlock(); }
  // whether the medium may have another version than the present one: what seems to be free may
  // then be that version's, so nothing is written. Errors: kIo;
  void set_unsure(bool unsure) { unsure_ = unsure; }
  Status refuse_if_unsure() const;
  // and the version that the root word leads to from now on.
  void adopt(Catalogue catalogue);

 private:
  StarStore(Region& region, std::uint64_t id, Claim claim);
  Status read_root();
  Status refuse_if_not_appendable() const;
  std::vector<Extent> used() const;

  Claim claim_;
  Region* region_;
  std::uint64_t id_;
  // Held while something is written, from the choice of its place on. Before mutex_.
  Mutex writing_ HF_ACQUIRED_BEFORE(mutex_);
  bool unsure_ = false;  // Under writing_: whether the last word that was stored is durable.
  mutable KernelMutex mutex_;
  std::shared_ptr<const StarVersion> version_ HF_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<const StarVersion>> held_ HF_GUARDED_BY(mutex_);  // All that may be.
};

// The next version, in places that the present one does not use. Without finish() nothing has
// happened.
class StarWriter {
 public:
  // The store must outlive the writer. Waits for appends and merges, which then wait for its end.
  explicit StarWriter(StarStore& store);
  ~StarWriter();
  StarWriter(const StarWriter&) = delete;
  StarWriter& operator=(const StarWriter&) = delete;

  // The version has these blocks of the present one, where they are. Before the first append().
  void keep(std::span<const BlockInfo> blocks) { blocks_.assign(blocks.begin(), blocks.end()); }

  // On the thread that made the writer. Errors: of Region, but not kNoSpace: where
  // there is no more room, it goes on counting, and finish() says how much is needed.
  Status append(const EncodedBlock& block);
  // Durable on return, and what the store shows from now on.
  Status finish(std::string source, std::vector<DimensionTable> dimensions);

  // The same for a star of rows: up to 2^32 - 1 tuples once per dimension, fact rows in runs.
  Status set_tuples(Dimension dimension, std::span<const DimensionTuple> tuples);
  Status append(std::span<const FactRow> rows);
  Status finish_rows(std::string source);

 private:
  Result<RowRun> put_run(std::span<const std::byte> bytes);
  Status switch_to(Catalogue catalogue);

  StarStore& store_;
  FreeSpace space_;
  std::vector<BlockInfo> blocks_;
  RowTables row_tables_;
};

}  // namespace holdfast::olap
