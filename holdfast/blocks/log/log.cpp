#include <holdfast/blocks/log/log.hpp>

#include <algorithm>
#include <cstring>
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
    return invalid("format=" + std::to_string(static_cast<int>(format)) + " (" +
                   std::string(name(format)) + ") is no LogFormat of this build");
  const auto smallest = frames->min_segment_bytes();
  if (segment_bytes % kPageBytes != 0 || segment_bytes < smallest || segment_bytes > 256 * MiB)
    return invalid("segment_bytes=" + std::to_string(segment_bytes) +
                   "; allowed are multiples of 4096 from " + std::to_string(smallest) +
                   " to 256 MiB");
  if (lanes < 1 || lanes > 64)
    return invalid("lanes=" + std::to_string(lanes) + "; allowed are 1 to 64");
  if (!frames->works_dense() && !padded)
    return invalid("padded=false; frames of format " + std::string(frames->name()) +
                   " are whole lines");
  return {};
}

Log::Log(std::unique_ptr<Space> space) : space_(std::move(space)) {}
Log::Log(Log&&) noexcept = default;
Log& Log::operator=(Log&&) noexcept = default;
Log::~Log() = default;

namespace {

// What create() and replace() ask before they look at what lies there.
Status check_creation(const Region& region, const Extent& where, const LogOptions& options) {
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
  return {};
}

}  // namespace

Result<Log> Log::create(Region& region, const Extent& where, const LogOptions& options) {
  HF_RETURN_IF_ERROR(check_creation(region, where, options));
  HF_ASSIGN_OR_RETURN(auto claim, region.claim(where, "a log"));
  HF_RETURN_IF_ERROR(refuse_to_overwrite("log", region, where));
  auto space = std::make_unique<Space>(region, where, options, std::move(claim));
  HF_RETURN_IF_ERROR(space->create());
  return Log(std::move(space));
}

Result<Log> Log::replace(Region& region, const Extent& where, const LogOptions& options) {
  HF_RETURN_IF_ERROR(check_creation(region, where, options));
  HF_ASSIGN_OR_RETURN(auto claim, region.claim(where, "a log"));
  auto space = std::make_unique<Space>(region, where, options, std::move(claim));
  HF_RETURN_IF_ERROR(space->create());
  return Log(std::move(space));
}

Result<Log> Log::open(Region& region, const Extent& where) {
  HF_RETURN_IF_ERROR(check_extent("log", region, where));
  HF_ASSIGN_OR_RETURN(auto claim, region.claim(where, "a log"));
  auto space = std::make_unique<Space>(region, where, LogOptions{}, std::move(claim));
  HF_RETURN_IF_ERROR(space->open());
  return Log(std::move(space));
}

Result<Log> Log::open_or_create(Region& region, const Extent& where, const LogOptions& options) {
  auto log = open(region, where);
  if (log || log.code() != Errc::kNotHoldfast) return log;
  // Fresh media begin with zeros, and so does what a crash left of a creation.
  std::uint64_t word = 0;
  std::memcpy(&word, region.data() + where.offset_bytes, sizeof word);
  if (word != 0)
    return Error{Errc::kAlreadyExists,
                 "log: at offset " + std::to_string(where.offset_bytes) +
                     " of the region begins what is no log; Log::replace() makes one of it"};
  return create(region, where, options);
}

Result<Lsn> Log::append(Record record) { return space_->append(*space_->lanes()[0], {&record, 1}); }
Result<Lsn> Log::append_many(std::span<const Record> records) {
  return space_->append(*space_->lanes()[0], records);
}
Result<LogPlace> Log::append_placed(Record record) {
  return space_->append_placed(*space_->lanes()[0], record);
}
Result<Log::Found> Log::record_at(std::uint64_t at_bytes) const {
  log_detail::Frame frame;
  HF_RETURN_IF_ERROR(space_->read_at(at_bytes, frame));
  return Found{{frame.lsn}, frame.record};
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
std::uint64_t Log::size_bytes() const { return space_->size_bytes(); }

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
Result<LogPlace> LogAppender::append_placed(Record record) {
  return space_->append_placed(*lane_, record);
}
Result<Lsn> LogAppender::append_many(std::span<const Record> records) {
  return space_->append(*lane_, records);
}

}  // namespace holdfast::blocks
