#include <holdfast/kv/index_image.hpp>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/order_image.hpp>
#include <holdfast/kv/workers.hpp>

namespace holdfast::kv {

Status close_in_order(Rooms& rooms) {
  CleanMark mark{};
  HF_RETURN_IF_ERROR(write_index_image(rooms, mark));
  if (mark.image_block != 0) HF_RETURN_IF_ERROR(write_order_image(rooms, mark));
  HF_RETURN_IF_ERROR(HF_MUTANT("K26", rooms.medium.order(), ok_status()));
  mark.next_sequence = rooms.sequences.next() - HF_MUTANT("K22", 0, 1);
  mark.next_generation = rooms.table.next_generation() - HF_MUTANT("K23", 0, 1);
  mark.records = rooms.index.count();
  mark.checksum = mark_checksum(mark, rooms.superblock.store_id);
  // A torn mark is none: its checksum does not hold over words of which some are of an earlier
  // mark.
  HF_RETURN_IF_ERROR(
      rooms.medium.put(kCleanMarkAt + sizeof mark.checksum,
                       reinterpret_cast<const std::byte*>(&mark) + sizeof mark.checksum,
                       sizeof mark - sizeof mark.checksum));
  HF_RETURN_IF_ERROR(rooms.medium.put_word(kCleanMarkAt, mark.checksum));
  return rooms.medium.order();
}

Status write_index_image(Rooms& rooms, CleanMark& mark) {
  const OffsetMap& map = rooms.index.map();
  std::uint64_t words = 1;
  for (std::uint32_t partition = 0; partition < map.partitions(); ++partition)
    words += 1 + map.size(partition);
  const std::uint64_t bytes = words * sizeof(std::uint64_t);
  const std::uint64_t block_bytes = rooms.table.geometry().block_bytes;
  auto head = rooms.table.open_run((bytes + block_bytes - 1) / block_bytes,
                                   BlockTable::Purpose::kPut, BlockState::kImage);
  if (!head) {
    return head.code() == Errc::kNoSpace || head.code() == Errc::kTooLarge
               ? ok_status()
               : Status(std::move(head).error());
  }
  std::uint64_t at = rooms.table.run_at(*head);
  Hash64Stream sum;
  const auto put = [&](const std::uint64_t* from, std::uint64_t count) -> Status {
    sum.add(from, count * sizeof *from);
    HF_RETURN_IF_ERROR(rooms.medium.put(at, from, count * sizeof *from));
    at += count * sizeof *from;
    return {};
  };
  const std::uint64_t partitions = map.partitions();
  HF_RETURN_IF_ERROR(put(&partitions, 1));
  std::vector<std::uint64_t> buffer;
  for (std::uint32_t partition = 0; partition < partitions; ++partition) {
    buffer.resize(1 + map.size(partition));
    buffer[0] = map.serialize(partition, std::span(buffer).subspan(1));
    HF_CHECK(buffer[0] == buffer.size() - 1);
    HF_RETURN_IF_ERROR(put(buffer.data(), buffer.size()));
  }
  mark.image_block = *head;
  mark.image_bytes = bytes;
  mark.image_checksum = sum.digest();
  return {};
}

std::unique_ptr<OffsetMap> read_index_image(Rooms& rooms, const CleanMark& mark,
                                            std::string& damage) {
  const BlockTable& table = rooms.table;
  const std::uint64_t head = mark.image_block;
  if (head == 0 || head >= table.blocks() || table.meta(head).state.load() != BlockState::kImage ||
      mark.image_bytes < 8 || mark.image_bytes % 8 != 0 ||
      mark.image_bytes > table.run_bytes(head)) {
    return nullptr;
  }
  const std::byte* const image = rooms.medium.at(table.run_at(head));
  if (hash64({image, mark.image_bytes}) != mark.image_checksum) {
    damage = "index image: its checksum does not hold; the index is rebuilt";
    return nullptr;
  }
  const std::span<const std::uint64_t> words(reinterpret_cast<const std::uint64_t*>(image),
                                             mark.image_bytes / 8);
  const std::uint64_t partitions = words[0];
  if (partitions > OffsetMap::kMaxPartitions) return nullptr;
  auto index =
      OffsetMap::create(rooms.epochs, {.partitions = static_cast<std::uint32_t>(partitions)});
  if (!index) return nullptr;
  const std::uint64_t line_limit = table.blocks() * table.geometry().block_bytes / kCacheLineBytes;
  // Where each partition begins; then all of them side by side.
  std::vector<std::uint64_t> begins;
  std::uint64_t at = 1;
  for (std::uint64_t partition = 0; partition < partitions; ++partition) {
    if (at >= words.size() || words[at] > words.size() - at - 1) return nullptr;
    begins.push_back(at);
    at += 1 + words[at];
  }
  std::atomic<bool> good{true};
  std::atomic<std::uint32_t> next{0};
  // A thread is not worth its start for fewer entries.
  constexpr std::uint64_t kEntriesPerThread = 1 << 16;
  const auto threads = static_cast<unsigned>(std::clamp<std::uint64_t>(
      words.size() / kEntriesPerThread, 1, worker_count(rooms.options.recovery_threads)));
  side_by_side(threads, [&] {
    for (std::uint32_t partition = next.fetch_add(1); partition < partitions && good.load();
         partition = next.fetch_add(1)) {
      const std::uint64_t begin = begins[partition];
      if (!(*index)->deserialize(partition, words.subspan(begin + 1, words[begin]), line_limit))
        good.store(false);
    }
  });
  return good.load() ? std::move(*index) : nullptr;
}

}  // namespace holdfast::kv
