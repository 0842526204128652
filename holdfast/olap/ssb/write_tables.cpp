#include <holdfast/olap/ssb/write_tables.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <holdfast/olap/in_order.hpp>
#include <holdfast/olap/ssb/fact_line.hpp>

namespace holdfast::olap::ssb {
namespace {

constexpr std::uint64_t kRowsAtOnce = 16'384;
constexpr std::uint64_t kOrdersAtOnce = 8'192;

Error file_error(const std::string& path) {
  const int code = errno;
  const Errc kind = code == ENOSPC ? Errc::kNoSpace : code == ENOENT ? Errc::kNotFound : Errc::kIo;
  return {kind, path + ": " + std::strerror(code)};
}

struct Text {
  std::string bytes;
  std::uint64_t lines = 0;
};

// Appends pieces to a file.
class TextFile {
 public:
  static Result<TextFile> create(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) return file_error(path);
    std::setvbuf(file, nullptr, _IONBF, 0);  // Pieces are large.
    return TextFile(file, path);
  }
  Status append(const std::string& bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size())
      return file_error(path_);
    return {};
  }
  Status close() {
    if (std::fclose(file_.release()) != 0) return file_error(path_);
    return {};
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  TextFile(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}
  std::unique_ptr<std::FILE, Close> file_;
  std::string path_;
};

// Pieces of `at_once` items each, by append(item, text).
template <class Append>
Status write_file(const std::string& path, std::uint64_t items, std::uint64_t at_once,
                  unsigned threads, WrittenTables& written, const Append& append) {
  HF_ASSIGN_OR_RETURN(auto file, TextFile::create(path));
  const auto make = [&](std::uint64_t piece) -> Result<Text> {
    Text text;
    const auto end = std::min((piece + 1) * at_once, items);
    for (auto item = piece * at_once; item < end; ++item)
      text.lines += append(item, text.bytes);
    return text;
  };
  const auto take = [&](const Text& text) -> Status {
    written.lines += text.lines;
    written.bytes += text.bytes.size();
    return file.append(text.bytes);
  };
  HF_RETURN_IF_ERROR(in_order<Text>((items + at_once - 1) / at_once, threads, make, take));
  return file.close();
}

}  // namespace

Result<WrittenTables> write_tables(const Generator& generator, const std::string& directory,
                                   unsigned threads) {
  WrittenTables written;
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const auto dimension = static_cast<Dimension>(i);
    HF_RETURN_IF_ERROR(write_file(
        directory + "/" + std::string(shape(dimension).table) + ".tbl", generator.rows(dimension),
        kRowsAtOnce, threads, written, [&](std::uint64_t row, std::string& text) {
          generator.append_text(dimension, static_cast<std::uint32_t>(row), text);
          return 0u;
        }));
  }
  HF_RETURN_IF_ERROR(write_file(directory + "/lineorder.tbl", generator.orders(), kOrdersAtOnce,
                                threads, written, [&](std::uint64_t number, std::string& text) {
                                  const Order order = generator.order(number);
                                  generator.append_text(order, text);
                                  return order.lines;
                                }));
  return written;
}

Result<WrittenTables> export_lines(const StoredRows& rows, const std::string& path,
                                   unsigned threads) {
  // Checked here once; then reading cannot fail.
  for (std::size_t run = 0; run < rows.runs(); ++run)
    HF_RETURN_IF_ERROR(rows.facts(run));
  WrittenTables written;
  HF_RETURN_IF_ERROR(
      write_file(path, rows.runs(), 1, threads, written, [&](std::uint64_t run, std::string& text) {
        const auto facts = rows.facts(run).value();
        for (const FactRow& row : facts)
          append_line(row, text);
        return facts.size();
      }));
  return written;
}

}  // namespace holdfast::olap::ssb
