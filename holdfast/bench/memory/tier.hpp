// tier.hpp: memory that is measured: mapped, present, filled, and known for what it really is.
//
// Guarantee  While a range is measured all its pages are present (unless prefault is off) and hold
//            what content.hpp says, or a cycle for pointer chasing. A file has no name any more
//            once it is mapped: whatever ends the process, no file stays behind.
// Errors     kInvalidOption, kAlreadyExists, kNotFound (the path), kUnsupported (a file system
//            without DAX whose pages cannot be stored to), kNoSpace, kIo, kClosed (interrupted).
// Threads    one at a time; prepare_…() start threads of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/results/result.hpp>

namespace holdfast::bench::memory {

struct TierNeed {
  std::string name;  // As rows name it.
  std::string spec;  // memory/region.hpp.
  std::vector<int> nodes;
  std::vector<unsigned> weights;
  std::uint64_t bytes = 0;
  bool prefault = true;
  bool erase_device = false;
  // One of a kind: two with the same key may share a mapping, if it is large enough.
  std::string key() const;
};

class Tier {
 public:
  static Result<std::unique_ptr<Tier>> open(const TierNeed& need);
  // Whether open() would refuse its kind of memory. Of a file system a small file tells it, which
  // is removed again; a device is not opened. That there is enough of it is not looked at.
  static Status check(const TierNeed& need);

  const TierNeed& need() const { return need_; }
  std::byte* data() const { return region_->data(); }
  std::uint64_t bytes() const { return region_->size_bytes(); }
  const RegionReport& report() const { return report_; }
  // The entry of the result document.
  results::Fields fields() const;
  // What a reader should know of the mapping, for example that pages are missing.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Brings [0, bytes) into the state that is needed, if it is not. Lines that were written by
  // kernels differ in lane 7 only, which `every_word` does not tolerate.
  void prepare_content(std::uint64_t bytes, bool every_word, unsigned threads);
  // One cycle through all lines of [0, bytes): word 0 of a line is the byte of the next, word 1 its
  // position in the cycle. Within windows of `window_bytes` (0: all), windows in random order.
  void prepare_chase(std::uint64_t bytes, std::uint64_t window_bytes, std::uint64_t seed,
                     unsigned threads);
  // The byte of the line at each of `count` evenly spaced positions of the cycle.
  const std::vector<std::uint64_t>& chase_starts() const { return chase_starts_; }
  static constexpr std::uint64_t kChaseStarts = 4096;

  void written_by_lines() {
    if (content_ == Content::kExact) content_ = Content::kTagged;
  }
  void written_otherwise() { content_ = Content::kOther; }

 private:
  enum class Content { kOther, kTagged, kExact, kChase };

  Tier() = default;
  static Status check_device(const TierNeed& need, const std::string& path);
  Status map();
  Status touch();
  Status spread();
  void examine();

  TierNeed need_;
  std::unique_ptr<Region> region_;
  RegionReport report_;
  std::vector<std::string> warnings_;
  std::vector<double> node_shares_;
  std::uint64_t resident_bytes_ = 0;
  std::uint64_t huge_bytes_ = 0;
  Content content_ = Content::kOther;
  std::uint64_t content_bytes_ = 0;
  std::uint64_t chase_window_ = 0;
  std::uint64_t chase_seed_ = 0;
  std::vector<std::uint64_t> chase_starts_;
};

// What prepare_content() and prepare_chase() write, for ranges that are no tier's. `bytes` is a
// multiple of 2 MiB, resp. of the window, a multiple of a line. Returns chase_starts().
void fill_content(std::byte* base, std::uint64_t bytes, unsigned threads);
std::vector<std::uint64_t> link_chase(std::byte* base, std::uint64_t bytes,
                                      std::uint64_t window_bytes, std::uint64_t seed,
                                      unsigned threads);

// The file that a path target becomes, or why it cannot be one: an empty directory gets a file of
// its own inside, anything that exists otherwise is refused. Errors: as Tier::open.
Result<std::string> path_for_target(const std::string& path);
// How large that file can become; without a limit for a device, whose size its own error tells.
std::uint64_t bytes_free_for(const std::string& path);

}  // namespace holdfast::bench::memory
