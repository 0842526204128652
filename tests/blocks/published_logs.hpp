// published_logs.hpp: the logs of van Renen et al., section 3.3.1, as small protocols on words: as
// published, and with the step that closes each hole. Beside them log_holes_test.cpp counts states.
//
// Formats are cut down to what a hole is about: words instead of bytes, a slot or two, the header
// one word. An entry is `Words`; a protocol's State is what a reader sees.
#pragma once

#include <algorithm>
#include <bit>

#include "../crash/protocols.hpp"

namespace holdfast::crash::protocols {

inline constexpr std::uint64_t kLineWords = 8;

// ---- PopLog: an entry is valid iff the stored number of one bits is that of its words ----

// Slots of `slot_words`. Word 0 of an entry is (count << 32 | payload words), so that it is never
// 0 and length and count are one store.
struct PopLog {
  std::uint64_t slot_words = 16;
  std::uint64_t slots = 1;
  bool erase_tail = false;  // Published: no. Recovery zeroes what lies beyond the tail, durably.
  bool stream = false;      // Non-temporal stores.
  std::uint64_t per_fence = 1;  // Entries that share a fence.

  static std::uint64_t header(const Words& payload) {
    std::uint64_t bits = std::popcount(payload.size());
    for (const std::uint64_t value : payload)
      bits += std::popcount(value);
    return bits << 32 | payload.size();
  }
  Entries read(Region& region) const {
    Entries entries;
    for (std::uint64_t slot = 0; slot < slots; ++slot) {
      const std::uint64_t at = slot * slot_words;
      const std::uint64_t length = load(region, at) & 0xffffffff;
      if (load(region, at) == 0 || length >= slot_words) break;
      Words payload;
      for (std::uint64_t i = 1; i <= length; ++i)
        payload.push_back(load(region, at + i));
      if (header(payload) != load(region, at)) break;
      entries.push_back(payload);
    }
    return entries;
  }
  Entries recover(Region& region) const {
    Entries entries = read(region);
    if (!erase_tail) return entries;
    const std::uint64_t tail = entries.size() * slot_words;
    const std::uint64_t end = slots * slot_words;
    bool dirty = false;
    for (std::uint64_t i = tail; i < end; ++i)
      dirty |= load(region, i) != 0;
    if (dirty) {
      zero(region, tail, end - tail);
      persist(region, tail, end - tail);
    }
    return entries;
  }
  // The caller fences.
  void write(Region& region, std::uint64_t slot, const Words& payload) const {
    Words entry{header(payload)};
    entry.insert(entry.end(), payload.begin(), payload.end());
    const auto at = slot * slot_words;
    if (stream) {
      entry.resize(round_up(entry.size(), kLineWords));
      region.persist().stream(word(region, at), entry.data(), entry.size() * 8);
    } else {
      region.persist().copy(word(region, at), entry.data(), entry.size() * 8);
      write_back(region, at, entry.size());
    }
  }
};

// Appends `first`, and `second` after a recovery.
inline Protocol<Entries> pop_log(const PopLog& log, const Entries& first, const Words& second) {
  Protocol<Entries> protocol;
  protocol.workload = [=](Region& region, Workload& run) {
    for (std::uint64_t id = 0; id < first.size(); id += log.per_fence) {
      for (std::uint64_t i = id; i < id + log.per_fence; ++i)
        run.begin(i, static_cast<std::uint32_t>(i));
      for (std::uint64_t i = id; i < id + log.per_fence; ++i)
        log.write(region, i, first[i]);
      fence(region);
      for (std::uint64_t i = id; i < id + log.per_fence; ++i)
        run.acknowledge(i);
    }
  };
  protocol.recover = [=](Region& region) -> Result<Entries> { return log.recover(region); };
  protocol.then = [=](Region& region, Workload& run, const Entries& found) {
    if (found.size() == log.slots) return;
    run.perform(100, [&] {
      log.write(region, found.size(), second);
      fence(region);
    });
  };
  protocol.check = [=](const Past<Entries>& past, const Entries& seen) {
    return is_log_of(past, seen, [&](std::uint64_t id) { return id < 100 ? first[id] : second; });
  };
  protocol.print = print_entries;
  return protocol;
}

// A slot that holds `old` takes `fresh`; the space was zeroed before or not, with a fence or not.
inline Protocol<Entries> pop_log_reuse(const Words& old, const Words& fresh, bool zeroed,
                                       bool fenced) {
  const PopLog log;
  Protocol<Entries> protocol;
  protocol.initial = {old};
  protocol.setup = [=](Region& region) {
    log.write(region, 0, old);
    fence(region);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.begin(1);
    if (zeroed) {
      zero(region, 0, log.slot_words);
      write_back(region, 0, log.slot_words);
      if (fenced) fence(region);
    }
    log.write(region, 0, fresh);
    fence(region);
    run.acknowledge(1);
  };
  protocol.recover = [=](Region& region) -> Result<Entries> { return log.read(region); };
  protocol.check = [=](const Past<Entries>& past, const Entries& seen) -> std::string {
    if (seen == Entries{fresh}) return "";
    if (past.operations[0].acknowledged()) return "the acknowledged entry is not there";
    return seen.empty() || seen == Entries{old} ? "" : "a mix of two entries";
  };
  protocol.print = print_entries;
  return protocol;
}

// ---- Truncation ----

enum class Truncation {
  kZeroes,            // Published: zero all of it, then a fence.
  kZeroesFromBehind,  // Entry by entry, the last first, each with a fence.
  kHeadWord,          // One durable word says that nothing counts; then zeroes.
};

// Entries of a line each, of seven words; word 24 is the head of kHeadWord.
inline void truncate(Region& region, std::uint64_t entries, Truncation how) {
  if (how == Truncation::kHeadWord) {
    store(region, 24, 1);
    persist(region, 24, 1);
  }
  if (how == Truncation::kZeroesFromBehind) {
    for (auto i = entries; i > 0; --i) {
      zero(region, (i - 1) * kLineWords, kLineWords);
      persist(region, (i - 1) * kLineWords, kLineWords);
    }
  } else {
    zero(region, 0, entries * kLineWords);
    persist(region, 0, entries * kLineWords);
  }
}

// Three entries are truncated. All of them may be seen until that is acknowledged, never a part.
inline Protocol<Entries> truncation(Truncation how) {
  const PopLog log{.slot_words = kLineWords, .slots = 3};
  const Entries entries{
      {1, 3, 7, 15, 31, 63, 127}, {2, 3, 7, 15, 31, 63, 127}, {4, 3, 7, 15, 31, 63, 127}};
  Protocol<Entries> protocol;
  protocol.initial = entries;
  protocol.setup = [=](Region& region) {
    for (std::uint64_t i = 0; i < 3; ++i)
      log.write(region, i, entries[i]);
    fence(region);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] { truncate(region, 3, how); });
  };
  protocol.recover = [=](Region& region) -> Result<Entries> {
    return load(region, 24) != 0 ? Entries{} : log.read(region);
  };
  protocol.check = [=](const Past<Entries>&, const Entries& seen) {
    return seen.empty() || seen == entries ? "" : "a part of the truncated log is visible";
  };
  return protocol;
}

