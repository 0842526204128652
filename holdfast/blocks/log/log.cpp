#include <holdfast/blocks/log/log.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <holdfast/blocks/log/space.hpp>

namespace holdfast::blocks {

using log_detail::Cursor;
using log_detail::Space;

Status LogOptions::validate() const {
  const auto invalid = [](const std::string& what) {
    return Error{Errc::kInvalidOption, "log: " + what};
  };
  const auto* frames = log_detail::frames_of(format);
  if (frames == nullptr)
    return invalid("format=" + std::to_string(static_cast<int>(format)) + " is no LogFormat");
  const std::uint64_t smallest = format == LogFormat::kDancing ? 2 * kPageBytes : kPageBytes;
  if (segment_bytes % kPageBytes != 0 || segment_bytes < smallest || segment_bytes > 256 * MiB)
    return invalid("segment_bytes=" + std::to_string(segment_bytes) +
                   "; allowed are multiples of 4096 from " + std::to_string(smallest) +
                   " to 256 MiB");
  if (lanes < 1 || lanes > 64)
    return invalid("lanes=" + std::to_string(lanes) + "; allowed are 1 to 64");
  if (format == LogFormat::kLineTags && !padded)
    return invalid("padded=false; line tags are whole lines");
  return {};
}

std::string_view name(LogFormat format) {
  const auto* frames = log_detail::frames_of(format);
  return frames == nullptr ? "?" : frames->name();
}

Log::Log(std::unique_ptr<Space> space) : space_(std::move(space)) {}
Log::Log(Log&&) noexcept = default;
Log& Log::operator=(Log&&) noexcept = default;
Log::~Log() = default;

Result<Log> Log::create(Region& region, const Extent& where, const LogOptions& options) {
  HF_RETURN_IF_ERROR(options.validate());
  HF_RETURN_IF_ERROR(check_extent("log", region, where));
  if (region.read_only()) return Error{Errc::kReadOnly, "log: the region was opened read-only"};
  if (where.size_bytes < kPageBytes + 2 * options.segment_bytes)
    return Error{Errc::kInvalidOption,
                 "log: extent.size_bytes=" + std::to_string(where.size_bytes) +
                     "; at least 4096 and two segments of " +
                     std::to_string(options.segment_bytes) + " are needed"};
  const auto* frames = log_detail::frames_of(options.format);
  if (region.granularity() == Granularity::kPage && !frames->works_on_pages())
    return Error{Errc::kUnsupported,
                 "log: format " + std::string(frames->name()) +
                     " relies on lines; a medium that is durable by system calls needs checksum"};
  auto space = std::make_unique<Space>(region, where, options);
  HF_RETURN_IF_ERROR(space->create());
  return Log(std::move(space));
}

Result<Log> Log::open(Region& region, const Extent& where) {
  HF_RETURN_IF_ERROR(check_extent("log", region, where));
  auto space = std::make_unique<Space>(region, where, LogOptions{});
  HF_RETURN_IF_ERROR(space->open());
  return Log(std::move(space));
}

Result<Lsn> Log::append(Record record) { return space_->append(*space_->lanes()[0], {&record, 1}); }
Result<Lsn> Log::append_many(std::span<const Record> records) {
  return space_->append(*space_->lanes()[0], records);
}
Result<LogAppender> Log::appender() {
  HF_ASSIGN_OR_RETURN(auto* lane, space_->take_lane());
  return LogAppender(space_.get(), lane);
}
LogReader Log::read(Lsn from) const { return {space_.get(), from}; }
Status Log::truncate(Lsn up_to) { return space_->truncate(up_to); }
Status Log::sync() { return space_->sync(); }
Lsn Log::head() const { return {space_->head()}; }
Lsn Log::stable() const { return {space_->stable()}; }
std::uint64_t Log::max_record_bytes() const { return space_->max_record_bytes(); }
std::uint64_t Log::free_segments() const { return space_->free_segments(); }
const LogOptions& Log::options() const { return space_->options(); }
const Extent& Log::where() const { return space_->where(); }

LogAppender::LogAppender(LogAppender&& other) noexcept
    : space_(std::exchange(other.space_, nullptr)), lane_(other.lane_) {}
LogAppender& LogAppender::operator=(LogAppender&& other) noexcept {
  std::swap(space_, other.space_);
  std::swap(lane_, other.lane_);
  return *this;
}
LogAppender::~LogAppender() {
  if (space_ != nullptr) space_->give_back(*lane_);
}
Result<Lsn> LogAppender::append(Record record) { return space_->append(*lane_, {&record, 1}); }
Result<Lsn> LogAppender::append_many(std::span<const Record> records) {
  return space_->append(*lane_, records);
}

}  // namespace holdfast::blocks
