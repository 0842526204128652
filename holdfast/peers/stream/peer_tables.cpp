#include <holdfast/peers/stream/peer_tables.hpp>

#include <stdlib.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include <holdfast/base/check.hpp>
#include <holdfast/stream/record.hpp>

namespace holdfast::bench::stream {
namespace {

namespace hs = holdfast::stream;

// Bytes are gathered here before they go to a file.
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

class ColumnFile {
 public:
  explicit ColumnFile(std::string path) : path_(std::move(path)), file_(path_, std::ios::binary) {
    buffer_.reserve(kBufferBytes);
  }
  void add(const void* bytes, std::size_t count) {
    if (buffer_.size() + count > kBufferBytes) flush();
    const auto* const from = static_cast<const char*>(bytes);
    buffer_.insert(buffer_.end(), from, from + count);
  }
  Status close() {
    flush();
    file_.close();
    if (!file_) return Error{Errc::kIo, "writing " + path_ + ": is the file system full?"};
    return {};
  }

 private:
  void flush() {
    file_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  const std::string path_;
  std::ofstream file_;
  std::vector<char> buffer_;
};

// The column that lies at `at` in each record.
struct Column {
  std::span<const std::byte> records;
  std::size_t record_bytes, at;
};

Status write_numbers(const std::string& path, const Column& column) {
  ColumnFile file(path);
  for (auto at = column.at; at < column.records.size(); at += column.record_bytes)
    file.add(column.records.data() + at, sizeof(std::int64_t));
  return file.close();
}

Status write_texts(const std::string& path, const Column& column) {
  ColumnFile file(path), ends(path + ".ends");
  std::uint64_t end = 0;
  ends.add(&end, sizeof end);
  for (auto at = column.at; at < column.records.size(); at += column.record_bytes) {
    hs::RecordText text;
    std::memcpy(&text, column.records.data() + at, sizeof text);
    file.add(text.data, text.bytes);
    end += text.bytes;
    ends.add(&end, sizeof end);
  }
  HF_RETURN_IF_ERROR(file.close());
  return ends.close();
}

}  // namespace

Result<std::unique_ptr<PeerTables>> PeerTables::make(const std::string& parent) {
  std::error_code failure;
  const std::filesystem::path place = parent.empty() ? std::filesystem::temp_directory_path(failure)
                                                     : std::filesystem::path(parent);
  auto path = (place / "holdfast-peers-XXXXXX").string();
  if (!failure && ::mkdtemp(path.data()) == nullptr) failure.assign(errno, std::generic_category());
  if (failure)
    return Error{Errc::kIo, "making " + path + " for other engines: " + failure.message() +
                                (parent.empty() ? "; TMPDIR names another directory"
                                                : "; --region names another place")};
  return std::unique_ptr<PeerTables>(new PeerTables(path));
}

PeerTables::~PeerTables() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Status PeerTables::write(const sql::Table& table, std::span<const std::byte> records) const {
  const auto layout = hs::RecordLayout::of(table);
  HF_CHECK(layout.has_value());
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.computed[i] != nullptr) continue;
    const auto& type = table.columns[i].type;
    const Column column{records, layout->bytes, layout->offsets[i]};
    const auto path = path_ + "/" + table.name + "." + table.columns[i].name;
    if (type.kind == sql::Kind::kString) {
      HF_RETURN_IF_ERROR(write_texts(path, column));
    } else {
      HF_CHECK(hs::record_width(type) == sizeof(std::int64_t));
      HF_RETURN_IF_ERROR(write_numbers(path, column));
    }
  }
  return {};
}

void PeerTables::remove(const sql::Table& table) const {
  for (const auto& column : table.columns) {
    std::error_code failure;
    for (const auto* end : {"", ".ends"})
      std::filesystem::remove(path_ + "/" + table.name + "." + column.name + end, failure);
  }
}

}  // namespace holdfast::bench::stream
