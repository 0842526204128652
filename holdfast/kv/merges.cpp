#include <holdfast/kv/merges.hpp>

#include <algorithm>
#include <cstring>
#include <string>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/space_rooms.hpp>
#include <holdfast/kv/write_verbs.hpp>

namespace holdfast::kv {
namespace {

template <class Number, class Function>
std::string of_numbers(Bytes value, Bytes operand, Function&& function) {
  Number a, b;
  std::memcpy(&a, value.data(), sizeof a);
  std::memcpy(&b, operand.data(), sizeof b);
  const Number result = function(a, b);
  return {reinterpret_cast<const char*>(&result), sizeof result};
}

Error wrong_sizes(Bytes value, Bytes operand, std::string_view allowed) {
  return {Errc::kInvalidOption, "merge of an operand of " + std::to_string(operand.size()) +
                                    " bytes into a value of " + std::to_string(value.size()) +
                                    " bytes; " + std::string(allowed)};
}

// What the function makes of a value that is there; of kAppend it is not asked.
Result<std::string> combine(Bytes value, Bytes operand, MergeFunction function) {
  if (function == MergeFunction::kOr) {
    if (value.size() != operand.size()) return wrong_sizes(value, operand, "both of one size");
    std::string result(text_of(value));
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = static_cast<char>(std::to_integer<int>(value[i] | operand[i]));
    return result;
  }
  if (value.size() != 8 || operand.size() != 8)
    return wrong_sizes(value, operand, "8 bytes each are allowed");
  const auto least = [](auto a, auto b) { return std::min(a, b); };
  const auto greatest = [](auto a, auto b) { return std::max(a, b); };
  const auto sum = [](auto a, auto b) { return a + b; };
  switch (function) {
    case MergeFunction::kAdd: return of_numbers<std::uint64_t>(value, operand, sum);
    case MergeFunction::kAddDouble: return of_numbers<double>(value, operand, sum);
    case MergeFunction::kMin: return of_numbers<std::int64_t>(value, operand, least);
    case MergeFunction::kMax: return of_numbers<std::int64_t>(value, operand, greatest);
    case MergeFunction::kMinUnsigned: return of_numbers<std::uint64_t>(value, operand, least);
    case MergeFunction::kMaxUnsigned: return of_numbers<std::uint64_t>(value, operand, greatest);
    default: break;
  }
  return Error{
      Errc::kInvalidOption,
      "merge function " + std::to_string(static_cast<unsigned>(function)) + "; 0 to 7 are allowed"};
}

// An operand that becomes the value has the size that the function works on.
Status check_first(Bytes operand, MergeFunction function) {
  if (function == MergeFunction::kAppend || function == MergeFunction::kOr) return {};
  return combine(operand, operand, function).and_then([](const std::string&) {
    return ok_status();
  });
}

std::string in_pieces(const InPieces& head, std::string_view front, std::string_view tail) {
  std::string value(reinterpret_cast<const char*>(&head), sizeof head);
  return value.append(front).append(tail);
}

}  // namespace

template <class R>
struct BasicMerges<R>::Merged {
  RecordKind kind = RecordKind::kPut;
  std::string value;
  // kInPieces:
  std::uint64_t lineage = 0;
  std::uint32_t pieces = 0;
  std::string piece;  // The last of them, if it is to be written; else empty.
  bool continues = false;
};

template <class R>
Result<Version> BasicMerges<R>::merge(Bytes key, Bytes operand, MergeFunction function,
                                      WriteOptions options) {
  const auto attempt = [&] { return try_merge(key, operand, function, options); };
  auto outcome = attempt();
  if (!outcome) attempts_.settle(outcome, attempt);
  attempts_.pay_pause(rooms_.sessions.of_this_thread());
  return outcome;
}

template <class R>
Result<Version> BasicMerges<R>::try_merge(Bytes key, Bytes operand, MergeFunction function,
                                          WriteOptions options) {
  KeyIndex& index = rooms_.index;
  Session& own = rooms_.sessions.of_this_thread();
  const std::uint64_t hash = index.hash(key);
  for (;;) {
    auto guard = attempts_.begin(own);
    HF_RETURN_IF_ERROR(attempts_.check(key.size(), operand.size(), options));
    Place place = index.place(hash);
    auto home = index.latch(place, own);
    const Entry entry = home.find(index.matches(key));
    if (!entry && HF_MUTANT("K109", publication_.displaced(place), false)) {
      home.release();
      HF_RETURN_IF_ERROR(rooms_.displaced->settle(own, hash));
      continue;
    }
    const Live present = index.judge(entry ? OffsetMap::Home::line(entry) : kNoLine);
    if (!present && present.outcome != Errc::kNotFound) return index.error(present);
    HF_ASSIGN_OR_RETURN(Merged merged, this->merged(key, present, operand, function));
    if (options.renew) {  // Of a value in pieces its front is here.
      const std::size_t skipped = merged.kind == RecordKind::kInPieces ? sizeof(InPieces) : 0;
      rooms_.expiry.renew(id_of(rooms_), text_of(key), std::span(merged.value).subspan(skipped));
    }
    if (merged.kind == RecordKind::kInPieces && !rooms_.pieces.any()) {
      home.release();
      guard.end();
      HF_RETURN_IF_ERROR(rooms_.pieces.begin());
      continue;
    }
    // A place before anything is appended, so that nothing can fail behind that.
    const Entry claimed = entry ? Entry() : home.claim();
    if (!entry && !claimed) {
      home.release();
      HF_RETURN_IF_ERROR(index.map().grow(hash));
      continue;
    }
    const auto write = [&](Appended& appended) -> Status {
      const NewRecord record{merged.kind, hash, key, std::as_bytes(std::span(merged.value))};
      if (!merged.piece.empty()) HF_RETURN_IF_ERROR(put_piece(own, record, merged, options));
      return publication_.write_record(own, record, true, Purpose::kUpdate, options, appended);
    };
    Appended appended;
    if (auto written = write(appended); !written) {
      if (claimed) home.remove(claimed);
      // It may have been put: nothing counts it.
      if (!merged.piece.empty())
        rooms_.pieces.end(
            {std::string(text_of(key)), id_of(rooms_), merged.lineage, merged.pieces});
      return std::move(written).error();
    }
    if (claimed) {
      home.replace(claimed, line_at(appended.offset));
      index.enter(key);
    } else {
      publication_.replace(own, home, entry, appended, merged.continues);
    }
    home.release();
    index.map().grow_in_turn();
    guard.end();
    if (!merged.piece.empty()) {
      SpaceRooms& of_pieces = rooms_.pieces.space();
      BasicAttempts<SpaceRooms>(of_pieces, maintenance_)
          .pay_pause(of_pieces.sessions.of_this_thread());
    }
    return appended.sequence;
  }
}

template <class R>
Result<typename BasicMerges<R>::Merged> BasicMerges<R>::merged(Bytes key, const Live& present,
                                                               Bytes operand,
                                                               MergeFunction function) const {
  Merged merged;
  if (!present) {
    HF_RETURN_IF_ERROR(check_first(operand, function));
    merged.value = text_of(operand);
    return merged;
  }
  if (function == MergeFunction::kAppend) return grown(key, present.record, operand);
  std::string whole;
  Bytes value = present.record.value_span();
  if (present.record.is_in_pieces()) {
    HF_ASSIGN_OR_RETURN(whole, rooms_.pieces.gather(present.record));
    value = std::as_bytes(std::span(whole));
  }
  HF_ASSIGN_OR_RETURN(merged.value, combine(value, operand, function));
  return merged;
}

template <class R>
Result<typename BasicMerges<R>::Merged> BasicMerges<R>::grown(Bytes key, const RecordView& present,
                                                              Bytes added) const {
  Merged merged;
  PiecesView view;
  if (!present.is_in_pieces()) {
    view.tail = present.value();
  } else if (!PiecesView::read(present, view)) {
    return rooms_.records.damaged(static_cast<std::uint64_t>(present.bytes() - rooms_.medium.at(0)),
                                  "a value in pieces that says nothing of them");
  }
  HF_RETURN_IF_ERROR(attempts_.check(key.size(), view.value_bytes() + added.size(), {}));
  if (!present.is_in_pieces() &&
      (view.tail.size() + added.size() <= Pieces::kPieceBytes || !may_be_in_pieces(key))) {
    merged.value.reserve(view.tail.size() + added.size());
    merged.value.append(view.tail).append(text_of(added));
    return merged;
  }
  std::string tail;
  if (!present.is_in_pieces()) {
    // A sequence is one key's, but for those of a batch: with the key it is unique.
    view.head.lineage = HF_MUTANT("K110", present.sequence(), std::uint64_t{7});
    const std::uint64_t front = std::min(Pieces::kFrontBytes, view.tail.size());
    view.front = view.tail.substr(0, front);
    view.tail.remove_prefix(front);
    // An operand may have what the value lacks of a whole front.
    const std::uint64_t lacking = std::min(Pieces::kFrontBytes - front, added.size());
    merged.value = view.front;
    merged.value.append(text_of(added.first(lacking)));
    added = added.subspan(lacking);
    view.head.front_bytes = static_cast<std::uint32_t>(merged.value.size());
  } else {
    merged.value = view.front;
    merged.continues = true;
  }
  const std::string front = std::move(merged.value);
  tail.reserve(view.tail.size() + added.size());
  tail.append(view.tail).append(text_of(added));
  if (tail.size() > Pieces::kPieceBytes || (view.head.pieces == 0 && !tail.empty())) {
    view.head.piece_bytes += tail.size();
    ++view.head.pieces;
    merged.piece = std::exchange(tail, {});
  }
  merged.kind = RecordKind::kInPieces;
  merged.lineage = view.head.lineage;
  merged.pieces = view.head.pieces;
  merged.value = in_pieces(view.head, front, tail);
  return merged;
}

template <class R>
bool BasicMerges<R>::may_be_in_pieces(Bytes key) const {
  return key.size() + kPieceSuffixBytes <= kMaxKeyBytes &&
         HF_MUTANT("K105", rooms_.expiry.stamp_end(id_of(rooms_), text_of(key)), 0) <=
             Pieces::kFrontBytes;
}

// Puts a piece before `record`, which leads to it. On page media both go through the lane that all
// share, so one sync serves both. There must be blocks for both before either is put: if the record
// found none, its piece would be garbage, which makes room for the next attempt, and that would end
// in the same way.
template <class R>
Status BasicMerges<R>::put_piece(Session& own, const NewRecord& record, const Merged& merged,
                                 WriteOptions options) {
  options.durability = Durability::kProcess;
  const std::string name =
      piece_key(text_of(record.key), merged.lineage, merged.pieces - 1, id_of(rooms_));
  SpaceRooms& space = rooms_.pieces.space();
  Session& of_pieces = space.sessions.of_this_thread();
  const NewRecord piece{RecordKind::kPut, 0, std::as_bytes(std::span(name)),
                        std::as_bytes(std::span(merged.piece))};
  const std::uint64_t blocks =
      space.appender.blocks_to_open(space.group.lane_of(of_pieces), piece) +
      rooms_.appender.blocks_to_open(rooms_.group.lane_of(own), record);
  if (HF_MUTANT("K157", blocks != 0, false))
    HF_RETURN_IF_ERROR(rooms_.table.expect_room(blocks, Purpose::kUpdate));
  return BasicWrites<SpaceRooms>(space, maintenance_)
      .put_within(piece.key, piece.value, Purpose::kUpdate, options);
}

template class BasicMerges<Rooms>;
template class BasicMerges<SpaceRooms>;

}  // namespace holdfast::kv
