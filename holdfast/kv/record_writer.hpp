// record_writer.hpp: records get to where they lie, by the kernel that this CPU and this medium
// call for (record_kernel.hpp).
#pragma once

#include <cstddef>

#include <holdfast/kv/hot_path.hpp>
#include <holdfast/kv/record.hpp>
#include <holdfast/kv/record_copy.hpp>
#include <holdfast/memory/persist.hpp>

namespace holdfast::kv {

class RecordWriter {
 public:
  // `staged`: what write() gets is private memory, which is handed over later.
  RecordWriter(const Persist& persist, bool staged, const PatchableWords& words)
      : persist_(staged ? Persist::none() : persist), words_(words), isa_(record_isa()) {}

  // Writes a record to its place: stored and written back, not fenced. `to` begins a line and has
  // room for the record's padded bytes.
  template <class Path = AnyPath>
  void write(std::byte* to, const NewRecord& record, const RecordHead& head,
             std::uint64_t seed) const {
    const Site site = here();  // One for all ways.
    if (!Path::compose(persist_, to, parts_of(record, head), seed, words_, site)) [[unlikely]]
      compose_record_by(isa_, persist_, to, parts_of(record, head), seed, words_, site);
  }
  // A record that moves: record_copy.hpp. `from_seed` is that of its run.
  bool write_copy(std::byte* to, const RecordView& from, const RecordHead& head,
                  std::uint64_t from_seed, std::uint64_t seed) const {
    const std::uint64_t place = from.header().key_bytes() | kind_word(from.kind(), head);
    return copy_record_by(isa_, persist_, {from.bytes(), to, from_seed, seed, place}, words_);
  }
  // The frame of an atomic batch: one line.
  void write_frame(std::byte* to, std::uint64_t members_bytes, const RecordHead& head,
                   std::uint64_t seed) const;

 private:
  static Site here(HF_SITE) { return site; }
  static RecordParts parts_of(const NewRecord& record, const RecordHead& head) {
    const bool put = is_put(record.kind);
    return {head.sequence,
            (put ? record.value.size() : 0) | head.size_flags,
            record.key.size() | kind_word(record.kind, head),
            0,
            record.key.data(),
            record.value.data()};
  }
  static std::uint64_t kind_word(RecordKind kind, const RecordHead& head) {
    return static_cast<std::uint64_t>(kind) << 24 |
           static_cast<std::uint64_t>(head.fenced_before) << kFencedBeforeBit |
           static_cast<std::uint64_t>(head.ordinal) << 32;
  }

  const Persist persist_;
  const PatchableWords& words_;
  const RecordIsa isa_;
};

}  // namespace holdfast::kv
