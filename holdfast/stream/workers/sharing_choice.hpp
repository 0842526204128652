// sharing_choice.hpp: which way of sharing rows out among workers is the faster one, as measured.
//
// A query begins with the late merge. Where merging takes more than a tenth of a trial's time, the
// other way is tried for a second, and kept for a minute of work if it took more rows in a second,
// by a tenth at least. Then both are tried anew. Time without rows does not count.
#pragma once

#include <cstdint>

namespace holdfast::stream {

// How rows are divided among workers.
enum class Sharing : std::uint8_t {
  kMeasured,   // One of these, as measured.
  kLateMerge,  // A worker adds the rows of its batches; groups are merged when windows end.
  kByKey,      // A worker looks at all rows and adds those of its keys.
};

class SharingChoice {
 public:
  static constexpr double kTrialSeconds = 1, kKeepSeconds = 60, kWorthwhile = 0.1;

  explicit SharingChoice(Sharing wanted)
      : measured_(wanted == Sharing::kMeasured), by_key_(wanted == Sharing::kByKey) {}

  bool by_key() const { return by_key_; }
  // Whether the ways are being compared.
  bool trying() const { return measured_ && !keeping_; }
  // A round: how long it took, and how long one of the workers merged meanwhile.
  void note(std::uint64_t rows, double seconds, double merging_seconds) {
    if (!measured_ || rows == 0) return;
    rows_ += static_cast<double>(rows);
    seconds_ += seconds;
    merging_seconds_ += merging_seconds;
    if (seconds_ < (keeping_ ? kKeepSeconds : kTrialSeconds)) return;
    decide();
    rows_ = seconds_ = merging_seconds_ = 0;
  }

 private:
  void decide() {
    const double rate = rows_ / seconds_;
    if (keeping_) {  // The minute is over: from the beginning.
      keeping_ = by_key_ = false;
    } else if (by_key_) {
      by_key_ = rate > merge_rate_ * (1 + kWorthwhile);
      keeping_ = true;
    } else {
      merge_rate_ = rate;
      by_key_ = merging_seconds_ > seconds_ * kWorthwhile;
      keeping_ = !by_key_;
    }
  }

  const bool measured_;
  bool by_key_;
  bool keeping_ = false;  // Both were tried, or the second need not be.
  double rows_ = 0, seconds_ = 0, merging_seconds_ = 0, merge_rate_ = 0;
};

}  // namespace holdfast::stream
