// A good store with any bytes changed is opened for reading, verified, read whole; then opened for
// writing and, if that is allowed, written to. What must hold: nothing crashes, a refused open
// changes no byte, and whatever a writing open takes over is written and read like any store.
//
// Input: byte 0 chooses the store, byte 1 what is made right again; then changes of 4 bytes of
// place, one of kind and 8 of content. Where checksums are made right, deeper code meets fields
// that lie.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/mman.h>

#include <holdfast/kv/format.hpp>
#include <holdfast/kv/sealed_run.hpp>
#include <holdfast/kv/space.hpp>
#include <holdfast/kv/store.hpp>
#include <holdfast/kv/superblock.hpp>
#include <holdfast/memory/backing.hpp>

namespace {

using namespace holdfast;
using namespace holdfast::kv;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "store_fuzz: %s\n", what);
  std::abort();
}

constexpr std::uint64_t kRegionBytes = 256 * KiB, kReserveBytes = 1 * MiB;

// Memory that a region borrows, so that opening costs no system call. Behind it lie unmapped pages.
class Memory {
 public:
  Memory()
      : data_(static_cast<std::byte*>(
            mmap(nullptr, 2 * kReserveBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    set_size(kRegionBytes);
  }
  std::byte* data() const { return data_; }
  std::uint64_t size() const { return size_; }
  void set_size(std::uint64_t bytes) {
    require(mprotect(data_, bytes, PROT_READ | PROT_WRITE) == 0, "mprotect");
    if (bytes < kReserveBytes)
      require(mmap(data_ + bytes, kReserveBytes - bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED,
              "mmap");
    size_ = bytes;
  }
  void load(const std::string& bytes) {
    set_size(bytes.size());
    std::memcpy(data_, bytes.data(), bytes.size());
  }
  std::string bytes() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  std::byte* data_;
  std::uint64_t size_ = 0;
};

class Borrowed final : public memory_detail::Backing {
 public:
  Borrowed(Memory& memory, bool read_only) : memory_(memory), read_only_(read_only) {}
  std::byte* data() const override { return memory_.data(); }
  std::uint64_t size_bytes() const override { return memory_.size(); }
  std::uint64_t unit_bytes() const override { return 64 * KiB; }
  std::uint64_t max_size_bytes() const override { return kReserveBytes; }
  Granularity granularity() const override { return Granularity::kNone; }
  Persist persist() const override { return Persist::none(); }
  bool read_only() const override { return read_only_; }
  Status write(std::uint64_t, std::span<const std::byte>) override {
    return Error{Errc::kUnsupported, "no page tier"};
  }
  Status sync() override { return {}; }
  Status grow(std::uint64_t bytes) override { return memory_.set_size(bytes), ok_status(); }
  Status shrink(std::uint64_t bytes) override { return memory_.set_size(bytes), ok_status(); }
  Status prefault(std::uint64_t, std::uint64_t) override { return {}; }
  std::string_view kind() const override { return "borrowed"; }
  RegionReport report() const override { return {}; }

 private:
  Memory& memory_;
  bool read_only_;
};

StoreOptions options(RegionAccess access) {
  StoreOptions options;
  options.access = access;
  options.block_bytes = 8 * KiB;
  options.segment_bytes = options.initial_bytes = 64 * KiB;
  options.max_bytes = kReserveBytes;
  options.background = false;
  options.recovery_threads = 1;
  return options;
}

Result<Store<>> open(Memory& memory, RegionAccess access, std::vector<std::uint32_t> words = {},
                     bool at_mark = false) {
  StoreOptions chosen = options(access);
  chosen.at_mark = at_mark;
  chosen.patchable_words = std::move(words);
  return Store<>::open(
      Region(std::make_unique<Borrowed>(memory, access == RegionAccess::kOpenReadOnly)), chosen);
}

std::string key(int i) { return "key" + std::to_string(i); }

// A rule of expiry, a keyspace, a value in pieces, and a mark behind which all of that changed.
void add_later_features(Store<>& store) {
  const std::uint64_t stamp = 50;
  store.expire({.prefix = "until", .ttl = 100}).value();
  store.set_clock(100).value();
  store.put("until", std::string(reinterpret_cast<const char*>(&stamp), sizeof stamp)).value();
  Space space = store.create_space("space").value();
  space.put("key", "of a space").value();
  for (int i = 0; i < 8; ++i)
    store.append("log", std::string(400, static_cast<char>('a' + i))).value();
  store.mark().value();
  store.append("log", std::string(900, 'z')).value();
  store.erase(key(1)).value();
  store.put(key(2), "later").value();
  store.drop_space("space").value();
  store.reclaim().value();
}

// Sealed and open blocks, tombstones, a batch, a value of several blocks; closed in order or not.
std::string good_store(bool words, bool clean, bool later_features = false) {
  Memory memory;
  std::memset(memory.data(), 0, memory.size());
  auto store = open(memory, RegionAccess::kCreate,
                    words ? std::vector<std::uint32_t>{0, 16} : std::vector<std::uint32_t>{})
                   .value();
  for (int i = 0; i < 100; ++i)
    store.put(key(i), std::string(static_cast<std::size_t>(i) * 3, 'v')).value();
  for (int i = 0; i < 100; i += 5)
    store.put(key(i), std::string(100, 'w')).value();
  for (int i = 0; i < 100; i += 9)
    store.erase(key(i)).value();
  store.put("large", std::string(20'000, 'l')).value();
  WriteBatch batch;
  for (int i = 0; i < 5; ++i)
    batch.put("batch" + key(i), "b");
  store.write(batch).value();
  if (later_features) add_later_features(store);
  if (clean) store.close().value();
  return memory.bytes();
}

const std::string& seed_store(unsigned which) {
  static const std::string stores[] = {
      good_store(false, true),      good_store(false, false),      good_store(true, true),
      good_store(true, false),      good_store(false, true, true), good_store(false, false, true),
      good_store(true, true, true), good_store(true, false, true)};
  return stores[which % 8];
}

template <class T>
T read(const std::string& bytes, std::uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
template <class T>
void write(std::string& bytes, std::uint64_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// The image of the mark.
void mend_mark(std::string& bytes, const Geometry& geometry) {
  const std::uint64_t head = read<std::uint64_t>(bytes, kMarkWordAt) & ~kReturningBit;
  if (head == 0 || head >= bytes.size() / geometry.block_bytes) return;
  const std::uint64_t at = head * geometry.block_bytes;
  const auto words = read<std::uint64_t>(bytes, at + 24);
  if (words < 4 || words > (bytes.size() - at) / 8) return;
  const auto word = read<std::uint64_t>(bytes, geometry.table_word_at(head));
  write(bytes, at,
        hash64(std::string_view(bytes).substr(at + 8, words * 8 - 8)) ^
            mix64(geometry.store_id ^ mix64(word & kMaxGeneration)));
}

// What checks itself is made to hold: words, footers, the clean mark with the image behind it.
void mend(std::string& bytes, unsigned what) {
  Geometry geometry = geometry_of(read<Superblock>(bytes, kSuperblockAt));
  geometry.block_bytes = 8 * KiB;
  geometry.segment_bytes = 64 * KiB;
  const std::uint64_t blocks = bytes.size() / geometry.block_bytes;
  if ((what & 1) != 0) {
    for (std::uint64_t block = 1; block < blocks; ++block) {
      const auto word = read<std::uint64_t>(bytes, geometry.table_word_at(block));
      const BlockWord fields{word & kMaxGeneration,
                             static_cast<BlockState>((word >> 40 & 0xff) % 6)};
      if (fields.state != BlockState::kUnformatted)
        write(bytes, geometry.table_word_at(block),
              encode_block_word(fields, geometry.store_id, block));
    }
  }
  if ((what & 2) != 0) {
    for (std::uint64_t block = 1; block < blocks; ++block) {
      BlockWord word;
      decode_block_word(read<std::uint64_t>(bytes, geometry.table_word_at(block)),
                        geometry.store_id, block, word);
      if (word.state != BlockState::kSealed && word.state != BlockState::kOpen) continue;
      std::uint64_t end = block + 1;
      for (BlockWord tail;
           end < blocks &&
           decode_block_word(read<std::uint64_t>(bytes, geometry.table_word_at(end)),
                             geometry.store_id, end, tail) &&
           tail.state == BlockState::kTail && tail.generation == word.generation;) {
        ++end;
      }
      const std::uint64_t run_bytes = (end - block) * geometry.block_bytes;
      const std::uint64_t at = end * geometry.block_bytes - sizeof(RunFooter);
      auto footer = read<RunFooter>(bytes, at);
      if (footer.generation == 0 || footer.records > kMaxRecordsPerRun ||
          run_tail_bytes(footer.records) > run_bytes)
        continue;
      const std::uint64_t tail_bytes = run_tail_bytes(footer.records);
      footer.checksum = run_tail_checksum(reinterpret_cast<const std::byte*>(bytes.data()) +
                                              end * geometry.block_bytes - tail_bytes,
                                          footer.records, geometry.seed(word.generation));
      write(bytes, at, footer);
    }
  }
  if ((what & 4) != 0) {
    auto mark = read<CleanMark>(bytes, kCleanMarkAt);
    if (mark.checksum != 0) {
      const std::uint64_t at = mark.image_block * geometry.block_bytes;
      if (mark.image_block < blocks && mark.image_bytes <= bytes.size() - at) {
        mark.image_checksum = hash64(std::string_view(bytes).substr(at, mark.image_bytes));
      }
      const std::uint64_t sum =
          hash64({reinterpret_cast<const std::byte*>(&mark) + 8, sizeof mark - 8}) ^
          mix64(geometry.store_id);
      mark.checksum = sum + (sum == 0);
      write(bytes, kCleanMarkAt, mark);
    }
  }
  if ((what & 8) != 0) mend_mark(bytes, geometry);
}

void read_all(Store<>& store) {
  std::string value;
  for (int i = 0; i < 100; ++i) {
    (void)store.get(key(i), value);
    const auto pinned = store.get_pinned(key(i));
    if (pinned && !pinned->value().empty()) value.push_back(pinned->value().back());
  }
  (void)store.get("large", value);
  std::uint64_t sum = 0;
  (void)store.snapshot().for_each([&](std::string_view k, std::string_view v, Version) {
    return sum += hash64(k) + hash64(v), true;
  });
  (void)store.verify();
  (void)store.stats();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static Memory memory;
  std::string bytes = seed_store(data[0]);
  for (std::size_t at = 2; at + 13 <= size; at += 13) {
    std::uint32_t place;
    std::memcpy(&place, data + at, sizeof place);
    // Half of the places lie where the structures are: the first page, the table, the ends of
    // blocks.
    std::uint64_t target = place % (bytes.size() - 8);
    if ((data[at + 4] & 1) != 0) target = place / 4 % 2600;
    if ((data[at + 4] & 2) != 0) target = kSuperblockPageBytes + place / 4 % 256;
    if ((data[at + 4] & 4) != 0) target = (place % 31 + 2) * 8 * KiB - 8 - place / 64 % 512;
    std::memcpy(bytes.data() + target, data + at + 5, 8);
  }
  mend(bytes, data[1]);
  memory.load(bytes);
  for (const bool at_mark : {false, true}) {
    if (auto store = open(memory, RegionAccess::kOpenReadOnly, {}, at_mark)) read_all(*store);
    require(memory.bytes() == bytes, "a read-only open wrote");
  }
  // What sets the store back to its mark changes it before it is opened.
  const bool returns =
      (data[1] & 16) != 0 || (read<std::uint64_t>(bytes, kMarkWordAt) & kReturningBit) != 0;
  auto store = open(memory, RegionAccess::kOpen, {}, (data[1] & 16) != 0);
  if (!store) {
    require(returns || memory.bytes() == bytes, "a refused open wrote");
    return 0;
  }
  read_all(*store);
  for (int i = 0; i < 100; i += 3) {
    const bool put = store->put(key(i), "new").has_value();
    require(!put || store->get_pinned(key(i)).value().value() == "new", "a put is not there");
  }
  for (int i = 1; i < 100; i += 3) {
    const auto erased = store->erase(key(i));
    std::string value;
    require(!erased || store->get(key(i), value).code() == Errc::kNotFound,
            "an erased key is there");
  }
  (void)store->reclaim();
  (void)store->verify();
  (void)store->close();
  return 0;
}
