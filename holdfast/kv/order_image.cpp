#include <holdfast/kv/order_image.hpp>

#include <new>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/index/ordered/cursor.hpp>

namespace holdfast::kv {
namespace {

using index::ordered::OrderedIndex;

void append_number(std::string& to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7)
    to.push_back(static_cast<char>(number | 0x80));
  to.push_back(static_cast<char>(number));
}

// Puts each key into `to`, behind what it has in common with the one before, and calls
// written(to), which takes from it what it will.
template <class Written>
std::uint64_t pack_keys(Rooms& rooms, std::string& to, Written&& written) {
  auto participant = rooms.epochs.join();
  const auto guard = rooms.epochs.enter(participant);
  index::ordered::Cursor cursor(rooms.index.order()->keys());
  std::string previous;
  std::uint64_t keys = 0;
  for (cursor.first(); cursor; cursor.next(), ++keys) {
    const std::string_view key = cursor.key();
    const std::size_t shared = index::ordered::common_prefix(previous, key);
    append_number(to, shared);
    append_number(to, key.size() - shared);
    to.append(key.substr(shared));
    previous = key;
    if (!written(to)) break;
  }
  return keys;
}

// Binds the image to its store and to its run.
std::uint64_t bound(std::uint64_t digest, std::uint64_t store_id, std::uint64_t generation) {
  return digest ^ mix64(store_id ^ mix64(generation));
}

}  // namespace

Status write_order_image(Rooms& rooms, CleanMark& mark) {
  const KeyOrder* const order = rooms.index.order();
  if (order == nullptr || HF_MUTANT("K130", order->state() != KeyOrder::State::kComplete, false))
    return {};
  OrderImageHeader header{};
  std::string piece;
  header.keys = pack_keys(rooms, piece, [&](std::string& packed) {
    header.bytes += packed.size();
    packed.clear();
    return true;
  });
  BlockTable& table = rooms.table;
  const std::uint64_t block_bytes = table.geometry().block_bytes;
  auto head = table.open_run((sizeof header + header.bytes + block_bytes - 1) / block_bytes,
                             BlockTable::Purpose::kPut, BlockState::kImage);
  if (!head) {
    return head.code() == Errc::kNoSpace || head.code() == Errc::kTooLarge
               ? ok_status()
               : Status(std::move(head).error());
  }
  constexpr std::size_t kPieceBytes = 256 * KiB;
  const std::uint64_t begin = table.run_at(*head);
  std::uint64_t at = begin + sizeof header;
  Hash64Stream sum;
  sum.add(&header.bytes, sizeof header - sizeof header.checksum);
  Status put;
  const auto put_piece = [&] {
    sum.add(piece.data(), piece.size());
    put = rooms.medium.put(at, piece.data(), piece.size());
    at += piece.size();
    piece.clear();
  };
  pack_keys(rooms, piece, [&](const std::string& packed) {
    if (packed.size() >= kPieceBytes) put_piece();
    return static_cast<bool>(put);
  });
  if (put && !piece.empty()) put_piece();
  HF_RETURN_IF_ERROR(std::move(put));
  HF_CHECK(at == begin + sizeof header + header.bytes);  // Nobody wrote keys.
  header.checksum = bound(sum.digest(), rooms.superblock.store_id, table.meta(*head).generation);
  HF_RETURN_IF_ERROR(rooms.medium.put(begin, &header, sizeof header));
  mark.order_block = *head;
  return {};
}

std::unique_ptr<StoredOrder> StoredOrder::read(Rooms& rooms, const CleanMark& mark,
                                               std::string& damage) {
  const BlockTable& table = rooms.table;
  const std::uint64_t head = mark.order_block;
  if (head == 0) return nullptr;
  damage = "order image: it is not whole; the keys are put in order again";
  if (head >= table.blocks() || table.meta(head).state.load() != BlockState::kImage) return nullptr;
  const std::uint64_t begin = table.run_at(head);
  OrderImageHeader header;
  if (!rooms.medium.fetch(begin, sizeof header)) return nullptr;
  std::memcpy(&header, rooms.medium.at(begin), sizeof header);
  if (header.bytes > table.run_bytes(head) - sizeof header ||
      HF_MUTANT("K131", header.keys < mark.records, false))
    return nullptr;
  if (!rooms.medium.fetch(begin, sizeof header + header.bytes)) return nullptr;
  std::unique_ptr<StoredOrder> order;
  try {
    const auto* const keys = reinterpret_cast<const char*>(rooms.medium.at(begin + sizeof header));
    order.reset(new StoredOrder({keys, header.bytes}));
  } catch (const std::bad_alloc&) {
    damage.clear();  // The keys are read instead, run by run.
    return nullptr;
  }
  Hash64Stream sum;
  sum.add(&header.bytes, sizeof header - sizeof header.checksum);
  sum.add(order->bytes_.data(), header.bytes);
  const std::uint64_t expected =
      bound(sum.digest(), rooms.superblock.store_id, table.meta(head).generation);
  if (HF_MUTANT("K132", header.checksum != expected, false) || !order->is_whole(header.keys))
    return nullptr;
  damage.clear();
  return order;
}

namespace {

// False: there is no number of at most 28 bits.
bool read_number(std::span<const char> bytes, std::size_t& at, std::size_t& number) {
  number = 0;
  for (unsigned shift = 0; shift < 28; shift += 7) {
    if (at == bytes.size()) return false;
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    number |= std::size_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

}  // namespace

bool StoredOrder::is_whole(std::uint64_t keys) {
  std::size_t at = 0, size = 0;
  for (std::uint64_t key = 0; key < keys; ++key) {
    std::size_t shared, rest;
    if (!read_number(bytes_, at, shared) || !read_number(bytes_, at, rest) || shared > size ||
        rest > bytes_.size() - at || shared + rest > OrderedIndex::kMaxKeyBytes)
      return false;
    at += rest;
    size = shared + rest;
  }
  return at == bytes_.size();
}

// is_whole() has read the same.
bool StoredOrder::next(std::string_view& key) {
  std::size_t shared, rest;
  if (!read_number(bytes_, at_, shared) || !read_number(bytes_, at_, rest)) return false;
  key_.resize(shared);
  key_.append(bytes_.data() + at_, rest);
  at_ += rest;
  key = key_;
  return true;
}

}  // namespace holdfast::kv
