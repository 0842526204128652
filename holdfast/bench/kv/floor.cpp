#include <holdfast/bench/kv/floor.hpp>

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include <holdfast/base/prefetch.hpp>
#include <holdfast/bench/kv/store_subject.hpp>
#include <holdfast/bench/kv/subjects.hpp>

namespace holdfast::bench::kv {
namespace {

constexpr std::uint64_t kHeaderBytes = 24;
constexpr std::uint64_t kStored = 1;  // Offsets are even; an index entry of 0 is "none".

struct Floor {
  FloorIndex index;
  FloorMedium medium;
  const ValueKernels kernels = best_value_kernels();
};

class FloorSession {
 public:
  FloorSession(Floor& floor, const Records& records)
      : index_(floor.index),
        medium_(floor.medium),
        data_(floor.medium.data()),
        persist_(floor.medium.persist()),
        kernels_(floor.kernels),
        records_(records),
        stage_(round_up(kHeaderBytes + records.max_key_bytes() + records.max_value_bytes() + 8,
                        kCacheLineBytes) +
               kCacheLineBytes) {
    auto* begin = stage_.data();
    staged_ = begin + (round_up(reinterpret_cast<std::uintptr_t>(begin), kCacheLineBytes) -
                       reinterpret_cast<std::uintptr_t>(begin));
  }

  bool put(const Key& key, ValueView value) {
    auto* entry = index_.entry(key.index);
    prefetch_for_write(entry);
    const auto offset = append(key, value);
    if (offset == FloorMedium::kNoOffset || !make_durable()) [[unlikely]]
      return false;
    set(entry, offset | kStored);
    return true;
  }

  bool overwrite(const Key& key, ValueView value) {
    auto* entry = index_.entry(key.index);
    const auto* old = reinterpret_cast<const std::uint64_t*>(data_ + (load(entry) & ~kStored));
    const auto offset = append(key, value);
    superseded_ += *old;  // Its sequence: only waited for after the loop.
    if (offset == FloorMedium::kNoOffset || !make_durable()) [[unlikely]]
      return false;
    set(entry, offset | kStored);
    return true;
  }

  bool put_many(const Key* keys, const ValueView* values, unsigned count) {
    offsets_.resize(count);
    for (unsigned i = 0; i < count; ++i) {
      prefetch_for_write(index_.entry(keys[i].index));
      offsets_[i] = append(keys[i], values[i]);
      if (offsets_[i] == FloorMedium::kNoOffset) [[unlikely]]
        return false;
    }
    if (!make_durable()) [[unlikely]]
      return false;
    for (unsigned i = 0; i < count; ++i)
      set(index_.entry(keys[i].index), offsets_[i] | kStored);
    return true;
  }

  [[gnu::always_inline]] std::uint32_t get(const Key& key, std::byte* out) const {
    return copy_out(key, load(index_.entry(key.index)), out);
  }

  bool get_many(const Key* keys, unsigned count, std::byte* out, std::size_t stride,
                ValueView* values) {
    offsets_.resize(count);
    for (unsigned i = 0; i < count; ++i)
      prefetch_for_read(index_.entry(keys[i].index));
    for (unsigned i = 0; i < count; ++i) {
      offsets_[i] = load(index_.entry(keys[i].index));
      const auto* record = data_ + (offsets_[i] & ~kStored);
      for (std::uint64_t line = 0; line < record_bytes(keys[i]); line += kCacheLineBytes)
        prefetch_for_read(record + line);
    }
    for (unsigned i = 0; i < count; ++i)
      values[i] = {out + i * stride, copy_out(keys[i], offsets_[i], out + i * stride)};
    return true;
  }

  bool update8(const Key& key, std::uint64_t stamp) {
    const auto offset =
        (load(index_.entry(key.index)) & ~kStored) + kHeaderBytes + round_up(key.size, 8);
    auto* word = reinterpret_cast<std::uint64_t*>(data_ + offset);
    const auto changed = stamped(*word, stamp);
    if (medium_.is_file()) return write_file(offset, &changed, sizeof changed) && make_durable();
    persist_.store(word, changed);
    persist_.persist(word, sizeof *word);
    return true;
  }

  bool erase(const Key& key) {
    auto* entry = index_.entry(key.index);
    const auto* old = reinterpret_cast<const std::uint64_t*>(data_ + (load(entry) & ~kStored));
    std::memcpy(staged_, &sequence_, 8);
    std::memcpy(staged_ + 16, &key.word, 8);
    const auto offset = append_staged(kCacheLineBytes);
    superseded_ += *old;
    if (offset == FloorMedium::kNoOffset || !make_durable()) [[unlikely]]
      return false;
    set(entry, 0);
    return true;
  }

  // Carries what was read of superseded records out of the loops: without a use there would be no
  // read.
  std::string error() const {
    return "no space was reserved, or a write failed: " + std::string(std::strerror(errno)) + " (" +
           std::to_string(superseded_) + ")";
  }

 private:
  // Whole words between threads, and nothing more: on x86-64 these are ordinary moves.
  static std::uint64_t load(std::uint64_t* entry) {
    return std::atomic_ref(*entry).load(std::memory_order_relaxed);
  }
  static void set(std::uint64_t* entry, std::uint64_t offset) {
    std::atomic_ref(*entry).store(offset, std::memory_order_relaxed);
  }

  std::uint64_t record_bytes(const Key& key) const {
    return round_up(kHeaderBytes + round_up(key.size, 8) + records_.value_bytes(key.word),
                    kCacheLineBytes);
  }

