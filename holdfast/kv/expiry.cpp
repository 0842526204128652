// The verbs of expiry.hpp.
#include <holdfast/kv/expiry.hpp>

#include <string>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/keyspaces.hpp>
#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {
namespace {

constexpr std::size_t kMostPrefixBytes = 255;

Error refused(const std::string& what) { return {Errc::kInvalidOption, "expiry rule: " + what}; }

Status check(const ExpiryRule& rule, const Superblock& superblock) {
  if (rule.prefix.size() > kMostPrefixBytes) {
    return refused("prefix of " + std::to_string(rule.prefix.size()) + " bytes; at most " +
                   std::to_string(kMostPrefixBytes) + " are allowed");
  }
  if (rule.width_bytes != 4 && rule.width_bytes != 8)
    return refused("width_bytes=" + std::to_string(rule.width_bytes) + "; 4 and 8 are allowed");
  const std::uint64_t longest =
      superblock.value_bytes != 0 ? superblock.value_bytes : std::uint64_t{kMaxValueBytes};
  if (std::uint64_t{rule.offset_bytes} + rule.width_bytes > longest) {
    return refused("offset_bytes=" + std::to_string(rule.offset_bytes) +
                   " and width_bytes=" + std::to_string(rule.width_bytes) +
                   "; the stamp has to lie within the values, of " +
                   (superblock.value_bytes != 0 ? "" : "at most ") + std::to_string(longest) +
                   " bytes");
  }
  return {};
}

// Whether a record could live longer by `rule` than by the one that counted for it so far.
bool may_prolong(const ExpiryRule& before, const ExpiryRule& rule) {
  return rule.offset_bytes != before.offset_bytes || rule.width_bytes != before.width_bytes ||
         rule.order != before.order || rule.ttl > before.ttl;
}

std::string text_of_rule(const ExpiryRule& rule) {
  return "offset_bytes=" + std::to_string(rule.offset_bytes) +
         ", width_bytes=" + std::to_string(rule.width_bytes) + ", ttl=" + std::to_string(rule.ttl) +
         (rule.order == std::endian::big ? ", big-endian" : ", little-endian");
}

}  // namespace

Status StoreCore::may_change_expiry() const {
  HF_RETURN_IF_ERROR(rooms.gate.check(false));
  if (rooms.is_called_back())
    return Error{Errc::kBusy, "a verb that is under way has called this; call it outside"};
  return {};
}

Status StoreCore::expire(std::uint16_t space, const ExpiryRule& rule) {
  HF_RETURN_IF_ERROR(may_change_expiry());
  HF_RETURN_IF_ERROR(check(rule, rooms.superblock));
  const Lock lock(expiring_);
  if (const ExpiryRule* const present = rooms.expiry.find(space, rule.prefix)) {
    if (*present == rule) return {};
    return Error{Errc::kAlreadyExists, "expiry rule: this prefix has one with " +
                                           text_of_rule(*present) + "; rules stay as they are"};
  }
  // What has expired by the rule of a shorter prefix would come back.
  const ExpiryRule* const before = rooms.expiry.rule_of(space, rule.prefix);
  if (before != nullptr && rooms.expiry.clock() != 0 && may_prolong(*before, rule)) {
    return refused("its keys have the rule of a shorter prefix, with " + text_of_rule(*before) +
                   "; once the clock is set, only a shorter ttl of the same stamp is allowed");
  }
  // The front of a value in pieces lies where rules look for stamps; what is behind it does not.
  const Lock no_space(keyspaces.mutex());  // First: a drop that holds it waits for first pieces.
  const Lock no_first_piece(rooms.pieces.mutex());
  if (rooms.pieces.any() &&
      rule.offset_bytes + std::uint64_t{rule.width_bytes} > Pieces::kFrontBytes) {
    return refused("offset_bytes=" + std::to_string(rule.offset_bytes) +
                   "; the store has values that were appended to, and of these a stamp has to lie "
                   "within the first " +
                   std::to_string(Pieces::kFrontBytes) + " bytes");
  }
  if (rooms.expiry.full()) {
    return Error{Errc::kNoSpace, "expiry rule: the store has " +
                                     std::to_string(ExpiryRules::kMost) +
                                     ", as many as are allowed"};
  }
  HF_RETURN_IF_ERROR(HF_MUTANT("K100",
                               keyspaces.put_expiry(encode_rule_key(space, rule.prefix),
                                                    encode_rule(rule), Keyspaces::Frees::kNothing),
                               ok_status()));
  if (rooms.expiry.reuses()) rooms.epochs.synchronize();
  {
    // A snapshot is open by now or counts the rule. One that has drawn its sequence and is not seen
    // would lose what the rule takes.
    const WriteGate::Hold hold(rooms.gate, rooms.epochs);
    const Lock rules_lock(rules_);
    // Snapshots that are open show what they showed.
    rooms.expiry.add(space, rule, rooms.sequences.next());
  }
  const Lock verbs_lock(sampling_);
  take(verbs_for(rooms));  // Those that ask. Verbs under way came before the rule.
  if (latencies.one_in() != 0) static_cast<HotVerbs&>(*this) = sampled_verbs();
  return {};
}

