// log_suite.hpp: what the subjects of suite log share: the records they append and how these are
// checked.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/bench/blocks/suites.hpp>
#include <holdfast/blocks/log/log.hpp>

namespace holdfast::bench::blocks {

struct LogShape {
  std::uint32_t record_bytes = 0;  // At least 16.
  bool padded = true;
  std::uint64_t log_bytes = 0;  // What a log goes round in.

  results::Fields facts() const {
    results::Fields facts;
    facts.set("log_bytes", log_bytes);
    facts.set("records_per_append_many", 16u);
    return facts;
  }
};

// The records of one thread: its place in the thread's order, its thread, then words that follow
// from the thread.
class RecordSource {
 public:
  RecordSource(std::uint32_t bytes, std::uint64_t thread)
      : bytes_(bytes), words_(16 * ((bytes + 7) / 8)) {
    const auto each = words_.size() / 16;
    for (std::size_t i = 0; i < words_.size(); ++i)
      words_[i] = i % each == 1 ? thread : mix64(thread * 1000 + i % each);
  }
  // `slot` below 16: up to 16 records are valid at a time.
  std::span<const std::byte> record(unsigned slot, std::uint64_t place) {
    words_of(slot)[0] = place;
    return {reinterpret_cast<const std::byte*>(words_of(slot)), bytes_};
  }
  // Of place 0, 1, …: each was stored eight calls before. So a copy of it into a log need not wait
  // for the stores of its words.
  std::span<const std::byte> ready_record(std::uint64_t place) {
    constexpr std::uint64_t kAhead = 8;
    while (stored_ <= place + kAhead) {
      words_of(stored_ % 16)[0] = stored_;
      ++stored_;
    }
    return {reinterpret_cast<const std::byte*>(words_of(place % 16)), bytes_};
  }

 private:
  std::uint64_t* words_of(std::uint64_t slot) {
    return words_.data() + slot * (words_.size() / 16);
  }
  std::uint32_t bytes_;
  std::vector<std::uint64_t> words_;
  std::uint64_t stored_ = 0;  // Places below it have been stored.
};

// Checks what a log holds after a phase.
class RecordCheck {
 public:
  // `appended`: by thread, how many records.
  RecordCheck(std::uint32_t bytes, const std::vector<std::uint64_t>& appended)
      : bytes_(bytes), appended_(appended), next_(appended.size(), kNone) {
    for (std::size_t i = 0; i < appended.size(); ++i)
      sources_.emplace_back(bytes, i);
  }
  // Kind of answer: kCorrupt with "wrong" in it.
  Status next(std::span<const std::byte> record) {
    std::uint64_t head[2] = {};
    if (record.size() == bytes_) std::memcpy(head, record.data(), sizeof head);
    if (record.size() != bytes_ || head[1] >= next_.size()) return wrong("no record of ours");
    auto& next = next_[head[1]];
    if (next != kNone && head[0] != next) return wrong("a record is missing or twice");
    const auto expected = sources_[head[1]].record(0, head[0]);
    if (std::memcmp(expected.data(), record.data(), bytes_) != 0) return wrong("its bytes differ");
    next = head[0] + 1;
    return {};
  }
  // Each thread's last record was there. Where another thread truncated after a thread's last
  // append nothing of it need be left.
  Status finish() const {
    bool any = false;
    for (std::size_t i = 0; i < next_.size(); ++i) {
      if (next_[i] != kNone && next_[i] != appended_[i]) return wrong("the last record is lost");
      any = any || next_[i] != kNone;
    }
    return any ? Status() : wrong("the log is empty");
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static Error wrong(const std::string& what) {
    return {Errc::kCorrupt, "wrong answer when the log was read back: " + what};
  }
  std::uint32_t bytes_;
  const std::vector<std::uint64_t>& appended_;
  std::vector<std::uint64_t> next_;
  std::vector<RecordSource> sources_;
};

// What is left in the log after a phase. Errors: kCorrupt with "wrong" in it, those of reading.
inline Status check_log(const holdfast::blocks::Log& log, std::uint32_t record_bytes,
                        const std::vector<std::uint64_t>& appended) {
  RecordCheck check(record_bytes, appended);
  for (auto reader = log.read();;) {
    HF_ASSIGN_OR_RETURN(const bool more, reader.next());
    if (!more) return check.finish();
    HF_RETURN_IF_ERROR(check.next(reader.record()));
  }
}

// The operations of suite log. "append" stores the first word of its record and appends it at
// once; for "append_ready" the record was stored eight appends before. So the two differ where a
// log waits for that store.
inline bool is_log_operation(const std::string& operation) {
  return operation == "append" || operation == "append_ready" || operation == "append_many";
}

// Appends to a log that is used as a ring: where it is full, truncates it and tries again. What is
// in flight on another thread cannot be truncated, and that thread may have lost its CPU: then this
// one waits for it, for some seconds. Returns whether it was appended; `failure` says why not.
template <class Append>
bool append_in_ring(holdfast::blocks::Log& log, Status& failure, Append&& append_once) {
  for (int tries = 0;; ++tries) {
    const auto lsn = append_once();
    if (lsn) [[likely]]
      return true;
    if (lsn.code() != Errc::kNoSpace || tries == 5000) {
      if (failure) failure = lsn.error();
      return false;
    }
    if (tries > 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    // Half of what is there: the rest shows afterwards that nothing was lost.
    const auto head = log.head().value, end = log.stable().value + 1;
    const auto status = log.truncate({head + (end - head) / 2 + 1});
    if (!status && status.code() != Errc::kInvalidOption) {
      failure = status;
      return false;
    }
  }
}

}  // namespace holdfast::bench::blocks
