#include "compiled_part.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace holdfast::stream::compile {
namespace {

constexpr std::size_t kRows = 256;

// Rows, and the records that are made of them, which point into them.
class Records final : public Batch {
 public:
  Records(const RecordLayout& layout, std::size_t columns)
      : values(kRows, sql::Row(columns)), records(kRows * layout.bytes) {}

  std::vector<sql::Row> values;
  std::vector<std::byte> records;
};

}  // namespace

void CompiledPart::Giver::give(std::int64_t end, query::Parcel* given) {
  auto parcel = std::make_unique<CompiledParcel>();
  parcel->library = library_;
  parcel->given.reset(given);
  give_(end, std::move(parcel));
}

CompiledPart::CompiledPart(const sql::Plan& plan, std::shared_ptr<const QuerySource> source,
                           std::shared_ptr<const Library> library, std::int64_t watermark,
                           Give give)
    : plan_(plan),
      source_(std::move(source)),
      layout_(source_->layouts.front()),
      library_(std::move(library)),
      host_(plan, *source_, library_, std::move(give)),
      query_(library_->make_query(host_)) {
  query_->adopt({watermark, 0, 0});
  query_->become_part();
}

std::unique_ptr<Batch> CompiledPart::make_batch() const {
  return std::make_unique<Records>(layout_, plan_.source().columns.size());
}

void CompiledPart::read(Source& source, Batch& batch) const {
  read_rows(source, static_cast<Records&>(batch).values, batch);
}

void CompiledPart::prepare(Batch& batch, bool watermark) {
  auto& records = static_cast<Records&>(batch);
  auto* const data = records.records.data();
  for (std::size_t i = 0; i < records.rows; ++i)
    write_record(plan_.source(), layout_, records.values[i], data + i * layout_.bytes);
  records.highest = kNoWatermark;
  records.sound = records.rows;
  records.unsound = {};
  if (watermark && !query_->find_watermark(data, records.rows, records.highest, records.sound))
    records.unsound = host_.take_status();
}

Status CompiledPart::take(const Batch& batch, std::size_t& failed) {
  const auto& records = static_cast<const Records&>(batch);
  std::size_t taken = 0;
  if (query_->take(records.records.data(), records.sound, taken))
    return failed = records.sound, records.unsound;
  failed = taken - 1;
  return host_.status();
}

Status CompiledPart::advance(std::int64_t watermark) {
  return query_->advance_to(watermark) ? Status() : host_.status();
}

OperatorCounts CompiledPart::counts() const {
  const auto counts = query_->counts();
  return {counts.watermark, counts.late_rows, counts.rows_without_time, 0};
}

}  // namespace holdfast::stream::compile
