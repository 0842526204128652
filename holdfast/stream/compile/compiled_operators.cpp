#include "compiled_operators.hpp"

#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include <holdfast/sql/evaluate.hpp>
#include <holdfast/stream/compile/compiled_part.hpp>

namespace holdfast::stream::compile {
namespace {

constexpr std::size_t kRows = 256;
// A source may wait for its rows: those that are there are not kept waiting with it.
constexpr std::chrono::milliseconds kPatience{10};

std::string_view view(query::Text text) { return {text.data, text.size}; }
query::Text text_of(std::string_view text) { return {text.data(), text.size()}; }

void set_value(const query::Slot& slot, const sql::Type& type, sql::Value& value) {
  value.null = slot.null;
  if (slot.null) return;
  if (type.kind == sql::Kind::kString)
    value.text.assign(slot.text.data, slot.text.size);
  else if (type.is_real())
    value.real = slot.real;
  else
    value.number = slot.number;
}

const sql::Project& projection_of(const sql::Plan& plan) {
  return std::get<sql::Project>(plan.nodes.back().what);
}

}  // namespace

CompiledHost::CompiledHost(const sql::Plan& plan, const QueryParts& parts, Sink* sink,
                           StateStore* store)
    : plan_(plan),
      parts_(parts),
      sink_(sink),
      store_(store),
      out_(projection_of(plan).expressions.size()) {}

bool CompiledHost::take(const Status& status) {
  if (!status && status_) status_ = status;
  return bool(status);
}

bool CompiledHost::evaluate(std::uint32_t expression, const query::Slot* columns,
                            query::Slot& out) {
  const auto& part = parts_.interpreted[expression];
  row_.resize(part.width);
  for (std::size_t i = 0; i < part.columns.size(); ++i)
    set_value(columns[i], part.types[i], row_[part.columns[i]]);
  sql::Value value;
  if (!take(sql::evaluate(*part.expression, row_, value))) return false;
  out.null = value.null;
  if (value.null) return true;
  if (part.expression->type.kind == sql::Kind::kString)
    out.text = text_of(texts_.emplace_back(std::move(value.text)));
  else if (part.expression->type.is_real())
    out.real = value.real;
  else
    out.number = value.number;
  return true;
}

bool CompiledHost::average(std::uint32_t failure, query::Int128 sum, std::int64_t count,
                           std::uint32_t shift, query::Int128& out) {
  const auto quotient = sql::divided(sum, count, shift);
  if (!quotient) return fail(failure), false;
  out = *quotient;
  return true;
}

bool CompiledHost::write(const query::Slot* row) {
  const auto& expressions = projection_of(plan_).expressions;
  for (std::size_t i = 0; i < out_.size(); ++i)
    set_value(row[i], expressions[i]->type, out_[i]);
  ++rows_out;
  return take(sink_->write(out_));
}

bool CompiledHost::put(std::int64_t slice, query::Text key, query::Text state) {
  return take(store_->put(slice, view(key), view(state)));
}

bool CompiledHost::for_each(std::int64_t slice, query::VisitEntry& visit) {
  return take(store_->for_each(slice, [&](std::string_view key, std::string_view state) -> Status {
    if (visit(text_of(key), text_of(state))) return {};
    return Error{Errc::kCorrupt, "an entry of the state is none of this query"};
  }));
}

CompiledOperators::CompiledOperators(const sql::Plan& plan,
                                     std::shared_ptr<const QuerySource> source,
                                     std::shared_ptr<const Library> library, Sink& sink,
                                     StateStore* store)
    : plan_(plan),
      source_(std::move(source)),
      layout_(source_->layout),
      store_(store),
      library_(std::move(library)),
      host_(plan, source_->parts, &sink, store),
      query_(library_->make(host_)) {}

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
  using Clock = std::chrono::steady_clock;
  if (memory_ == nullptr) {
    rows_.resize(kRows, sql::Row(plan_.source().columns.size()));
    memory_ = std::make_unique<std::byte[]>(kRows * layout_.bytes + layout_.alignment);
    void* place = memory_.get();
    std::size_t space = kRows * layout_.bytes + layout_.alignment;
    records_ =
        static_cast<std::byte*>(std::align(layout_.alignment, kRows * layout_.bytes, place, space));
  }
  const auto position = source.position();
  const auto patient_until = Clock::now() + kPatience;
  Progress progress;
  Result<bool> more = true;
  while (progress.rows < kRows && Clock::now() < patient_until) {
    auto& row = rows_[progress.rows];
    more = source.next(row);
    if (!more || !*more) break;
    write_record(plan_.source(), layout_, row, records_ + progress.rows * layout_.bytes);
    ++progress.rows;
  }
  HF_RETURN_IF_ERROR(
      take_records(source, std::span(records_, progress.rows * layout_.bytes), position));
  if (!more) return more.error();
  progress.ended = !*more && source.ended();
  return progress;
}

Status CompiledOperators::take_records(Source& source, std::span<const std::byte> records,
                                       const std::string& position) {
  std::size_t taken = 0;
  if (query_->take(records.data(), records.size() / layout_.bytes, taken)) return {};
  Error error = host_.status().error();
  // The place of the row that failed, not of the last one that was read.
  sql::Row row(plan_.source().columns.size());
  bool there = bool(source.seek(position));
  for (std::size_t i = 0; i < taken && there; ++i)
    there = bool(source.next(row));
  error.detail += " (at " + source.place() + ")";
  return error;
}

}  // namespace holdfast::stream::compile
