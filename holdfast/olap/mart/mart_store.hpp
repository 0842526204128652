// mart_store.hpp: a star of a user's own in a region: loaded, appended to, scanned in place.
//
// Guarantee  A change (a load, an append, a merge) writes what is new beside what is there, then
//            switches by one word. A crash before leaves the version before, a crash after the new
//            one. What finish() acknowledged is durable.
// Snapshots  version() is what a query sees. Its place is not used again before it is let go.
// Cost       A change writes its blocks, its texts, and a catalogue: 40 bytes for each column of
//            each block that the star has. Few large appends are cheaper than many small ones.
// Fences     create 2, open 1, a change 2, whatever the size.
// Media      Any. On page media the blocks are read through the page cache.
// Threads    Any. Writers wait for one another; queries wait for nobody.
// Errors     kNotHoldfast, kCorrupt, kNewerFormat, kReadOnly, kBusy (another object uses the
//            region), kNoSpace (says how much is needed), kIo (also: an error of the medium left
//            it open which version is durable), and those of Region.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/memory/claim.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/olap/free_space.hpp>
#include <holdfast/olap/mart/mart_version.hpp>

namespace holdfast::olap::mart {

class MartStore {
 public:
  // A star without tables in a region that holds nothing of Holdfast's. Errors: kAlreadyExists.
  static Result<std::unique_ptr<MartStore>> create(Region& region);
  static Result<std::unique_ptr<MartStore>> open(Region& region);
  // The star that is there, or a new one where the region's first word is zero.
  static Result<std::unique_ptr<MartStore>> open_or_create(Region& region);

  // Null: nothing is loaded.
  std::shared_ptr<const MartVersion> version() const;
  Region& region() const { return *region_; }

  class Writer;

 private:
  MartStore(Region& region, std::uint64_t id, Claim claim);
  Status read_root();
  void adopt(Catalogue catalogue);
  std::vector<Extent> used() const;

  Claim claim_;
  Region* region_;
  std::uint64_t id_;
  // Held while something is written, from the choice of its place on. Before mutex_.
  Mutex writing_ HF_ACQUIRED_BEFORE(mutex_);
  bool unsure_ = false;  // Under writing_: whether the last word that was stored is durable.
  mutable KernelMutex mutex_;
  std::shared_ptr<const MartVersion> version_ HF_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<const MartVersion>> held_ HF_GUARDED_BY(mutex_);  // All that may be.
};

// One change. Without finish() nothing has happened. On the thread that made it.
class MartStore::Writer {
 public:
  // The store must outlive the writer. Waits for other writers, which then wait for its end.
  explicit Writer(MartStore& store) HF_NO_THREAD_SAFETY_ANALYSIS;
  ~Writer() HF_NO_THREAD_SAFETY_ANALYSIS;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // What the star has now; null: nothing. It stays so while the writer is there.
  const std::shared_ptr<const MartVersion>& present() const { return present_; }

  // Where there is no more room, both go on counting, and finish() says how much is needed.
  Result<BlockInfo> put(const EncodedBlock& block);
  Result<DictionaryPiece> put(std::span<const std::string_view> texts);
  // Durable on return, and what the store shows from now on. `next` has the blocks and pieces that
  // were put, and what it keeps of the present version. Its place is filled in.
  Status finish(Catalogue next) HF_NO_THREAD_SAFETY_ANALYSIS;

 private:
  Status refuse_if_unsure() const;
  Result<std::uint64_t> put_bytes(std::span<const std::byte> bytes);

  MartStore& store_;
  std::shared_ptr<const MartVersion> present_;
  FreeSpace space_;
};
using MartWriter = MartStore::Writer;

// Makes blocks of the usual size of the small ones that appends left, in all tables. Other blocks
// stay where they are. Queries go on. Errors: of the store; kNotFound (nothing is loaded).
Status merge(MartStore& store);
// Blocks that merge() would rewrite.
std::size_t small_blocks(const Catalogue& catalogue);

}  // namespace holdfast::olap::mart
