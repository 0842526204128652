#include <holdfast/kv/space.hpp>

#include <algorithm>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/cursor_state.hpp>
#include <holdfast/kv/verify.hpp>

namespace holdfast::kv {

namespace {

// A snapshot of one keyspace, for a walk: also where the visitor throws.
struct OpenVersion {
  explicit OpenVersion(SpaceRooms& of) : rooms(of), version(of.versions.open()) {}
  ~OpenVersion() {
    HF_MUTANT("K171", rooms.versions.close(version, rooms.sessions.of_this_thread(), rooms.table),
              void());
  }
  OpenVersion(const OpenVersion&) = delete;

  SpaceRooms& rooms;
  const Version version;
};

}  // namespace

Error Space::closed() {
  return {Errc::kClosed, "the keyspace was dropped, or its store is closed"};
}

std::string Space::name() const {
  const auto name = in([](const SpaceCore& core) { return Result<std::string>(core.name); });
  return name ? *name : std::string();
}

Result<PutOutcome> Space::put(std::string_view key, std::string_view value, WriteOptions options) {
  return in([&](SpaceCore& core) {
    return core.writes.put_alone(bytes_of(key), bytes_of(value), options);
  });
}

Result<Version> Space::put_if_absent(std::string_view key, std::string_view value,
                                     WriteOptions options) {
  using Condition = BasicWrites<SpaceRooms>::Condition;
  return in([&](SpaceCore& core) {
    return core.writes.put_if(bytes_of(key), bytes_of(value), Condition::kAbsent, 0, options);
  });
}

Result<Version> Space::compare_and_put(std::string_view key, Version expected,
                                       std::string_view value, WriteOptions options) {
  using Condition = BasicWrites<SpaceRooms>::Condition;
  return in([&](SpaceCore& core) {
    return core.writes.put_if(bytes_of(key), bytes_of(value), Condition::kVersion, expected,
                              options);
  });
}

Result<Version> Space::get(std::string_view key, std::string& value) const {
  return in([&](SpaceCore& core) { return core.reads.get<AnyPath>(bytes_of(key), value); });
}

Result<std::uint64_t> Space::get(std::string_view key, std::span<std::byte> buffer) const {
  return in([&](SpaceCore& core) {
    return core.reads.read<AnyPath>(bytes_of(key), [&](const RecordView&, Bytes value) {
      return copy_bytes<AnyPath>(value, buffer);
    });
  });
}

Result<Pinned> Space::get_pinned(std::string_view key) const {
  return in([&](SpaceCore& core) { return core.reads.get_pinned(bytes_of(key)); });
}

Result<Version> Space::update(std::string_view key, FunctionRef<void(std::string&)> change,
                              WriteOptions options) {
  return in(
      [&](SpaceCore& core) { return core.writes.update(bytes_of(key), change, false, options); });
}

Result<Version> Space::append(std::string_view key, std::string_view bytes, WriteOptions options) {
  return merge(key, MergeFunction::kAppend, bytes, options);
}

Result<Version> Space::merge(std::string_view key, MergeFunction function, std::string_view operand,
                             WriteOptions options) {
  return in([&](SpaceCore& core) {
    return core.merges.merge(bytes_of(key), bytes_of(operand), function, options);
  });
}

Result<std::uint64_t> Space::update_word(std::string_view key, std::uint32_t offset_bytes,
                                         FunctionRef<std::uint64_t(std::uint64_t)> change,
                                         WriteOptions options) {
  return in([&](SpaceCore& core) {
    return core.writes.update_word_alone(bytes_of(key), offset_bytes, change, options);
  });
}

Result<bool> Space::erase(std::string_view key, WriteOptions options) {
  return in([&](SpaceCore& core) { return core.writes.erase_alone(bytes_of(key), options); });
}

Status Space::for_each(
    FunctionRef<bool(std::string_view key, std::string_view value, Version)> visit) const {
  return in([&](SpaceCore& core) -> Status {
    SpaceRooms& rooms = core.rooms;
    if (rooms.store.inside())
      return Error{Errc::kBusy, "a verb that is under way has called this; walk later"};
    const OpenVersion open(rooms);
    return core.reads.for_each_at({open.version, rooms.store.expiry.clock()}, visit);
  });
}

Status Space::check_open() const {
  return in([](const SpaceCore&) { return ok_status(); });
}

std::uint64_t Space::count() const {
  const auto count =
      in([](const SpaceCore& core) { return Result<std::uint64_t>(core.rooms.index.count()); });
  return count ? *count : 0;
}

SpaceStats Space::stats() const {
  auto stats = in([](SpaceCore& core) -> Result<SpaceStats> {
    const SpaceRooms& rooms = core.rooms;
    core.rooms.sessions.drain_notes();
    SpaceStats found;
    found.records = rooms.index.count();
    found.dram_index_bytes = rooms.index.map().dram_bytes();
    bool own = false;  // Of the run that the block is in. By states: its head may be being written.
    for (std::uint64_t block = 0; block < rooms.table.blocks(); ++block) {
      const BlockMeta& run = rooms.table.meta(block);
      const BlockState state = run.state.load(std::memory_order_acquire);
      if (state != BlockState::kTail)
        own = state == BlockState::kSealed && run.space.load(std::memory_order_relaxed) == rooms.id;
      if (!own) continue;
      ++found.blocks;
      if (state == BlockState::kSealed)
        found.live_bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(run.live(), 0));
    }
    return found;
  });
  return stats ? *stats : SpaceStats{};
}

VerifyReport Space::verify() const {
  auto report = in([](SpaceCore& core) { return core.verify(); });
  return report ? std::move(*report) : nothing_verified(report.error());
}

// ---- In order ----

Result<Cursor> Space::cursor() const { return cursor_of(/*with_values=*/true); }

Result<Cursor> Space::cursor_of(bool with_values) const {
  return in([&](SpaceCore& core) -> Result<Cursor> {
    if (!core.rooms.index.is_ordered()) return StoreBase::no_order();
    return Cursor(std::make_unique<Cursor::State>(link_, with_values));
  });
}

// ---- Batches ----

std::uint32_t WriteBatch::number_of(const Space& space) {
  const auto found = std::find(spaces_.begin(), spaces_.end(), space.link());
  if (found != spaces_.end()) return static_cast<std::uint32_t>(found - spaces_.begin()) + 1;
  spaces_.push_back(space.link());
  return static_cast<std::uint32_t>(spaces_.size());
}
void WriteBatch::put(const Space& space, std::string_view key, std::string_view value) {
  const std::uint32_t number = number_of(space);
  put(key, value);
  operations_.back().space = number;
}
void WriteBatch::erase(const Space& space, std::string_view key) {
  const std::uint32_t number = number_of(space);
  erase(key);
  operations_.back().space = number;
}

// ---- Of the store ----

Result<Space> Store<>::create_space(std::string_view name) {
  if (core() == nullptr) return closed();
  return core()->keyspaces.create(name);
}
Result<Space> Store<>::space(std::string_view name) const {
  if (core() == nullptr) return closed();
  return core()->keyspaces.open(name);
}
Status Store<>::drop_space(std::string_view name) {
  if (core() == nullptr) return closed();
  return core()->keyspaces.drop(name);
}
std::vector<std::string> Store<>::spaces() const {
  return core() == nullptr ? std::vector<std::string>() : core()->keyspaces.names();
}

}  // namespace holdfast::kv
