// The source 'connector' = 'socket': the records that a server sends, until it closes. They cannot
// be asked for again: what came behind the last checkpoint is lost with a crash (at most once).
#include <utility>

#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/format.hpp>
#include <holdfast/stream/malformed.hpp>
#include <holdfast/stream/sources.hpp>

namespace holdfast::stream {
namespace {

class SocketSource final : public Source {
 public:
  SocketSource(std::unique_ptr<Input> input, ReadFormat format, Malformed malformed)
      : reader_(std::move(input), format.framing, format.record_bytes, format.quoting),
        format_(std::move(format)),
        malformed_(std::move(malformed)) {}

  Result<bool> next(sql::Row& row) override {
    for (int malformed = 0; malformed < Malformed::kAtOnce; ++malformed) {
      std::string_view record;
      const auto got = reader_.next(record);
      if (!got && got.code() != Errc::kCorrupt) return got.error();
      if (got && !*got) return false;
      if (!got) record = {};
      wrong_ = got ? "" : reader_.reason_of(got.error());
      const bool made = got && format_.reader->read(record, row, wrong_);
      if (wrong_.empty()) return true;
      HF_ASSIGN_OR_RETURN(const bool counts, malformed_.take(place(), wrong_, record, made));
      if (counts) return true;
    }
    return false;
  }
  bool ended() const override { return reader_.at_end(); }
  std::string position() const override {
    ByteWriter bytes;
    bytes.number(malformed_.count());
    return bytes.take();
  }
  Status seek(std::string_view position) override {
    ByteReader bytes(position);
    malformed_.set_count(bytes.number());
    return bytes.ok() ? Status() : Error{Errc::kCorrupt, "the checkpoint is of no socket"};
  }
  std::string place() const override {
    return reader_.name() + ", record " + std::to_string(reader_.records());
  }
  std::uint64_t malformed() const override { return malformed_.count(); }
  std::vector<std::string> malformed_samples() const override { return malformed_.samples(); }

 private:
  RecordReader reader_;
  ReadFormat format_;
  Malformed malformed_;
  std::string wrong_;
};

}  // namespace

Result<std::unique_ptr<Source>> open_socket_source(const sql::Table& table, TableOptions& options) {
  const auto host = options.text("hostname").value_or("localhost");
  HF_ASSIGN_OR_RETURN(const auto port, options.number("port", 0));
  if (port < 1 || port > 65535) return options.wrong("port", "a number from 1 to 65535");
  HF_ASSIGN_OR_RETURN(auto format,
                      read_format_of(table, all_physical(table, Carrier::kStream), options));
  const auto name = options.text("format").value_or("");
  HF_ASSIGN_OR_RETURN(auto malformed, Malformed::of(table, options, format.ignore_errors,
                                                    name + ".ignore-parse-errors"));
  HF_RETURN_IF_ERROR(options.all_known());
  HF_ASSIGN_OR_RETURN(auto input, open_socket_input(host, static_cast<std::uint16_t>(port)));
  return std::unique_ptr<Source>(
      std::make_unique<SocketSource>(std::move(input), std::move(format), std::move(malformed)));
}

}  // namespace holdfast::stream
