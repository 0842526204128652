// scans.hpp: what a scan of records in the order of their keys answered, and whether that is right.
//
// A scan copies keys and values out. Each of its records is checked as those of other reads are
// (workload.hpp); besides, keys ascend from the one that was asked for, and a scan is shorter than
// asked only where it ends at the greatest key. Whether a key in between is left out can only be
// told from all keys: check_scans() does that for a few scans after a phase.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/bench/kv/context.hpp>
#include <holdfast/bench/kv/operations.hpp>
#include <holdfast/bench/kv/workload.hpp>
#include <holdfast/bench/runner.hpp>

namespace holdfast::bench::kv {

inline constexpr unsigned kScanRecords = 100;  // Of `scan`, and at most of `ycsb-e`.

inline bool is_scan(Verb verb) { return verb == Verb::kScan || verb == Verb::kYcsbE; }

// The place of a key among all keys, from its word: stores compare bytes, and a word's first byte
// is its least one.
inline std::uint64_t rank_of(std::uint64_t word) { return __builtin_bswap64(word); }

// Takes the records of one scan.
class ScanAnswer {
 public:
  explicit ScanAnswer(const Records& records) : records_(records), found_(records, kScanRecords) {}

  void clear() { count_ = 0; }
  // The next record, as the store gives it. One that no key or value is as long as is a wrong
  // answer.
  void operator()(std::string_view key, std::string_view value) {
    if (count_ >= kScanRecords || key.size() > records_.max_key_bytes() ||
        value.size() > records_.max_value_bytes()) [[unlikely]] {
      count_ = kSpoilt;
      return;
    }
    std::memcpy(found_.key_bytes(count_), key.data(), key.size());
    std::memcpy(found_.value(count_), value.data(), value.size());
    found_.keys[count_].size = static_cast<std::uint32_t>(key.size());
    found_.values[count_].size = static_cast<std::uint32_t>(value.size());
    ++count_;
  }
  unsigned count() const { return count_; }
  const Key& key(unsigned at) const { return found_.keys[at]; }

  // What is wrong with it as an answer to "`asked` records from `from` on", or null. `from` is
  // there, `greatest` is the greatest rank of the records that are there throughout, and none has a
  // version above `newest`. Keys are known only after this.
  const char* wrong(const Key& from, unsigned asked, std::uint64_t greatest, std::uint64_t newest) {
    if (count_ == 0 || count_ > asked) return "has no records or more than were asked for";
    std::uint64_t difference = 0;
    for (unsigned at = 0; at < count_; ++at) {
      auto& key = found_.keys[at];
      difference |= records_.key_difference(found_.key_bytes(at), key);
      difference |= records_.difference(key, found_.value(at), found_.values[at].size, newest);
    }
    if (difference != 0) return "has a record that was never written";
    for (unsigned at = 1; at < count_; ++at) {
      if (rank_of(found_.keys[at - 1].word) >= rank_of(found_.keys[at].word))
        return "has keys that do not ascend";
    }
    if (found_.keys[0].word != from.word) return "does not begin with the key asked for";
    if (count_ < asked && rank_of(found_.keys[count_ - 1].word) < greatest) return "ends too early";
    return nullptr;
  }
  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    for (unsigned at = 0; at < count_; ++at)
      bytes += found_.keys[at].size + std::uint64_t{found_.values[at].size};
    return bytes;
  }

 private:
  static constexpr unsigned kSpoilt = kScanRecords + 1;

  const Records& records_;
  Buffers found_;
  unsigned count_ = 0;
};

// Session.scan() gives `answer` up to `count` records from `from` on, in order. False: it failed.
template <class Session>
concept ScansInOrder = requires(Session& session, const Key& from, ScanAnswer& answer) {
  { session.scan(from, 1u, answer) } -> std::same_as<bool>;
};

// What a thread's phase of scans is about.
struct ScanPhase {
  const Records& records;
  Choice choice;           // Of the records that scans begin with, or of those that are inserted.
  std::uint64_t greatest;  // The greatest rank of the records that are filled in.
};
struct ScansAndInserts {
  Choice start, length;  // Where a scan begins, and how many records less one it asks for.
};

template <ScansInOrder Session>
void scan_into(PhaseThread& thread, Session& session, const Key& from, unsigned asked,
               ScanAnswer& answer) {
  answer.clear();
  if (!session.scan(from, asked, answer)) [[unlikely]] {
    thread.wrong("scan from record " + std::to_string(from.index) + " failed: " + session.error());
  }
}
// Returns the bytes that the answer moved.
inline std::uint64_t right_scan(PhaseThread& thread, const Key& from, unsigned asked,
                                std::uint64_t greatest, ScanAnswer& answer) {
  const auto* what = answer.wrong(from, asked, greatest, thread.phase().number);
  if (what != nullptr) [[unlikely]]
    thread.wrong("a scan from record " + std::to_string(from.index) + " " + what);
  return answer.bytes();
}

