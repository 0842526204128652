// Setting a store back to its mark, before it is opened. The runs of the mark get the dead bits
// that they had, every other block becomes free.
//
//  mark word         what a crash leaves                     what the next opening does
//  image             nothing was written yet, but for the    as it was asked to
//                    clean mark
//  image, returning  some dead bits, some words              all of it anew: read-only, it looks at
//                                                            the mark; else it returns
//  image             all is done                             an ordinary one
#include <algorithm>
#include <string>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/mark.hpp>
#include <holdfast/kv/superblock.hpp>

namespace holdfast::kv {
namespace {

class Returning {
 public:
  Returning(Medium& medium, const Superblock& superblock, std::uint64_t image_head)
      : medium_(medium),
        geometry_(geometry_of(superblock)),
        image_head_(image_head),
        table_(medium, geometry_, medium.size_bytes()) {}

  // Everything that may be refused, before anything is written.
  Status look();
  Status put_bits();
  Status put_words();

 private:
  struct Run {
    std::uint64_t head;
    std::vector<std::uint64_t> dead;  // Bits by ordinal.
    std::uint64_t dead_at;
  };
  bool decode(std::uint64_t block, BlockWord& word) const {
    return decode_block_word(medium_.word(geometry_.table_word_at(block)), geometry_.store_id,
                             block, word);
  }
  // The block behind the run, or behind the image, that begins here.
  std::uint64_t end_of(std::uint64_t head, std::uint64_t generation) const;
  Status look_at(const MarkedRun& run, std::uint64_t version);

  Medium& medium_;
  const Geometry geometry_;
  const std::uint64_t image_head_;
  BlockTable table_;
  std::vector<Run> runs_;
  std::vector<bool> kept_;  // By block.
};

std::uint64_t Returning::end_of(std::uint64_t head, std::uint64_t generation) const {
  std::uint64_t end = head + 1;
  for (BlockWord tail{}; end < table_.blocks() && !geometry_.is_table_block(end) &&
                         decode(end, tail) && tail.state == BlockState::kTail &&
                         tail.generation == generation;)
    ++end;
  return end;
}

Status Returning::look() {
  const std::uint64_t segments = medium_.word(kSegmentsWordAt);
  if (segments == 0 || segments > medium_.size_bytes() / geometry_.segment_bytes) {
    return Error{Errc::kCorrupt, "the superblock counts " + std::to_string(segments) +
                                     " segments, the region has " +
                                     std::to_string(medium_.size_bytes()) +
                                     " bytes; a file is missing or was cut"};
  }
  HF_RETURN_IF_ERROR(table_.adopt(segments * geometry_.blocks_per_segment()));
  HF_ASSIGN_OR_RETURN(const MarkImage image,
                      MarkImage::read(medium_, geometry_, table_.blocks(), image_head_));
  kept_.assign(table_.blocks(), false);
  BlockWord word{};
  (void)decode(image_head_, word);
  std::fill(kept_.begin() + static_cast<std::ptrdiff_t>(image_head_),
            kept_.begin() + static_cast<std::ptrdiff_t>(end_of(image_head_, word.generation)),
            true);
  for (const MarkedRun& run : image.runs)
    HF_RETURN_IF_ERROR(look_at(run, image.version));
  return {};
}

Status Returning::look_at(const MarkedRun& marked, std::uint64_t version) {
  const std::uint64_t head = marked.head;
  BlockWord word{};
  if (head >= table_.blocks() || geometry_.is_table_block(head) || !decode(head, word) ||
      word.generation != marked.generation ||
      (word.state != BlockState::kSealed && word.state != BlockState::kOpen)) {
    return Error{Errc::kCorrupt,
                 "block " + std::to_string(head) + " does not hold the run that the mark needs"};
  }
  const std::uint64_t end = end_of(head, word.generation);
  table_.mark_run(head, end - head, word);
  HF_RETURN_IF_ERROR(medium_.fetch(table_.run_at(head), table_.run_bytes(head)));
  const auto run = SealedRun::read(medium_, table_, head);
  if (!run) {
    return Error{Errc::kCorrupt, "footer of block " + std::to_string(head) +
                                     ", which the mark needs: it is not valid"};
  }
  Run found{head, {}, run->dead_words_at()};
  found.dead.resize(dead_bits_bytes(run->records()) / sizeof(std::uint64_t));
  for (std::uint32_t i = 0; i < run->records(); ++i) {
    if (HF_MUTANT("K124", marked.is_dead(*run, i, version), false))
      found.dead[i / 64] |= std::uint64_t{1} << i % 64;
  }
  std::fill(kept_.begin() + static_cast<std::ptrdiff_t>(head),
            kept_.begin() + static_cast<std::ptrdiff_t>(end), true);
  runs_.push_back(std::move(found));
  return {};
}

Status Returning::put_bits() {
  for (const Run& run : runs_)
    HF_RETURN_IF_ERROR(medium_.put(run.dead_at, run.dead.data(), run.dead.size() * 8));
  return {};
}

// Also words that say the right thing: after the death of a process they may lie in caches only.
Status Returning::put_words() {
  for (const Run& run : runs_)
    HF_RETURN_IF_ERROR(table_.confirm_sealed(run.head));
  for (std::uint64_t block = 0; block < table_.blocks(); ++block) {
    if (geometry_.is_table_block(block) || kept_[block]) continue;
    BlockWord word{};
    // Whatever is there: nothing behind the mark counts any more.
    if (!decode(block, word)) word.generation = 0;
    const std::uint64_t free =
        encode_block_word({word.generation, BlockState::kFree}, geometry_.store_id, block);
    HF_RETURN_IF_ERROR(
        HF_MUTANT("K125", medium_.put_word(geometry_.table_word_at(block), free), ok_status()));
  }
  return {};
}

}  // namespace

Status return_to_mark(Medium& medium, const Superblock& superblock) {
  const MarkWord mark = mark_word(medium, superblock);
  if (mark.head == 0) return no_mark();
  Returning returning(medium, superblock, mark.head);
  HF_RETURN_IF_ERROR(returning.look());
  // The index of a clean close knows of what will be gone. An opening that sees the returning bit
  // does not read that index, so the two words may become durable in any order.
  if (medium.word(kCleanMarkAt) != 0) HF_RETURN_IF_ERROR(medium.put_word(kCleanMarkAt, 0));
  HF_RETURN_IF_ERROR(
      HF_MUTANT("K126", medium.put_word(kMarkWordAt, mark.head | kReturningBit), ok_status()));
  HF_RETURN_IF_ERROR(medium.order());  // From here on there is no way back.
  // A word that says sealed vouches for the dead bits, but not while the returning bit is there:
  // then both are put anew. So they need no order either.
  HF_RETURN_IF_ERROR(returning.put_bits());
  HF_RETURN_IF_ERROR(returning.put_words());
  HF_RETURN_IF_ERROR(medium.order());  // All of it is done when the word says so.
  HF_RETURN_IF_ERROR(medium.put_word(kMarkWordAt, mark.head));
  return medium.order();
}

}  // namespace holdfast::kv
