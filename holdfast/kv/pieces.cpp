#include <holdfast/kv/pieces.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/base/prefetch.hpp>
#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {
namespace {

// What a damaged record says of its pieces costs no more memory than this.
constexpr std::uint64_t kReserved = 16 * MiB;

template <class Number>
void put_number(std::string& text, Number number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <class Number>
Number take_number(std::string_view& text) {
  Number number;
  std::memcpy(&number, text.data(), sizeof number);
  text.remove_prefix(sizeof number);
  return number;
}

}  // namespace

std::string piece_key(std::string_view key, std::uint64_t lineage, std::uint32_t number,
                      std::uint16_t space) {
  std::string name;
  name.reserve(key.size() + kPieceSuffixBytes);
  name = key;
  put_number(name, lineage);
  put_number(name, number);
  put_number(name, space);
  return name;
}

bool parse_piece_key(std::string_view key, PieceName& name) {
  if (key.size() < kPieceSuffixBytes) return false;
  name.key = key.substr(0, key.size() - kPieceSuffixBytes);
  key.remove_prefix(name.key.size());
  name.lineage = take_number<std::uint64_t>(key);
  name.number = take_number<std::uint32_t>(key);
  name.space = take_number<std::uint16_t>(key);
  return true;
}

bool PiecesView::read(const RecordView& record, PiecesView& view) {
  std::string_view value = record.value();
  if (!record.is_in_pieces() || value.size() < sizeof(InPieces)) return false;
  std::memcpy(&view.head, value.data(), sizeof view.head);
  value.remove_prefix(sizeof view.head);
  if (view.head.front_bytes > value.size() || view.head.piece_bytes > kMaxValueBytes) return false;
  if (view.head.pieces > view.head.piece_bytes / Pieces::kPieceBytes + 1) return false;
  view.front = value.substr(0, view.head.front_bytes);
  view.tail = value.substr(view.head.front_bytes);
  return true;
}

// ---- There may be pieces from here on ----

void Pieces::adopt(SpaceRooms* found) {
  if (found == nullptr) return;
  rooms_.table.watch_dead(this);
  space_.store(found, std::memory_order_release);
}

Status Pieces::begin() {
  const Lock lock(mutex_);
  if (any()) return {};
  HF_ASSIGN_OR_RETURN(SpaceRooms* const made, rooms_.spaces.make(kPieceSpace));
  HF_RETURN_IF_ERROR(rooms_.raise_flags(kHasSpaces | kHasPieces));
  adopt(made);
  return {};
}

// ---- Reading ----

Result<std::string> Pieces::gather(const RecordView& record) const {
  const Line line = line_at(static_cast<std::uint64_t>(record.bytes() - rooms_.medium.at(0)));
  PiecesView view;
  if (!PiecesView::read(record, view) || !any())
    return rooms_.records.damaged(offset_of(line), "a value in pieces that says nothing of them");
  const std::uint64_t bytes = view.value_bytes();
  if (bytes > kMaxValueBytes)
    return rooms_.records.damaged(offset_of(line), "a value in pieces longer than values are");
  std::string value;
  value.reserve(std::min(bytes, kReserved));
  value = view.front;
  const SpaceRooms& space = this->space();
  const KeyIndex& index = space.index;
  Session& own = this->space().sessions.of_this_thread();
  const auto guard = rooms_.epochs.enter(own.participant);
  // Records of several pieces are on their way at a time.
  constexpr std::uint32_t kAhead = 8;
  std::string name = piece_key(record.key(), view.head.lineage, 0, record.header().space());
  const Bytes key = std::as_bytes(std::span(name));
  const auto place_of = [&](std::uint32_t number) {
    std::memcpy(name.data() + name.size() - 6, &number, sizeof number);
    return index.place(index.hash(key));
  };
  for (std::uint32_t i = 0; i < std::min(kAhead, view.head.pieces); ++i)
    index.prefetch_record(place_of(i));
  for (std::uint32_t i = 0; i < view.head.pieces; ++i) {
    if (i + kAhead < view.head.pieces) index.prefetch_record(place_of(i + kAhead));
    const Live piece = index.find(place_of(i), key, guard);
    if (!piece || piece.record.value_bytes() > bytes - value.size()) {
      return rooms_.records.damaged(offset_of(line),
                                    "a value in pieces: its piece " + std::to_string(i) + " of " +
                                        std::to_string(view.head.pieces) +
                                        (piece ? " is longer than it was" : " is not there"));
    }
    value += piece.record.value();
  }
  if (value.size() + view.tail.size() != bytes)
    return rooms_.records.damaged(offset_of(line), "a value in pieces: some are shorter");
  value += view.tail;
  return value;
}

// ---- What ended ----

void Pieces::died(std::uint64_t number) {
  const Line line{number};
  const RecordView record = rooms_.records.at(line);
  PiecesView view;
  if (!record.is_in_pieces() || !rooms_.records.fits(record, line) ||
      !PiecesView::read(record, view))
    return;
  end({std::string(record.key()), record.header().space(), view.head.lineage, view.head.pieces});
}

void Pieces::end(Ended ended) {
  const Lock lock(ended_mutex_);
  ended_.push_back(std::move(ended));
  ended_count_.store(ended_.size(), std::memory_order_release);
}

std::vector<Pieces::Ended> Pieces::take_ended() {
  const Lock lock(ended_mutex_);
  ended_count_.store(0, std::memory_order_release);
  return std::exchange(ended_, {});
}

}  // namespace holdfast::kv
