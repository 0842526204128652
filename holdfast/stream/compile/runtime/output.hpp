// output.hpp: rows for the sink, gathered as records: the command is called for many at once.
// They may point to texts that were made for them.
#pragma once

#include <algorithm>
#include <array>

#include <holdfast/stream/compile/runtime/text_arena.hpp>

namespace holdfast::query {

// Where a row's columns are in its record: what RecordLayout says in stream/record.hpp.
template <class... Values>
struct RecordOf {
  struct Layout {
    std::array<std::size_t, sizeof...(Values)> offsets{};
    std::size_t bytes = 8;
  };
  static constexpr Layout layout() {
    Layout layout;
    std::size_t column = 0, strictest = 8;
    const auto up_to = [](std::size_t bytes, std::size_t alignment) {
      return (bytes + alignment - 1) / alignment * alignment;
    };
    const auto add = [&](std::size_t width) {
      strictest = std::max(strictest, width);
      layout.offsets[column] = up_to(layout.bytes, width);
      layout.bytes = layout.offsets[column++] + width;
    };
    (add(sizeof(Values)), ...);
    layout.bytes = up_to(layout.bytes, strictest);
    return layout;
  }
  static constexpr auto kOffsets = layout().offsets;
  static constexpr std::size_t kBytes = layout().bytes;
};

// Texts that operations made, and the command for them.
class MadeTexts {
 public:
  char* take(std::uint64_t bytes) {
    bytes_ += bytes;
    return arena_.take(bytes);
  }
  void note_of_command(std::uint64_t bytes) { bytes_ += bytes + kOfEach; }
  // It is time to let them go.
  bool are_many() const { return bytes_ > kMost; }
  void clear() {
    arena_.clear();
    bytes_ = 0;
  }

 private:
  static constexpr std::uint64_t kMost = 16 * 1024, kOfEach = 64;

  TextArena arena_;
  std::uint64_t bytes_ = 0;
};

// All of one query, so of one size, which is at most that of 64 columns.
class Output {
 public:
  // Room for a record. Null: the sink has failed.
  std::byte* next(Host& host, Change change, std::size_t bytes) {
    if (used_ + bytes > sizeof records_) [[unlikely]] {
      if (!flush(host)) return nullptr;
    }
    auto* const record = records_ + used_;
    used_ += bytes;
    changes_[count_++] = change;
    return record;
  }
  bool flush(Host& host) {
    if (count_ == 0) return true;
    const auto count = count_;
    used_ = count_ = 0;
    return host.write(changes_, records_, count);
  }
  MadeTexts& texts() { return texts_; }

 private:
  static constexpr std::size_t kBytes = 8192;  // Few enough for the nearest cache.
  static constexpr std::size_t kLeastRecord = 8;

  std::size_t used_ = 0, count_ = 0;
  MadeTexts texts_;
  alignas(16) std::byte records_[kBytes]{};
  Change changes_[kBytes / kLeastRecord]{};
};

}  // namespace holdfast::query
