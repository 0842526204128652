// Any bytes as a savepoint, which `stream run --from` begins with: refused, or the state in it is
// that of the new run, whether a store keeps it (KvStateStore) or a file has it. What is saved of
// the new run is the same state again.
//
// Input: byte 0 says what is put right in the bytes behind it: nothing, the sum, or the magic number
// and the sum.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/kv/store.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/durable_file.hpp>
#include <holdfast/stream/run_metadata.hpp>
#include <holdfast/stream/savepoint.hpp>
#include <holdfast/stream/snapshot_store.hpp>
#include <holdfast/stream_kv/kv_state_store.hpp>

#include "fuzz_store.hpp"

namespace {

using namespace holdfast;          // NOLINT: a fuzz target of one file.
using namespace holdfast::stream;  // NOLINT

constexpr std::uint64_t kMagic = 0x3153544d53464801;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "savepoint_fuzz: %s\n", what);
  std::abort();
}

class Files {
 public:
  Files() : directory_("/dev/shm/holdfast_savepoint_fuzz_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(directory_);
  }
  ~Files() { std::filesystem::remove_all(directory_); }
  std::string operator/(const std::string& name) const { return directory_ + "/" + name; }

 private:
  std::string directory_;
};

struct Contents {
  std::uint64_t epoch = 0;
  std::string metadata;
  std::vector<std::tuple<std::int64_t, std::string, std::string>> entries;  // In order.
};

// What an opened store has.
Contents contents_of(StateStore& store, const Checkpoint& checkpoint) {
  Contents all{checkpoint.epoch, checkpoint.metadata, {}};
  const auto slices = store.slices().value();
  for (const auto slice : slices) {
    store
        .for_each(slice,
                  [&](std::string_view key, std::string_view state) -> Status {
                    all.entries.emplace_back(slice, key, state);
                    return {};
                  })
        .value();
  }
  std::sort(all.entries.begin(), all.entries.end());
  return all;
}

// The first of another run: its epoch is as many as there are entries of a key.
void compare(const Contents& from, const Contents& to) {
  require(from.entries == to.entries, "a copy has other entries");
  require(to.epoch >= 1 && to.epoch <= from.entries.size() + 1, "a copy has another epoch");
  const auto metadata = metadata_of_beginning({from.epoch, from.metadata}, to.epoch);
  require(metadata && *metadata == to.metadata, "a copy has other metadata");
}

void copy(const std::string& from_path, const Files& files) {
  SnapshotStore opened(from_path);
  const auto checkpoint = opened.open();
  if (!checkpoint) return;
  const auto from = contents_of(opened, **checkpoint);

  const auto store = empty_fuzz_store(2 * MiB);
  {
    SnapshotStore source(from_path);
    KvStateStore to(store, 1);
    const auto status = copy_checkpoint(source, to);
    KvStateStore again(store, 1);
    const auto found = again.open();
    require(found.has_value(), "what was copied to a store is refused");
    require(found->has_value() == status.has_value(), "a copy that failed is there");
    if (!status) return;
    compare(from, contents_of(again, **found));
  }
  // Saved of the new run.
  const auto saved = files / "saved";
  std::filesystem::remove(saved);
  KvStateStore source(store, 1);
  SnapshotStore to(saved);
  copy_checkpoint(source, to).value();
  SnapshotStore again(saved);
  const auto found = again.open().value();
  require(found.has_value(), "what was saved is not there");
  const auto both = contents_of(again, *found);
  compare(from, both);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Files files;
  if (size < 1) return 0;
  std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const unsigned right = data[0] % 3;
  if (right != 0) {
    ByteWriter magic;
    if (right == 2) magic.number(kMagic);
    bytes = magic.take() + bytes;
    ByteWriter sum;
    sum.number(hash64(bytes));
    bytes += sum.take();
  }
  const auto path = files / "savepoint";
  replace_file(path, bytes).value();
  copy(path, files);
  return 0;
}
