// Snapshots: of a store's own keys, of a keyspace, and of several at one moment.
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/cursor_state.hpp>

namespace holdfast::kv {
namespace {

Error empty_snapshot() {
  return {Errc::kClosed,
          "the snapshot is empty: it was moved from, what it was of is closed, or a verb that was "
          "under way took it"};
}

}  // namespace

// A snapshot of a keyspace needs no guard: a space that has snapshots is not dropped.
template <class Verb>
auto Snapshot::in(Verb&& verb) const {
  using Outcome = decltype(verb(std::declval<StoreCore&>()));
  if (store_ != nullptr) {
    if (StoreCore* const core = store_->load(std::memory_order_acquire)) return verb(*core);
  } else if (space_ != nullptr) {
    if (SpaceCore* const core = core_of(space_)) return verb(*core);
  }
  return Outcome(empty_snapshot());
}

Snapshot::Snapshot(Snapshot&& other) noexcept
    : store_(std::move(other.store_)),
      space_(std::move(other.space_)),
      version_(other.version_),
      clock_(other.clock_) {}
Snapshot& Snapshot::operator=(Snapshot&& other) noexcept {
  Snapshot ends(std::move(*this));  // What this held.
  store_ = std::move(other.store_);
  space_ = std::move(other.space_);
  version_ = other.version_;
  clock_ = other.clock_;
  return *this;
}
Snapshot::~Snapshot() {
  (void)in([&](auto& core) -> Status {
    auto& rooms = core.rooms;
    // Else it would wait for its own thread.
    if (HF_MUTANT("K150", whole_store(rooms).inside(), false))
      rooms.versions.leave(version_);
    else
      rooms.versions.close(version_, rooms.sessions.of_this_thread(), rooms.table);
    rooms.upkeep.wake.ask();
    return {};
  });
}
Result<Version> Snapshot::get(std::string_view key, std::string& value) const {
  return in(
      [&](auto& core) { return core.reads.get_at({version_, clock_}, bytes_of(key), value); });
}
Status Snapshot::for_each(
    FunctionRef<bool(std::string_view, std::string_view, Version)> visit) const {
  return in([&](auto& core) { return core.reads.for_each_at({version_, clock_}, visit); });
}
std::uint64_t Snapshot::count() const {
  std::uint64_t records = 0;
  (void)for_each([&](std::string_view, std::string_view, Version) { return ++records, true; });
  return records;
}
Result<Cursor> Snapshot::cursor() const {
  return in([&](auto& core) -> Result<Cursor> {
    if (!core.rooms.index.is_ordered()) return StoreBase::no_order();
    const Moment moment{version_, clock_};
    return Cursor(store_ != nullptr ? std::make_unique<Cursor::State>(store_, moment)
                                    : std::make_unique<Cursor::State>(space_, moment));
  });
}

// ---- Taking them ----

Snapshot StoreBase::snapshot() { return core() ? core()->snapshot() : Snapshot(); }
Snapshot StoreCore::snapshot() {
  if (rooms.inside()) return {};  // It would wait for its own thread.
  const Version version = rooms.versions.open();
  // From here on nothing is displaced. Where the device fails, for_each() tells of it.
  settle_displaced();
  return {alive, version, rooms.expiry.clock()};
}

Snapshot Space::snapshot() const {
  auto taken = in([&](SpaceCore& core) {
    if (core.rooms.store.inside()) return Result<Snapshot>(Snapshot());
    const Version version = core.rooms.versions.open();
    return Result<Snapshot>(Snapshot(link_, version, core.rooms.expiry.clock()));
  });
  return taken ? std::move(*taken) : Snapshot();
}

Result<std::vector<Snapshot>> Store<>::snapshots(std::span<const Space> spaces) {
  if (core() == nullptr) return closed();
  return core()->snapshots(spaces);
}

// As for a checkpoint: one sequence for all spaces, while writes to any of them are held.
Result<std::vector<Snapshot>> StoreCore::snapshots(std::span<const Space> spaces) {
  if (rooms.inside())
    return Error{Errc::kBusy, "a verb that is under way has called this; take them later"};
  std::vector<Space::Link> links;
  for (const Space& space : spaces)
    links.push_back(space.link());
  HF_ASSIGN_OR_RETURN(const auto used, keyspaces.use(links, " of the snapshots"));
  const auto for_each = [&](auto&& visit) {
    visit(rooms.versions);
    for (const auto& one : used)
      visit(one.rooms.versions);
  };
  Version version = 0;
  {
    const WriteGate::Hold hold(rooms.gate, rooms.epochs);
    version = rooms.sequences.lapse();
    for_each([&](Versions& versions) { versions.enter(version); });
  }
  settle_displaced();
  const std::uint64_t clock = rooms.expiry.clock();
  std::vector<Snapshot> taken;
  taken.emplace_back(alive, version, clock);
  for (Space::Link& link : links)
    taken.emplace_back(std::move(link), version, clock);
  return taken;
}

}  // namespace holdfast::kv