  // Writes a record and starts writing it back; returns where.
  std::uint64_t append(const Key& key, ValueView value) {
    const std::uint64_t sizes = (std::uint64_t{value.size} << 32) | key.size;
    std::memcpy(staged_, &sequence_, 8);
    std::memcpy(staged_ + 8, &sizes, 8);
    std::memcpy(staged_ + 16, &key.word, 8);
    kernels_.copy(staged_ + kHeaderBytes, key.data, key.size);
    kernels_.copy(staged_ + kHeaderBytes + round_up(key.size, 8), value.data, value.size);
    return append_staged(record_bytes(key));
  }

  std::uint64_t append_staged(std::uint64_t bytes) {
    if (position_ + bytes > chunk_end_) [[unlikely]] {
      if (!flush_file()) return FloorMedium::kNoOffset;
      position_ = medium_.take_chunk();
      if (position_ == FloorMedium::kNoOffset || bytes > FloorMedium::kChunkBytes) {
        position_ = chunk_end_ = 0;
        return FloorMedium::kNoOffset;
      }
      chunk_end_ = position_ + FloorMedium::kChunkBytes;
    }
    const auto offset = position_;
    if (medium_.is_file())
      gather(bytes);
    else
      persist_.stream(data_ + offset, staged_, bytes);
    position_ += bytes;
    ++sequence_;
    return offset;
  }

  // On a file: the records of a call lie one behind the other and go out in one pwrite.
  void gather(std::uint64_t bytes) {
    if (gathered_.empty()) gathered_at_ = position_;
    gathered_.insert(gathered_.end(), staged_, staged_ + bytes);
  }
  bool flush_file() {
    if (gathered_.empty()) return true;
    const bool ok = write_file(gathered_at_, gathered_.data(), gathered_.size());
    gathered_.clear();
    return ok;
  }
  bool write_file(std::uint64_t offset, const void* from, std::size_t bytes) {
    return ::pwrite(medium_.file(), from, bytes, static_cast<off_t>(offset)) ==
           static_cast<ssize_t>(bytes);
  }
  bool make_durable() {
    if (!medium_.is_file()) {
      persist_.fence();
      return true;
    }
    return flush_file() && (!medium_.sync_each_call() || ::fdatasync(medium_.file()) == 0);
  }

  [[gnu::always_inline]] std::uint32_t copy_out(const Key& key, std::uint64_t entry,
                                                std::byte* out) const {
    const auto* record = data_ + (entry & ~kStored);
    std::uint64_t sizes, word;
    std::memcpy(&sizes, record + 8, 8);
    std::memcpy(&word, record + 16, 8);
    kernels_.copy(out, record + kHeaderBytes + round_up(key.size, 8),
                  records_.value_bytes(key.word));
    const bool found = ((entry & kStored) != 0) & (word == key.word);
    return static_cast<std::uint32_t>(sizes >> 32) |
           (std::uint32_t{found} - 1);  // All ones is kAbsent.
  }

  FloorIndex& index_;
  FloorMedium& medium_;
  std::byte* const data_;
  const Persist persist_;
  const ValueKernels kernels_;
  const Records& records_;
  std::vector<std::byte> stage_;
  std::byte* staged_;
  std::uint64_t position_ = 0, chunk_end_ = 0, sequence_ = 1, superseded_ = 0;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::byte> gathered_;
  std::uint64_t gathered_at_ = 0;
};

class FloorStore {
 public:
  static constexpr bool kKeepsFiles = false;
  static constexpr bool kReclaims = false;
  static constexpr bool kCountsPersists = true;
  static constexpr std::size_t kLoadBatch = 64;

  FloorStore(const Context& context, const Records& records, const std::string& name)
      : context_(context), records_(records), place_(place_of(context, name)) {}

  // 64 threads that wait for one sync are a matter of scheduling, for which there is no bare loop,
  // and a loop that never reclaims cannot overwrite for ever.
  bool supports(const std::string& operation) const {
    return operation != "waiters64" && operation != "steady-overwrite";
  }

  Status open(Opening) { return floor_.medium.open(place_, context_.promise == Promise::kPower); }
  Status reserve(std::uint64_t new_records, std::uint64_t appended) {
    const auto record =
        round_up(kHeaderBytes + round_up(records_.max_key_bytes(), 8) + records_.max_value_bytes(),
                 kCacheLineBytes);
    // Every session leaves the rest of its chunks, and records do not cross them.
    const auto lost = (context_.threads + 2 + appended * record / FloorMedium::kChunkBytes / 64) *
                      FloorMedium::kChunkBytes;
    HF_RETURN_IF_ERROR(floor_.medium.reserve(appended * record + lost));
    return floor_.index.reserve(new_records);
  }
  Status settle() { return {}; }
  Status close() { return {}; }
  void remove() { floor_.medium.remove(); }
  std::uint64_t medium_bytes() const { return 0; }
  bool persist_total(PersistCounts&) const { return false; }
  results::Fields facts() const { return region_facts(floor_.medium.report(), context_.promise); }
  FloorSession session(unsigned) { return FloorSession(floor_, records_); }

 private:
  const Context& context_;
  const Records& records_;
  const std::string place_;
  Floor floor_;
};

}  // namespace

SubjectKind floor_kind() { return kind_of<FloorStore>("floor"); }

}  // namespace holdfast::bench::kv