// The same as a redo log: x, in word 32, is set to 1 and then to 2, each time after an entry; both
// are acknowledged and in place. Then the log is truncated. Recovery replays what it finds.
inline Protocol<std::uint64_t> redo_log(Truncation how) {
  const PopLog log{.slot_words = kLineWords, .slots = 2};
  Protocol<std::uint64_t> protocol;
  protocol.initial = 2;
  protocol.setup = [=](Region& region) {
    for (std::uint64_t value = 1; value <= 2; ++value)
      log.write(region, value - 1, {32, value});  // Where, what.
    store(region, 32, 2);
    persist(region, 0, 33);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] { truncate(region, 2, how); });
  };
  protocol.recover = [=](Region& region) -> Result<std::uint64_t> {
    if (load(region, 24) == 0) {
      for (const Words& entry : log.read(region)) {
        store(region, entry[0], entry[1]);
        persist(region, entry[0], 1);
      }
    }
    return load(region, 32);
  };
  protocol.check = [](const Past<std::uint64_t>&, const std::uint64_t& seen) {
    return seen == 2 ? "" : "a committed update is undone";
  };
  return protocol;
}

// ---- RAWL: the top bit of each word tells in which pass it was written ----

inline constexpr std::uint64_t kParity = std::uint64_t{1} << 63;

