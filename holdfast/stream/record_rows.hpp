// record_rows.hpp: the rows of a file that is records one behind the other, each read by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <holdfast/stream/file_rows.hpp>
#include <holdfast/stream/format.hpp>
#include <holdfast/stream/record_reader.hpp>

namespace holdfast::stream {

class RecordRows final : public FileRows {
 public:
  // `format` outlives it.
  RecordRows(std::unique_ptr<Input> input, const ReadFormat& format)
      : reader_(std::move(input), format.framing, format.record_bytes, format.quoting),
        format_(format) {}

  Result<bool> next(sql::Row& row, Misread& misread) override {
    for (;;) {
      misread.wrong.clear();
      misread.bytes = {};
      misread.made = false;
      const auto got = reader_.next(misread.bytes);
      if (!got && got.code() != Errc::kCorrupt) return got.error();
      if (!got) {
        misread.bytes = {};
        misread.wrong = reader_.reason_of(got.error());
        return true;
      }
      if (!*got) return false;
      if (format_.header && reader_.records() == 1) continue;
      misread.made = format_.reader->read(misread.bytes, row, misread.wrong);
      return true;
    }
  }
  Position position() const override { return {reader_.offset(), reader_.records()}; }
  Status seek(Position position) override {
    return reader_.seek(position.offset, position.records);
  }
  std::string where() const override { return "record " + std::to_string(reader_.records()); }
  std::string place() const override {
    return where() + ", byte " + std::to_string(reader_.offset());
  }

 private:
  RecordReader reader_;
  const ReadFormat& format_;
};

}  // namespace holdfast::stream
