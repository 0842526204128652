#include <holdfast/blocks/log/frames.hpp>

#include <cstring>

namespace holdfast::blocks::log_detail {

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

const Frames* frames_of(LogFormat format) {
  switch (format) {
    case LogFormat::kChecksum: return &checksum_frames();
    case LogFormat::kLineTags: return &line_tag_frames();
    case LogFormat::kPopcount: return &popcount_frames();
    case LogFormat::kParity: return &parity_frames();
    case LogFormat::kClassic: return &classic_frames();
    case LogFormat::kHeader: return &header_frames();
    case LogFormat::kDancing: return &dancing_frames();
  }
  return nullptr;
}

}  // namespace holdfast::blocks::log_detail
