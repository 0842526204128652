// Look-ups and inserts of a Dash index, many at once: look-ups step by step, inserts as machines of
// blocks::interleave().
//
// What is rare is left to the plain verb: a segment that was not repaired yet, one that was split
// while it was waited for, one without room in its stash. It comes afterwards, when the group holds
// nothing.
#include <algorithm>
#include <array>
#include <bit>

#include <holdfast/base/check.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/base/prefetch.hpp>
#include <holdfast/index/dash/dash.hpp>

namespace holdfast::index {

using namespace dash_detail;
using blocks::Interleaving;
using blocks::Member;
using blocks::Step;

// Look-ups change nothing and may end in any order. So they need no machine: all of a group go one
// step, which asks for lines, before any of them goes the next.
class Dash::Lookups {
 public:
  static constexpr std::size_t kMost = 64;

  explicit Lookups(const Dash& dash) : dash_(dash) {}
  // Which of them, as bits, the plain verb has to do.
  std::uint64_t find(std::span<const std::uint64_t> keys,
                     std::span<std::optional<std::uint64_t>> values) {
    std::uint64_t alone = 0, elsewhere = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      probes_[i].hash = dash_.hash_of(keys[i]);
      prefetch_for_read(dash_.directory_.place_of(probes_[i].hash));
    }
    for (std::size_t i = 0; i < keys.size(); ++i)
      alone |= std::uint64_t{!ask_for_home(probes_[i])} << i;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if ((alone >> i & 1) != 0) continue;
      auto& probe = probes_[i];
      if (!begin(probe)) {
        alone |= std::uint64_t{1} << i;
      } else if (const auto place = Segment::find_in_half(probe.near, probe.hash, keys[i])) {
        values[i] = place->value();
        alone |= std::uint64_t{changed(probe)} << i;
      } else {
        elsewhere |= std::uint64_t{1} << i;
        segment(probe).ask_elsewhere(probe.hash);
      }
    }
    for (; elsewhere != 0; elsewhere &= elsewhere - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(elsewhere));
      const auto& probe = probes_[i];
      const auto place = segment(probe).find_elsewhere(probe.hash, keys[i]);
      values[i] = place ? std::optional(place->value()) : std::nullopt;
      alone |= std::uint64_t{changed(probe)} << i;
    }
    return alone;
  }

 private:
  struct Probe {
    KeyHash hash;
    std::uint32_t number;
    std::uint32_t version;
    Line* near;
  };
  Segment segment(const Probe& probe) const { return dash_.segment(probe.number); }
  const blocks::NodeLatch& latch(const Probe& probe) const { return dash_.latches_[probe.number]; }
  // False: the directory is damaged.
  bool ask_for_home(Probe& probe) const {
    const auto number = dash_.directory_.segment_of(probe.hash);
    if (!number) return false;
    probe.number = *number;
    probe.near = segment(probe).near(probe.hash);
    Segment::ask_for_half(probe.near);
    return true;
  }
  // False: somebody holds the segment, or it is not repaired, or not the key's any more.
  bool begin(Probe& probe) const {
    probe.version = latch(probe).begin_read();
    if ((probe.version & 1) != 0) return false;
    if (HF_MUTANT("D32", probe.version == 0, false)) return false;
    const auto now = dash_.directory_.segment_of(probe.hash);
    return HF_MUTANT("D33", now && *now == probe.number, true);
  }
  bool changed(const Probe& probe) const {
    return HF_MUTANT("D34", !latch(probe).unchanged(probe.version), false);
  }

  const Dash& dash_;
  std::array<Probe, kMost> probes_;
};

class Dash::Insert {
 public:
  Insert(const Dash& dash, const DashRecord& record)
      : dash_(&dash), record_(record), hash_(dash.hash_of(record.key)) {}

