// log_formats.hpp: the log formats of published systems, which ours is compared with.
//
//   register_log_formats();                      // Once, before such a log is made or opened.
//   options.format = kPopcount;
//   auto log = Log::create(region, whole(region), options).value();
//
// Each is a Frames of blocks/log: ring, lanes, LSNs, truncation and recovery are those of `Log`.
// The library has none of them: without the registration it refuses such a log by its format's
// name. The crash checker tests them as it tests ours.
//
// Where a published form loses records, ours differs, and says so at the head of its .cpp.
// tests/blocks/published_logs.hpp has the published forms, and tests/blocks/log_holes_test.cpp
// shows what they lose.
#pragma once

#include <holdfast/blocks/log/frames.hpp>

namespace holdfast::baselines {

using holdfast::blocks::LogFormat;

// Frozen, as they stand in the header of a log.
inline constexpr LogFormat kLineTags{2};  // One fence. Each line ends in a tag that is stored last.
inline constexpr LogFormat kPopcount{3};  // One fence. PopLog: one bits counted, in zeroed space.
inline constexpr LogFormat kParity{4};    // One fence. RAWL: one bit of each word tells the pass.
inline constexpr LogFormat kClassic{5};   // Two fences. Header and payload, then a footer.
inline constexpr LogFormat kHeader{6};    // Two fences. The payload, then a size in front.
inline constexpr LogFormat kDancing{7};   // Two fences. The same with 64 sizes in turn.

// What such a log does to each segment before it takes it, within an append; nullptr: nothing.
const char* segment_preparation(LogFormat format);

// Any thread, any number of times.
void register_log_formats();

// Each in its .cpp.
const holdfast::blocks::log_detail::Frames& line_tag_frames();
const holdfast::blocks::log_detail::Frames& popcount_frames();
const holdfast::blocks::log_detail::Frames& parity_frames();
const holdfast::blocks::log_detail::Frames& classic_frames();
const holdfast::blocks::log_detail::Frames& header_frames();
const holdfast::blocks::log_detail::Frames& dancing_frames();

}  // namespace holdfast::baselines
