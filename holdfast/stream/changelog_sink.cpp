#include "changelog_sink.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::stream {
namespace {

class ChangelogSink : public Sink {
 public:
  explicit ChangelogSink(const std::vector<sql::Column>& columns) {
    columns_.push_back({"op", sql::kStringType});
    columns_.insert(columns_.end(), columns.begin(), columns.end());
  }
  Status open(const Output& output, OutputFormat format) {
    HF_ASSIGN_OR_RETURN(inner_, open_sink(nullptr, columns_, output, format));
    return {};
  }

  Status begin(std::uint64_t epoch, std::string_view state) override {
    return inner_->begin(epoch, state);
  }
  Status begin_from(std::uint64_t epoch, std::string_view state) override {
    return inner_->begin_from(epoch, state);
  }
  Status write(const sql::Row& row) override { return write_change(RowKind::kInsert, row); }
  bool takes_changes() const override { return true; }
  Status write_change(RowKind kind, const sql::Row& row) override {
    row_.resize(1 + row.size());  // Texts keep their room.
    row_[0].null = false;
    row_[0].text = text_of(kind);
    std::copy(row.begin(), row.end(), row_.begin() + 1);
    return inner_->write(row_);
  }
  Status prepare(std::uint64_t epoch) override { return inner_->prepare(epoch); }
  Status commit(std::uint64_t epoch) override { return inner_->commit(epoch); }
  std::string state() const override { return inner_->state(); }
  bool full() const override { return inner_->full(); }

 private:
  std::vector<sql::Column> columns_;
  std::unique_ptr<Sink> inner_;
  sql::Row row_;
};

}  // namespace

Result<std::unique_ptr<Sink>> open_changelog_sink(const std::vector<sql::Column>& columns,
                                                  const Output& output, OutputFormat format) {
  auto sink = std::make_unique<ChangelogSink>(columns);
  HF_RETURN_IF_ERROR(sink->open(output, format));
  return std::unique_ptr<Sink>(std::move(sink));
}

}  // namespace holdfast::stream
