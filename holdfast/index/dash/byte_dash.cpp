#include <holdfast/index/dash/byte_dash.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <span>
#include <utility>

#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/base/spin.hpp>
#include <holdfast/index/index_medium.hpp>
#include <holdfast/memory/superblock.hpp>

namespace holdfast::index {
namespace {

constexpr SuperblockFormat kByteDashFormat{"byte dash", magic_of("HLDBDSH1"), 1, 1, 0};

// The extent: a page with the superblock; the log; Dash.
struct ByteDashShape {  // On media, little-endian: the body of the superblock.
  std::uint64_t log_bytes;
  std::uint64_t hash_key[2];  // Random.

  Extent log(const Extent& extent) const { return {extent.offset_bytes + kPageBytes, log_bytes}; }
  Extent dash(const Extent& extent) const {
    return {extent.offset_bytes + kPageBytes + log_bytes,
            extent.size_bytes - kPageBytes - log_bytes};
  }
  bool fits(const Extent& extent) const {
    return log_bytes % kPageBytes == 0 && log_bytes != 0 && extent.size_bytes > 2 * kPageBytes &&
           log_bytes < extent.size_bytes - kPageBytes;
  }
};
static_assert(sizeof(ByteDashShape) == 24);
static_assert(std::has_unique_object_representations_v<ByteDashShape>);

// A record of the log: for each entry the lengths of key and value, 4 bytes each, then the two.
constexpr std::size_t kLengths = 8;

// What Dash holds: where the record lies, and the lowest bits of its LSN. A record that takes the
// place of one that is gone has another LSN.
constexpr unsigned kLsnBits = 24;
// What is above them counts words of the log.
constexpr std::uint64_t kMostLogBytes = std::uint64_t{8} << (64 - kLsnBits);
constexpr std::uint64_t kLsnMask = (std::uint64_t{1} << kLsnBits) - 1;
std::uint64_t word_of(const blocks::LogPlace& place) {
  return place.at_bytes / 8 << kLsnBits | (place.lsn.value & kLsnMask);
}

HashKey key_of(const ByteDashShape& shape) {
  return HashKey(std::as_bytes(std::span(shape.hash_key)).first<HashKey::kBytes>());
}

Error damaged(std::uint64_t place) {
  return Error{Errc::kCorrupt, "byte dash: the record at offset " +
                                   std::to_string((place >> kLsnBits) * 8) +
                                   " of the log is damaged; restore the index from a copy"};
}

void put_length(std::string& to, std::size_t length) {
  const auto value = static_cast<std::uint32_t>(length);
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

Status ByteDashOptions::validate() const {
  const auto check = [](const char* field, std::uint64_t seen, std::uint64_t least,
                        std::uint64_t most) {
    return detail::check_option("byte dash", field, seen, least, most);
  };
  HF_RETURN_IF_ERROR(check("lanes", lanes, 1, 63));
  if (log_bytes % kPageBytes != 0 || log_bytes > kMostLogBytes)
    return Error{Errc::kInvalidOption, "byte dash: log_bytes=" + std::to_string(log_bytes) +
                                           ": allowed are multiples of 4096 up to 8 TiB"};
  return dash.validate();
}

// ---- Creation and opening ----

Result<std::unique_ptr<ByteDash>> ByteDash::create(Region& region, const Extent& extent,
                                                   const ByteDashOptions& options) {
  HF_RETURN_IF_ERROR(options.validate());
  HF_RETURN_IF_ERROR(detail::check_medium("byte dash", region, extent));
  if (region.read_only())
    return Error{Errc::kReadOnly, "byte dash: cannot be created in a read-only region"};
  ByteDashShape shape{};
  shape.log_bytes =
      options.log_bytes != 0
          ? options.log_bytes
          : std::min((extent.size_bytes - kPageBytes) / 8 * 7 / kPageBytes * kPageBytes,
                     kMostLogBytes);
  blocks::LogOptions log;
  log.segment_bytes = options.segment_bytes;
  log.lanes = options.lanes + 1;  // One for reclaim().
  // The reserve, the last segment of each lane, a second one of reclaim()'s, as copies break off
  // elsewhere, and one to write to.
  const auto least = kPageBytes + (3 * std::uint64_t{log.lanes} + 2) * log.segment_bytes;
  if (!shape.fits(extent) || shape.log_bytes < least)
    return Error{Errc::kNoSpace, "byte dash: log_bytes=" + std::to_string(shape.log_bytes) +
                                     "; at least " + std::to_string(least) + " for segments of " +
                                     std::to_string(log.segment_bytes) + " and " +
                                     std::to_string(options.lanes) +
                                     " lanes, and less than the extent, which has " +
                                     std::to_string(extent.size_bytes)};
  HF_ASSIGN_OR_RETURN(auto claim,
                      region.claim(Extent{extent.offset_bytes, kPageBytes}, "byte dash"));
  HF_RETURN_IF_ERROR(refuse_to_overwrite("byte dash", region, extent));
  HF_ASSIGN_OR_RETURN(shape.hash_key[0], random_id());
  HF_ASSIGN_OR_RETURN(shape.hash_key[1], random_id());
  // What a creation that was interrupted left of both is nobody's.
  const DurableWriter writer(region, extent);
  HF_RETURN_IF_ERROR(erase_superblock(DurableWriter(region, shape.dash(extent))));
  HF_RETURN_IF_ERROR(blocks::Log::replace(region, shape.log(extent), log));
  HF_RETURN_IF_ERROR(Dash::create(region, shape.dash(extent), options.dash));
  const auto body = std::as_bytes(std::span(&shape, 1));
  HF_ASSIGN_OR_RETURN(const auto header, new_header(kByteDashFormat, body));
  HF_RETURN_IF_ERROR(write_superblock(writer, 0, header, body));
  return assemble(region, extent, std::move(claim));
}

Result<std::unique_ptr<ByteDash>> ByteDash::open(Region& region, const Extent& extent) {
  HF_RETURN_IF_ERROR(detail::check_medium("byte dash", region, extent));
  HF_ASSIGN_OR_RETURN(auto claim,
                      region.claim(Extent{extent.offset_bytes, kPageBytes}, "byte dash"));
  return assemble(region, extent, std::move(claim));
}

Result<std::unique_ptr<ByteDash>> ByteDash::assemble(Region& region, const Extent& extent,
                                                     Claim claim) {
  ByteDashShape shape;
  HF_ASSIGN_OR_RETURN(
      const auto header,
      read_superblock(kByteDashFormat, {region.data() + extent.offset_bytes, kPageBytes},
                      std::as_writable_bytes(std::span(&shape, 1))));
  if (!shape.fits(extent))
    return Error{Errc::kCorrupt,
                 "byte dash: superblock: log_bytes=" + std::to_string(shape.log_bytes) +
                     "; the extent has " + std::to_string(extent.size_bytes) +
                     " bytes: it is too short, or was cut off"};
  HF_ASSIGN_OR_RETURN(auto log, blocks::Log::open(region, shape.log(extent)));
  if (log.options().format != blocks::LogFormat::kChecksum || log.options().lanes < 2)
    return Error{Errc::kCorrupt, "byte dash: its log is one that no build writes"};
  write_back_superblock(DurableWriter(region, extent), 0, header);  // The fence is Dash's.
  HF_ASSIGN_OR_RETURN(auto dash, Dash::open(region, shape.dash(extent)));
  std::unique_ptr<ByteDash> index(
      new ByteDash(key_of(shape), std::move(claim), std::move(log), std::move(dash)));
  if (region.read_only()) return index;
  for (std::uint32_t i = 1; i < index->log_->options().lanes; ++i) {
    auto lane = std::make_unique<Lane>();
    {
      const Lock lock(lane->mutex);
      HF_ASSIGN_OR_RETURN(auto appender, index->log_->appender());
      lane->appender.emplace(std::move(appender));
    }
    index->lanes_.push_back(std::move(lane));
  }
  return index;
}

ByteDash::ByteDash(const HashKey& hash_key, Claim claim, blocks::Log log,
                   std::unique_ptr<Dash> dash)
    : claim_(std::move(claim)), hash_key_(hash_key), log_(std::move(log)), dash_(std::move(dash)) {}

// ---- Records ----

// Held while a key's record is exchanged.
class ByteDash::KeyLatch {
 public:
  explicit KeyLatch(blocks::NodeLatch& latch) : latch_(latch) {
    for (SpinWait wait; !latch_.try_lock();)
      wait();
  }
  ~KeyLatch() { latch_.unlock(); }
  KeyLatch(const KeyLatch&) = delete;
  KeyLatch& operator=(const KeyLatch&) = delete;

 private:
  blocks::NodeLatch& latch_;
};

// Held while a record is read whose key is not latched.
class ByteDash::Reading {
 public:
  explicit Reading(const ByteDash& index) HF_NO_THREAD_SAFETY_ANALYSIS {
    for (;;) {
      const auto turn = index.reuse_turn_.load();
      mutex_ = &index.reuse_[turn % 2];
      mutex_->lock_shared();
      // Else wait_for_readers() may have passed this turn already, and does not wait for us.
      if (index.reuse_turn_.load() == turn) return;
      mutex_->unlock_shared();
    }
  }
  ~Reading() HF_NO_THREAD_SAFETY_ANALYSIS { mutex_->unlock_shared(); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  SharedMutex* mutex_;
};

void ByteDash::wait_for_readers() HF_NO_THREAD_SAFETY_ANALYSIS {
  auto& before = reuse_[reuse_turn_.fetch_add(1) % 2];
  before.lock();
  before.unlock();
}

std::uint64_t ByteDash::hash_of(std::string_view key) const {
  return keyed_hash(hash_key_, key) & hash_mask_;
}

Result<std::vector<ByteDash::Entry>> ByteDash::entries_at(std::uint64_t place) const {
  auto found = log_->record_at((place >> kLsnBits) * 8);
  if (!found || HF_MUTANT("Y01", (found->lsn.value & kLsnMask) != (place & kLsnMask), false))
    return damaged(place);
  std::string_view left(reinterpret_cast<const char*>(found->record.data()), found->record.size());
  std::vector<Entry> entries;
  while (left.size() >= kLengths) {
    std::uint32_t lengths[2];
    std::memcpy(lengths, left.data(), sizeof lengths);
    left.remove_prefix(kLengths);
    if (std::uint64_t{lengths[0]} + lengths[1] > left.size()) return damaged(place);
    entries.push_back({left.substr(0, lengths[0]), left.substr(lengths[0], lengths[1])});
    left.remove_prefix(std::size_t{lengths[0]} + lengths[1]);
  }
  if (!left.empty() || entries.empty()) return damaged(place);
  return entries;
}

std::vector<ByteDash::Entry>::iterator ByteDash::Held::find(std::string_view key) {
  return std::ranges::find(entries, key, &Entry::key);
}

Result<ByteDash::Held> ByteDash::look(std::uint64_t hash) const {
  Held held;
  const auto place = dash_->find(hash);
  if (!place) {
    if (place.code() != Errc::kNotFound) return place.error();
    return held;
  }
  held.place = *place;
  HF_ASSIGN_OR_RETURN(held.entries, entries_at(*place));
  return held;
}

// The record is durable before Dash leads to it. A crash in between leaves one that nothing leads
// to; reclaim() drops it.
Result<bool> ByteDash::replace(std::uint64_t hash, const Held& held,
                               const std::vector<Entry>& entries) {
  std::string record;
  for (const auto& [key, value] : entries) {
    put_length(record, key.size());
    put_length(record, value.size());
    record.append(key).append(value);
  }
  static std::atomic<unsigned> threads{0};
  thread_local const unsigned mine = threads++;
  auto& lane = *lanes_[mine % lanes_.size()];
  blocks::LogPlace place;
  {
    const Lock lock(lane.mutex);
    if (HF_MUTANT("Y02", log_->free_segments() <= reserve(), false)) return false;
    HF_ASSIGN_OR_RETURN(place, lane.appender->append_placed(std::as_bytes(std::span(record))));
    ++lane.records;
  }
  HF_RETURN_IF_ERROR(held.place ? dash_->update(hash, word_of(place))
                                : dash_->insert(hash, word_of(place)));
  return true;
}

template <class DoIt>
Status ByteDash::with_space(DoIt&& do_it) {
  if (lanes_.empty())
    return Error{Errc::kReadOnly, "byte dash: it was opened read-only; nothing was changed"};
  // Another thread may take the space that this one freed. Each such loss means that a record was
  // written.
  for (;;) {
    HF_ASSIGN_OR_RETURN(const bool done, do_it());
    if (done) return {};
    HF_RETURN_IF_ERROR(reclaim());
  }
}

// ---- Verbs ----

Result<std::string> ByteDash::find(std::string_view key) const {
  const Reading reading(*this);
  HF_ASSIGN_OR_RETURN(auto held, look(hash_of(key)));
  const auto entry = held.find(key);
  if (entry == held.entries.end()) return Error{Errc::kNotFound, {}};
  return std::string(entry->value);
}

Result<bool> ByteDash::try_write(std::string_view key, std::string_view value, Verb verb) {
  const auto hash = hash_of(key);
  const KeyLatch latch(latches_.of(hash));
  HF_ASSIGN_OR_RETURN(auto held, look(hash));
  auto entries = held.entries;
  const auto entry = std::ranges::find(entries, key, &Entry::key);
  if (entry == entries.end()) {
    if (verb == Verb::kUpdate) return Error{Errc::kNotFound, {}};
    entries.push_back({key, value});
  } else {
    if (verb == Verb::kInsert) return Error{Errc::kAlreadyExists, {}};
    entry->value = value;
  }
  return replace(hash, held, entries);
}

Status ByteDash::write(std::string_view key, std::string_view value, Verb verb) {
  constexpr std::uint64_t kMost = ~std::uint32_t{0};
  const auto room = log_->max_record_bytes();
  if (std::max(key.size(), value.size()) > kMost || key.size() + value.size() + kLengths > room)
    return Error{Errc::kTooLarge,
                 "byte dash: key and value have " + std::to_string(key.size() + value.size()) +
                     " bytes; a segment of the log holds " + std::to_string(room - kLengths)};
  return with_space([&] { return try_write(key, value, verb); });
}

Status ByteDash::insert(std::string_view key, std::string_view value) {
  return write(key, value, Verb::kInsert);
}

Status ByteDash::put(std::string_view key, std::string_view value) {
  return write(key, value, Verb::kPut);
}

Status ByteDash::update(std::string_view key, std::string_view value) {
  return write(key, value, Verb::kUpdate);
}

Result<bool> ByteDash::try_erase(std::string_view key) {
  const auto hash = hash_of(key);
  const KeyLatch latch(latches_.of(hash));
  HF_ASSIGN_OR_RETURN(auto held, look(hash));
  auto entries = held.entries;
  const auto entry = std::ranges::find(entries, key, &Entry::key);
  if (entry == entries.end()) return Error{Errc::kNotFound, {}};
  entries.erase(entry);
  if (HF_MUTANT("Y03", !entries.empty(), false)) return replace(hash, held, entries);
  HF_RETURN_IF_ERROR(dash_->erase(hash));
  return true;
}

Status ByteDash::erase(std::string_view key) {
  return with_space([&] { return try_erase(key); });
}

Status ByteDash::for_each(
    FunctionRef<void(std::string_view key, std::string_view value)> visit) const {
  Status status;
  HF_RETURN_IF_ERROR(dash_->for_each([&](std::uint64_t hash, std::uint64_t) {
    if (!status) return;
    // As find(): the place may be another one by now.
    const Reading reading(*this);
    auto held = look(hash);
    if (!held) {
      status = std::move(held).error();
      return;
    }
    for (const auto& [key, value] : held->entries)
      visit(key, value);
  }));
  return status;
}

// ---- Reuse of space ----

Status ByteDash::carry_on(const blocks::LogReader& reader) {
  const auto word = word_of(reader.place());
  HF_ASSIGN_OR_RETURN(const auto entries, entries_at(word));
  const auto hash = hash_of(entries.front().key);
  const KeyLatch latch(latches_.of(hash));
  const auto place = dash_->find(hash);
  if (!place && place.code() != Errc::kNotFound) return place.error();
  if (HF_MUTANT("Y04", !place || *place != word, !place)) return {};
  HF_ASSIGN_OR_RETURN(const auto copy, log_->append_placed(reader.record()));
  return dash_->update(hash, word_of(copy));
}

// An append that its thread has not ended yet keeps stable() where it is, and with it all that
// others have written meanwhile. With the lanes' mutexes held there is none.
ByteDash::Written ByteDash::written() const HF_NO_THREAD_SAFETY_ANALYSIS {
  std::deque<Lock<Mutex>> held;
  Written written{};
  for (const auto& lane : lanes_) {
    if (HF_MUTANT("Y07", true, false)) held.emplace_back(lane->mutex);
    written.records += lane->records;
  }
  written.stable = log_->stable();
  return written;
}

Status ByteDash::reclaim() {
  if (lanes_.empty())
    return Error{Errc::kReadOnly, "byte dash: it was opened read-only; nothing was changed"};
  const Lock lock(reclaim_mutex_);
  const auto enough = reserve() + lanes_.size() + 1;
  const auto before = written();
  for (bool more = true; more && log_->free_segments() < enough;) {
    // By the segment: a reader keeps what it reads.
    std::uint64_t bytes = 0;
    blocks::Lsn last;
    {
      auto reader = log_->read();
      while (bytes < log_->options().segment_bytes) {
        HF_ASSIGN_OR_RETURN(more, reader.next());
        more = more && reader.lsn() <= before.stable;
        if (!more) break;
        HF_RETURN_IF_ERROR(carry_on(reader));
        bytes += reader.record().size();
        last = reader.lsn();
      }
    }
    if (last.value == 0) break;
    // Then no thread reads a record by its former place any more.
    if (HF_MUTANT("Y05", true, false)) wait_for_readers();
    HF_RETURN_IF_ERROR(log_->truncate({last.value + HF_MUTANT("Y06", 1, 1'000)}));
  }
  if (log_->free_segments() > reserve()) return {};
  // All that was there has been copied or dropped. If others have written meanwhile, some of that
  // need not live any more: the next pass tells.
  if (HF_MUTANT("Y08", written().records != before.records, false)) return {};
  return Error{Errc::kNoSpace, "byte dash: live records fill the log; find and erase still work"};
}

}  // namespace holdfast::index
