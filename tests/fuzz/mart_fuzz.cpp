// A good star of a user's own with any bytes changed is opened, verified, asked queries, merged,
// appended to and opened again. What must hold: nothing crashes, a refused open changes no byte, and
// where verify() finds nothing a merge changes no answer.
//
// Input: byte 0 says what is made right again; then changes of 4 bytes of place, one of kind and 8
// of content.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/base/checksum.hpp>
#include <holdfast/memory/sealed_word.hpp>
#include <holdfast/olap/mart/load.hpp>
#include <holdfast/olap/mart/star_answer.hpp>

#include "fuzz_region.hpp"

namespace {

using namespace holdfast;  // NOLINT: a fuzz target of one file.
using namespace holdfast::olap;
using namespace holdfast::olap::mart;

constexpr std::uint64_t kBytes = 128 * KiB;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "mart_fuzz: %s\n", what);
  std::abort();
}

Region& region() { return fuzz_region<kBytes>(); }

Schema schema() {
  const sql::Type text = sql::kStringType, number = sql::kBigIntType, date{sql::Kind::kDate};
  Schema schema;
  schema.tables = {{"sales",
                    {{"id", number, 0},
                     {"customer", number, 1},
                     {"sold", date, 2},
                     {"price", sql::decimal_type(12, 2), 0},
                     {"weight", sql::kDoubleType, 0},
                     {"channel", text, 0},
                     {"gift", sql::kBooleanType, 0},
                     {"at", {sql::Kind::kTimestamp, 3}, 0},
                     {"small", {sql::Kind::kTinyInt}, 0}},
                    0,
                    {}},
                   {"customers", {{"ckey", number, 0}, {"region", text, 0}}, 0, {1}},
                   {"days", {{"day", date, 0}, {"year", sql::kIntType, 0}}, 0, {}}};
  return schema;
}

Status read_text(Load& load, std::uint32_t table, const std::string& text) {
  const auto path = "/dev/shm/holdfast_mart_fuzz_" + std::to_string(::getpid());
  std::FILE* const file = std::fopen(path.c_str(), "w");
  require(file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
              std::fclose(file) == 0,
          "a file cannot be written");
  auto reader = CsvReader::open(path, {}).value();
  const auto status = load.read(table, reader, false);
  std::filesystem::remove(path);
  return status;
}

std::string sales(unsigned first) {
  std::string text;
  for (unsigned row = first; row < first + 60; ++row) {
    const auto or_null = [&](unsigned each, const std::string& value) {
      return row % each == 0 ? "," : "," + value;
    };
    text += std::to_string(row) + or_null(11, std::to_string(row % 5)) + ",2026-02-0" +
            std::to_string(row % 4 + 1) + or_null(7, std::to_string(row * 37 % 900) + ".25") +
            or_null(9, std::to_string(row) + ".5") + or_null(8, row % 2 == 0 ? "web" : "shop") +
            or_null(6, row % 3 == 0 ? "true" : "false") + ",2026-02-01 10:00:0" +
            std::to_string(row % 10) + "," + std::to_string(row % 100) + "\n";
  }
  return text;
}

std::vector<std::byte> good_star() {
  std::memset(region().data(), 0, kBytes);
  const auto store = MartStore::create(region()).value();
  {
    auto load = Load::replace(*store, schema(), UnknownKeys::kRefuse).value();
    read_text(load, 1, "0,ASIA\n1,EUROPE\n2,\n3,ASIA\n4,AFRICA\n").value();
    read_text(load, 2, "2026-02-01,2020\n2026-02-02,2021\n2026-02-03,\n2026-02-04,2023\n").value();
    read_text(load, 0, sales(0)).value();
    load.finish("sales").value();
  }
  for (const unsigned first : {60u, 120u}) {
    auto more = Load::append(*store, UnknownKeys::kRefuse).value();
    read_text(more, 0, sales(first)).value();
    more.finish("").value();
  }
  return {region().data(), region().data() + kBytes};
}

