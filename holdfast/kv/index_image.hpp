// index_image.hpp: the index as a clean close writes it, so that the next open need not rebuild it.
//
// The image is a run in state kImage: u64 partitions, then per partition u64 entries and the
// entries as OffsetMap::serialize writes them. The clean mark names it and holds its checksum; an
// image that is not as the mark says is ignored, and the summaries are read instead.
#pragma once

#include <memory>
#include <string>

#include <holdfast/kv/rooms.hpp>

namespace holdfast::kv {

// Writes the image and enters it in `mark`. No space for it is no error: the mark then names none.
Status write_index_image(Rooms& rooms, CleanMark& mark);

// The index that the mark names, or null; `damage` says where it ought to be there and is not.
std::unique_ptr<OffsetMap> read_index_image(Rooms& rooms, const CleanMark& mark,
                                            std::string& damage);

// Ends a store in order: everything sealed and synced before; then image, mark, fence.
Status close_in_order(Rooms& rooms);

}  // namespace holdfast::kv
