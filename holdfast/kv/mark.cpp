#include <holdfast/kv/mark.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/mutant.hpp>

namespace holdfast::kv {
namespace {

// checksum | version | runs | words of all | for each run: head | generation, words of dead lines
// (24 bits) | dead lines
constexpr std::uint64_t kHeadWords = 4, kRunWords = 2;
constexpr unsigned kCountShift = 40;

std::uint64_t image_checksum(std::span<const std::uint64_t> words, std::uint64_t store_id,
                             std::uint64_t generation) {
  return hash64({reinterpret_cast<const std::byte*>(words.data() + 1), (words.size() - 1) * 8}) ^
         mix64(store_id ^ mix64(generation));
}

Error damaged_image(const std::string& what) {
  return {Errc::kCorrupt, "the image of the mark is damaged: " + what};
}

}  // namespace

MarkWord mark_word(const Medium& medium, const Superblock& superblock) {
  if ((superblock.incompatible_features & kHasMark) == 0) return {0, false};
  const std::uint64_t word = medium.word(kMarkWordAt);
  return {word & ~kReturningBit, (word & kReturningBit) != 0};
}

Error no_mark() {
  return {Errc::kNotFound,
          "at_mark: the store has no mark; mark() makes one, of the present moment"};
}

// ---- The image ----

std::uint64_t MarkImage::words() const {
  std::uint64_t words = kHeadWords;
  for (const MarkedRun& run : runs)
    words += kRunWords + run.dead_lines.size();
  return words;
}

std::vector<std::uint64_t> MarkImage::encode(std::uint64_t store_id,
                                             std::uint64_t generation) const {
  std::vector<std::uint64_t> words{0, version, runs.size(), this->words()};
  words.reserve(words[3]);
  for (const MarkedRun& run : runs) {
    words.push_back(run.head);
    words.push_back(run.generation | std::uint64_t{run.dead_lines.size()} << kCountShift);
    words.insert(words.end(), run.dead_lines.begin(), run.dead_lines.end());
  }
  words[0] = image_checksum(words, store_id, generation);
  return words;
}

Result<MarkImage> MarkImage::decode(std::span<const std::uint64_t> words, std::uint64_t store_id,
                                    std::uint64_t generation) {
  if (words.size() < kHeadWords || words[3] < kHeadWords || words[3] > words.size())
    return damaged_image("its length leads beyond its run");
  words = words.first(words[3]);
  if (image_checksum(words, store_id, generation) != words[0])
    return damaged_image("its checksum does not hold");
  MarkImage image;
  image.version = words[1];
  std::size_t at = kHeadWords;
  for (std::uint64_t i = 0; i < words[2]; ++i) {
    if (words.size() - at < kRunWords)
      return damaged_image("it ends within run " + std::to_string(i));
    MarkedRun run{words[at], words[at + 1] & kMaxGeneration, {}};
    const std::uint64_t lines = words[at + 1] >> kCountShift;
    at += kRunWords;
    if (words.size() - at < lines || (!image.runs.empty() && run.head <= image.runs.back().head))
      return damaged_image("run " + std::to_string(i) + " is not as it was written");
    run.dead_lines.assign(words.begin() + static_cast<std::ptrdiff_t>(at),
                          words.begin() + static_cast<std::ptrdiff_t>(at + lines));
    at += lines;
    image.runs.push_back(std::move(run));
  }
  return image;
}

Result<MarkImage> MarkImage::read(Medium& medium, const Geometry& geometry, std::uint64_t blocks,
                                  std::uint64_t head) {
  BlockWord word{};
  const auto is_block = [&](std::uint64_t block) {
    return block < blocks && !geometry.is_table_block(block) &&
           decode_block_word(medium.word(geometry.table_word_at(block)), geometry.store_id, block,
                             word);
  };
  if (!is_block(head) || word.state != BlockState::kImage)
    return damaged_image("block " + std::to_string(head) + ", where it should be, holds none");
  const std::uint64_t generation = word.generation;
  std::uint64_t end = head + 1;
  while (is_block(end) && word.state == BlockState::kTail && word.generation == generation)
    ++end;
  const std::uint64_t at = head * geometry.block_bytes, bytes = (end - head) * geometry.block_bytes;
  HF_RETURN_IF_ERROR(medium.fetch(at, bytes));
  return decode({reinterpret_cast<const std::uint64_t*>(medium.at(at)), bytes / 8},
                geometry.store_id, generation);
}

const MarkedRun* MarkImage::find(std::uint64_t head) const {
  const auto found = std::lower_bound(
      runs.begin(), runs.end(), head,
      [](const MarkedRun& run, std::uint64_t wanted) { return run.head < wanted; });
  return found != runs.end() && found->head == head ? &*found : nullptr;
}

// ---- Of an open store ----

void Mark::adopt(std::uint64_t image_head, const MarkImage& image) {
  const Lock lock(mutex_);
  image_head_ = image_head;
  for (const MarkedRun& run : image.runs) {
    table_.meta(run.head).pins.fetch_add(HF_MUTANT("K120", 1, 0), std::memory_order_seq_cst);
    heads_.push_back(run.head);
  }
  version_.store(image.version, std::memory_order_release);
}

Status Mark::put(const MarkImage& image) {
  const Geometry& geometry = table_.geometry();
  const std::uint64_t bytes = image.words() * sizeof(std::uint64_t);
  HF_ASSIGN_OR_RETURN(const std::uint64_t head,
                      table_.open_run((bytes + geometry.block_bytes - 1) / geometry.block_bytes,
                                      BlockTable::Purpose::kPut, BlockState::kImage));
  const auto words = image.encode(geometry.store_id, table_.meta(head).generation);
  HF_RETURN_IF_ERROR(medium_.put(table_.run_at(head), words.data(), bytes));
  HF_RETURN_IF_ERROR(HF_MUTANT("K121", medium_.order(), ok_status()));  // Before a word names it.
  std::vector<std::uint64_t> heads;
  for (const MarkedRun& run : image.runs)
    heads.push_back(run.head);
  return exchange(head, image.version, std::move(heads));
}

Status Mark::drop() { return exchange(0, 0, {}); }

Status Mark::exchange(std::uint64_t image_head, std::uint64_t version,
                      std::vector<std::uint64_t> heads) {
  const Lock lock(mutex_);
  HF_RETURN_IF_ERROR(medium_.put_word(kMarkWordAt, image_head));
  // Before anything of the mark before may be freed.
  HF_RETURN_IF_ERROR(HF_MUTANT("K122", medium_.order(), ok_status()));
  for (const std::uint64_t head : heads_)
    table_.meta(head).pins.fetch_sub(HF_MUTANT("K123", 1, 0), std::memory_order_release);
  if (const auto old = std::exchange(image_head_, image_head); old != 0) old_images_.push_back(old);
  heads_ = std::move(heads);
  version_.store(version, std::memory_order_release);
  return {};
}

Status Mark::free_old_images() {
  const Lock lock(mutex_);
  HF_RETURN_IF_ERROR(table_.free_runs(old_images_));
  old_images_.clear();
  return {};
}

std::uint64_t Mark::held_bytes() const {
  const Lock lock(mutex_);
  std::uint64_t bytes = 0;
  for (const std::uint64_t head : heads_)
    if (table_.meta(head).evacuated.load(std::memory_order_relaxed))
      bytes += table_.run_bytes(head);
  return bytes;
}

}  // namespace holdfast::kv