Status StoreCore::set_clock(std::uint64_t now) {
  HF_RETURN_IF_ERROR(may_change_expiry());
  const Lock lock(expiring_);
  const std::uint64_t present = rooms.expiry.clock();
  if (now < present) {
    return Error{Errc::kInvalidOption, "clock=" + std::to_string(now) + "; it is at " +
                                           std::to_string(present) + " and never runs backwards"};
  }
  if (now == present) return {};
  // Before it counts: nothing that was absent comes back with a crash.
  const Lock no_space(keyspaces.mutex());
  HF_RETURN_IF_ERROR(HF_MUTANT(
      "K101",
      keyspaces.put_expiry(std::string(kClockKey), encode_clock(now), Keyspaces::Frees::kRoom),
      ok_status()));
  rooms.expiry.set_clock(now);
  return {};
}

// Not while one takes the place of another. A change may call this while expire() waits for that
// change, so not by the lock that expire() has then.
std::vector<ExpiryRule> StoreCore::expiry_rules(std::uint16_t space) const {
  const Lock lock(rules_);
  return rooms.expiry.of_space(space);
}

// ---- Of a store ----

Status StoreBase::expire(const ExpiryRule& rule) {
  return core() ? core()->expire(kDefaultSpace, rule) : Status(closed());
}
std::vector<ExpiryRule> StoreBase::expiry_rules() const {
  return core() ? core()->expiry_rules(kDefaultSpace) : std::vector<ExpiryRule>();
}
Result<std::uint16_t> Store<>::number_of(const Space& space) const {
  if (core() == nullptr) return closed();
  const SpaceCore* const of =
      space.link() == nullptr ? nullptr : space.link()->load(std::memory_order_acquire);
  if (of == nullptr || !of->open.load(std::memory_order_acquire))
    return Error{Errc::kClosed, "the keyspace was dropped, or its store is closed"};
  if (&of->rooms.store != &core()->rooms)
    return Error{Errc::kInvalidOption, "keyspace '" + of->name + "' is of another store"};
  return of->id;
}
Status Store<>::expire(const Space& space, const ExpiryRule& rule) {
  HF_ASSIGN_OR_RETURN(const std::uint16_t number, number_of(space));
  return core()->expire(number, rule);
}
Result<std::vector<ExpiryRule>> Store<>::expiry_rules(const Space& space) const {
  HF_ASSIGN_OR_RETURN(const std::uint16_t number, number_of(space));
  return core()->expiry_rules(number);
}
Status StoreBase::set_clock(std::uint64_t now) {
  return core() ? core()->set_clock(now) : Status(closed());
}
std::uint64_t StoreBase::clock() const { return core() ? core()->rooms.expiry.clock() : 0; }

}  // namespace holdfast::kv
