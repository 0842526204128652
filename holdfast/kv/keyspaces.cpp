#include <holdfast/kv/keyspaces.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include <holdfast/base/check.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/read_verbs.hpp>
#include <holdfast/kv/verify.hpp>
#include <holdfast/kv/write_verbs.hpp>

namespace holdfast::kv {
namespace {

// An index of a space without keys takes 0.2 MB.
constexpr std::size_t kMostSpaces = 4096;

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

}  // namespace

Result<VerifyReport> SpaceCore::verify() {
  if (rooms.store.inside()) return Verification::called_back();
  const auto no_reclamation = maintenance.hold_off();
  return Verification(rooms.store, {}, rooms.id).run();
}

Status Keyspaces::adopt() {
  const Lock lock(mutex_);
  SpaceRooms* const system = rooms_.spaces.find(kSystemSpace);
  if (system == nullptr) return {};
  system_ = std::make_unique<SpaceCore>(*system, maintenance_, "");
  std::map<std::uint16_t, SpaceName> names;
  std::vector<std::pair<std::string, std::string>> expiry;
  const auto read = system_->reads.for_each_at(
      Moment{~Version{0}}, [&](std::string_view key, std::string_view value, Version) {
        std::uint16_t id = 0;
        SpaceName name;
        // Recovery has noted what is neither.
        if (decode_space_name(key, value, id, name))
          names[id] = std::move(name);
        else
          expiry.emplace_back(key, value);
        return true;
      });
  // Rules of a space that was dropped stay on the medium, and count no more.
  for (const auto& [key, value] : expiry) {
    const auto name = names.find(space_of_rule(key));
    if (name == names.end() || name->second.live) (void)adopt_expiry(rooms_.expiry, key, value);
  }
  for (auto& [id, name] : names) {
    next_id_ = std::max<std::uint32_t>(next_id_, id + 1u);
    SpaceRooms* const found = rooms_.spaces.find(id);
    if (name.live && found != nullptr) enter(std::move(name.text), *found);
  }
  return rooms_.gate.read_only() ? ok_status() : read;
}

void Keyspaces::enter(std::string name, SpaceRooms& rooms) {
  auto named = std::make_unique<Named>();
  named->core = std::make_unique<SpaceCore>(rooms, maintenance_, name);
  named->link = std::make_shared<std::atomic<SpaceCore*>>(named->core.get());
  const Lock lock(names_mutex_);
  named_.insert_or_assign(std::move(name), std::move(named));
}

Status Keyspaces::put_name(std::uint16_t id, const SpaceName& name) {
  return put_of_system(encode_space_id(id), encode_space_name(name),
                       name.live ? Frees::kNothing : Frees::kRoom);
}

Status Keyspaces::put_expiry(const std::string& key, const std::string& value, Frees frees) {
  HF_RETURN_IF_ERROR(rooms_.raise_flags(kHasSpaces | kHasExpiry));
  return put_of_system(key, value, frees);
}

Status Keyspaces::put_of_system(const std::string& key, const std::string& value, Frees frees) {
  if (system_ == nullptr) {
    HF_ASSIGN_OR_RETURN(SpaceRooms* const system, rooms_.spaces.make(kSystemSpace));
    system_ = std::make_unique<SpaceCore>(*system, maintenance_, "");
  }
  const WriteOptions durable{rooms_.group.needed() ? Durability::kPower : Durability::kDefault};
  const Bytes name = bytes_of(key), state = bytes_of(value);
  if (frees == Frees::kRoom) return system_->writes.put_to_make_room(name, state, durable);
  HF_RETURN_IF_ERROR(system_->writes.put_alone(name, state, durable));
  return {};
}

Result<Space> Keyspaces::create(std::string_view name) {
  if (name.empty() || name.size() > kMaxSpaceNameBytes) {
    return Error{Errc::kInvalidOption, "name of a keyspace of " + std::to_string(name.size()) +
                                           " bytes; 1 to " + std::to_string(kMaxSpaceNameBytes) +
                                           " are allowed"};
  }
  const Superblock& superblock = rooms_.superblock;
  if (superblock.key_bytes != 0 || superblock.value_bytes != 0) {
    return Error{Errc::kInvalidOption,
                 "the store is one of fixed sizes; keyspaces are for stores of bytes"};
  }
  HF_RETURN_IF_ERROR(rooms_.gate.check(false));
  if (rooms_.is_called_back())
    return Error{Errc::kBusy,
                 "a verb that is under way has called this; create the keyspace later"};
  const Lock lock(mutex_);
  std::size_t spaces = 0;
  {
    const Lock names_lock(names_mutex_);
    if (find(name)) return Error{Errc::kAlreadyExists, "there is a keyspace " + quoted(name)};
    spaces = named_.size();
  }
  if (spaces >= kMostSpaces || next_id_ > kLastSpace) {
    return Error{Errc::kNoSpace, spaces >= kMostSpaces
                                     ? "the store has " + std::to_string(kMostSpaces) +
                                           " keyspaces, as many as are allowed"
                                     : "the store has used all its numbers of keyspaces; export it "
                                       "into a new store"};
  }
  const auto id = static_cast<std::uint16_t>(next_id_);
  // All that can fail in DRAM comes before what is durable.
  HF_ASSIGN_OR_RETURN(SpaceRooms* const made, rooms_.spaces.make(id));
  if (made->index.is_ordered())
    made->index.load_order(made->sessions, rooms_.epochs, 1, std::atomic<bool>(false));
  const auto begin = [&]() HF_REQUIRES(mutex_) -> Status {
    HF_RETURN_IF_ERROR(rooms_.raise_flags(kHasSpaces));
    return put_name(id, {std::string(name), true});
  };
  if (auto begun = begin(); !begun) {
    rooms_.spaces.retire(id);
    return std::move(begun).error();
  }
  ++next_id_;
  enter(std::string(name), *made);
  return open(name);
}

Result<Keyspaces::Named*> Keyspaces::find(std::string_view name) const {
  const auto found = named_.find(name);
  if (found == named_.end()) return Error{Errc::kNotFound, "there is no keyspace " + quoted(name)};
  return found->second.get();
}

Result<Space> Keyspaces::open(std::string_view name) {
  const Lock lock(names_mutex_);
  HF_ASSIGN_OR_RETURN(const Named* const named, find(name));
  return Space(named->link);
}

namespace {

// Verbs of a keyspace are refused while it is being dropped, and again served if it is not.
class Refused {
 public:
  explicit Refused(std::atomic<bool>& open) : open_(open) {
    open_.store(false, std::memory_order_seq_cst);
  }
  ~Refused() {
    if (!for_good_) open_.store(true, std::memory_order_seq_cst);
  }
  Refused(const Refused&) = delete;
  void for_good() { for_good_ = true; }

