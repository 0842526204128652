#include "compiled_host.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <holdfast/base/check.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/user_calls.hpp>
#include <holdfast/sql/zone.hpp>
#include <holdfast/stream/compile/user_aggregates.hpp>

namespace holdfast::stream::compile {
namespace {

static_assert(static_cast<int>(query::Change::kDelete) == static_cast<int>(RowKind::kDelete));
static_assert(static_cast<int>(query::Change::kUpdateBefore) ==
              static_cast<int>(RowKind::kUpdateBefore));

Error no_entry() { return {Errc::kCorrupt, "an entry of the state is none of this query"}; }

std::string_view view(query::Text text) { return {text.data, text.size}; }

void set_value(const query::Slot& slot, const sql::Type& type, sql::Value& value) {
  value.null = slot.null;
  if (slot.null) return;
  if (type.is_bytes())
    value.text.assign(slot.text.data, slot.text.size);
  else if (type.is_real())
    value.real = slot.real;
  else
    value.number = slot.number;
}

}  // namespace

CompiledHost::CompiledHost(const sql::Plan& plan, const QuerySource& source, Sink* sink,
                           StateStore* store, const graph::Retention& retention,
                           LateRows* late_rows)
    : plan_(plan),
      columns_(plan.columns()),
      layout_(source.result),
      parts_(source.parts),
      sink_(sink),
      records_(dynamic_cast<RecordSink*>(sink)),
      store_(store),
      retention_(retention),
      late_rows_(late_rows),
      out_(columns_.size()) {
  HF_CHECK(source.shape.stored || store == nullptr);
  HF_CHECK(source.shape.forgets || !retention.ends());
  look_at_clock();
}

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
  give(std::move(value), part.expression->type, out);
  return true;
}

void CompiledHost::give(sql::Value value, const sql::Type& type, query::Slot& out) {
  out.null = value.null;
  if (value.null) return;
  if (type.is_bytes())
    out.text = text_of(texts_.emplace_back(std::move(value.text)));
  else if (type.is_real())
    out.real = value.real;
  else
    out.number = value.number;
}

// ---- Functions of users ----

bool CompiledHost::call(std::uint32_t call, const query::Slot* arguments, query::Slot& out) {
  const auto& part = *parts_.calls[call];
  const auto& function = static_cast<const sql::UserCall&>(*part.prepared);
  std::array<functions::Slot, sql::kMostUserArguments> slots;
  for (std::size_t i = 0; i < part.arguments.size(); ++i)
    slots[i] = slot_of(arguments[i]);
  sql::UserReply reply;
  if (const Status called = function.call(slots.data(), reply); !called)
    return take(sql::error_at(part.at, called.error().detail));
  if (part.type.is_bytes() && !reply.value.null)
    out = {.text = text_of(texts_.emplace_back(std::move(reply.text))), .null = false};
  else
    out = std::bit_cast<query::Slot>(reply.value);
  return true;
}

const query::UserAggregate* CompiledHost::user_aggregate(std::uint32_t number) {
  return compile::user_aggregate(number_of(*parts_.user_aggregates[number]->user));
}

bool CompiledHost::user_result(std::uint32_t number, const void* state, query::Slot& out) {
  const auto& aggregate = *parts_.user_aggregates[number];
  auto value = state_of(state).result(*aggregate.user);
  if (!value) return take(sql::error_at(aggregate.at, value.error().detail));
  give(*std::move(value), aggregate.type, out);
  return true;
}

void CompiledHost::fail_user(std::uint32_t number, const void* state) {
  take(sql::error_at(parts_.user_aggregates[number]->at, state_of(state).error().detail));
}

bool CompiledHost::average(std::uint32_t failure, query::Int128 sum, std::int64_t count,
                           std::uint32_t shift, query::Int128& out) {
  const auto quotient = sql::divided(sum, count, shift);
  if (!quotient) return fail(failure), false;
  out = *quotient;
  return true;
}

