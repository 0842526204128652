#include <holdfast/bench/stream/nexmark_events.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include <holdfast/bench/stream/nexmark_queries.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/source.hpp>

namespace holdfast::bench::stream {
namespace {

namespace hs = holdfast::stream;

constexpr std::array<const std::string_view*, kNexmarkQueries> kQueries = {
    &kNexmarkQ0,  &kNexmarkQ1,  &kNexmarkQ2,  &kNexmarkQ3,  &kNexmarkQ4,  &kNexmarkQ5,
    &kNexmarkQ6,  &kNexmarkQ7,  &kNexmarkQ8,  &kNexmarkQ9,  &kNexmarkQ10, &kNexmarkQ11,
    &kNexmarkQ12, &kNexmarkQ13, &kNexmarkQ14, &kNexmarkQ15, &kNexmarkQ16, &kNexmarkQ17,
    &kNexmarkQ18, &kNexmarkQ19, &kNexmarkQ20, &kNexmarkQ21, &kNexmarkQ22};

void replace_all(std::string& text, std::string_view what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

std::string tables_sql(std::uint64_t events, std::uint64_t seed) {
  std::string text(kNexmarkTables);
  replace_all(text, "'number-of-events' = '100000'",
              "'number-of-events' = '" + std::to_string(events) + "', 'seed' = '" +
                  std::to_string(seed) + "'");
  replace_all(text, "'events-per-second' = '1000'", "'events-per-second' = '10000'");
  return text;
}

// The bytes of a record that hold no column are 0, and so is what is NULL.
sql::Value value_at(const std::byte* place, const sql::Type& type) {
  if (type.kind == sql::Kind::kString) {
    hs::RecordText text;
    std::memcpy(&text, place, sizeof text);
    return sql::Value::of_text(std::string(text.data, text.bytes));
  }
  std::int64_t number = 0;  // All others of these tables are BIGINT and TIMESTAMP.
  std::memcpy(&number, place, sizeof number);
  return sql::Value::of(number);
}

using Kinds = std::span<const hs::RowKind>;

// Of a column in records that are so far from each other, those that go subtracted.
template <class T>
std::uint64_t sum_of(const std::byte* place, Kinds kinds, std::size_t distance) {
  std::uint64_t sum = 0;
  for (const auto kind : kinds) {
    T value;
    std::memcpy(&value, place, sizeof value);
    const auto number = Answer::number_of(value);
    sum += hs::adds(kind) ? number : -number;
    place += distance;
  }
  return sum;
}

std::uint64_t sum_of(const sql::Type& type, const std::byte* place, Kinds kinds,
                     std::size_t distance) {
  if (type.kind == sql::Kind::kString) return sum_of<RecordText>(place, kinds, distance);
  if (type.is_real()) return sum_of<double>(place, kinds, distance);
  switch (hs::record_width(type)) {
    case 1: return sum_of<std::int8_t>(place, kinds, distance);
    case 2: return sum_of<std::int16_t>(place, kinds, distance);
    case 4: return sum_of<std::int32_t>(place, kinds, distance);
    default: return sum_of<std::int64_t>(place, kinds, distance);  // Or the low half.
  }
}

}  // namespace

std::string Answer::text() const {
  std::string text = std::to_string(rows) + " rows, sums";
  for (const auto sum : sums)
    text += " " + std::to_string(static_cast<std::int64_t>(sum));
  return text;
}

std::optional<unsigned> nexmark_number(std::string_view query) {
  constexpr std::string_view kBefore = "nexmark-q";
  unsigned number = 0;
  if (!query.starts_with(kBefore)) return std::nullopt;
  const auto digits = query.substr(kBefore.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number >= kNexmarkQueries)
    return std::nullopt;
  return number;
}

std::string nexmark_sql(unsigned number, std::uint64_t events, std::uint64_t seed) {
  return tables_sql(events, seed) + std::string(*kQueries[number]);
}

Result<std::unique_ptr<NexmarkEvents>> NexmarkEvents::make(std::uint64_t events,
                                                           std::uint64_t seed) {
  auto made = std::make_unique<NexmarkEvents>();
  HF_ASSIGN_OR_RETURN(
      const auto script,
      hs::Script::prepare(tables_sql(events, seed) + "SELECT * FROM person; SELECT * FROM auction; "
                                                     "SELECT * FROM bid;"));
  made->tables_.resize(3);
  for (std::size_t i = 0; i < 3; ++i)
    HF_RETURN_IF_ERROR(made->fill(made->tables_[i], script.plans()[i]));
  const bool alike = made->persons().layout.bytes == sizeof(Person) &&
                     made->auctions().layout.bytes == sizeof(Auction) &&
                     made->bids().layout.bytes == sizeof(Bid);
  if (!alike) return Error{Errc::kUnsupported, "the records of NEXMark have another layout"};
  return made;
}

Status NexmarkEvents::fill(EventTable& table, const sql::Plan& plan) {
  const auto& columns = plan.source();
  table.name = columns.name;
  table.layout = hs::RecordLayout::of(columns).value();
  HF_ASSIGN_OR_RETURN(const auto source, hs::open_source(columns));
  sql::Row row(columns.columns.size());
  for (;;) {
    HF_ASSIGN_OR_RETURN(const bool more, source->next(row));
    if (!more) return {};
    const auto at = table.records.size();
    table.records.resize(at + table.layout.bytes);
    std::byte* const record = table.records.data() + at;
    hs::write_record(columns, table.layout, row, record);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (columns.computed[i] != nullptr || columns.columns[i].type.kind != sql::Kind::kString)
        continue;
      const auto kept = keep(row[i].text);
      const hs::RecordText text{kept.data(), kept.size()};
      std::memcpy(record + table.layout.offsets[i], &text, sizeof text);
    }
  }
}

std::string_view NexmarkEvents::keep(std::string_view text) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  if (texts_.empty() || texts_.back().capacity() - texts_.back().size() < text.size())
    texts_.emplace_back().reserve(std::max(kChunk, text.size()));
  auto& chunk = texts_.back();
  const auto at = chunk.size();
  chunk.insert(chunk.end(), text.begin(), text.end());
  return {chunk.data() + at, text.size()};
}

