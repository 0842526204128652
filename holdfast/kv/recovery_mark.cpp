// The mark of a store that is opened (mark.hpp).
//
//  mark word         its image   its runs      what is done
//  0                 -           -             nothing; kNotFound if the mark is to be looked at
//  image             valid       there         they are pinned; a read-only opening at the mark
//                                              sees these alone, with the dead records of then
//  image, returning  valid       there         read-only: as an opening at the mark
//                                              (for writing: mark_return.cpp came before)
//  any               not valid   -             the medium lied: kCorrupt (read-only: reported)
//  any               valid       others, none  the same
#include <algorithm>

#include <holdfast/kv/recovery.hpp>

namespace holdfast::kv {

Status Recovery::read_mark() {
  const MarkWord word = mark_word(rooms_.medium, rooms_.superblock);
  const bool view = rooms_.gate.read_only() && (rooms_.options.at_mark || word.returning);
  if (word.head == 0) {
    if (!view) return {};
    return Error{Errc::kNotFound,
                 "at_mark: the store has no mark; mark() makes one, of the present "
                 "moment"};
  }
  BlockTable& table = rooms_.table;
  auto image = MarkImage::read(rooms_.medium, table.geometry(), table.blocks(), word.head);
  if (!image) {
    if (view) return std::move(image).error();
    note(kMarkWordAt, image.error().detail);
    return {};
  }
  for (const MarkedRun& run : image->runs) {
    const bool there = std::binary_search(runs_.begin(), runs_.end(), run.head) &&
                       table.meta(run.head).generation == run.generation;
    if (there) continue;
    note(run.head < table.blocks() ? table.run_at(run.head) : kMarkWordAt,
         "block " + std::to_string(run.head) + " does not hold the run that the mark needs");
    return {};
  }
  std::erase(images_, word.head);
  rooms_.mark.adopt(word.head, *image);
  if (!view) return {};
  // All else is as if it were free.
  for (const std::uint64_t head : runs_) {
    if (image->find(head) != nullptr) continue;
    const std::uint64_t generation = table.meta(head).generation;
    for (std::uint64_t end = head + table.meta(head).run_blocks, block = head; block < end; ++block)
      table.mark_free(block, generation);
  }
  std::erase_if(runs_, [&](std::uint64_t head) { return image->find(head) == nullptr; });
  view_ = std::move(*image);
  return {};
}

}  // namespace holdfast::kv