// An entry of `words` words from `at` on: its length, then `value` in each. With `padding` the rest
// of its last line gets the pass's parity, too.
inline void write_flipped(Region& region, std::uint64_t at, std::uint64_t words,
                          std::uint64_t value, bool parity, bool padding = false) {
  const auto end = padding ? round_up(at + words, kLineWords) : at + words;
  for (std::uint64_t i = at; i < end; ++i)
    store(region, i, (i == at ? words : i < at + words ? value : 0) | (parity ? kParity : 0));
  write_back(region, at, end - at);
}
// The entry at `at`, or nothing.
inline Words read_flipped(Region& region, std::uint64_t at, bool parity) {
  Words found;
  const auto length = std::min<std::uint64_t>(load(region, at) & ~kParity, 16);
  for (std::uint64_t i = at; i < at + length; ++i) {
    if (((load(region, i) & kParity) != 0) != parity) return {};
    found.push_back(load(region, i) & ~kParity);
  }
  return found;
}
inline Words flipped_entry(std::uint64_t words, std::uint64_t value) {
  Words entry(words, value);
  entry[0] = words;
  return entry;
}

// An append of two lines that a crash tears, and another over it. `reset`: recovery gives what lies
// beyond the tail the other parity, durably.
inline Protocol<Words> rawl_torn_tail(bool reset) {
  Protocol<Words> protocol;
  const auto append = [](Region& region, std::uint64_t value) {
    write_flipped(region, 0, 12, value, true);
    fence(region);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] { append(region, 5); });
  };
  protocol.recover = [=](Region& region) -> Result<Words> {
    const auto found = read_flipped(region, 0, true);
    bool torn = false;
    for (std::uint64_t i = 0; found.empty() && i < 16; ++i)
      torn |= (load(region, i) & kParity) != 0;
    if (reset && torn) {
      zero(region, 0, 16);
      persist(region, 0, 16);
    }
    return found;
  };
  protocol.then = [=](Region& region, Workload& run, const Words& found) {
    if (found.empty()) run.perform(2, [&] { append(region, 7); });
  };
  protocol.check = [](const Past<Words>& past, const Words& seen) -> std::string {
    const auto& operation = past.operations.back();
    if (seen == flipped_entry(12, operation.id == 1 ? 5 : 7)) return "";
    if (operation.acknowledged()) return "the acknowledged entry is not there";
    return seen == past.base ? "" : "an entry with words of the torn one";
  };
  return protocol;
}

// Pass 1 fills two lines with one entry, pass 2 with two entries of half a line each, pass 3 writes
// one of two lines again. `padding`: words that are skipped are flipped, too.
inline Protocol<Words> rawl_padding(bool padding) {
  Protocol<Words> protocol;
  protocol.setup = [=](Region& region) {
    write_flipped(region, 0, 16, 5, true);
    write_flipped(region, 0, 4, 6, false, padding);
    write_flipped(region, 8, 4, 6, false, padding);
    fence(region);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] {
      write_flipped(region, 0, 16, 7, true);
      fence(region);
    });
  };
  protocol.recover = [=](Region& region) -> Result<Words> { return read_flipped(region, 0, true); };
  protocol.check = [](const Past<Words>& past, const Words& seen) -> std::string {
    if (seen == flipped_entry(16, 7)) return "";
    if (past.operations[0].acknowledged()) return "the acknowledged entry is not there";
    return seen.empty() ? "" : "an entry with words of an earlier pass";
  };
  return protocol;
}

