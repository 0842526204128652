// Closing in order: everything sealed, the index on the medium, and a mark that says so.
//
// The image is a run in state kImage:
//   u64 partitions, then per partition u64 entries and the entries as OffsetMap::serialize writes
//   them.
#include <holdfast/kv/store_core.hpp>

#include <cstring>

#include <holdfast/kv/recovery.hpp>

namespace holdfast::kv {

std::uint64_t clean_mark_checksum(const CleanMark& mark, std::uint64_t store_id) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&mark);
  const std::uint64_t sum =
      hash64({bytes + sizeof mark.checksum, sizeof mark - sizeof mark.checksum}) ^ mix64(store_id);
  return sum + (sum == 0);
}

Status StoreCore::close() {
  if (closed_) return {};
  closed_ = true;
  if (left_to_parent_) return read_only_ ? ok_status() : explain_refusal(Durability::kDefault);
  stop_background();
  withdraw();
  if (read_only_) return {};
  {
    const std::lock_guard lock(failure_mutex_);
    if (failure_)
      return Error{Errc::kReadOnly, "closed without a clean mark since " + failure_->message()};
  }
  const auto seal_or_free = [&](Session& session, Lane& lane) -> Status {
    if (!lane.open()) return {};
    if (!lane.entries.empty()) return seal(session, lane);
    const std::uint64_t empty = std::exchange(lane.head, kNoBlock);
    return table_.free_runs({&empty, 1});
  };
  for (const auto& session : sessions_)
    HF_RETURN_IF_ERROR(seal_or_free(*session, session->lane));
  if (relocator_) HF_RETURN_IF_ERROR(seal_or_free(*relocator_, relocator_->lane));
  if (shared_lane_) {
    Session& any = session();
    HF_RETURN_IF_ERROR(seal_or_free(any, *shared_lane_));
    while (sealing())
      HF_RETURN_IF_ERROR(sync_group_.wait());
    HF_RETURN_IF_ERROR(sync_group_.wait());
  }
  mark_moved_dead();
  std::vector<std::uint64_t> dirty;
  for (std::uint64_t block = 0; block < table_.blocks(); ++block) {
    const BlockMeta& run = table_.meta(block);
    if (run.head == block && run.state.load(std::memory_order_acquire) == BlockState::kSealed &&
        run.dead_dirty.load())
      dirty.push_back(block);
  }
  // In any order: where the bits are durable and the word is not, recovery does not believe them,
  // and no tombstone goes because of them before the mark, which comes after a fence.
  for (const std::uint64_t head : dirty)
    HF_RETURN_IF_ERROR(table_.confirm_sealed(head));
  for (const std::uint64_t head : dirty)
    HF_RETURN_IF_ERROR(table_.put_dead_bits(head, take_dead_bits(head)));
  CleanMark mark{};
  HF_RETURN_IF_ERROR(write_image(mark));
  HF_RETURN_IF_ERROR(medium_.order());
  mark.next_sequence = next_sequence_.load();
  mark.next_generation = table_.next_generation();
  mark.records = count();
  mark.checksum = clean_mark_checksum(mark, superblock_.store_id);
  // A torn mark is none: its checksum does not hold over words of which some are of an earlier
  // mark.
  HF_RETURN_IF_ERROR(medium_.put(kCleanMarkAt + sizeof mark.checksum,
                                 reinterpret_cast<const std::byte*>(&mark) + sizeof mark.checksum,
                                 sizeof mark - sizeof mark.checksum));
  HF_RETURN_IF_ERROR(medium_.put_word(kCleanMarkAt, mark.checksum));
  return medium_.order();
}

// Of what was moved out of a run that is not free yet (a pin or a snapshot kept it) no dead bit was
// set, and the next process does not know of it: it could drop a tombstone while the original is
// there to come back. By now the copies are durable.
void StoreCore::mark_moved_dead() {
  const auto guard = epochs_.enter(session().participant);
  for (std::uint64_t block = 0; block < table_.blocks(); ++block) {
    BlockMeta& run = table_.meta(block);
    RunFooter footer;
    const std::byte* tail = nullptr;
    if (run.head != block || run.state.load(std::memory_order_acquire) != BlockState::kSealed ||
        !run.moved.load() || !read_footer(medium_, geometry_, table_, block, footer, tail)) {
      continue;
    }
    const auto* const entries =
        reinterpret_cast<const SummaryEntry*>(tail + dead_bits_bytes(footer.records));
    for (std::uint32_t i = 0; i < footer.records; ++i) {
      if (entries[i].kind() == RecordKind::kPut && !is_indexed(table_.run_at(block), entries[i]))
        table_.set_dead(run, i);
    }
  }
}

