#include <holdfast/kv/versions.hpp>

#include <algorithm>

#include <holdfast/base/mutant.hpp>

namespace holdfast::kv {

Versions::~Versions() { delete versions_.load(std::memory_order_relaxed); }

// A thread that still reads the old one is inside a guard.
void Versions::publish(std::unique_ptr<Open> open) {
  const Open* const fresh = open->empty() ? nullptr : open.release();
  const Open* const old = versions_.exchange(fresh, std::memory_order_acq_rel);
  if (old != nullptr) {
    epochs_.retire(const_cast<Open*>(old), [](void* list) { delete static_cast<Open*>(list); });
  }
}

void Versions::enter(std::uint64_t version) {
  const Lock lock(mutex_);  // Not while close() drops what nobody is left to see.
  const Open* const present = versions_.load(std::memory_order_relaxed);
  auto open = present == nullptr ? std::make_unique<Open>() : std::make_unique<Open>(*present);
  open->insert(std::upper_bound(open->begin(), open->end(), version), version);
  left_.reserve(open->size());
  // What follows needs no memory: one that is counted is also there, and is closed.
  held_.fetch_add(1, std::memory_order_seq_cst);
  open_.fetch_add(1, std::memory_order_seq_cst);
  publish(std::move(open));
}

std::uint64_t Versions::open() {
  const WriteGate::Hold hold(gate_, epochs_);
  const std::uint64_t version = sequences_.lapse();
  enter(version);
  return version;
}

std::uint64_t Versions::oldest() const {
  const Lock lock(mutex_);  // The list stays meanwhile.
  const Open* const open = versions_.load(std::memory_order_acquire);
  return open == nullptr ? 0 : open->front();
}

bool Versions::is_visible(std::uint64_t sequence, std::uint64_t next) const {
  const Open* const open = versions_.load(std::memory_order_acquire);
  if (open == nullptr) return false;
  const auto first = std::lower_bound(open->begin(), open->end(), sequence);
  return first != open->end() && *first < next;
}

Line Versions::behind(Line line) const {
  Shard& own = shard(line);
  const Lock lock(own.mutex);
  const auto found = own.older.find(line);
  return found == own.older.end() ? kNoLine : found->second;
}

void Versions::link(Line newer, Line older) {
  Shard& own = shard(newer);
  const Lock lock(own.mutex);
  own.older[newer] = older;
}

void Versions::forget(Line line) {
  Shard& own = shard(line);
  const Lock lock(own.mutex);
  own.older.erase(line);
}

Line Versions::detach(Line line) {
  Shard& own = shard(line);
  const Lock lock(own.mutex);
  const auto node = own.older.extract(line);
  return node ? node.mapped() : kNoLine;
}

Line Versions::retire(Line newer, Line older) {
  if (is_visible(records_.at(older).sequence(), records_.at(newer).sequence())) {
    link(newer, older);
    return kNoLine;
  }
  if (const Line next = behind(older)) link(newer, next);
  return older;
}

Line Versions::visible_at(Line line, std::uint64_t version, const EpochDomain::Guard&) const {
  while (line && records_.at(line).sequence() > version)
    line = behind(line);
  return line && is_put(records_.at(line).kind()) ? line : kNoLine;
}

bool Versions::holds(Line current, Line line) const {
  for (Line at = behind(current); at; at = behind(at)) {
    if (at == line) return true;
  }
  return false;
}

void Versions::move(Line current, Line from, Line to) {
  if (const Line next = behind(from)) link(to, next);
  for (Line at = current; at && at != from; at = behind(at)) {
    if (behind(at) == from) return link(at, to);
  }
}

void Versions::note_tombstone(std::uint64_t hash, std::uint64_t sequence) {
  const Lock lock(tombstones_mutex_);
  tombstones_.push_back({hash, sequence});
}

void Versions::close(std::uint64_t version, Session& session, BlockTable& table) {
  const Lock closing(closing_);
  bool last = false;
  {
    const Lock lock(mutex_);
    const Open* const present = versions_.load(std::memory_order_relaxed);
    std::unique_ptr<Open> open;
    try {
      open = std::make_unique<Open>(*present);
    } catch (const std::bad_alloc&) {  // Later.
      left_.push_back(version);
      any_left_.store(true, std::memory_order_release);
      return;
    }
    open->erase(std::find(open->begin(), open->end(), version));
    last = open->empty();
    publish(std::move(open));
    open_.fetch_sub(1, std::memory_order_seq_cst);
  }
  if (last) epochs_.synchronize();  // A writer that still notes versions is done.
  // Reclamation may have moved a record since its line was listed. Its chain is then found by its
  // new line; else the tombstone at its head would go while what it hides is not marked dead.
  try {
    for (bool all = false; !all;) {
      all = true;
      for (const Line line : newer_lines())
        all &= drop_invisible(line, session, table) || HF_MUTANT("K145", false, true);
    }
    drop_tombstones(session);
  } catch (const std::bad_alloc&) {
    // What nobody sees is not all marked. Without a clean mark the next opening finds it again.
    gate_.fail_in_doubt({Errc::kNoSpace, "no memory to end a snapshot"});
  }
  if (held_.load(std::memory_order_acquire) == 1 && open_.load(std::memory_order_acquire) == 0) {
    // Readers that found an old line have gone on from it by now.
    epochs_.synchronize();
    const Lock lock(mutex_);
    if (open_.load(std::memory_order_acquire) == 0) {
      for (Shard& own : shards_) {
        const Lock shard_lock(own.mutex);
        own.older.clear();
      }
    }
  }
  // Only now may reclamation take versions for dead: this has read them.
  held_.fetch_sub(1, std::memory_order_seq_cst);
}

void Versions::leave(std::uint64_t version) {
  const Lock lock(mutex_);
  left_.push_back(version);
  any_left_.store(true, std::memory_order_release);
}

void Versions::close_left(Session& session, BlockTable& table) {
  std::vector<std::uint64_t> left;
  {
    const Lock lock(mutex_);
    left = left_;
    left_.clear();  // It keeps its room.
    any_left_.store(false, std::memory_order_release);
  }
  for (const std::uint64_t version : left)
    close(version, session, table);
}

std::vector<Line> Versions::newer_lines() const {
  std::vector<Line> newer;
  for (const Shard& own : shards_) {
    const Lock lock(own.mutex);
    for (const auto& [line, older] : own.older)
      newer.push_back(line);
  }
  return newer;
}

// Marks dead what no snapshot sees any more of the chain that this line is in. False: it is in no
// chain now.
bool Versions::drop_invisible(Line any_of_chain, Session& session, BlockTable& table) {
  const auto guard = epochs_.enter(session.participant);
  if (!behind(any_of_chain)) return false;  // Forgotten meanwhile, with its run.
  const Bytes key = records_.at(any_of_chain).key_bytes();
  Place place = index_.place(index_.hash(key));
  auto home = index_.latch(place, session);
  const Entry entry = home.find(index_.matches(key));
  if (!entry) return true;
  Line kept = OffsetMap::Home::line(entry);
  for (Line at = behind(kept); at;) {
    const Line next = behind(at);
    const RecordView record = records_.at(at);
    if (HF_MUTANT("K42", is_visible(record.sequence(), records_.at(kept).sequence()), false)) {
      kept = at;
    } else {
      if (next)
        link(kept, next);
      else
        forget(kept);
      if (is_put(record.kind())) {
        table.mark_dead(at.number, record.padded_bytes());
        table.count_dead(record.padded_bytes());
      }
    }
    at = next;
  }
  return true;
}

void Versions::drop_tombstones(Session& session) {
  std::vector<Tombstone> ended;
  {
    const auto guard = epochs_.enter(session.participant);
    const Lock lock(tombstones_mutex_);
    const Open* const open = versions_.load(std::memory_order_acquire);
    const std::uint64_t oldest = open == nullptr ? ~std::uint64_t{0} : open->front();
    std::erase_if(tombstones_, [&](const Tombstone& tombstone) {
      if (tombstone.sequence > oldest) return false;
      ended.push_back(tombstone);
      return true;
    });
  }
  for (const Tombstone& tombstone : ended) {
    const auto guard = epochs_.enter(session.participant);
    Place place = index_.place(tombstone.hash);
    auto home = index_.latch(place, session);
    const Entry entry = home.find([&](Line line) {
      const RecordView record = records_.at(line);
      return record.kind() == RecordKind::kErase && record.sequence() == tombstone.sequence;
    });
    if (!entry) continue;
    const RecordView record = records_.at(OffsetMap::Home::line(entry));
    home.remove(entry);
    HF_MUTANT("K82", index_.leave(record.key_bytes()), void());
    index_.count_tombstone(-1);
  }
}

std::uint64_t Versions::dram_bytes() const {
  std::uint64_t entries = 0;
  for (const Shard& own : shards_) {
    const Lock lock(own.mutex);
    entries += own.older.size();
  }
  return entries * 4 * sizeof(Line);
}

}  // namespace holdfast::kv