// The pass goes on from 1 to 0 over an old entry: operation 1 begins it, which truncates, 2
// appends. `stored`: the parity is a durable word (16), changed before the first append.
inline Protocol<Words> rawl_restart(bool stored) {
  Protocol<Words> protocol;
  protocol.initial = flipped_entry(4, 5);
  protocol.setup = [](Region& region) {
    write_flipped(region, 0, 4, 5, true);
    store(region, 16, 1);
    persist(region, 16, 1);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] {
      if (!stored) return;  // Published: known to the running process only.
      store(region, 16, 0);
      persist(region, 16, 1);
    });
    run.perform(2, [&] {
      write_flipped(region, 0, 4, 7, false);
      fence(region);
    });
  };
  protocol.recover = [=](Region& region) -> Result<Words> {
    return read_flipped(region, 0, load(region, 16) != 0);
  };
  protocol.check = [](const Past<Words>& past, const Words& seen) -> std::string {
    const auto& operations = past.operations;
    const bool begun = operations[0].acknowledged();
    if (operations.size() > 1 && seen == flipped_entry(4, 7)) return "";
    if (operations.size() > 1 && operations[1].acknowledged())
      return "the acknowledged entry is not there";
    return seen.empty() || (!begun && seen == past.base) ? "" : "an entry of the pass before";
  };
  return protocol;
}

// A dense entry whose length, in word 7, ends a line. Published: only the payload's lines are
// written back.
inline Protocol<Words> rawl_unwritten_header(bool all_lines) {
  Protocol<Words> protocol;
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] {
      store(region, 7, 1 | kParity);
      store(region, 8, 9 | kParity);
      write_back(region, all_lines ? 7 : 8, all_lines ? 2 : 1);
      fence(region);
    });
  };
  protocol.recover = [](Region& region) -> Result<Words> {
    if (load(region, 7) == 0 || load(region, 8) == 0) return Words{};
    return Words{load(region, 8) & ~kParity};
  };
  protocol.check = [](const Past<Words>& past, const Words& seen) -> std::string {
    return seen == Words{9} || (seen.empty() && !past.operations[0].acknowledged())
               ? ""
               : "the acknowledged entry is lost";
  };
  return protocol;
}

// ---- Header: a size in front, stored after the data ----

enum class HeaderForm {
  kSound,       // The data, fence, the size, fence.
  kOneFence,    // Data and size under one fence.
  kMisaligned,  // The size lies across two lines.
};

// The size of the log in words (in word 0), from 0x00ff to 0x0100 as one word is appended; the data
// in a line of its own (word 16).
inline Protocol<Words> header_log(HeaderForm form) {
  Protocol<Words> protocol;  // The size and the last word below it.
  protocol.initial = {0x00ff, 5};
  // Misaligned: the low byte ends the first line.
  const auto size_at = [=](Region& region) {
    return reinterpret_cast<std::byte*>(region.data()) + (form == HeaderForm::kMisaligned ? 63 : 0);
  };
  const auto set_size = [=](Region& region, std::uint64_t size) {
    region.persist().copy(size_at(region), &size, 8);
    region.persist().persist(size_at(region), 8);
  };
  protocol.setup = [=](Region& region) {
    set_size(region, 0x00ff);
    store(region, 32, 5);
    persist(region, 32, 1);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] {
      store(region, 40, 7);
      write_back(region, 40, 1);
      if (form != HeaderForm::kOneFence) fence(region);
      set_size(region, 0x0100);
    });
  };
  protocol.recover = [=](Region& region) -> Result<Words> {
    std::uint64_t size;
    std::memcpy(&size, size_at(region), 8);
    return Words{size, size == 0x00ff ? load(region, 32) : size == 0x0100 ? load(region, 40) : 0};
  };
  protocol.check = [](const Past<Words>& past, const Words& seen) -> std::string {
    if (seen == Words{0x0100, 7}) return "";
    if (past.operations[0].acknowledged()) return "the acknowledged entry is not there";
    return seen == past.base ? "" : "a size without its data";
  };
  return protocol;
}