// The word that leads to the catalogue; its body; what that leads to.
void mend(unsigned what) {
  SuperblockHeader superblock;
  std::memcpy(&superblock, region().data(), sizeof superblock);
  const auto id = superblock.id;
  std::uint64_t root = 0;
  std::memcpy(&root, region().data() + kMartRootAt, sizeof root);
  const auto at = SealedWord::value(root) * kCacheLineBytes;
  if ((what & 1) != 0 && at != 0) {
    root = seal_word<SealedWord>(at / kCacheLineBytes, mart_root_context(id));
    std::memcpy(region().data() + kMartRootAt, &root, sizeof root);
  }
  const auto mend_body = [&] {
    MartHeader header;
    if (at > kBytes - sizeof header) return false;
    std::memcpy(&header, region().data() + at, sizeof header);
    const auto body = at + sizeof header;
    if (header.body_bytes > kBytes - body) return false;
    header.checksum = checksum64({region().data() + body, header.body_bytes}, id);
    std::memcpy(region().data() + at, &header, sizeof header);
    return true;
  };
  if ((what & 2) == 0 || !mend_body() || (what & 4) == 0) return;
  auto catalogue = read_mart_catalogue({region().data(), kBytes}, at, id);
  if (!catalogue) return;
  for (auto& table : catalogue->tables) {
    for (auto& block : table.blocks) {
      for (auto& column : block.columns)
        column.checksum = checksum64(
            {region().data() + block.offset + column.offset, column.bytes(block.rows)}, block.rows);
    }
    for (auto& pieces : table.dictionaries) {
      for (auto& piece : pieces)
        piece.checksum = checksum64(
            {region().data() + piece.place.offset_bytes, piece.place.size_bytes}, piece.texts);
    }
  }
  const auto bytes = to_bytes(*catalogue, id);
  if (bytes.size() <= kBytes - at) std::memcpy(region().data() + at, bytes.data(), bytes.size());
}

// The answers, and what kept some queries from being answered.
std::string ask(const MartVersion& version, VectorWidth width) {
  static Team team(1);
  std::string all;
  for (const char* query :
       {"SELECT * FROM sales LIMIT 20", "SELECT COUNT(*), SUM(id), SUM(price), MAX(at) FROM sales",
        "SELECT region, year, channel, COUNT(*), SUM(price), AVG(weight), MIN(sold), MAX(small) "
        "FROM "
        "sales LEFT JOIN customers ON customer = ckey LEFT JOIN days ON sold = day GROUP BY "
        "region, "
        "year, channel ORDER BY region, year, channel",
        "SELECT COUNT(DISTINCT id), SUM(small + id) FROM sales JOIN customers ON customer = ckey "
        "WHERE region = 'ASIA' AND gift AND price > 10 AND weight < 100"}) {
    const auto found = answer(query, version, team, width);
    if (!found) all += found.error().detail;
    for (std::size_t row = 0; found && row < found->rows.size(); ++row) {
      for (std::size_t i = 0; i < found->types.size(); ++i)
        all += sql::text_of(found->rows[row][i], found->types[i]) + ",";
    }
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::byte> star = good_star();
  if (size < 1) return 0;
  std::memcpy(region().data(), star.data(), kBytes);
  for (std::size_t at = 1; at + 13 <= size; at += 13) {
    std::uint32_t place = 0;
    std::memcpy(&place, data + at, sizeof place);
    place %= (data[at + 4] & 1) != 0 ? kBytes - 8 : 32 * KiB;  // Most is there.
    std::memcpy(region().data() + place, data + at + 5, std::size_t{1} << (data[at + 4] >> 1 & 3));
  }
  mend(data[0]);
  const std::vector<std::byte> before(region().data(), region().data() + kBytes);
  auto store = MartStore::open(region());
  require(store || size >= 14, "a good star was refused");
  if (!store) {
    require(std::memcmp(before.data(), region().data(), kBytes) == 0, "a refused open wrote");
    return 0;
  }
  if ((*store)->version() == nullptr) return 0;
  const auto width = data[0] < 128 ? VectorWidth::kPortable : VectorWidth::kAvx512;
  const bool good = (*store)->version()->verify().empty();
  const auto answers = ask(*(*store)->version(), width);
  if (!merge(**store)) return 0;
  if (good) require(ask(*(*store)->version(), width) == answers, "a merge changed an answer");
  {
    auto more = Load::append(**store, UnknownKeys::kNull);
    if (more && more->schema() == schema() && read_text(*more, 0, sales(180)))
      static_cast<void>(more->finish(""));
  }
  store->reset();
  store = MartStore::open(region());
  require(store || !good, "a star that was written to is refused");
  if (store && good) require((*store)->version()->verify().empty(), "what was written is damaged");
  return 0;
}
