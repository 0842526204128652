#include <holdfast/baselines/log_formats.hpp>

namespace holdfast::baselines {

const char* segment_preparation(LogFormat format) {
  if (format == kPopcount) return "zeroes it";
  if (format == kParity) return "flips the words that a lap left";
  if (format == kHeader || format == kDancing) return "zeroes its sizes";
  return nullptr;
}

void register_log_formats() {
  using holdfast::blocks::log_detail::register_frames;
  register_frames(kLineTags, line_tag_frames());
  register_frames(kPopcount, popcount_frames());
  register_frames(kParity, parity_frames());
  register_frames(kClassic, classic_frames());
  register_frames(kHeader, header_frames());
  register_frames(kDancing, dancing_frames());
}

}  // namespace holdfast::baselines