const EventTable& NexmarkEvents::table(const std::string& name) const {
  return *std::find_if(tables_.begin(), tables_.end(),
                       [&](const EventTable& table) { return table.name == name; });
}

// ---- Sources ----
Result<std::span<const std::byte>> MemorySource::next_records() {
  const auto count = std::min(kBlock, events_.rows() - at_);
  const auto* const first = events_.records.data() + at_ * events_.layout.bytes;
  at_ += count;
  return std::span(first, count * events_.layout.bytes);
}

Result<bool> MemorySource::next(sql::Row& row) {
  if (at_ == events_.rows()) return false;
  const auto* const record = events_.records.data() + at_ * events_.layout.bytes;
  for (std::size_t i = 0; i < table_.columns.size(); ++i) {
    if (table_.computed[i] == nullptr)
      row[i] = value_at(record + events_.layout.offsets[i], table_.columns[i].type);
  }
  ++at_;
  return true;
}

std::string MemorySource::position() const {
  hs::ByteWriter bytes;
  bytes.number(at_);
  return bytes.take();
}

Status MemorySource::seek(std::string_view position) {
  hs::ByteReader bytes(position);
  at_ = bytes.number();
  if (!bytes.ok() || at_ > events_.rows())
    return Error{Errc::kCorrupt, "the checkpoint has no number of an event"};
  return {};
}

Status SummingSink::write_change(hs::RowKind kind, const sql::Row& row) {
  const std::uint64_t sign = hs::adds(kind) ? 1 : ~std::uint64_t{0};
  answer_.rows += static_cast<std::int64_t>(sign);
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i].null) continue;
    const auto& type = columns_[i].type;
    answer_.sums[i] += sign * (type.kind == sql::Kind::kString ? row[i].text.size()
                               : type.is_real() ? static_cast<std::uint64_t>(row[i].real)
                                                : static_cast<std::uint64_t>(row[i].number));
  }
  return {};
}

Status SummingSink::write_records(Kinds kinds, std::span<const std::byte> records) {
  const auto added = std::count_if(kinds.begin(), kinds.end(), hs::adds);
  answer_.rows += 2 * added - static_cast<std::int64_t>(kinds.size());
  for (std::size_t i = 0; i < columns_.size(); ++i)  // What is NULL is 0.
    answer_.sums[i] +=
        sum_of(columns_[i].type, records.data() + layout_.offsets[i], kinds, layout_.bytes);
  return {};
}

}  // namespace holdfast::bench::stream
