// Where records end, whatever pieces their bytes come in; gzip files; seeking.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/stream/durable_file.hpp>
#include <holdfast/stream/record_reader.hpp>

namespace holdfast::stream {
namespace {

// Gives `piece` bytes at a time, and nothing every other time, as a socket does; or as a file does.
class Pieces final : public Input {
 public:
  Pieces(std::string bytes, std::size_t piece, bool as_socket = true)
      : bytes_(std::move(bytes)), piece_(piece), as_socket_(as_socket) {}
  Result<std::size_t> read(char* to, std::size_t size) override {
    quiet_ = as_socket_ && !quiet_;
    if (quiet_) return std::size_t{0};
    const auto got = std::min({piece_, size, bytes_.size() - at_});
    std::memcpy(to, bytes_.data() + at_, got);
    at_ += got;
    return got;
  }
  bool at_end() const override { return at_ == bytes_.size(); }
  Status seek(std::uint64_t offset) override { return at_ = offset, Status(); }
  const std::string& name() const override { return name_; }

 private:
  std::string bytes_, name_ = "pieces";
  std::size_t piece_, at_ = 0;
  bool as_socket_, quiet_ = false;
};

// Records in brackets, errors as !, until the end.
std::string all_of(RecordReader& reader) {
  std::string all;
  while (!reader.at_end()) {
    std::string_view record;
    const auto got = reader.next(record);
    if (!got) all += got.code() == Errc::kCorrupt ? "!" : "?";
    if (got && *got) all += "[" + std::string(record) + "]";
  }
  return all;
}

TEST(RecordReader, PiecesOfAnyLengthMakeTheSameRecords) {
  for (const std::size_t piece : {1, 2, 3, 5, 100}) {
    RecordReader lines(std::make_unique<Pieces>("a\r\n\nb\"\nc\nlast", piece), Framing::kLines);
    EXPECT_EQ(all_of(lines), "[a][][b\"][c][last]") << piece;
    RecordReader quoted(std::make_unique<Pieces>("\"a\n\"\"\n\",1\nb\n", piece), Framing::kQuoted);
    EXPECT_EQ(all_of(quoted), "[\"a\n\"\"\n\",1][b]") << piece;
    RecordReader fixed(std::make_unique<Pieces>("aaabbbcc", piece), Framing::kFixed, 3);
    EXPECT_EQ(all_of(fixed), "[aaa][bbb]!") << piece;
  }
}

TEST(RecordReader, AQuoteWithinAFieldTakesNoLinesAway) {
  for (const std::size_t piece : {1, 2, 3, 100}) {
    RecordReader reader(
        std::make_unique<Pieces>("1,5\" pipe\n2;\"a\"\"\n\";x\n3\"\"\n\"o\npen", piece),
        Framing::kQuoted, 0, Quoting{.delimiter = ';'});
    EXPECT_EQ(all_of(reader), "[1,5\" pipe][2;\"a\"\"\n\";x][3\"\"][\"o\npen]") << piece;
  }
}

TEST(RecordReader, CommentsAndEscapesInPiecesOfAnyLength) {
  const std::string mark(kByteOrderMark);
  for (const std::size_t piece : {1, 2, 3, 4, 100}) {
    const Quoting quoting{.quote = '\'', .escape = '!', .comments = true};
    RecordReader reader(
        std::make_unique<Pieces>(mark + "#'\na,'!'\n!!'\n#\n!,'b\n'!!!'\n'\n#last", piece),
        Framing::kQuoted, 0, quoting);
    EXPECT_EQ(all_of(reader), "[a,'!'\n!!'][!,'b]['!!!'\n']") << piece;
    EXPECT_EQ(reader.records(), 3u);
  }
}

TEST(RecordReader, AByteOrderMarkIsNoPartOfTheFirstLine) {
  for (const std::size_t piece : {1, 2, 3, 100}) {
    const std::string bytes =
        std::string(kByteOrderMark) + "\"a\nb\"\n" + std::string(kByteOrderMark);
    RecordReader quoted(std::make_unique<Pieces>(bytes, piece), Framing::kQuoted);
    EXPECT_EQ(all_of(quoted), "[\"a\nb\"][" + std::string(kByteOrderMark) + "]") << piece;
    EXPECT_EQ(quoted.offset(), bytes.size());
    RecordReader plain(std::make_unique<Pieces>(std::string(kByteOrderMark), piece),
                       Framing::kPlainLines);
    EXPECT_EQ(all_of(plain), "[" + std::string(kByteOrderMark) + "]");
    RecordReader fixed(std::make_unique<Pieces>(std::string(kByteOrderMark), piece),
                       Framing::kFixed, 3);
    EXPECT_EQ(all_of(fixed), "[" + std::string(kByteOrderMark) + "]");
  }
}

TEST(RecordReader, ARecordThatIsTooLongIsSteppedOver) {
  const std::string long_one(RecordReader::kMaxRecordBytes + 300'000, 'x');
  RecordReader reader(std::make_unique<Pieces>("a\n" + long_one + "\nb\n" + long_one, 1 << 20),
                      Framing::kLines);
  EXPECT_TRUE(all_of(reader) == "[a]![b]!");
  EXPECT_EQ(reader.records(), 4u);
}

// A server that sends without end, and never a line's end.
class Endless final : public Input {
 public:
  Result<std::size_t> read(char* to, std::size_t size) override {
    if (at_end()) return std::size_t{0};
    std::memset(to, 'x', size);
    given += size;
    return size;
  }
  bool at_end() const override { return given > 20 * RecordReader::kMaxRecordBytes; }
  Status seek(std::uint64_t) override { return {}; }
  const std::string& name() const override { return name_; }

  std::uint64_t given = 0;

 private:
  std::string name_ = "endless";
};

TEST(RecordReader, ALineWithoutAnEndKeepsNobodyWaiting) {
  auto input = std::make_unique<Endless>();
  const auto& given = input->given;
  RecordReader reader(std::move(input), Framing::kLines);
  std::string_view record;
  EXPECT_EQ(reader.next(record).code(), Errc::kCorrupt);
  for (int again = 0; again < 2; ++again) {
    const auto before = given;
    EXPECT_FALSE(reader.next(record).value());
    EXPECT_LE(given - before, 4 * RecordReader::kMaxRecordBytes);
  }
}

// A quote without a partner was looked for in 16 MiB again from each line on: a file of such lines took
// hours.
TEST(RecordReader, LinesWithAQuoteThatOpensAreNotReadAgainForEachLine) {
  std::string bytes;
  while (bytes.size() < RecordReader::kMaxRecordBytes + 300'000)
    bytes += "a\"b,\"c\n";
  RecordReader reader(std::make_unique<Pieces>(bytes, bytes.size(), false), Framing::kQuoted);
  std::string_view record;
  for (int i = 0; i < 8 && !reader.at_end(); ++i)
    static_cast<void>(reader.next(record));
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(reader.records(), 2u);
}

// How much of it was skipped was a question of how much had been read.
TEST(RecordReader, AQuotedRecordThatIsTooLongEndsAtTheSamePlaceInPiecesOfAnyLength) {
  std::string bytes = "a\n\"";
  while (bytes.size() < RecordReader::kMaxRecordBytes + 300'000)
    bytes += "a line within quotes\n";
  bytes += "\"\nb\n";
  std::string all;
  std::uint64_t behind = 0, records = 0;
  for (const std::size_t piece : {bytes.size(), std::size_t{1} << 20, std::size_t{300'000}}) {
    RecordReader reader(std::make_unique<Pieces>(bytes, piece, false), Framing::kQuoted);
    std::string_view record;
    bool broken = false;
    while (!broken)
      broken = !reader.next(record);
    if (!all.empty()) {
      EXPECT_EQ(reader.offset(), behind) << piece;
    }
    behind = reader.offset();
    records = reader.records();
    const auto rest = all_of(reader);
    EXPECT_TRUE(all.empty() || rest == all) << piece;
    all = rest;
  }
  // So a run that goes on from there reads the same.
  RecordReader rest(std::make_unique<Pieces>(bytes, 1 << 20), Framing::kQuoted);
  ASSERT_TRUE(rest.seek(behind, records));
  EXPECT_TRUE(all_of(rest) == all);
}

TEST(RecordReader, ReadsOnFromAnyOffset) {
  const std::string bytes = "one\n\"t\nwo\"\nthree\n";
  RecordReader whole(std::make_unique<Pieces>(bytes, 3), Framing::kQuoted);
  std::string_view record;
  while (!*whole.next(record)) {
  }
  RecordReader rest(std::make_unique<Pieces>(bytes, 3), Framing::kQuoted);
  ASSERT_TRUE(rest.seek(whole.offset(), whole.records()));
  EXPECT_EQ(all_of(rest), "[\"t\nwo\"][three]");
  EXPECT_EQ(rest.offset(), bytes.size());
  EXPECT_EQ(rest.records(), 3u);
}

std::string temporary_file(const std::string& bytes) {
  char path[] = "/tmp/holdfast_input_XXXXXX";
  ::close(::mkstemp(path));
  replace_file(path, bytes).value();
  return path;
}

std::string packed(const std::string& bytes) {
  const auto path = temporary_file("");
  auto* file = ::gzopen(path.c_str(), "wb");
  ::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  ::gzclose(file);
  auto all = read_file(path).value();
  ::unlink(path.c_str());
  return all;
}

TEST(GzipInput, MembersOneBehindTheOtherAndSeeking) {
  const auto path = temporary_file(packed("one\ntw") + packed("o\nthree\n"));
  RecordReader reader(open_file_input(path).value(), Framing::kLines);
  EXPECT_EQ(all_of(reader), "[one][two][three]");
  ASSERT_TRUE(reader.seek(4, 1));
  EXPECT_EQ(all_of(reader), "[two][three]");
  EXPECT_EQ(reader.seek(15, 1).code(), Errc::kInvalidOption);
  ::unlink(path.c_str());
}

TEST(GzipInput, DamageIsAnErrorAtEveryByte) {
  const auto whole = packed("some lines\nof a file\nthat is packed\n");
  for (std::size_t size = 2; size < whole.size(); ++size) {
    const auto path = temporary_file(whole.substr(0, size));
    RecordReader reader(open_file_input(path).value(), Framing::kLines);
    std::string_view record;
    Result<bool> got = true;
    while (got && *got)
      got = reader.next(record);
    EXPECT_EQ(got.code(), Errc::kCorrupt) << "cut to " << size;
    ::unlink(path.c_str());
  }
  for (std::size_t at = 10; at < whole.size(); ++at) {
    auto damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    const auto path = temporary_file(damaged);
    RecordReader reader(open_file_input(path).value(), Framing::kLines);
    std::string_view record;
    Result<bool> got = true;
    while (got && *got)
      got = reader.next(record);
    EXPECT_FALSE(got) << "byte " << at;
    ::unlink(path.c_str());
  }
}

}  // namespace
}  // namespace holdfast::stream
