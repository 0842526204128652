#include <holdfast/index/fastfair/node.hpp>

#include <algorithm>
#include <array>
#include <string>

#include <holdfast/base/mutant.hpp>
#include <holdfast/base/spin.hpp>

namespace holdfast::index::fastfair_detail {

std::optional<std::uint32_t> Node::level() const {
  const auto level = number_in(Persist::load(&head_->level), level_context(id_, number_, low()));
  if (!level || *level > kMaxLevel) return std::nullopt;
  return level;
}

// ---- Looking ----

void Node::prefetch() const {
  const auto* const begin = reinterpret_cast<const std::byte*>(head_);
  for (std::uint64_t at = 0; at < shape_.node_bytes(); at += kCacheLineBytes)
    prefetch_for_read(begin + at);
}

// Value and neighbour are read between two looks at the key. A slot that is overwritten meanwhile
// has given its entry to a neighbour before: either the neighbour's key tells, or the second look.
std::optional<std::uint64_t> Node::value_if(std::uint32_t slot, std::uint64_t key) const {
  const auto value = this->value(slot);
  if (HF_MUTANT("R01", key_behind(slot) == key, false)) return std::nullopt;
  if (HF_MUTANT("R02", this->key(slot) != key, false)) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> Node::find_rightwards(std::uint64_t key) const {
  for (std::uint32_t slot = 0; slot < shape_.slots; ++slot) {
    const auto seen = this->key(slot);
    if (seen > key) return std::nullopt;
    if (seen != key) continue;
    if (const auto value = value_if(slot, key)) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Node::find_leftwards(std::uint64_t key) const {
  for (auto slot = shape_.slots; slot-- > 0;) {
    const auto seen = this->key(slot);
    if (seen < key) return std::nullopt;
    if (seen != key) continue;
    if (const auto value = value_if(slot, key)) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Node::find(std::uint64_t key) const {
  for (SpinWait wait;; wait()) {
    const auto turn = state_->turn();
    const auto value =
        HF_MUTANT("R03", NodeState::way_of(turn), NodeState::Way::kRight) == NodeState::Way::kRight
            ? find_rightwards(key)
            : find_leftwards(key);
    if (HF_MUTANT("R04", state_->turn() == turn, true)) return value;
  }
}

// Entries above the leaves are shifted to the right only.
std::optional<Entry> Node::entry_for(std::uint64_t key) const {
  for (SpinWait wait;; wait()) {
    std::uint32_t slot = 0;
    while (slot < shape_.slots && this->key(slot) <= key)
      ++slot;
    if (slot == 0) return std::nullopt;
    const Entry entry = this->entry(slot - 1);
    if (entry.key <= key && key_behind(slot - 1) > key &&
        HF_MUTANT("R05", this->key(slot - 1) == entry.key, true))
      return entry;
  }
}

std::size_t Node::copy_once(NodeState::Way way, Entry* out) const {
  const bool right = way == NodeState::Way::kRight;
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < shape_.slots; ++i) {
    const auto slot = right ? i : shape_.slots - 1 - i;
    for (;;) {
      const auto seen = entry(slot);
      if (seen.key == kNoKey) {
        if (right) return count;
        break;
      }
      const auto behind = key_behind(slot);
      if (key(slot) != seen.key) continue;  // It moved.
      // One that moved ahead of us is met again.
      const bool met =
          count != 0 && (right ? seen.key <= out[count - 1].key : seen.key >= out[count - 1].key);
      if (HF_MUTANT("R06", behind != seen.key, true) && !met) out[count++] = seen;
      break;
    }
  }
  if (!right) std::reverse(out, out + count);
  return count;
}

std::size_t Node::copy(Entry* out) const {
  for (SpinWait wait;; wait()) {
    const auto turn = state_->turn();
    const auto count = copy_once(NodeState::way_of(turn), out);
    if (state_->turn() == turn) return count;
  }
}

// ---- Changing ----

Node::Place Node::place_of(std::uint64_t key) const {
  Place place{0, 0, false};
  for (; place.count < shape_.slots; ++place.count) {
    const auto seen = this->key(place.count);
    if (seen == kNoKey) break;
    if (seen < key) place.slot = place.count + 1;
    place.found |= seen == key;
  }
  return place;
}

// FAST, to the right. Each entry is stored into the next slot, whose own entry has a copy behind it
// and does not count: first the value, then the key, which makes the copy count.
void Node::insert(const Place& place, const Entry& entry) const {
  state_->turn_to(HF_MUTANT("R07", NodeState::Way::kRight, NodeState::Way::kLeft));
  for (auto to = place.count; to > place.slot; --to) {
    const auto moved = this->entry(to - 1);
    if (HF_MUTANT("R08", false, true)) persist_.store(&entries()[to].key, moved.key);
    persist_.store(&entries()[to].value, moved.value);
    persist_.store(&entries()[to].key, moved.key);
    // The line on the left is next: what its last slot held is durable here before.
    if (HF_MUTANT("R09", to % kSlotsOfLine == 0, false)) persist_line_of(to);
  }
  if (HF_MUTANT("R10", false, true)) persist_.store(&entries()[place.slot].key, entry.key);
  persist_.store(&entries()[place.slot].value, entry.value);
  persist_.store(&entries()[place.slot].key, entry.key);
  persist_line_of(place.slot);
}

// FAST, to the left. The neighbour's key takes a slot out of sight, then come its value and the
// next slot's key, which makes the copy count.
void Node::shift_left(std::uint32_t slot, std::uint32_t count) const {
  for (; slot + 1 < count; ++slot) {
    const auto moved = entry(slot + 1);
    if (HF_MUTANT("R11", false, true)) persist_.store(&entries()[slot].value, moved.value);
    persist_.store(&entries()[slot].key, moved.key);
    persist_.store(&entries()[slot].value, moved.value);
    // The line on the right is next: what its first slot held is durable here before.
    if (HF_MUTANT("R12", slot % kSlotsOfLine == kSlotsOfLine - 1, false)) persist_line_of(slot);
  }
  persist_.store(&entries()[slot].key, kNoKey);
  persist_line_of(slot);
}

void Node::erase(const Place& place) const {
  state_->turn_to(HF_MUTANT("R13", NodeState::Way::kLeft, NodeState::Way::kRight));
  shift_left(place.slot, place.count);
}

void Node::replace_value(std::uint32_t slot, std::uint64_t value) const {
  auto* const word = &entries()[slot].value;
  persist_.store(word, value);
  persist_.persist(word, sizeof *word);
}

// One line. Between the two stores the node has a sibling that nobody goes to: it holds all itself.
void Node::link(std::uint32_t sibling, std::uint64_t low) const {
  if (HF_MUTANT("R14", false, true)) persist_.store(&head_->high, low);
  persist_.store(&head_->sibling, seal_word<SealedWord>(sibling, sibling_context(id_, number_)));
  persist_.store(&head_->high, low);
  persist_.persist(head_, kCacheLineBytes);
}

void Node::truncate(std::uint32_t first) const {
  for (auto slot = first; slot < shape_.slots; ++slot)
    persist_.store(&entries()[slot].key, kNoKey);
  persist_.persist(&entries()[first], (shape_.slots - first) * sizeof(Entry));
}

void Node::fill(const Contents& contents) const {
  constexpr std::size_t kWords =
      (sizeof(NodeHead) + FastFairShape::kMaxSlots * sizeof(Entry)) / sizeof(std::uint64_t);
  static_assert(kWords * sizeof(std::uint64_t) % kCacheLineBytes == 0);
  alignas(kCacheLineBytes) std::array<std::uint64_t, kWords> words{};
  auto& head = *reinterpret_cast<NodeHead*>(words.data());
  head.level = seal_word<SealedWord>(contents.level, level_context(id_, number_, contents.low));
  head.low = contents.low;
  if (contents.sibling)
    head.sibling = seal_word<SealedWord>(*contents.sibling, sibling_context(id_, number_));
  head.high = contents.high;
  head.leftmost = contents.leftmost;
  auto* const entries = reinterpret_cast<Entry*>(&head + 1);
  std::ranges::copy(contents.entries, entries);
  for (auto slot = contents.entries.size(); slot < shape_.slots; ++slot)
    entries[slot].key = kNoKey;
  persist_.write(head_, words.data(), shape_.node_bytes());
}

// ---- Recovery ----

Result<std::uint32_t> Node::check(std::uint64_t high) const {
  const auto bad = [](std::uint32_t slot, const char* what) {
    return Error{Errc::kCorrupt, "slot " + std::to_string(slot) + " " + what};
  };
  if (HF_MUTANT("R15", this->high() < high, false))
    return Error{Errc::kCorrupt, "its keys end before those of its right sibling begin"};
  const bool inner = level().value_or(0) != 0;
  std::uint32_t count = 0;
  bool ended = false;
  for (std::uint32_t slot = 0; slot < shape_.slots; ++slot) {
    const auto seen = entry(slot);
    // What a split that was interrupted has moved does not count.
    if (seen.key == kNoKey || HF_MUTANT("R16", seen.key >= high, false)) {
      ended = true;
      continue;
    }
    if (HF_MUTANT("R17", ended, false)) return bad(slot, "has a key behind the end of the node");
    if (HF_MUTANT("R18", seen.key < low(), false)) return bad(slot, "has a key of another node");
    if (HF_MUTANT("R19", slot > 0 && seen.key < key(slot - 1), false))
      return bad(slot, "has a key below the one before it");
    if (HF_MUTANT("R20", inner && key_behind(slot) != seen.key && !child(seen), false))
      return bad(slot, "has a damaged child");
    count = slot + 1;
  }
  return count;
}

Status Node::repair(std::uint64_t high) const {
  HF_ASSIGN_OR_RETURN(auto count, check(high));
  persist_.persist(head_, shape_.node_bytes());
  if (HF_MUTANT("R21", this->high() != high, false)) {
    persist_.store(&head_->high, high);
    // Before anything is dropped: a read-only opening goes by where the node ends.
    persist_.persist(&head_->high, sizeof high);
  }
  if (HF_MUTANT("R22", count < shape_.slots && key(count) != kNoKey, false)) truncate(count);
  for (std::uint32_t slot = 0; HF_MUTANT("R23", slot + 1 < count, false);) {
    if (key(slot) == key(slot + 1))
      shift_left(slot, count--);
    else
      ++slot;
  }
  return {};
}

}  // namespace holdfast::index::fastfair_detail