  Step step(Member& member) {
    switch (state_) {
      case State::kBegin:
        state_ = State::kSegment;
        if (member.touch(dash_->directory_.place_of(hash_))) return Step::kAgain;
        [[fallthrough]];
      case State::kSegment: {
        const auto number = dash_->directory_.segment_of(hash_);
        if (!number) return alone();
        number_ = *number;
        state_ = State::kLatch;
        segment().ask(hash_);
        return Step::kAgain;
      }
      case State::kLatch: {
        const auto begin = latch().begin_read();
        if (HF_MUTANT("D35", begin == 0, false)) return alone();
        // Held by a repair, it may be as unrepaired afterwards as before.
        if ((begin & 1) != 0 || !member.latch(latch())) {
          state_ = State::kSegment;
          return Step::kBlocked;
        }
        const auto now = dash_->directory_.segment_of(hash_);
        if (HF_MUTANT("D36", !now || *now != number_, false)) return alone();
        state_ = State::kWrite;
        return Step::kAgain;  // See Member::latch().
      }
      case State::kWrite: {
        if (HF_MUTANT("D37", segment().find(hash_, record_.key).has_value(), false)) {
          outcome_ = Errc::kAlreadyExists;
          return Step::kDone;
        }
        if (const auto room = segment().room_for(hash_)) {
          Segment::put(member, room->place, hash_, record_, room->visits);
          return Step::kDone;
        }
        if (!segment().stash_room_for(hash_)) return alone();
        state_ = State::kStash;
        if (segment().announce(member, hash_) && HF_MUTANT("D46", member.order(), false))
          return Step::kFence;
        [[fallthrough]];
      }
      case State::kStash:
        Segment::put(member, *segment().stash_room_for(hash_), hash_, record_, false);
        return Step::kDone;
    }
    return Step::kDone;
  }
  bool is_alone() const { return alone_; }
  Errc outcome() const { return outcome_; }

 private:
  enum class State : std::uint8_t { kBegin, kSegment, kLatch, kWrite, kStash };
  Segment segment() const { return dash_->segment(number_); }
  blocks::NodeLatch& latch() const { return dash_->latches_[number_]; }
  Step alone() {
    alone_ = true;
    return Step::kDone;
  }

  const Dash* dash_;
  DashRecord record_;
  KeyHash hash_;
  std::uint32_t number_ = 0;
  State state_ = State::kBegin;
  bool alone_ = false;
  Errc outcome_ = Errc::kOk;
};

Status Dash::find_many(std::span<const std::uint64_t> keys,
                       std::span<std::optional<std::uint64_t>> values,
                       const Interleaving& how) const {
  HF_CHECK(keys.size() == values.size());
  const auto group = how.reads ? std::clamp<std::size_t>(how.group, 1, Lookups::kMost) : 1;
  Lookups lookups(*this);
  for (std::size_t begin = 0; begin < keys.size(); begin += group) {
    const auto size = std::min(group, keys.size() - begin);
    auto alone = lookups.find(keys.subspan(begin, size), values.subspan(begin, size));
    for (; alone != 0; alone &= alone - 1) {
      const auto i = begin + static_cast<unsigned>(std::countr_zero(alone));
      const auto found = find(keys[i]);
      if (!found && found.code() != Errc::kNotFound) return found.error();
      values[i] = found ? std::optional(*found) : std::nullopt;
    }
  }
  return {};
}

Status Dash::insert_many(std::span<const DashRecord> records, std::span<Errc> outcomes,
                         const Interleaving& how) {
  HF_CHECK(records.size() == outcomes.size());
  HF_RETURN_IF_ERROR(refuse_if_read_only());
  // Nothing is allocated while records are written: an exception would show what is not durable.
  constexpr Errc kLeft = Errc::kBusy;  // No outcome of an insert.
  blocks::interleave<Insert>(
      writer_.persist(), how, records.size(),
      [&](std::size_t i, Member&) { return Insert(*this, records[i]); },
      [&](std::size_t i, Insert& insert) {
        outcomes[i] = insert.is_alone() ? kLeft : insert.outcome();
      });
  Status first;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (outcomes[i] != kLeft) continue;
    const auto status = insert(records[i].key, records[i].value);
    outcomes[i] = status.code();
    if (!status && status.code() != Errc::kAlreadyExists && first) first = status;
  }
  return first;
}

}  // namespace holdfast::index