// No space for an image is no error: the next open reads the summaries instead.
Status StoreCore::write_image(CleanMark& mark) {
  std::uint64_t words = 1;
  for (std::uint32_t partition = 0; partition < index_->partitions(); ++partition)
    words += 1 + index_->size(partition);
  const std::uint64_t bytes = words * sizeof(std::uint64_t);
  const std::uint64_t blocks = (bytes + geometry_.block_bytes - 1) / geometry_.block_bytes;
  auto head = table_.open_run(blocks, BlockTable::Purpose::kPut, BlockState::kImage);
  if (!head)
    return head.code() == Errc::kNoSpace || head.code() == Errc::kTooLarge
               ? ok_status()
               : Status(std::move(head).error());
  std::uint64_t at = table_.run_at(*head);
  Hash64Stream sum;
  std::vector<std::uint64_t> buffer;
  const auto put = [&](const std::uint64_t* from, std::uint64_t count) -> Status {
    sum.add(from, count * sizeof *from);
    HF_RETURN_IF_ERROR(medium_.put(at, from, count * sizeof *from));
    at += count * sizeof *from;
    return {};
  };
  const std::uint64_t partitions = index_->partitions();
  HF_RETURN_IF_ERROR(put(&partitions, 1));
  for (std::uint32_t partition = 0; partition < partitions; ++partition) {
    buffer.resize(1 + index_->size(partition));
    buffer[0] = index_->serialize(partition, std::span(buffer).subspan(1));
    HF_CHECK(buffer[0] == buffer.size() - 1);
    HF_RETURN_IF_ERROR(put(buffer.data(), buffer.size()));
  }
  mark.image_block = *head;
  mark.image_bytes = bytes;
  mark.image_checksum = sum.digest();
  return {};
}

bool Recovery::load_image() {
  StoreCore& core = core_;
  const std::uint64_t head = mark_.image_block;
  if (head == 0 || head >= core.table_.blocks() ||
      core.table_.meta(head).state.load() != BlockState::kImage || mark_.image_bytes < 8 ||
      mark_.image_bytes % 8 != 0 || mark_.image_bytes > core.table_.run_bytes(head)) {
    return false;
  }
  const std::byte* const image = core.medium_.at(core.table_.run_at(head));
  if (hash64({image, mark_.image_bytes}) != mark_.image_checksum) {
    note(core.table_.run_at(head), "index image: its checksum does not hold; the index is rebuilt");
    return false;
  }
  const std::span<const std::uint64_t> words(reinterpret_cast<const std::uint64_t*>(image),
                                             mark_.image_bytes / 8);
  const std::uint64_t partitions = words[0];
  if (partitions > OffsetMap::kMaxPartitions) return false;
  auto index =
      OffsetMap::create(core.epochs_, {.partitions = static_cast<std::uint32_t>(partitions)});
  if (!index) return false;
  const std::uint64_t line_limit =
      core.table_.blocks() * core.geometry_.block_bytes / kCacheLineBytes;
  // Where each partition begins; then all of them side by side.
  std::vector<std::uint64_t> begins;
  std::uint64_t at = 1;
  for (std::uint64_t partition = 0; partition < partitions; ++partition) {
    if (at >= words.size() || words[at] > words.size() - at - 1) return false;
    begins.push_back(at);
    at += 1 + words[at];
  }
  std::atomic<bool> good{true};
  std::atomic<std::uint32_t> next{0};
  const auto work = [&] {
    for (std::uint32_t partition = next.fetch_add(1); partition < partitions && good.load();
         partition = next.fetch_add(1)) {
      const std::uint64_t begin = begins[partition];
      if (!(*index)->deserialize(partition, words.subspan(begin + 1, words[begin]), line_limit))
        good.store(false);
    }
  };
  std::vector<std::thread> others;
  const unsigned threads = core.options_.recovery_threads != 0
                               ? core.options_.recovery_threads
                               : std::max(1u, std::thread::hardware_concurrency());
  for (unsigned i = 1; i < threads; ++i)
    others.emplace_back(work);
  work();
  for (std::thread& other : others)
    other.join();
  if (!good.load()) return false;
  core.index_ = std::move(*index);
  return true;
}

}  // namespace holdfast::kv
