#include "compiled_part.hpp"

#include <memory>
#include <utility>

namespace holdfast::stream::compile {
namespace {

// So many that taking them off the source, one worker after the other, costs little beside them.
constexpr std::size_t kRecords = 2048;
constexpr std::size_t kRows = 256;

// Records; those of a source of rows point into these.
class Records final : public Batch {
 public:
  Records(const RecordLayout& layout, std::size_t columns)
      : memory_(std::make_unique<std::byte[]>(kRecords * layout.bytes + layout.alignment)),
        rows_of_columns_(columns) {
    void* place = memory_.get();
    std::size_t space = kRecords * layout.bytes + layout.alignment;
    records = static_cast<std::byte*>(
        std::align(layout.alignment, kRecords * layout.bytes, place, space));
  }
  std::vector<sql::Row>& values() {
    if (values_.empty()) values_.resize(kRows, sql::Row(rows_of_columns_));
    return values_;
  }

  std::byte* records = nullptr;
  const RecordSource* direct = nullptr;  // Null: rows are in values().
  RecordClaim claim;

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::vector<sql::Row> values_;
  std::size_t rows_of_columns_;
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
      layout_(source_->layout),
      library_(std::move(library)),
      host_(plan, source_->parts, library_, std::move(give)),
      query_(library_->make(host_)) {
  query_->adopt({watermark, 0, 0});
  query_->become_part();
}

std::unique_ptr<Batch> CompiledPart::make_batch() const {
  return std::make_unique<Records>(layout_, plan_.source().columns.size());
}

void CompiledPart::read(Source& source, Batch& batch) const {
  auto& records = static_cast<Records&>(batch);
  auto* const direct = dynamic_cast<RecordSource*>(&source);
  records.direct = direct;
  if (direct == nullptr) return read_rows(source, records.values(), batch);
  records.claim = direct->claim(kRecords);
  records.rows = records.claim.count;
  records.ended = records.rows == 0;
  records.source = {};
}

void CompiledPart::prepare(Batch& batch, bool watermark) {
  auto& records = static_cast<Records&>(batch);
  if (records.direct != nullptr) {
    records.direct->read(records.claim, records.records);
  } else {
    for (std::size_t i = 0; i < batch.rows; ++i)
      write_record(plan_.source(), layout_, records.values()[i],
                   records.records + i * layout_.bytes);
  }
  records.highest = kNoWatermark;
  records.sound = records.rows;
  records.unsound = {};
  if (watermark &&
      !query_->find_watermark(records.records, records.rows, records.highest, records.sound))
    records.unsound = host_.take_status();
}

Status CompiledPart::take(const Batch& batch, std::size_t& failed) {
  const auto& records = static_cast<const Records&>(batch);
  std::size_t taken = 0;
  if (query_->take(records.records, records.sound, taken))
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
