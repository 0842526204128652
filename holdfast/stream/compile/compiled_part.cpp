#include "compiled_part.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace holdfast::stream::compile {
namespace {

constexpr std::size_t kRowsAtOnce = 256;
// So many that taking them off the source, one worker after the other, costs little beside them.
constexpr std::size_t kClaimed = 2048;

// Rows, and the records that are made of them, which point into them; or records of a source that
// has them.
class Records final : public Batch {
 public:
  std::vector<sql::Row> values;
  const SharedRecordSource* shared = nullptr;  // Null: the rows are in `values`.
  RecordClaim claim;
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

std::unique_ptr<Batch> CompiledPart::make_batch() const { return std::make_unique<Records>(); }

void CompiledPart::read(Source& source, Batch& batch) const {
  auto& records = static_cast<Records&>(batch);
  auto* const shared = dynamic_cast<SharedRecordSource*>(&source);
  records.shared = shared;
  if (shared == nullptr) {
    records.values.resize(kRowsAtOnce, sql::Row(plan_.source().columns.size()));
    return read_rows(source, records.values, batch);
  }
  records.claim = shared->claim(kClaimed);
  records.rows = records.claim.count;
  records.ended = records.rows == 0;
  records.source = {};
}

void CompiledPart::prepare(Batch& batch, bool watermark) {
  auto& records = static_cast<Records&>(batch);
  records.records.resize((records.shared != nullptr ? kClaimed : kRowsAtOnce) * layout_.bytes);
  auto* const data = records.records.data();
  if (records.shared != nullptr) {
    records.shared->read(records.claim, data);
  } else {
    for (std::size_t i = 0; i < records.rows; ++i)
      write_record(plan_.source(), layout_, records.values[i], data + i * layout_.bytes);
  }
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