// `scan`: one in each chunk, which counts as the records it asks for. loop(buffers, step, make,
// run, check) as drive() in operations.hpp.
template <ScansInOrder Session, class Loop>
Status scan_phase(PhaseThread& thread, Session& session, const ScanPhase& phase, Loop&& loop) {
  Buffers buffers(phase.records, kScanRecords);
  ScanAnswer answer(phase.records);
  return loop(
      buffers, kScanRecords,
      [&](std::uint64_t i, unsigned j) {
        if (j == 0) buffers.make_key(0, phase.choice(i / kScanRecords));
      },
      [&](unsigned) { scan_into(thread, session, buffers.keys[0], kScanRecords, answer); },
      [&](unsigned j) {
        return j == 0 ? right_scan(thread, buffers.keys[0], kScanRecords, phase.greatest, answer)
                      : 0;
      });
}

// YCSB E: 5 % inserts, of which `inserted` becomes the number; the rest are scans.
template <ScansInOrder Session, class Loop>
Status scan_and_insert_phase(PhaseThread& thread, Session& session, const ScanPhase& phase,
                             const ScansAndInserts& mixed, Loop&& loop, std::uint64_t& inserted) {
  Buffers buffers(phase.records, 1);
  ScanAnswer answer(phase.records);
  const auto& key = buffers.keys[0];
  unsigned asked = 0;  // 0: an insert.
  return loop(
      buffers, 1u,
      [&](std::uint64_t i, unsigned) {
        asked = is_write(Writes::kOneOf20, i) ? 0 : static_cast<unsigned>(mixed.length(i)) + 1;
        if (asked == 0)
          buffers.make_record(0, phase.choice(inserted++), thread.phase().number);
        else
          buffers.make_key(0, mixed.start(i));
      },
      [&](unsigned) {
        if (asked != 0)
          scan_into(thread, session, key, asked, answer);
        else if (!session.put(key, buffers.values[0])) [[unlikely]]
          thread.wrong("put of record " + std::to_string(key.index) +
                       " failed: " + session.error());
      },
      [&](unsigned) {
        if (asked != 0) return right_scan(thread, key, asked, phase.greatest, answer);
        return key.size + std::uint64_t{buffers.values[0].size};
      });
}

// `scan` or `ycsb-e`. `done`: records that were inserted, or that scans asked for.
template <ScansInOrder Session, class Loop>
Status run_scans(PhaseThread& thread, Session& session, const Context& context,
                 const ScanPhase& phase, std::uint64_t& done, Loop&& loop) {
  if (thread.phase().operation == "scan") return scan_phase(thread, session, phase, loop);
  const ScansAndInserts mixed{
      Choice::listed(context.zipf(thread.index(), true).data(), kZipfListed - 1),
      Choice::uniform(mix(context.seed + thread.phase().number), kScanRecords)};
  std::uint64_t inserted = 0;
  auto status = scan_and_insert_phase(thread, session, phase, mixed, loop, inserted);
  done = inserted;
  return status;
}

// The greatest rank of records 0 … records - 1.
inline std::uint64_t greatest_rank(std::uint64_t records) {
  std::uint64_t greatest = 0;
  for (std::uint64_t i = 0; i < records; ++i)
    greatest = std::max(greatest, rank_of(mix(i)));
  return greatest;
}

// Scans once more from a few of records 0 … records - 1, which are all there, and compares with all
// of them: none in between may be missing. O(records).
template <ScansInOrder Session>
Status check_scans(Session& session, const Records& records, std::uint64_t count,
                   std::uint64_t greatest, std::uint64_t newest) {
  for (std::uint64_t sample = 0; sample < 2; ++sample) {
    Buffers buffers(records, 1);
    const auto& from = buffers.make_key(0, scaled(mix(newest * 2 + sample), count));
    ScanAnswer answer(records);
    const auto where = [&] { return "a scan from record " + std::to_string(from.index) + " "; };
    if (!session.scan(from, kScanRecords, answer))
      return Error{Errc::kIo, where() + "failed: " + session.error()};
    if (const char* what = answer.wrong(from, kScanRecords, greatest, newest); what != nullptr)
      return Error{Errc::kCorrupt, where() + what};
    std::uint64_t found = 0, there = 0;
    for (unsigned at = 0; at < answer.count(); ++at)
      found += answer.key(at).index < count ? 1 : 0;
    const auto first = rank_of(from.word), last = rank_of(answer.key(answer.count() - 1).word);
    for (std::uint64_t i = 0; i < count; ++i)
      there += rank_of(mix(i)) - first <= last - first ? 1 : 0;
    if (found != there)
      return Error{Errc::kCorrupt, where() + "has " + std::to_string(found) + " of " +
                                       std::to_string(there) + " records of its range"};
  }
  return {};
}

}  // namespace holdfast::bench::kv