bool CompiledHost::write(const query::Change* changes, const std::byte* records,
                         std::size_t count) {
  if (records_ != nullptr) {
    rows_out += count;
    kinds_.resize(count);
    std::transform(changes, changes + count, kinds_.begin(),
                   [](query::Change change) { return static_cast<RowKind>(change); });
    return take(records_->write_records(kinds_, std::span(records, count * layout_.bytes)));
  }
  for (std::size_t i = 0; i < count; ++i) {
    ++rows_out;
    if (!take(write_row(changes[i], records + i * layout_.bytes))) return false;
  }
  return true;
}

Status CompiledHost::write_row(query::Change change, const std::byte* record) {
  read_record(columns_, layout_, record, out_);
  if (change == query::Change::kInsert) return sink_->write(out_);
  return sink_->write_change(static_cast<RowKind>(change), out_);
}

bool CompiledHost::put(std::int64_t slice, query::Text key, query::Text state) {
  return take(store_->put(slice, view(key), view(state)));
}

bool CompiledHost::put_block(std::int64_t slice, query::Text block, bool in_run,
                             std::uint64_t& generation) {
  return take(store_->put_block(slice, view(block), in_run, generation));
}

bool CompiledHost::next_generation(std::int64_t slice, std::uint64_t& generation,
                                   query::BlockPlace& run) {
  return take(store_->next_generation(slice, generation, run));
}

bool CompiledHost::next_block(std::int64_t slice, std::uint64_t generation,
                              query::BlockPlace& place, query::Text& block) {
  const bool read = take(store_->next_block(slice, generation, place, block_));
  block = text_of(block_);
  return read;
}

void CompiledHost::refuse_entry() { take(no_entry()); }

bool CompiledHost::take_late(std::size_t node, std::size_t input, const query::Slot* columns,
                             std::int64_t watermark) {
  const auto& given = plan_.nodes[plan_.nodes[node].inputs[input]].columns;
  row_.resize(given.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    set_value(columns[i], given[i].type, row_[i]);
  return take(late_rows_->take_late(node, input, row_, watermark));
}

bool CompiledHost::for_each(std::int64_t slice, query::VisitEntries& visit) {
  return take(
      store_->for_each_entry(slice, [&](std::string_view key, std::string_view state) -> Status {
        if (visit.entry(text_of(key), text_of(state))) return {};
        return no_entry();
      }));
}

bool CompiledHost::group_by(std::int64_t slice, query::Grouping grouping) {
  const auto grouped = store_->group_by(slice, grouping, 0);
  return grouped ? *grouped : take(grouped.error());
}

namespace {

auto visit_by(query::VisitVersions& visit) {
  return [&visit](std::string_view key, std::string_view state, std::uint64_t version) -> Status {
    if (visit.entry(text_of(key), text_of(state), version)) return {};
    return no_entry();
  };
}

}  // namespace

bool CompiledHost::for_each_of_group(std::int64_t slice, query::Text group,
                                     query::VisitVersions& visit) {
  return take(store_->for_each_of_group(slice, view(group), visit_by(visit)));
}

bool CompiledHost::for_each_of_times(std::int64_t slice, std::int64_t from, std::int64_t until,
                                     query::VisitVersions& visit, std::int64_t& beyond) {
  const auto found = store_->for_each_of_times(slice, from, until, visit_by(visit));
  if (!found) return take(found.error());
  beyond = *found;
  return true;
}

bool CompiledHost::replace(std::int64_t slice, query::Text key, query::Text state,
                           std::uint64_t& version) {
  return take(store_->replace(slice, view(key), view(state), version));
}

void CompiledHost::find_span(bool of_walls, std::int64_t time, query::ZoneSpan& span) const {
  HF_CHECK(parts_.zone != nullptr);
  const auto found = of_walls ? parts_.zone->span_of_wall(time) : parts_.zone->span_at(time);
  span = {found.from, found.until, found.shift_ms, found.least_wall};
}

}  // namespace holdfast::stream::compile
