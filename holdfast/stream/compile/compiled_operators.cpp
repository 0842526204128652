#include "compiled_operators.hpp"

#include <memory>
#include <utility>

#include <holdfast/stream/compile/compiled_part.hpp>

namespace holdfast::stream::compile {
namespace {

constexpr std::size_t kRows = 256;

}  // namespace

CompiledOperators::CompiledOperators(const sql::Plan& plan,
                                     std::shared_ptr<const QuerySource> source,
                                     std::shared_ptr<const Library> library, Sink& sink,
                                     StateStore* store)
    : plan_(plan),
      source_(std::move(source)),
      layout_(source_->layouts.front()),
      store_(store),
      library_(std::move(library)),
      host_(plan, *source_, &sink, store),
      query_(library_->make_query(host_)) {}

Result<std::unique_ptr<CompiledOperators>> CompiledOperators::after(
    const Operators& before, const sql::Plan& plan, std::shared_ptr<const QuerySource> source,
    std::shared_ptr<const Library> library, Sink& sink, StateStore* store) {
  std::unique_ptr<CompiledOperators> operators(
      new CompiledOperators(plan, std::move(source), std::move(library), sink, store));
  auto& compiled = *operators->query_;
  const auto counts = before.counts();
  compiled.adopt({counts.watermark, counts.late_rows, counts.rows_without_time});
  operators->host_.rows_out = counts.rows_out;
  for (const auto slice : before.stored_slices())
    compiled.adopt_stored(slice);
  HF_RETURN_IF_ERROR(before.visit_entries(
      [&](std::int64_t slice, std::string_view key, std::string_view state) -> Status {
        if (compiled.adopt_entry(slice, text_of(key), text_of(state))) return {};
        return Error{Errc::kCorrupt, "an entry of the state is none of this query"};
      }));
  return operators;
}

OperatorCounts CompiledOperators::counts() const {
  const auto counts = query_->counts();
  return {counts.watermark, counts.late_rows, counts.rows_without_time, host_.rows_out};
}

// The operators are one loop; what comes in and goes out is known.
std::vector<OperatorProgress> CompiledOperators::operators() const {
  const auto now = counts();
  std::vector<OperatorProgress> all;
  for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
    OperatorProgress progress;
    progress.node = node;
    progress.what = sql::text_of(plan_.nodes[node], plan_.nodes);
    progress.watermark_ms = now.watermark;
    if (node + 1 == plan_.nodes.size()) progress.rows_out = now.rows_out;
    if (std::holds_alternative<sql::Group>(plan_.nodes[node].what)) {
      progress.late_rows = now.late_rows;
      progress.rows_without_time = now.rows_without_time;
    }
    all.push_back(std::move(progress));
  }
  return all;
}

std::unique_ptr<Part> CompiledOperators::make_part(std::int64_t watermark, Part::Give give) const {
  return std::make_unique<CompiledPart>(plan_, source_, library_, watermark, std::move(give));
}

void CompiledOperators::absorb(Parcel& parcel) {
  query_->absorb(*static_cast<CompiledParcel&>(parcel).given);
}

Status CompiledOperators::advance(std::int64_t watermark) {
  return query_->advance_to(watermark) ? Status() : host_.status();
}

Status CompiledOperators::end() { return query_->end() ? Status() : host_.status(); }

Status CompiledOperators::put_state() {
  if (store_ == nullptr) return {};
  return query_->put_state(store_->keeps_entries()) ? Status() : host_.status();
}

Result<Operators::Progress> CompiledOperators::take(Source& source) {
  auto* const direct = dynamic_cast<RecordSource*>(&source);
  if (direct == nullptr) return take_rows(source);
  const auto position = source.position();
  HF_ASSIGN_OR_RETURN(const auto records, direct->next_records());
  HF_RETURN_IF_ERROR(take_records(source, records, position));
  return Progress{records.size() / layout_.bytes, records.empty()};
}

Result<Operators::Progress> CompiledOperators::take_rows(Source& source) {
  if (rows_.empty()) {
    rows_.resize(kRows, sql::Row(plan_.source().columns.size()));
    records_.resize(kRows * layout_.bytes);
  }
  const auto position = source.position();
  Batch batch;
  read_rows(source, rows_, batch);
  for (std::size_t i = 0; i < batch.rows; ++i)
    write_record(plan_.source(), layout_, rows_[i], records_.data() + i * layout_.bytes);
  HF_RETURN_IF_ERROR(
      take_records(source, std::span(records_).first(batch.rows * layout_.bytes), position));
  if (!batch.source) return batch.source.error();
  return Progress{batch.rows, batch.ended};
}

Status CompiledOperators::take_records(Source& source, std::span<const std::byte> records,
                                       const std::string& position) {
  std::size_t taken = 0;
  if (query_->take(records.data(), records.size() / layout_.bytes, taken)) return {};
  Error error = host_.status().error();
  go_behind(source, position, taken, plan_.source().columns.size());
  error.detail += " (at " + source.place() + ")";
  return error;
}

}  // namespace holdfast::stream::compile
