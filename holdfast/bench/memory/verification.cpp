#include <holdfast/bench/memory/verification.hpp>

#include <cstring>

#include <holdfast/base/printed.hpp>
#include <holdfast/bench/memory/content.hpp>

namespace holdfast::bench::memory {
namespace {

constexpr std::uint64_t kWritesChecked = 65'536;

std::uint64_t word_at(const RangeView& range, std::uint64_t byte) {
  std::uint64_t word;
  std::memcpy(&word, range.base + byte, sizeof word);
  return word;
}

std::string hex(std::uint64_t value) {
  return printed("%016llx", static_cast<unsigned long long>(value));
}

// What was read, by range, and the first write that is not there.
class Expectation {
 public:
  Expectation(const SharedWork& work, std::uint64_t operations)
      : work_(work),
        words_(!work.config->custom() && work.config->access_bytes % kCacheLineBytes != 0),
        units_(work.config->access_bytes / (words_ ? 8 : kCacheLineBytes)),
        check_every_(operations / kWritesChecked + 1) {}

  void take(const Piece& piece) {
    if (piece.write) {
      for (auto i = first_checked(piece.operation) - piece.operation; i < piece.count;
           i += check_every_)
        check_write(range(piece.dram), piece.byte_of(i), units_);
      return;
    }
    if (piece.slots == nullptr) {
      // An arithmetic progression: its middle, so to say, times its length.
      const auto unit = words_ ? 8 : kCacheLineBytes;
      const auto step = static_cast<std::uint64_t>(piece.step_bytes / static_cast<int>(unit));
      add_units(piece.dram, piece.count,
                piece.count * (piece.first_byte / unit) + sum_below(piece.count) * step);
    } else {
      std::uint64_t sum = 0;
      for (std::uint64_t i = 0; i < piece.count; ++i)
        sum += piece.slot_of(i);
      add_units(piece.dram, piece.count, sum * units_);
    }
  }

  // A chain, as the kernels run it, with the content in the place of memory.
  void replay(const Piece& piece) {
    const auto& chain = work_.config->chain;
    for (std::uint64_t i = 0; i < piece.count; ++i) {
      const auto number = piece.operation + i;
      const bool check = number % check_every_ == 0;
      std::uint64_t value = piece.slot_of(i);
      std::uint64_t at_byte = 0;
      for (std::size_t s = 0; s < chain.size(); ++s) {
        const auto& step = work_.chain[s];
        if (!chain[s].write) {
          const auto slot = s == 0 ? value : chain_slot(value, number, step.salt, step.slots);
          at_byte = step.margin_bytes + slot * step.slot_bytes;
          lines_[chain[s].dram].add(at_byte / kCacheLineBytes, step.lines);
          value = content_of_lane(at_byte / kCacheLineBytes, step.lines, 0);
        } else {
          at_byte += static_cast<std::uint64_t>(step.offset);
          if (check) check_write(range(chain[s].dram), at_byte, step.lines);
        }
      }
    }
  }

  std::string compare(bool dram, const Lanes& lanes) const {
    if (words_) {
      const auto expected = words_read_[dram].content();
      if (lanes.sum[0] == expected) return {};
      return "wrong checksum of what was read: " + hex(lanes.sum[0]) + ", must be " + hex(expected);
    }
    // Lane 7 differs where somebody writes.
    for (unsigned lane = 0; lane + 1 < kLanes; ++lane) {
      const auto expected = lines_[dram].lane(lane);
      if (lanes.sum[lane] == expected) continue;
      return "wrong checksum of what was read, lane " + std::to_string(lane) + ": " +
             hex(lanes.sum[lane]) + ", must be " + hex(expected);
    }
    return {};
  }

  const std::string& wrong_write() const { return wrong_write_; }

 private:
  const RangeView& range(bool dram) const { return dram ? work_.dram : work_.target; }

  // The first operation from `operation` on that is checked.
  std::uint64_t first_checked(std::uint64_t operation) const {
    return (operation + check_every_ - 1) / check_every_ * check_every_;
  }

  // `sum_of_firsts`: of the numbers of each access's first line or word.
  void add_units(bool dram, std::uint64_t count, std::uint64_t sum_of_firsts) {
    NumbersRead* const read =
        words_ ? static_cast<NumbersRead*>(&words_read_[dram]) : &lines_[dram];
    read->add_accesses(count, units_, sum_of_firsts);
  }

  void check_write(const RangeView& range, std::uint64_t at_byte, std::uint64_t units) {
    if (!wrong_write_.empty()) return;
    const auto words = words_ ? units : units * kLanes;
    for (std::uint64_t word = 0; word < words; ++word) {
      const auto byte = at_byte + word * 8;
      const bool tagged = words_ || word % kLanes == kLanes - 1;
      const auto expected = content_of_word(byte / 8) + (tagged ? work_.tag : 0);
      const auto seen = word_at(range, byte);
      if (seen == expected) continue;
      wrong_write_ = "a write is not there: byte " + std::to_string(byte) + " holds " + hex(seen) +
                     ", must hold " + hex(expected);
      return;
    }
  }

  const SharedWork& work_;
  const bool words_;
  const std::uint64_t units_;  // Lines or words per access.
  const std::uint64_t check_every_;
  LinesRead lines_[2];
  WordsRead words_read_[2];
  std::string wrong_write_;
};

std::string verify_chase(const SharedWork& work, const Worker& worker) {
  const auto lines = work.target.bytes / kCacheLineBytes;
  const auto begin = word_at(work.target, worker.chase_start() + 8);
  const auto reached = word_at(work.target, worker.chase_at() + 8);
  const auto expected = (begin + worker.operations()) % lines;
  if (reached == expected) return {};
  return "wrong end of a chase: position " + std::to_string(reached) + ", must be " +
         std::to_string(expected);
}

}  // namespace

std::uint64_t sum_of_atomic_words(const SharedWork& work) {
  const auto access = work.config->access_bytes;
  std::uint64_t sum = 0;
  for (const auto* range : {&work.target, &work.dram}) {
    for (std::uint64_t byte = access - 8; byte < range->bytes; byte += access)
      sum += word_at(*range, byte);
  }
  return sum;
}

std::string verify(const SharedWork& work, const std::vector<std::unique_ptr<Worker>>& workers,
                   std::uint64_t atomic_sum) {
  const auto& config = *work.config;
  std::uint64_t operations = 0;
  for (const auto& worker : workers)
    operations += worker->operations();
  if (is_atomic(config)) {
    const auto grown = sum_of_atomic_words(work) - atomic_sum;
    if (grown == operations) return {};
    return "the words have grown by " + std::to_string(grown) + " in " +
           std::to_string(operations) + " operations";
  }
  for (const auto& worker : workers) {
    if (config.chase()) {
      if (auto wrong = verify_chase(work, *worker); !wrong.empty()) return wrong;
      continue;
    }
    Expectation expectation(work, operations);
    for (const auto& [lane, first, count] : worker->executed()) {
      work.for_each_piece(lane, first, count, [&](const Piece& piece) {
        if (config.custom())
          expectation.replay(piece);
        else
          expectation.take(piece);
      });
    }
    for (const bool dram : {false, true}) {
      const auto& lanes = dram ? worker->dram_lanes() : worker->target_lanes();
      if (auto wrong = expectation.compare(dram, lanes); !wrong.empty()) return wrong;
    }
    if (!expectation.wrong_write().empty()) return expectation.wrong_write();
  }
  return {};
}

}  // namespace holdfast::bench::memory
