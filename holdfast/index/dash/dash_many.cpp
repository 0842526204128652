// Look-ups and inserts of a Dash index, many at once: the machines of blocks::interleave().
//
// What is rare ends a machine with kAlone: a segment that was not repaired yet, one that was split
// while it was waited for, a record that must be moved or goes to the stash. The plain verb does it
// afterwards, when the group holds nothing.
#include <vector>

#include <holdfast/base/check.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/index/dash/dash.hpp>

namespace holdfast::index {

using namespace dash_detail;
using blocks::Interleaving;
using blocks::Member;
using blocks::Step;

namespace {

// True: some line was asked for, return kAgain.
bool touch(const Member& member, const Bucket& bucket) {
  bool asked = false;
  for (const auto& line : bucket.lines)
    asked |= member.touch(&line);
  return asked;
}

}  // namespace

class Dash::Lookup {
 public:
  Lookup(const Dash& dash, std::uint64_t key) : dash_(&dash), key_(key), hash_(dash.hash_of(key)) {}

  Step step(Member& member) {
    switch (state_) {
      case State::kBegin:
        state_ = State::kSegment;
        if (member.touch(dash_->directory_.place_of(hash_))) return Step::kAgain;
        [[fallthrough]];
      case State::kSegment: {
        const auto number = dash_->directory_.segment_of(hash_);
        if (!number) return alone();  // Damaged: the plain verb says so.
        number_ = *number;
        state_ = State::kHome;
        if (touch(member, segment().home(hash_))) return Step::kAgain;
        [[fallthrough]];
      }
      case State::kHome: {
        begin_ = latch().begin_read();
        if ((begin_ & 1) != 0) return again();
        if (HF_MUTANT("D32", begin_ == 0, false) && !dash_->read_only_) return alone();
        const auto now = dash_->directory_.segment_of(hash_);
        if (!now) return alone();
        if (HF_MUTANT("D33", *now != number_, false)) return again();
        if (const auto place = segment().find_at_home(hash_, key_)) return end(place);
        state_ = State::kElsewhere;
        if (touch(member, segment().behind_home(hash_))) return Step::kAgain;
        [[fallthrough]];
      }
      case State::kElsewhere: return end(segment().find_elsewhere(hash_, key_));
    }
    return Step::kDone;
  }
  bool is_alone() const { return alone_; }
  const std::optional<std::uint64_t>& value() const { return value_; }

 private:
  enum class State : std::uint8_t { kBegin, kSegment, kHome, kElsewhere };
  Segment segment() const { return dash_->segment(number_); }
  const blocks::NodeLatch& latch() const { return dash_->latches_[number_]; }
  Step end(const std::optional<Segment::Place>& place) {
    value_ = place ? std::optional(place->value()) : std::nullopt;
    if (HF_MUTANT("D34", !latch().unchanged(begin_), false)) return again();
    return Step::kDone;
  }
  Step again() {
    state_ = State::kBegin;
    return Step::kBlocked;
  }
  Step alone() {
    alone_ = true;
    return Step::kDone;
  }

  const Dash* dash_;
  std::uint64_t key_;
  KeyHash hash_;
  std::uint32_t number_ = 0;
  std::uint32_t begin_ = 0;
  State state_ = State::kBegin;
  bool alone_ = false;
  std::optional<std::uint64_t> value_;
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
        bool asked = touch(member, segment().home(hash_));
        asked |= touch(member, segment().behind_home(hash_));
        if (asked) return Step::kAgain;
        [[fallthrough]];
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
        const auto room = segment().room_for(hash_);
        if (!room) return alone();
        Segment::put(member, room->place, hash_, record_, room->visits);
        return Step::kDone;
      }
    }
    return Step::kDone;
  }
  bool is_alone() const { return alone_; }
  Errc outcome() const { return outcome_; }

 private:
  enum class State : std::uint8_t { kBegin, kSegment, kLatch, kWrite };
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
  std::vector<std::size_t> alone;
  blocks::interleave<Lookup>(
      writer_.persist(), how, keys.size(),
      [&](std::size_t i, Member&) { return Lookup(*this, keys[i]); },
      [&](std::size_t i, Lookup& lookup) {
        if (lookup.is_alone())
          alone.push_back(i);
        else
          values[i] = lookup.value();
      });
  for (const auto i : alone) {
    const auto found = find(keys[i]);
    if (!found && found.code() != Errc::kNotFound) return found.error();
    values[i] = found ? std::optional(*found) : std::nullopt;
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
