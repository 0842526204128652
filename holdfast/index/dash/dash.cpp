#include <holdfast/index/dash/dash.hpp>

#include <string>
#include <utility>
#include <vector>

#include <holdfast/base/mutant.hpp>
#include <holdfast/base/spin.hpp>
#include <holdfast/memory/sealed_word.hpp>

namespace holdfast::index {

using namespace dash_detail;

// A segment under its latch. Its version rises when it is given back.
class Dash::Latched {
 public:
  // The latch is taken already.
  Latched(blocks::NodeLatch& latch, const Segment& segment, std::uint32_t number)
      : latch_(&latch), segment_(segment), number_(number) {}
  Latched(Latched&& other) noexcept
      : latch_(std::exchange(other.latch_, nullptr)),
        segment_(other.segment_),
        number_(other.number_) {}
  Latched& operator=(Latched&&) = delete;
  ~Latched() {
    if (latch_ == nullptr) return;
    if (HF_MUTANT("D21", true, false))
      latch_->unlock();
    else
      latch_->unlock_unchanged();
  }
  const Segment* operator->() const { return &segment_; }
  std::uint32_t number() const { return number_; }

 private:
  blocks::NodeLatch* latch_;
  Segment segment_;
  std::uint32_t number_;
};

namespace {

void take(blocks::NodeLatch& latch) {
  for (SpinWait wait; !latch.try_lock(); wait()) {
  }
}

// The version of a segment that nobody is changing.
std::uint32_t wait_free(const blocks::NodeLatch& latch) {
  for (SpinWait wait;; wait()) {
    if (const auto version = latch.begin_read(); (version & 1) == 0) return version;
  }
}

}  // namespace

// ---- Segments ----

Result<SegmentKeys> Dash::keys_of(std::uint32_t number) const {
  const auto keys = segment(number).keys(number);
  if (keys && HF_MUTANT("D31", keys->depth <= directory_.depth(), true)) return *keys;
  return Error{Errc::kCorrupt, "dash index: the first words of segment " + std::to_string(number) +
                                   " are damaged; restore the index from a copy"};
}

Status Dash::repair(std::uint32_t number) const {
  HF_ASSIGN_OR_RETURN(const auto keys, keys_of(number));
  std::optional<SegmentKeys> leaving;
  if (read_only_ && last_split_.to != 0 && number == last_split_.from) {
    HF_ASSIGN_OR_RETURN(leaving, keys_of(last_split_.to));
  }
  const auto one = segment(number);
  const auto repaired = read_only_ ? one.check(keys, leaving) : one.repair(keys);
  if (repaired) return {};
  return Error{repaired.code(), "dash index: segment " + std::to_string(number) + ": " +
                                    repaired.error().detail + "; restore the index from a copy"};
}

Result<Dash::Latched> Dash::latch(std::uint32_t number) const {
  auto& latch = latches_[number];
  take(latch);
  if (HF_MUTANT("D10", latch.before() == 0, false)) {
    if (auto status = repair(number); !status) {
      latch.unlock_unchanged();
      return std::move(status).error();
    }
  }
  return Latched(latch, segment(number), number);
}

Result<Dash::Latched> Dash::latch_for(KeyHash hash) const {
  for (;;) {
    HF_ASSIGN_OR_RETURN(const auto number, directory_.segment_of(hash));
    // Before the latch, whose locked instruction waits for the stores of the operation before.
    segment(number).ask(hash);
    HF_ASSIGN_OR_RETURN(auto latched, latch(number));
    // It may have been split before it was latched.
    HF_ASSIGN_OR_RETURN(const auto now, directory_.segment_of(hash));
    if (HF_MUTANT("D11", now == number, true)) return latched;
  }
}

// ---- Verbs ----

Result<std::uint64_t> Dash::find(std::uint64_t key) const {
  const auto hash = hash_of(key);
  for (;;) {
    HF_ASSIGN_OR_RETURN(const auto number, directory_.segment_of(hash));
    segment(number).ask(hash);
    const auto& latch = latches_[number];
    const auto version = wait_free(latch);
    if (HF_MUTANT("D26", version == 0, false)) [[unlikely]] {
      if (auto repaired = this->latch(number); !repaired) return std::move(repaired).error();
      continue;
    }
    // Looked up again under the version: a split before it has gone to the directory by now, and
    // one after it raises the version.
    HF_ASSIGN_OR_RETURN(const auto now, directory_.segment_of(hash));
    if (HF_MUTANT("D12", now != number, false)) continue;
    const auto place = segment(number).find(hash, key);
    const auto value = place ? place->value() : 0;
    if (HF_MUTANT("D13", !latch.unchanged(version), false)) continue;
    if (!place) return Error{Errc::kNotFound, {}};
    return value;
  }
}

Status Dash::refuse_if_read_only() const {
  if (!read_only_) return {};
  return Error{Errc::kReadOnly, "dash index: it was opened read-only; nothing was changed"};
}

Status Dash::add(std::uint64_t key, std::uint64_t value, bool may_exist) {
  HF_RETURN_IF_ERROR(refuse_if_read_only());
  const auto hash = hash_of(key);
  for (;;) {
    std::uint32_t full = 0;
    SegmentKeys keys;
    {
      HF_ASSIGN_OR_RETURN(const auto at, latch_for(hash));
      if (const auto place = at->find(hash, key)) {
        if (!may_exist) return Error{Errc::kAlreadyExists, {}};
        at->replace_value(*place, value);
        return {};
      }
      if (at->add(hash, {key, value})) return {};
      full = at.number();
      HF_ASSIGN_OR_RETURN(keys, keys_of(full));
    }
    HF_RETURN_IF_ERROR(split(full, keys));
  }
}

Status Dash::insert(std::uint64_t key, std::uint64_t value) { return add(key, value, false); }

Status Dash::put(std::uint64_t key, std::uint64_t value) { return add(key, value, true); }

Status Dash::update(std::uint64_t key, std::uint64_t value) {
  HF_RETURN_IF_ERROR(refuse_if_read_only());
  const auto hash = hash_of(key);
  HF_ASSIGN_OR_RETURN(const auto at, latch_for(hash));
  const auto place = at->find(hash, key);
  if (!place) return Error{Errc::kNotFound, {}};
  at->replace_value(*place, value);
  return {};
}

Status Dash::erase(std::uint64_t key) {
  HF_RETURN_IF_ERROR(refuse_if_read_only());
  const auto hash = hash_of(key);
  HF_ASSIGN_OR_RETURN(const auto at, latch_for(hash));
  const auto place = at->find(hash, key);
  if (!place) return Error{Errc::kNotFound, {}};
  at->remove(*place);
  return {};
}

Status Dash::for_each(FunctionRef<void(std::uint64_t, std::uint64_t)> visit) const {
  const Lock lock(structure_);
  std::vector<Record> records;
  const auto collect = [&](const Record& record) { records.push_back(record); };
  for (std::uint32_t number = 0; number < directory_.in_use(); ++number) {
    records.clear();
    {
      HF_ASSIGN_OR_RETURN(const auto at, latch(number));
      at->each_record(collect);
    }
    for (const auto& record : records) {
      // Read-only, a split that a crash interrupted has left some records in both halves.
      HF_ASSIGN_OR_RETURN(const auto owner, directory_.segment_of(hash_of(record.key)));
      if (HF_MUTANT("D24", owner == number, true)) visit(record.key, record.value);
    }
  }
  return {};
}

// ---- Splits ----

Status Dash::split(std::uint32_t number, const SegmentKeys& keys) {
  const Lock lock(structure_);
  HF_ASSIGN_OR_RETURN(const auto at, latch(number));
  HF_ASSIGN_OR_RETURN(const auto now, keys_of(number));
  if (HF_MUTANT("D22", now != keys, false)) return {};  // Another thread has split it.
  const auto in_use = directory_.in_use();
  if (in_use == HF_MUTANT("D23", shape_.segments, shape_.segments - 1))
    return Error{Errc::kNoSpace, "dash index: all " + std::to_string(shape_.segments) +
                                     " segments are in use and one is full; find, update and "
                                     "erase still work"};
  if (keys.depth == directory_.depth()) HF_RETURN_IF_ERROR(directory_.grow());
  const SplitWord split{number, in_use};
  const auto upper = keys.upper_half();
  at->copy_upper(segment(split.to), split.to, upper);
  take(latches_[split.to]);  // Its number is not 0 from now on: there is nothing to repair.
  latches_[split.to].unlock();
  if (HF_MUTANT("D27", false, true)) HF_RETURN_IF_ERROR(directory_.link(upper, split.to));
  // From here on the split is done again after a crash.
  HF_RETURN_IF_ERROR(
      writer_.put_word(kSplitAt, seal_word<SealedWord>(split.word(), split_context(id_))));
  HF_RETURN_IF_ERROR(writer_.order());
  directory_.set_in_use(in_use + 1);
  return finish_split(split, upper);
}

Status Dash::finish_split(const SplitWord& split, const SegmentKeys& upper) {
  // The new segment's records go from the old one only when the directory leads to the new one.
  if (HF_MUTANT("D25", false, true)) segment(split.from).drop_upper(split.from, upper);
  HF_RETURN_IF_ERROR(directory_.link(upper, split.to));
  HF_RETURN_IF_ERROR(writer_.order());
  segment(split.from).drop_upper(split.from, upper);
  return {};
}

}  // namespace holdfast::index
