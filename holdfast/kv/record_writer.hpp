// record_writer.hpp: composes records and stores them where they belong.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include <holdfast/kv/record.hpp>
#include <holdfast/memory/persist.hpp>

namespace holdfast::kv {

class RecordWriter {
 public:
  // `staged`: what write() gets is private memory, which is handed over later.
  RecordWriter(const Persist& persist, bool staged, const Geometry& geometry,
               std::span<const std::uint32_t> patchable)
      : persist_(persist), staged_(staged), geometry_(geometry), patchable_(patchable) {}

  // To its place in an open run: stored and written back, not fenced. `to` begins a line and has the
  // record's padded bytes.
  void write(std::byte* to, const NewRecord& record, const RecordPlace& place,
             std::uint64_t seed) const {
    const std::uint64_t padded = Geometry::padded(record.bytes(geometry_));
    alignas(kCacheLineBytes) std::byte scratch[4096];
    if (staged_) return compose(to, record, place, seed);
    if (padded <= sizeof scratch) {
      compose(scratch, record, place, seed);
      persist_.stream(to, scratch, padded);
    } else {
      const auto composed = std::make_unique<std::byte[]>(padded);
      compose(composed.get(), record, place, seed);
      persist_.stream(to, composed.get(), padded);
    }
  }
  void write_frame(std::byte* to, std::uint64_t members_bytes, const RecordPlace& place,
                   std::uint64_t seed) const;

  // The same to private memory.
  void compose(std::byte* to, const NewRecord& record, const RecordPlace& place,
               std::uint64_t seed) const;
  void compose_frame(std::byte* to, std::uint64_t members_bytes, const RecordPlace& place,
                     std::uint64_t seed) const;
  // All of a large record before its value.
  std::vector<std::byte> compose_front(const NewRecord& record, const RecordPlace& place,
                                       std::uint64_t seed) const;

 private:
  const Persist persist_;
  const bool staged_;
  const Geometry& geometry_;
  const std::span<const std::uint32_t> patchable_;
};

}  // namespace holdfast::kv
