#include <holdfast/index/ordered/leaf.hpp>

#include <array>
#include <bit>
#include <cstring>

#include <holdfast/base/check.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/base/prefetch.hpp>

namespace holdfast::index::ordered {
// The keys of a leaf and their prefix, to fill the leaf again from. Its latch is not copied, since
// others try to take it meanwhile.
class Leaf::Copy {
 public:
  explicit Copy(const Leaf& leaf) : leaf_(new(page_) Leaf(*leaf.pool_)) {
    leaf_->count_ = leaf.count_;
    leaf_->prefix_ = leaf.prefix_;
    leaf_->low_ = leaf.low_;
    std::memcpy(page_ + kHeaderBytes, leaf.page() + kHeaderBytes, kRoom);
  }
  const Leaf& leaf() const { return *leaf_; }

 private:
  alignas(Leaf) std::byte page_[LeafPool::kPageBytes];
  Leaf* leaf_;
};

Leaf* Leaf::make(LeafPool& pool) {
  static_assert(sizeof(Leaf) == kHeaderBytes && sizeof(Slot) == 8);
  void* page = pool.take();
  return page == nullptr ? nullptr : new (page) Leaf(pool);
}

void Leaf::destroy(Leaf* leaf) {
  for (std::uint32_t at = 0; at < leaf->count_; ++at) {
    if (FarKey* far = leaf->far_at(leaf->slots()[at])) {
      leaf->pool_->drop_far(far->bytes());
      FarKey::drop(far);
    }
  }
  leaf->low_.release(), leaf->high_.release();
  leaf->pool_->give_back(leaf);
}

// A search by halves of a full leaf reads three or four of these lines; asked for at once they cost
// one miss.
void Leaf::prefetch() const {
  prefetch_for_write(page());
  for (std::uint32_t line = 1; line < 12; ++line)
    prefetch_for_read(page() + line * kCacheLineBytes);
}

void Leaf::prefetch_all(const void* leaf) {
  for (std::uint32_t at = 0; at < LeafPool::kPageBytes; at += kCacheLineBytes)
    prefetch_for_read(static_cast<const char*>(leaf) + at);
}

bool Leaf::holds(const Target& target) const {
  if (target.end) return next_ == nullptr;
  if (target.below) return low() < target.key && (next_ == nullptr || target.key <= high());
  return low() <= target.key && (next_ == nullptr || target.key < high());
}

std::uint32_t Leaf::head_of(std::string_view suffix) {
  if (suffix.size() >= kHeadBytes) [[likely]] {
    std::uint32_t bytes;
    std::memcpy(&bytes, suffix.data(), sizeof bytes);
    static_assert(std::endian::native == std::endian::little);
    return __builtin_bswap32(bytes);
  }
  std::uint32_t head = 0;
  for (std::uint32_t at = 0; at < kHeadBytes; ++at)
    head = head << 8 | (at < suffix.size() ? static_cast<unsigned char>(suffix[at]) : 0);
  return head;
}

Leaf::Parts Leaf::parts_of(std::string_view key) const {
  const std::string_view suffix = key.substr(prefix_);
  return {head_of(suffix), suffix.substr(std::min<std::size_t>(kHeadBytes, suffix.size())),
          suffix.size()};
}

FarKey* Leaf::far_at(const Slot& slot) const {
  if (slot.text.length != kFar) return nullptr;
  FarKey* far;
  std::memcpy(&far, page() + slot.text.offset, sizeof far);
  return far;
}

Leaf::Parts Leaf::parts_of(const Slot& slot) const {
  if (const FarKey* far = far_at(slot)) return parts_of(far->view());
  return {slot.head, {page() + slot.text.offset, text_bytes(slot.text)}, slot.text.length};
}

std::uint32_t Leaf::text_bytes(Text text) {
  if (text.length == kFar) return sizeof(FarKey*);
  return text.length > kHeadBytes ? text.length - kHeadBytes : 0;
}

// Where the heads are equal and one key is shorter than a head, it is the beginning of the other
// one: the padding with zeros matched.
int Leaf::compare(const Parts& a, const Parts& b) {
  if (a.head != b.head) return a.head < b.head ? -1 : 1;
  if (HF_MUTANT("E02", a.length < kHeadBytes || b.length < kHeadBytes, false))
    return a.length < b.length ? -1 : a.length > b.length;
  return a.rest.compare(b.rest);
}

Position Leaf::find(std::string_view key) const {
  const Parts wanted = parts_of(key);
  // By heads alone, without branches: the first slot whose head is not below.
  const Slot* first = slots();
  for (std::uint32_t left = count_; left > 0;) {
    const std::uint32_t half = left / 2;
    const bool below = first[half].head < wanted.head;
    first = below ? first + half + 1 : first;
    left = below ? left - half - 1 : half;
  }
  // Among equal heads by the rest.
  const Slot* const end = slots() + count_;
  const Slot* last = first;
  while (last < end && last->head == wanted.head && last - first < 4)
    ++last;
  if (last - first == 4)
    last = std::partition_point(last, end, [&](const Slot& s) { return s.head == wanted.head; });
  while (first < last) {
    const Slot* middle = first + (last - first) / 2;
    const int order = compare(parts_of(*middle), wanted);
    if (order == 0) return {static_cast<std::uint32_t>(middle - slots()), true};
    if (order < 0)
      first = middle + 1;
    else
      last = middle;
  }
  return {static_cast<std::uint32_t>(first - slots()), false};
}

std::uint32_t Leaf::bytes_for(std::size_t key_bytes, std::size_t prefix) {
  const std::size_t length = key_bytes - prefix;
  const std::size_t text =
      length > kNearBytes ? sizeof(FarKey*) : length - std::min<std::size_t>(length, kHeadBytes);
  return static_cast<std::uint32_t>(sizeof(Slot) + text);
}

void Leaf::put(std::uint32_t at, std::uint32_t head, std::string_view rest, std::size_t length,
               FarKey* far) {
  const std::size_t text = far != nullptr ? sizeof far : rest.size();
  HF_DCHECK(gap() >= sizeof(Slot) + text);
  heap_ = static_cast<std::uint16_t>(heap_ - text);
  live_ = static_cast<std::uint16_t>(live_ + text);
  if (text != 0) {
    std::memcpy(page() + heap_, far != nullptr ? reinterpret_cast<const char*>(&far) : rest.data(),
                text);
  }
  Slot* slot = slots() + at;
  std::memmove(slot + 1, slot, (count_ - at) * sizeof(Slot));
  *slot = {head, {heap_, far != nullptr ? kFar : static_cast<std::uint16_t>(length)}};
  ++count_;
}

Inserted Leaf::insert(std::uint32_t at, std::string_view key) {
  if (used_bytes() + bytes_for(key.size(), prefix_) > kRoom) return Inserted::kFull;
  FarKey* far_key = nullptr;
  if (far(key)) {
    far_key = FarKey::make(key);
    if (far_key == nullptr) return Inserted::kNoMemory;
    pool_->add_far(far_key->bytes());
  }
  const Parts parts = parts_of(key);
  const std::size_t text = far_key != nullptr ? sizeof far_key : parts.rest.size();
  if (gap() < sizeof(Slot) + text) compact();
  put(at, parts.head, parts.rest, parts.length, far_key);
  return Inserted::kYes;
}

void Leaf::erase(std::uint32_t at) {
  Slot* slot = slots() + at;
  if (FarKey* far_key = far_at(*slot)) {
    pool_->drop_far(far_key->bytes());
    FarKey::drop(far_key);
  }
  live_ = static_cast<std::uint16_t>(live_ - text_bytes(slot->text));
  std::memmove(slot, slot + 1, (count_ - at - 1) * sizeof(Slot));
  --count_;
}

namespace {

constexpr std::size_t kShortBytes = 16;

// As memcpy(), which for so few bytes is mostly call. `readable`: bytes at `from`. What follows at
// `to`, up to kShortBytes, may be written.
void copy_short(char* to, const char* from, std::size_t bytes, std::size_t readable) {
  if (bytes <= kShortBytes && readable >= kShortBytes) [[likely]]
    std::memcpy(to, from, kShortBytes);
  else if (bytes != 0)
    std::memcpy(to, from, bytes);
}

}  // namespace

void Leaf::copy_to(KeyBatch& batch, std::uint32_t begin, std::uint32_t end) const {
  char first[kShortBytes] = {};
  const std::string_view prefix = low().substr(0, prefix_);
  prefix.copy(first, sizeof first);
  const char* const shared = prefix_ <= sizeof first ? first : prefix.data();
  for (std::uint32_t at = begin; at < end; ++at) {
    const Slot& slot = slots()[at];
    if (slot.text.length == kFar) [[unlikely]] {
      batch.append(far_at(slot)->view());
      continue;
    }
    const std::size_t bytes = prefix_ + slot.text.length;
    // A key may be shorter than prefix and head.
    static_assert(KeyBatch::kSlack >= kHeadBytes + kShortBytes);
    char* to = batch.room_for(bytes);
    copy_short(to, shared, prefix_, std::max<std::size_t>(prefix_, sizeof first));
    const std::uint32_t head = __builtin_bswap32(slot.head);  // Of it text.length bytes, or all.
    std::memcpy(to + prefix_, &head, kHeadBytes);
    copy_short(to + prefix_ + kHeadBytes, page() + slot.text.offset, text_bytes(slot.text),
               LeafPool::kPageBytes - slot.text.offset);
    batch.added(bytes);
  }
}

void Leaf::clear() {
  count_ = 0, live_ = 0;
  heap_ = LeafPool::kPageBytes;
}

void Leaf::set_prefix() {
  prefix_ = next_ == nullptr ? 0 : static_cast<std::uint32_t>(common_prefix(low(), high()));
}

bool Leaf::set_range(std::string_view low, std::string_view high, Leaf* next) {
  HF_DCHECK(count_ == 0);
  next_ = next;
  if (!low_.assign(low) || !high_.assign(high)) return false;
  set_prefix();
  return true;
}

// The prefix here may be longer or shorter than there. Bytes that it lacks are those of from.low(),
// which agrees with every key of `from` on them.
void Leaf::take_from(const Leaf& from, std::uint32_t begin, std::uint32_t end) {
  const std::string_view shared = from.low().substr(0, from.prefix_);
  for (std::uint32_t at = begin; at < end; ++at) {
    const Slot& slot = from.slots()[at];
    if (FarKey* far_key = from.far_at(slot)) {
      put(count_, parts_of(far_key->view()).head, {}, 0, far_key);
      continue;
    }
    const std::uint32_t text = text_bytes(slot.text);
    if (prefix_ == from.prefix_) {
      put(count_, slot.head, {from.page() + slot.text.offset, text}, slot.text.length, nullptr);
      continue;
    }
    // The whole suffix here: at most a page, since it lay in one and grows by less than one.
    std::array<char, 2 * LeafPool::kPageBytes> key;
    const std::size_t missing = shared.size() > prefix_ ? shared.size() - prefix_ : 0;
    HF_CHECK(missing + slot.text.length <= key.size());
    if (missing != 0) std::memcpy(key.data(), shared.data() + prefix_, missing);
    const std::uint32_t big_endian = __builtin_bswap32(slot.head);
    std::memcpy(key.data() + missing, &big_endian, kHeadBytes);
    if (text != 0) {
      std::memcpy(key.data() + missing + kHeadBytes, from.page() + slot.text.offset, text);
    }
    const std::size_t skipped = prefix_ > shared.size() ? prefix_ - shared.size() : 0;
    const std::string_view suffix(key.data() + skipped, missing + slot.text.length - skipped);
    put(count_, head_of(suffix), suffix.substr(std::min<std::size_t>(kHeadBytes, suffix.size())),
        suffix.size(), nullptr);
  }
}

void Leaf::compact() {
  const Copy copy(*this);
  const Leaf& old = copy.leaf();
  clear();
  take_from(old, 0, old.count_);
}

bool Leaf::split(std::uint32_t at, std::string_view absent, Leaf& right) {
  // The border is the shortest key above the last on the left and not above the first on the right.
  KeyBatch border;
  copy_to(border, at - 1, at);
  if (at < count_)
    copy_to(border, at, at + 1);
  else
    border.append(absent);
  const std::string_view low = border[1].substr(
      0, common_prefix(border[0], border[1]) + HF_MUTANT("E03", std::size_t{1}, std::size_t{0}));
  Fence high;
  if (!high.assign(low)) return false;
  if (!right.low_.assign(low)) {
    high.release();
    return false;
  }
  right.next_ = next_, right.high_ = high_;
  right.set_prefix();

  const Copy copy(*this);
  const Leaf& old = copy.leaf();
  right.take_from(old, at, old.count_);
  clear();
  next_ = &right, high_ = high;
  set_prefix();
  take_from(old, 0, at);
  return true;
}

// Bytes that the keys of `other` take under another prefix.
std::uint32_t Leaf::needed_for(const Leaf& other, std::uint32_t prefix) const {
  std::uint32_t bytes = 0;
  for (std::uint32_t at = 0; at < other.count_; ++at) {
    const Text text = other.slots()[at].text;
    bytes += sizeof(Slot);
    if (text.length == kFar) {
      bytes += sizeof(FarKey*);
    } else {
      const std::uint32_t length = text.length + other.prefix_ - prefix;
      bytes += length > kHeadBytes ? length - kHeadBytes : 0;
    }
  }
  return bytes;
}

bool Leaf::absorb_next() {
  Leaf& right = *next_;
  const auto prefix =
      right.next_ == nullptr ? 0 : static_cast<std::uint32_t>(common_prefix(low(), right.high()));
  if (needed_for(*this, prefix) + needed_for(right, prefix) > kRoom / 4 * 3) return false;

  const Copy copy(*this);
  const Leaf& old = copy.leaf();
  clear();
  prefix_ = HF_MUTANT("E05", prefix, prefix_);
  take_from(old, 0, old.count_);
  take_from(right, 0, right.count_);
  next_ = right.next_;
  high_.release();
  high_ = right.high_;
  right.high_ = Fence{};
  right.clear();
  right.gone_ = HF_MUTANT("E04", true, right.gone_);
  return true;
}

}  // namespace holdfast::index::ordered
