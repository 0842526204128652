// A good backup with any bytes changed is taken apart, restored, opened and written to. What must
// hold: nothing crashes, and what an opening takes over is read and written like any store.
//
// Input: changes of 4 bytes of place, one of kind and 8 of content; bit 7 of the kind says whether
// it is one of a run. Checksums of the list and of the private part are made right afterwards, so
// that deeper code meets fields that lie.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/kv/backup_manifest.hpp>
#include <holdfast/kv/checkpoint.hpp>
#include <holdfast/kv/checkpoint_format.hpp>
#include <holdfast/kv/store.hpp>

namespace {

using namespace holdfast;
using namespace holdfast::kv;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "checkpoint_fuzz: %s\n", what);
  std::abort();
}

constexpr std::uint64_t kRegionBytes = 512 * KiB;

Region memory() {
  RegionOptions options;
  options.access = RegionAccess::kCreate;
  options.size_bytes = kRegionBytes;
  options.unit_bytes = 64 * KiB;
  options.reserve_bytes = kRegionBytes;
  return Region::open("dram", options).value();
}

StoreOptions options(RegionAccess access) {
  StoreOptions options;
  options.access = access;
  options.block_bytes = 8 * KiB;
  options.segment_bytes = options.initial_bytes = 64 * KiB;
  options.max_bytes = kRegionBytes;
  options.background = false;
  options.recovery_threads = 1;
  return options;
}

struct Good {
  std::vector<std::byte> list;
  std::map<RunName, std::vector<std::byte>> runs;
};

// Dead records, tombstones, a batch, a value of several blocks, a keyspace, patchable words.
Good make_good() {
  StoreOptions chosen = options(RegionAccess::kOpenOrCreate);
  chosen.patchable_words = {0};
  auto store = Store<>::open(memory(), chosen).value();
  for (int i = 0; i < 60; ++i)
    store.put("key" + std::to_string(i), std::string(static_cast<std::size_t>(8 + i * 3), 'v'))
        .value();
  for (int i = 0; i < 60; i += 7)
    store.erase("key" + std::to_string(i)).value();
  store.put("large", std::string(20'000, 'l')).value();
  WriteBatch batch;
  for (int i = 0; i < 5; ++i)
    batch.put("key" + std::to_string(i), "b");
  store.write(batch).value();
  const auto checkpoint = store.checkpoint().value();
  Good good;
  Manifest manifest;
  manifest.number = 1;
  manifest.private_part = checkpoint.private_part().value();
  for (std::size_t i = 0; i < checkpoint.runs().size(); ++i) {
    const CheckpointRun& run = checkpoint.runs()[i];
    std::vector<std::byte> bytes(run.bytes);
    checkpoint.read(i, bytes).value();
    manifest.places.push_back({{1, 0}, 0, run.bytes, hash64(bytes)});
    good.runs[run.name] = std::move(bytes);
  }
  good.list = manifest.encode();
  return good;
}

void change(std::vector<std::byte>& bytes, std::uint32_t at, std::uint8_t kind,
            const std::uint8_t* content) {
  if (bytes.size() < 8) return;
  std::byte* const to = bytes.data() + at % (bytes.size() - 7);
  switch (kind % 4) {
    case 0: *to ^= static_cast<std::byte>(content[0]); break;
    case 1: std::memcpy(to, content, 8); break;
    case 2: std::memset(to, 0, 8); break;
    default: bytes.resize(at % bytes.size()); break;
  }
}

// From the private part outwards.
void make_right(std::vector<std::byte>& list) {
  constexpr std::size_t kPartAt = sizeof(ManifestHeader);
  if (list.size() < kPartAt + sizeof(PrivateHeader)) return;
  ManifestHeader header;
  std::memcpy(&header, list.data(), sizeof header);
  if (header.private_bytes <= list.size() - kPartAt &&
      header.private_bytes >= sizeof(PrivateHeader)) {
    const std::span part(list.data() + kPartAt, header.private_bytes);
    auto* const superblock = part.data() + offsetof(PrivateHeader, superblock);
    const std::uint64_t of_superblock =
        hash64({superblock + sizeof(std::uint64_t), sizeof(Superblock) - sizeof(std::uint64_t)});
    std::memcpy(superblock, &of_superblock, sizeof of_superblock);
    const std::uint64_t of_part = hash64(part.subspan(offsetof(PrivateHeader, version)));
    std::memcpy(part.data() + offsetof(PrivateHeader, checksum), &of_part, sizeof of_part);
  }
  const std::uint64_t sum = hash64(std::span(list).subspan(offsetof(ManifestHeader, version)));
  std::memcpy(list.data() + offsetof(ManifestHeader, checksum), &sum, sizeof sum);
}

void use(Medium& medium) {
  Region region = std::move(medium.region());
  auto store = Store<>::open(std::move(region), options(RegionAccess::kOpen));
  if (!store) return;
  (void)store->verify();
  std::uint64_t seen = 0;
  (void)store->snapshot().for_each(
      [&](std::string_view, std::string_view, Version) { return ++seen < 100'000; });
  if (store->put("fuzz", std::string(100, 'f'))) {
    std::string value;
    require(static_cast<bool>(store->get("fuzz", value)) && value == std::string(100, 'f'),
            "what was put is not there");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Good good = make_good();
  std::vector<std::byte> list = good.list;
  auto runs = good.runs;
  for (; size >= 13; data += 13, size -= 13) {
    std::uint32_t at = 0;
    std::memcpy(&at, data, sizeof at);
    if ((data[4] & 128) != 0) {
      auto run = runs.begin();
      std::advance(run, at % runs.size());
      change(run->second, at / 16, data[4] % 3, data + 5);
    } else {
      change(list, at, data[4], data + 5);
    }
  }
  make_right(list);
  const auto manifest = Manifest::decode(list);
  if (!manifest || manifest->contents.medium_bytes > kRegionBytes) return 0;
  const CheckpointPlan plan = CheckpointPlan::decode(manifest->private_part).value();
  Medium medium(memory());
  const Status restored = restore_into(
      medium, plan, [&](const CheckpointRun& wanted, std::span<std::byte> to) -> Status {
        const auto found = runs.find(wanted.name);
        if (found == runs.end() || found->second.size() != to.size())
          return Error{Errc::kNotFound, "no such run"};
        std::copy(found->second.begin(), found->second.end(), to.begin());
        return {};
      });
  if (restored) use(medium);
  return 0;
}
