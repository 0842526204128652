#include <holdfast/index/fptree/leaf.hpp>

#include <algorithm>
#include <array>
#include <string>

#include <holdfast/memory/sealed_word.hpp>

namespace holdfast::index::fptree_detail {
namespace {

constexpr std::uint64_t kLowBits = 0x0101010101010101;
constexpr std::uint64_t kHighBits = 0x8080808080808080;

// Bit b of the result: byte b of the word is zero. Exact for each byte.
std::uint64_t zero_bytes(std::uint64_t word) {
  const auto nonzero = ((word & ~kHighBits) + ~kHighBits) | word;
  return ((~nonzero & kHighBits) >> 7) * 0x0102040810204080 >> 56;
}

// visit(slot) for each bit.
template <class Visit>
void each_slot(std::uint64_t slots, Visit&& visit) {
  for (; slots != 0; slots &= slots - 1)
    visit(static_cast<unsigned>(std::countr_zero(slots)));
}

}  // namespace

// ---- Looking ----

std::uint64_t Leaf::candidates(std::uint8_t print) const {
  const auto wanted = print * kLowBits;
  std::uint64_t slots = 0;
  for (unsigned word = 0; word * 8 < shape_.records; ++word)
    slots |= zero_bytes(Persist::load(&head_->prints[word]) ^ wanted) << (word * 8);
  return slots & HF_MUTANT("T01", used(), shape_.all_slots());
}

std::optional<unsigned> Leaf::find_among(std::uint64_t slots, std::uint64_t key) const {
  for (; slots != 0; slots &= slots - 1) {
    const auto slot = static_cast<unsigned>(std::countr_zero(slots));
    if (HF_MUTANT("T03", Persist::load(&records()[slot].key) == key, true)) return slot;
  }
  return std::nullopt;
}

std::optional<unsigned> Leaf::free_slot() const {
  const auto slot = static_cast<unsigned>(std::countr_one(used()));
  if (slot < shape_.records) return slot;
  return std::nullopt;
}

// ---- Changing ----

void Leaf::add(unsigned slot, const FpRecord& record) const {
  if (HF_MUTANT("T04", true, false)) {
    write_record(persist_, slot, record);
    persist_.fence();
  }
  count_record(persist_, slot, record.key);
  if (HF_MUTANT("T04", false, true)) write_record(persist_, slot, record);
  persist_.fence();
}

void Leaf::replace_value(unsigned slot, std::uint64_t value) const {
  auto* const word = &records()[slot].value;
  persist_.store(word, value);
  persist_.persist(word, sizeof *word);
}

void Leaf::remove(unsigned slot) const { drop(std::uint64_t{1} << slot); }

void Leaf::drop(std::uint64_t slots) const {
  persist_.store(&head_->used, Persist::load(&head_->used) & ~slots);
  persist_.persist(&head_->used, sizeof head_->used);
}

// ---- Splitting and unlinking ----

std::uint64_t Leaf::slots_from(std::uint64_t key) const {
  std::uint64_t slots = 0;
  each_slot(used(), [&](unsigned slot) {
    if (record(slot).key >= key) slots |= std::uint64_t{1} << slot;
  });
  return slots;
}

std::uint64_t Leaf::middle() const {
  std::array<std::uint64_t, FpTreeShape::kMaxRecords> keys;
  std::size_t count = 0;
  each_slot(used(), [&](unsigned slot) { keys[count++] = record(slot).key; });
  std::nth_element(keys.begin(), keys.begin() + count / 2, keys.begin() + count);
  return keys[count / 2];
}

void Leaf::fill(std::span<const FpRecord> records) const {
  LeafHead head{};
  for (std::size_t slot = 0; slot < records.size(); ++slot) {
    head.used |= std::uint64_t{1} << slot;
    head.prints[slot / 8] |= std::uint64_t{print_of(records[slot].key)} << slot % 8 * 8;
  }
  persist_.write(head_, &head, kCacheLineBytes);
  if (!records.empty()) persist_.write(this->records(), records.data(), records.size_bytes());
}

void Leaf::enter(std::uint64_t id, std::uint32_t number, std::uint64_t low) const {
  persist_.store(&head_->low, low);
  persist_.store(&head_->state, seal_word<SealedWord>(kLeafInUse, leaf_context(id, number, low)));
  write_back_use();
}

void Leaf::leave() const {
  persist_.store(&head_->state, 0);
  persist_.persist(&head_->state, sizeof head_->state);
}

// ---- Recovery ----

Leaf::Use Leaf::use(std::uint64_t id, std::uint32_t number) const {
  const auto state = Persist::load(&head_->state);
  if (state == 0) return Use::kFree;
  const auto value = open_word<SealedWord>(state, leaf_context(id, number, low()));
  return value == kLeafInUse ? Use::kInUse : Use::kDamaged;
}

Result<std::uint64_t> Leaf::check(const KeyRange& range) const {
  const auto held = Persist::load(&head_->used);
  if ((held & ~shape_.all_slots()) != 0)
    return Error{Errc::kCorrupt, "its used word counts slots that it does not have"};
  std::uint64_t left = held;
  std::array<std::uint64_t, FpTreeShape::kMaxRecords> keys;
  std::size_t count = 0;
  for (unsigned slot = 0; slot < shape_.records; ++slot) {
    if ((held >> slot & 1) == 0) continue;
    const auto key = record(slot).key;
    if (HF_MUTANT("T05", (head_->prints[slot / 8] >> slot % 8 * 8 & 0xff) != print_of(key), false))
      return Error{Errc::kCorrupt,
                   "the key or the fingerprint of slot " + std::to_string(slot) + " is damaged"};
    if (HF_MUTANT("T06", key < range.low, false))
      return Error{Errc::kCorrupt, "slot " + std::to_string(slot) + " has a key of another leaf"};
    if (HF_MUTANT("T07", range.above(key), false)) left &= ~(std::uint64_t{1} << slot);
    keys[count++] = key;
  }
  // A split could not tell them apart.
  std::sort(keys.begin(), keys.begin() + count);
  const auto* const end = keys.begin() + count;
  if (HF_MUTANT("T09", std::adjacent_find(keys.cbegin(), end) != end, false))
    return Error{Errc::kCorrupt, "two of its slots hold one key"};
  return left;
}

Status Leaf::repair(const KeyRange& range) const {
  HF_ASSIGN_OR_RETURN(const auto left, check(range));
  if (left != Persist::load(&head_->used)) persist_.store(&head_->used, left);
  persist_.persist(head_, shape_.leaf_bytes());
  return {};
}

}  // namespace holdfast::index::fptree_detail
