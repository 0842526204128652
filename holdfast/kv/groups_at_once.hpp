// groups_at_once.hpp: the usual operations of a group (group_verbs.hpp): a put, an erase, an update
// of a word or a read, of a key of 16 bytes. Usual means: the run has room, the key's home is not
// latched, and there is no snapshot. Each stage of a group is a loop that calls nothing but what
// changes a word. It stops at the first unusual operation, which group_verbs.cpp does. Included
// where verbs are instantiated, and nowhere else.
//
// Updates that stand together share a fence. Their homes are latched one after the other. Where a
// home is held, also by an update before it, the remaining updates come after the fence. So no
// thread waits while it holds a latch.
#pragma once

#include <array>

#include <holdfast/kv/group_verbs.hpp>
#include <holdfast/kv/read_verbs.hpp>
#include <holdfast/kv/writes_at_once.hpp>

namespace holdfast::kv {

// Appends the records of the first operations, and finds the places of all; returns how many. The
// lane is the caller's.
template <class Path>
std::size_t append_at_once(Rooms& rooms, Session& own, std::span<Operation> operations) {
  if (!rooms.gate.takes_all()) [[unlikely]]
    return 0;
  std::uint64_t lines = 0;
  std::size_t i = 0, ready = 0;
  for (; i < operations.size(); ++i) {
    Operation& operation = operations[i];
    operation.place = rooms.index.place(operation.hash);
    if (!operation.is_of_records()) continue;
    if (ready == 0) ready = rooms.appender.ready_for(own.lane, operations.size() - i);
    if (ready-- == 0 || operation.key.size() != 16 || operation.done) [[unlikely]]
      break;
    if (operation.verb == Operation::Verb::kErase) {
      // A tag that matches by accident costs a tombstone.
      if (!rooms.index.map().template glance<typename Path::Probing>(
              operation.place, [](Line) { return true; }, operation.old) ||
          !operation.old) [[unlikely]]
        break;
    } else if (!Path::is_usual(operation.key.size(), operation.value.size())) [[unlikely]] {
      break;
    }
    if (!rooms.appender.append_next<Path>(own.lane, operation.record(), operation.appended))
        [[unlikely]]
      break;
    operation.appended_record = true;
    lines += operation.appended.padded_bytes / kCacheLineBytes;
  }
  own.count(0, lines);
  return i;
}

// Asks for the records that the operations will touch.
template <class Path>
void look_at_once(Rooms& rooms, std::span<Operation> operations) {
  for (Operation& operation : operations) {
    operation.sure = rooms.index.map().template glance<typename Path::Probing>(
        operation.place, [](Line) { return true; }, operation.old);
    if (!operation.sure || !operation.old) continue;
    const std::byte* const at = rooms.records.at(operation.old.line()).bytes();
    if (operation.verb == Operation::Verb::kUpdateWord) {
      const std::uint64_t word_at =
          round_up(Path::kHeaderBytes + operation.key.size(), 8) + operation.offset_bytes;
      prefetch_for_write(at);
      if (word_at >= kCacheLineBytes) prefetch_for_write(at + word_at);
      continue;
    }
    prefetch_for_read(at);
    if (!operation.reads()) continue;
    for (std::size_t line = 1; line < 4; ++line)
      prefetch_for_read(at + line * kCacheLineBytes);
  }
}

template <class Path>
bool get_of_group(Rooms& rooms, Session& own, Operation& operation) {
  // Those before it have taken effect, and may have made the table of its partition grow.
  const Place place = rooms.index.place(operation.hash);
  const Bytes key = operation.key;
  Seen seen;
  if (!is_of_two_words(key.size()) || !rooms.index.is_settled() ||
      !rooms.index.map().template glance<typename Path::Probing>(
          place, [&](Line line) { return rooms.records.is_put_of(line, key, Path::kHeaderBytes); },
          seen) ||
      !seen) [[unlikely]]
    return false;
  const RecordView record = rooms.records.at(seen.line(), Path::kHeaderBytes);
  const std::uint64_t value_at = round_up(Path::kHeaderBytes + key.size(), 8);
  const Bytes value = {record.bytes() + value_at, own.sizes.of(record.header().value_bytes())};
  const bool to_text = operation.verb == Operation::Verb::kGet;
  if (!rooms.records.value_fits_block(seen.line(), value_at, value.size()) ||
      (to_text && value.size() > operation.text->capacity())) [[unlikely]]
    return false;
  const Version version = record.sequence();
  if (to_text)
    copy_text<Path>(value, *operation.text);
  else
    copy_bytes<Path>(value, operation.buffer);
  // What was copied is copied once more then, and made durable.
  if (Path::kHasWords && rooms.index.map().may_be_patching(place)) [[unlikely]]
    return false;
  operation.end_at_once(operation.wants_length ? value.size() : version);
  return true;
}

// Changes words of the first operations, as far as they are updates of words; returns how many.
template <class Path>
std::size_t update_words_at_once(Rooms& rooms, Session& own, std::span<Operation> operations) {
  constexpr std::size_t kTogether = 16;
  std::array<index::Bucket*, kTogether> homes;
  const Persist& persist = rooms.medium.persist();
  std::size_t count = 0;
  for (; count < std::min(operations.size(), kTogether); ++count) {
    Operation& operation = operations[count];
    if (operation.verb != Operation::Verb::kUpdateWord || operation.done) break;
    LatchedWord latched;
    if (!latch_word_in_guard<Path, false>(rooms, operation.hash, operation.key,
                                          operation.offset_bytes, latched))
      break;
    homes[count] = latched.home;
    const std::uint64_t before = Persist::load(latched.word);
    const std::uint64_t after = operation.change_word(before);
    OffsetMap::set_patching(*latched.home, true);  // Readers from now on persist what they read.
    persist.store(latched.word, after);
    persist.write_back_word(latched.word);
    operation.end_at_once(before);
  }
  if (count == 0) [[unlikely]]
    return 0;
  Path::fence(persist);
  for (std::size_t i = 0; i < count; ++i) {
    const OffsetMap::PatchedHome home(*homes[i]);
    home.set_patching(false);
  }
  own.count(1, count);
  return count;
}

// The first operations take effect; returns how many. Behind the fence of what they appended.
template <class Path>
std::size_t publish_at_once(Rooms& rooms, Session& own, std::span<Operation> operations) {
  std::size_t i = 0;
  while (i < operations.size()) {
    Operation& operation = operations[i];
    if (operation.done) {
      ++i;
      continue;
    }
    switch (operation.verb) {
      case Operation::Verb::kPut: {
        PutOutcome outcome;
        if ((!operation.sure && operation.old) || !own.notes.has_room() ||
            !publish_put_over<Path, true>(rooms, own, operation.place, operation.key,
                                          operation.appended, operation.old, outcome)) [[unlikely]]
          return i;
        operation.end_at_once(static_cast<std::uint64_t>(outcome));
        break;
      }
      case Operation::Verb::kErase:
        if (!operation.sure || !operation.old || !own.notes.has_room() ||
            rooms.index.is_ordered() ||
            !publish_erase_over<Path>(rooms, own, operation.place, operation.key,
                                      operation.appended, operation.old)) [[unlikely]]
          return i;
        operation.end_at_once(1);
        break;
      case Operation::Verb::kGet:
      case Operation::Verb::kGetBuffer:
        if (!get_of_group<Path>(rooms, own, operation)) [[unlikely]]
          return i;
        break;
      case Operation::Verb::kUpdateWord: {
        const std::size_t done = update_words_at_once<Path>(rooms, own, operations.subspan(i));
        if (done == 0) [[unlikely]]
          return i;
        i += done;
        continue;
      }
      case Operation::Verb::kUpdate: return i;
    }
    ++i;
  }
  return i;
}

}  // namespace holdfast::kv