// Dancing: the size is the largest of several words, one per line; the log of size 13 is reset.
inline Protocol<std::uint64_t> dancing_reset(bool generations) {
  constexpr std::uint64_t kFields = 4;
  constexpr std::uint64_t kGeneration = std::uint64_t{1} << 32;
  Protocol<std::uint64_t> protocol;
  protocol.initial = 13;
  protocol.setup = [=](Region& region) {
    for (std::uint64_t i = 0; i < kFields; ++i)
      store(region, i * kLineWords, 10 + i);
    persist(region, 0, kFields * kLineWords);
  };
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] {
      if (generations) {  // One word of a new generation is larger than all before it.
        store(region, 0, kGeneration);
        persist(region, 0, 1);
        return;
      }
      for (std::uint64_t i = 0; i < kFields; ++i)
        store(region, i * kLineWords, 0);
      persist(region, 0, kFields * kLineWords);
    });
  };
  protocol.recover = [=](Region& region) -> Result<std::uint64_t> {
    std::uint64_t size = 0;
    for (std::uint64_t i = 0; i < kFields; ++i)
      size = std::max(size, load(region, i * kLineWords));
    return size % kGeneration;
  };
  protocol.check = [](const Past<std::uint64_t>&, const std::uint64_t& seen) {
    return seen == 0 || seen == 13 ? "" : "a size that was never the current one";
  };
  return protocol;
}

// ---- Classic: header and footer agree ----

struct Classic {
  bool unique = true;  // Published: no, the mark is the entry's offset. Else a sequence number.
  bool reader_knows = true;  // Published: no. The reader knows which number comes next.
  bool stale = true;         // The space holds an entry of the generation before; else zeros.
  std::uint64_t offset = 1;  // The published mark.
};

// Header in word 1, nine words of payload over the line's end, footer in word 11; the payload is
// fenced before the footer is stored.
inline Protocol<Words> classic(const Classic& form) {
  const auto write = [](Region& region, std::uint64_t mark, std::uint64_t value) {
    store(region, 1, mark);
    for (std::uint64_t i = 2; i < 11; ++i)
      store(region, i, value);
    persist(region, 1, 10);
    store(region, 11, mark);
    persist(region, 11, 1);
  };
  const auto now = form.unique ? form.offset + 1 : form.offset;
  Protocol<Words> protocol;
  if (form.stale) {
    if (!form.reader_knows) protocol.initial = Words(9, 5);
    protocol.setup = [=](Region& region) { write(region, form.offset, 5); };
  }
  protocol.workload = [=](Region& region, Workload& run) {
    run.perform(1, [&] { write(region, now, 7); });
  };
  protocol.recover = [=](Region& region) -> Result<Words> {
    const auto mark = load(region, 1);
    Words payload;
    for (std::uint64_t i = 2; i < 11; ++i)
      payload.push_back(load(region, i));
    // On zeroed space the reader tells an entry from none by its first word.
    const bool none = !form.stale && payload[0] == 0;
    const bool next = !form.reader_knows || mark == now;
    return none || mark != load(region, 11) || !next ? Words{} : payload;
  };
  protocol.check = [](const Past<Words>& past, const Words& seen) -> std::string {
    if (seen == Words(9, 7)) return "";
    if (past.operations[0].acknowledged()) return "the acknowledged entry is not there";
    return seen.empty() || seen == past.base ? "" : "an entry of old and new words";
  };
  return protocol;
}

}  // namespace holdfast::crash::protocols
