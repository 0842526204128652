// log_field.hpp: a plain value that is replaced in place after its new content is in a log.
// Public header.
//
// Guarantee  After a crash and recover() each field holds the value of the last acknowledged
//            update, or of the one in flight.
// Invariant  A redo record (where in the region, the bytes) is durable before the value changes.
//            Replaying all records in their order gives the newest values, also when a replay is
//            interrupted. Truncation is one durable word, so no prefix of an old log is ever seen.
// Threads    One at a time, with a log of its own that nothing else is appended to.
// Media      Line and byte granularity.
// Costs      n bytes in place, so reads are plain; n + 32 bytes of log; two fences, two lines or
//            more, and one more fence when the log is full.
// Implements: van Renen et al., section 3.4.2, with `Log` in the place of PopLog.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <holdfast/blocks/log/log.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::blocks {

template <class T>
class LogField;

class FieldLog {
 public:
  static constexpr std::size_t kMaxBytes = 256;

  // `log` lies in `region`, as the fields do; both outlive this.
  FieldLog(Region& region, Log& log) : region_(region), log_(log) {}

  // Brings every field to its newest value, with one fence. Once after each crash, before reads and
  // updates. Errors: kUnsupported (page media), kReadOnly, kCorrupt (a record that is no update of
  // a field in the region and outside of the log).
  Status recover();

 private:
  template <class T>
  friend class LogField;
  Status write(void* field, std::span<const std::byte> value);

  Region& region_;
  Log& log_;
};

template <class T>
class LogField {
 public:
  using value_type = T;
  static_assert(
      std::is_trivially_copyable_v<T>,
      "LogField<T>: T is written as bytes, so it must be trivially copyable: no std::string");
  static_assert(sizeof(T) <= FieldLog::kMaxBytes, "LogField<T>: at most FieldLog::kMaxBytes");

  const T& read() const { return value_; }
  // Errors: kUnsupported (page media), those of Log::append; then nothing has changed.
  Status update(FieldLog& log, const T& value) {
    return log.write(&value_, std::as_bytes(std::span(&value, 1)));
  }

 private:
  T value_;
};

}  // namespace holdfast::blocks
