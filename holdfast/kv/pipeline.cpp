#include <holdfast/kv/pipeline.hpp>

#include <string>
#include <utility>

#include <holdfast/kv/pipeline_window.hpp>

namespace holdfast::kv {
namespace {

using Verb = Operation::Verb;

Error no_pipeline() { return {Errc::kClosed, "the pipeline was moved from; open another"}; }

// For a pipeline that was moved from.
std::uint64_t refuse_closed(const std::function<void(Result<std::uint64_t>)>& done) {
  if (done) done(no_pipeline());
  return 0;
}

}  // namespace

Status PipelineOptions::validate() const {
  if (window < 1 || window > 256) {
    return Error{Errc::kInvalidOption,
                 "window=" + std::to_string(window) + "; 1 to 256 operations are allowed"};
  }
  if (durability > Durability::kPower) {
    return Error{Errc::kInvalidOption,
                 "durability=" + std::to_string(static_cast<unsigned>(durability)) +
                     "; 0 (kDefault) to 2 (kPower) is allowed"};
  }
  return {};
}

void PipelineWindowDeleter::operator()(PipelineWindow* window) const { delete window; }

PipelineBase::PipelineBase(PipelineWindowPointer window) : window_(std::move(window)) {}
PipelineBase::PipelineBase(PipelineBase&&) noexcept = default;
PipelineBase::~PipelineBase() = default;

Result<PipelineWindowPointer> PipelineBase::open_window(StoreBase& store,
                                                        const PipelineOptions& options) {
  HF_RETURN_IF_ERROR(options.validate());
  if (store.core() == nullptr) return store.closed();
  return PipelineWindowPointer(new PipelineWindow(*store.core(), options));
}

Status PipelineBase::flush() { return window_ ? window_->flush() : Status(no_pipeline()); }
std::size_t PipelineBase::in_flight() const { return window_ ? window_->in_flight() : 0; }
Result<std::uint64_t> PipelineBase::outcome_of(std::uint64_t ticket) {
  if (!window_) return no_pipeline();
  return window_->outcome_of(ticket);
}

std::uint64_t PipelineBase::submit_put(std::string_view key, std::string_view value,
                                       Receiver done) {
  if (!window_) [[unlikely]]
    return refuse_closed(done);
  window_->begin(Verb::kPut, key, value);
  return window_->submit(done);
}

std::uint64_t PipelineBase::submit_erase(std::string_view key, Receiver done) {
  if (!window_) [[unlikely]]
    return refuse_closed(done);
  window_->begin(Verb::kErase, key);
  return window_->submit(done);
}

std::uint64_t PipelineBase::submit_get(std::string_view key, std::string& value, Receiver done) {
  if (!window_) [[unlikely]]
    return refuse_closed(done);
  window_->begin(Verb::kGet, key).text = &value;
  return window_->submit(done);
}

std::uint64_t PipelineBase::submit_get(std::string_view key, std::span<std::byte> buffer,
                                       bool length, Receiver done) {
  if (!window_) [[unlikely]]
    return refuse_closed(done);
  Operation& operation = window_->begin(Verb::kGetBuffer, key);
  operation.buffer = buffer;
  operation.wants_length = length;
  return window_->submit(done);
}

std::uint64_t PipelineBase::submit_update(std::string_view key, ChangeValue change, bool fixed_size,
                                          Receiver done) {
  if (!window_) [[unlikely]]
    return refuse_closed(done);
  Operation& operation = window_->begin(Verb::kUpdate, key);
  operation.change = std::move(change);
  operation.fixed_bytes = fixed_size;
  return window_->submit(done);
}

std::uint64_t PipelineBase::submit_update_word(std::string_view key, std::uint32_t offset_bytes,
                                               ChangeWord change, Receiver done) {
  if (!window_) [[unlikely]]
    return refuse_closed(done);
  Operation& operation = window_->begin(Verb::kUpdateWord, key);
  operation.offset_bytes = offset_bytes;
  operation.change_word = std::move(change);
  return window_->submit(done);
}

}  // namespace holdfast::kv