 private:
  std::atomic<bool>& open_;
  bool for_good_ = false;
};

}  // namespace

Status Keyspaces::drop(std::string_view name) {
  HF_RETURN_IF_ERROR(rooms_.gate.check(false));
  if (rooms_.is_called_back())
    return Error{Errc::kBusy, "a verb that is under way has called this; drop the keyspace later"};
  const Lock lock(mutex_);
  const auto found = [&]() -> Result<SpaceCore*> {
    const Lock names_lock(names_mutex_);
    HF_ASSIGN_OR_RETURN(const Named* const named, find(name));
    return named->core.get();
  };
  HF_ASSIGN_OR_RETURN(SpaceCore* const dropped, found());
  SpaceCore& core = *dropped;
  rooms_.end_left_snapshots();
  const auto held = [&]() -> Status {
    if (!core.rooms.versions.held()) return {};
    return Error{Errc::kBusy,
                 "snapshots of keyspace " + quoted(name) + " are open; let them go first"};
  };
  // One that is there when all walks have ended is a snapshot's. Then nobody else is refused for a
  // drop that is refused itself.
  if (const Version oldest = core.rooms.versions.oldest(); oldest != 0) {
    rooms_.spaces.users().synchronize();
    if (HF_MUTANT("K149", core.rooms.versions.oldest() == oldest, false))
      HF_RETURN_IF_ERROR(held());
  }
  // What puts its keys in order reads its records, and may take long.
  if (core.rooms.index.is_ordered()) core.rooms.index.order()->wait();
  // From here on verbs are refused, and those under way end.
  Refused refused(core.open);
  HF_MUTANT("K52", rooms_.spaces.users().synchronize(), void());
  const auto end = [&]() HF_REQUIRES(mutex_) -> Status {
    HF_RETURN_IF_ERROR(held());
    return HF_MUTANT("K51", put_name(core.rooms.id, {core.name, false}),
                     ok_status());  // Here the space ends.
  };
  HF_RETURN_IF_ERROR(end());
  refused.for_good();
  SpaceRooms& rooms = core.rooms;
  {
    const Lock names_lock(names_mutex_);
    // Those before that no handle leads to any more.
    std::erase_if(dropped_, [](const auto& named) { return named->link.use_count() == 1; });
    const auto ended = named_.find(core.name);
    dropped_.push_back(std::move(ended->second));
    named_.erase(ended);
  }
  return maintenance_.free_space(rooms);
}

std::vector<std::string> Keyspaces::names() const {
  const Lock lock(names_mutex_);
  std::vector<std::string> names;
  for (const auto& [name, named] : named_)
    names.push_back(name);
  return names;
}

Result<std::vector<Keyspaces::InUse>> Keyspaces::use(std::span<const Link> links,
                                                     const char* of) const {
  std::vector<InUse> used;
  for (const Link& link : links) {
    SpaceCore* const core = link == nullptr ? nullptr : link->load(std::memory_order_acquire);
    if (core != nullptr && &core->rooms.store != &rooms_) {
      return Error{Errc::kInvalidOption,
                   "keyspace " + quoted(core->name) + of + " is of another store"};
    }
    if (core != nullptr) {
      used.push_back(
          {core->rooms, rooms_.spaces.users().enter(core->rooms.sessions.of_this_thread().user)});
    }
    if (core == nullptr || !core->open.load(std::memory_order_acquire)) {
      return Error{Errc::kClosed,
                   std::string("a keyspace") + of + " was dropped, or its store is closed"};
    }
  }
  return used;
}

Result<Version> Keyspaces::write(const WriteBatch& batch, WriteOptions options) {
  HF_ASSIGN_OR_RETURN(const std::vector<InUse> used, use(batch.spaces(), " of the batch"));
  std::vector<SpaceRooms*> spaces;
  for (const InUse& one : used)
    spaces.push_back(&one.rooms);
  return batches_.write_across(batch, spaces, options);
}

void Keyspaces::close() {
  const Lock lock(names_mutex_);
  for (auto& [name, named] : named_)
    named->link->store(nullptr, std::memory_order_release);
  for (auto& named : dropped_)
    named->link->store(nullptr, std::memory_order_release);
}

}  // namespace holdfast::kv
