#include <holdfast/blocks/log/frames.hpp>

#include <array>
#include <atomic>
#include <cstring>

namespace holdfast::blocks {
namespace log_detail {

void Staging::grow(std::uint64_t bytes) {
  bytes_ = round_up(bytes * 2, kCacheLineBytes);
  memory_.reset(new (std::align_val_t{kCacheLineBytes}) std::byte[bytes_]);
}

Status Segment::put(std::uint64_t at, std::byte* from, std::uint64_t count, Site site) const {
  if (paged())
    return region->write(static_cast<std::uint64_t>(data - region->data()) + at, {from, count},
                         site);
  if (padded) {
    const auto lines = round_up(count, kCacheLineBytes);
    std::memset(from + count, 0, lines - count);
    persist().stream(data + at, from, lines, site);
  } else {
    persist().copy(data + at, from, count, site);
    persist().write_back(data + at, count, site);
  }
  return {};
}

Status Segment::clear(std::uint64_t at, Site site) const {
  if (paged()) {
    const std::byte zeros[8] = {};
    return region->write(static_cast<std::uint64_t>(data - region->data()) + at, zeros, site);
  }
  persist().store(word(at), 0, site);
  persist().write_back(word(at), 8, site);
  return {};
}

namespace {

// The one list of formats, by number. Those without frames of ours have been registered, or not.
constexpr std::array<std::string_view, 8> kNames = {
    "", "checksum", "line-tags", "poplog", "rawl", "classic", "header", "header-dancing"};

std::array<std::atomic<const Frames*>, kNames.size()>& registered() {
  static std::array<std::atomic<const Frames*>, kNames.size()> frames;
  return frames;
}

}  // namespace

const Frames* frames_of(LogFormat format) {
  const auto number = static_cast<std::size_t>(format);
  if (format == LogFormat::kChecksum) return &checksum_frames();
  return number < kNames.size() ? registered()[number].load(std::memory_order_acquire) : nullptr;
}

void register_frames(LogFormat format, const Frames& frames) {
  const auto number = static_cast<std::size_t>(format);
  HF_CHECK(number > 1 && number < kNames.size() && kNames[number] == frames.name());
  registered()[number].store(&frames, std::memory_order_release);
}

std::vector<LogFormat> registered_formats() {
  std::vector<LogFormat> formats;
  for (std::size_t number = 1; number < kNames.size(); ++number) {
    const auto format = static_cast<LogFormat>(number);
    if (frames_of(format) != nullptr) formats.push_back(format);
  }
  return formats;
}

}  // namespace log_detail

std::string_view name(LogFormat format) {
  const auto number = static_cast<std::size_t>(format);
  return number > 0 && number < log_detail::kNames.size() ? log_detail::kNames[number] : "?";
}

}  // namespace holdfast::blocks
