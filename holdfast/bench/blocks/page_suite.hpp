// page_suite.hpp: the workload of suite page, shared by its subjects: pages in DRAM, of which some
// lines change before each flush.
//
// Every subject flushes the same pages with the same changes. A read-back must find on the medium
// what DRAM holds. Changing the lines is part of every measurement, the floor's too.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <holdfast/base/prefetch.hpp>
#include <holdfast/base/random.hpp>
#include <holdfast/bench/blocks/suites.hpp>
#include <holdfast/blocks/page/page_store.hpp>

namespace holdfast::bench::blocks {

struct PageShape {
  std::uint32_t page_bytes = 16 * KiB;
  std::uint32_t dirty_lines = 1;
  holdfast::blocks::InDram in_dram = holdfast::blocks::InDram::kWholePage;
  std::uint64_t pages = 0;
};

// All pages as a buffer pool would hold them. Thread t of n owns the pages p with p % n == t.
class DramPages {
 public:
  explicit DramPages(const PageShape& shape)
      : shape_(shape), bytes_(shape.pages * shape.page_bytes + kCacheLineBytes) {
    first_ =
        bytes_.data() + (0 - reinterpret_cast<std::uintptr_t>(bytes_.data())) % kCacheLineBytes;
    Random random(shape.pages);
    for (std::uint64_t at = 0; at < shape.pages * shape.page_bytes; at += sizeof(std::uint64_t)) {
      const auto word = random();
      std::memcpy(first_ + at, &word, sizeof word);
    }
  }
  std::byte* page(std::uint64_t number) const { return first_ + number * shape_.page_bytes; }
  // Whether every 16th page is here as read(page, out) gives it, beginning with another one for
  // each `phase`. Errors: kCorrupt with "wrong" in it, those of read.
  template <class Read>
  Status compare(std::uint64_t phase, Read&& read) const {
    std::vector<std::byte> found(shape_.page_bytes);
    for (auto number = phase % 16; number < shape_.pages; number += 16) {
      HF_RETURN_IF_ERROR(read(number, std::span(found)));
      if (std::memcmp(found.data(), page(number), found.size()) != 0)
        return Error{Errc::kCorrupt,
                     "wrong: page " + std::to_string(number) + " is not what was flushed last"};
    }
    return {};
  }

 private:
  PageShape shape_;
  std::vector<std::byte> bytes_;
  std::byte* first_;
};

// One thread's sequence of pages and changed lines. The next page's lines are asked for while this
// one is flushed: a buffer pool's pages were changed by somebody else, earlier.
class PageChanges {
 public:
  PageChanges(const PageShape& shape, const DramPages& pages, unsigned thread, unsigned threads,
              std::uint64_t seed)
      : shape_(shape), pages_(pages), thread_(thread), threads_(threads), random_(seed + thread) {
    choose();
  }

  struct Change {
    std::uint64_t page;
    std::byte* content;
    holdfast::blocks::LineSet dirty;
  };
  const Change& next() {
    std::swap(now_, upcoming_);
    ++stamp_;
    now_.dirty.for_each_run([&](std::uint32_t first, std::uint32_t lines) {
      for (auto line = first; line < first + lines; ++line)
        std::memcpy(now_.content + line * kCacheLineBytes, &stamp_, sizeof stamp_);
    });
    choose();
    return now_;
  }

 private:
  void choose() {
    const auto share = shape_.pages / threads_;
    upcoming_.page = random_.below(share) * threads_ + thread_;
    upcoming_.content = pages_.page(upcoming_.page);
    upcoming_.dirty.clear();
    const auto lines = shape_.page_bytes / static_cast<std::uint32_t>(kCacheLineBytes);
    if (shape_.dirty_lines == lines) {
      upcoming_.dirty.mark_lines(0, lines);
    } else {  // Spread: one in each stretch of the page.
      for (std::uint32_t i = 0; i < shape_.dirty_lines; ++i) {
        const auto begin = i * lines / shape_.dirty_lines;
        const auto end = (i + 1) * lines / shape_.dirty_lines;
        upcoming_.dirty.mark_lines(begin + static_cast<std::uint32_t>(random_.below(end - begin)),
                                   1);
      }
    }
    upcoming_.dirty.for_each_run([&](std::uint32_t first, std::uint32_t count) {
      for (auto line = first; line < first + count; ++line)
        prefetch_for_write(upcoming_.content + line * kCacheLineBytes);
    });
  }

  const PageShape shape_;
  const DramPages& pages_;
  const unsigned thread_, threads_;
  Random random_;
  std::uint64_t stamp_ = 0;
  Change now_{}, upcoming_{};
};

}  // namespace holdfast::bench::blocks
