// A good star with any bytes changed is opened, verified and asked queries of SSB; one of columns
// then takes more rows, is merged and opened again. What must hold: nothing crashes, a refused open
// changes no byte, and where verify() finds nothing a merge changes no answer.
//
// Input: byte 0 chooses the star (columns, columns with rows that were appended, rows), byte 1 what
// is made right again; then changes of 4 bytes of place, one of kind and 8 of content.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/base/checksum.hpp>
#include <holdfast/memory/sealed_word.hpp>
#include <holdfast/olap/answer.hpp>
#include <holdfast/olap/catalogue_bytes.hpp>
#include <holdfast/olap/delta.hpp>
#include <holdfast/olap/rows/row_answer.hpp>
#include <holdfast/olap/ssb/queries.hpp>
#include <holdfast/olap/star_store.hpp>

#include "fuzz_region.hpp"

namespace {

using namespace holdfast;  // NOLINT: a fuzz target of one file.
using namespace holdfast::olap;

constexpr std::uint64_t kBytes = 64 * KiB;
constexpr std::uint32_t kRows = 150;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "star_fuzz: %s\n", what);
  std::abort();
}

Region& region() { return fuzz_region<kBytes>(); }

// Values that the queries ask for, and others.
std::vector<DimensionTable> dimensions() {
  const auto table = [](Dimension dimension, auto values_of) {
    std::vector<DimensionRow> rows;
    for (std::uint32_t key = 1; key <= 12; ++key)
      rows.push_back({key, values_of(key)});
    return DimensionTable::build(dimension, std::move(rows)).value();
  };
  using Values = std::array<std::string, kMaxAttributes>;
  const auto place = [](std::uint32_t key) -> Values {
    if (key % 3 == 0) return {"ASIA", "CHINA", "CHINA    3", ""};
    return {"EUROPE", "UNITED KINGDOM", "UNITED KI" + std::to_string(key % 2 * 4 + 1), ""};
  };
  const auto date = [](std::uint32_t key) -> Values {
    const auto year = std::to_string(1992 + key % 6);
    return {year, year + "12", "Dec" + year, "6"};
  };
  const auto part = [](std::uint32_t key) -> Values {
    const auto category = "MFGR#" + std::to_string(key % 2 + 1) + "2";
    return {category.substr(0, 6), category, category + std::to_string(20 + key % 3), ""};
  };
  return {table(Dimension::kDate, date), table(Dimension::kCustomer, place),
          table(Dimension::kSupplier, place), table(Dimension::kPart, part)};
}

EncodedBlock block_of(const std::vector<DimensionTable>& tables, std::uint32_t first) {
  FactRows rows;
  for (std::uint32_t row = first; row < first + kRows; ++row) {
    for (std::size_t i = 0; i < kDimensions; ++i) {
      const auto& leaf = tables[i].leaves()[(row * 7 + i) % tables[i].leaves().size()];
      const auto number = static_cast<Column>(3 * i);
      rows.columns[number].push_back(leaf.outer);
      rows.columns[number + 1u].push_back(leaf.inner);
      rows.columns[number + 2u].push_back(row % leaf.rows);
    }
    rows.columns[kQuantity].push_back(row % 50);
    rows.columns[kDiscount].push_back(row % 11);
    for (const Column column : {kExtendedPrice, kRevenue, kSupplyCost})
      rows.columns[column].push_back(row * 1000 + column);
  }
  return encode_block(rows, 0, kRows);
}

void load_rows(StarWriter& writer, const std::vector<DimensionTable>& tables) {
  for (std::size_t i = 0; i < kDimensions; ++i) {
    std::vector<DimensionTuple> tuples;
    for (const Leaf& leaf : tables[i].leaves()) {
      for (std::uint32_t row = 0; row < leaf.rows; ++row) {
        DimensionTuple& tuple = tuples.emplace_back();
        tuple.key = tables[i].keys()[leaf.first + row];
        for (std::size_t of = 0; of < kMaxAttributes; ++of) {
          const auto number = static_cast<std::uint32_t>(number_of(leaf.values[of]));
          if (kShapes[i].numeric[of])
            std::memcpy(tuple.places[of].bytes.data(), &number, sizeof number);
          else
            tuple.places[of].set(leaf.values[of]);
        }
      }
    }
    writer.set_tuples(static_cast<Dimension>(i), tuples).value();
  }
  std::vector<FactRow> rows(kRows / 2);
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    FactRow& of = rows[row];
    of.customer = of.part = of.supplier = row % 13, of.order_date = row % 12 + 1;
    of.quantity = row % 50, of.discount = row % 11;
    of.extended_price = of.revenue = row * 1000, of.supply_cost = row * 600;
  }
  writer.append(rows).value();
  writer.finish_rows("rows").value();
}

std::vector<std::byte> good_star(unsigned which) {
  std::memset(region().data(), 0, kBytes);
  const auto tables = dimensions();
  const auto store = StarStore::create(region()).value();
  {
    StarWriter writer(*store);
    if (which == 2) {
      load_rows(writer, tables);
    } else {
      writer.append(block_of(tables, 0)).value();
      writer.finish("columns", tables).value();
    }
  }
  for (std::uint32_t i = 1; which == 1 && i < 4; ++i) {
    const std::vector more{block_of(tables, i * kRows)};
    store->append(more).value();
  }
  return {region().data(), region().data() + kBytes};
}

template <class T>
T read(std::uint64_t at) {
  T value;
  std::memcpy(&value, region().data() + at, sizeof value);
  return value;
}
void write(std::uint64_t at, std::uint64_t value) {
  std::memcpy(region().data() + at, &value, sizeof value);
}

// Of the block at the end of a catalogue or of an entry of appended rows: each of ours has one.
void mend_block(std::uint64_t at) {
  const auto offset = read<std::uint64_t>(at);
  const auto rows = read<std::uint32_t>(at + 16);
  for (auto column = at + 20; column < at + kBlockInfoBytes; column += 24) {
    const auto from = offset + read<std::uint32_t>(column + 12);
    const auto bytes = column_bytes(rows, read<std::uint32_t>(column + 8));
    if (from < kBytes && bytes <= kBytes - from)
      write(column + 16, checksum64({region().data() + from, bytes}, rows));
  }
}
// Of the runs at the end of a catalogue of rows: four dimensions, a count, one of facts.
void mend_runs(std::uint64_t end) {
  for (const std::uint64_t before : {36, 76, 112, 148, 184}) {
    const auto from = read<std::uint64_t>(end - before);
    const auto rows = read<std::uint32_t>(end - before + 8);
    if (from < kBytes && rows <= (kBytes - from) / kRowBytes)
      write(end - before + 12, checksum64({region().data() + from, rows * kRowBytes}, rows));
  }
}
template <class Header, class Seed>
void mend_body(std::uint64_t at, bool content, bool rows, Seed seed_of) {
  const auto body = at + sizeof(Header);
  const auto bytes = read<Header>(at).body_bytes;
  if (bytes < kBlockInfoBytes || bytes > kBytes - body) return;
  if (content && rows) mend_runs(body + bytes);
  if (content && !rows) mend_block(body + bytes - kBlockInfoBytes);
  write(at + offsetof(Header, checksum),
        checksum64({region().data() + body, bytes}, seed_of(read<Header>(at))));
}

// The words that lead to the catalogue and to what was appended; all bodies; what they lead to.
void mend(unsigned what, bool rows) {
  const auto id = read<SuperblockHeader>(0).id;
  const auto seal = [&](std::uint64_t at, std::uint64_t context) {
    const auto value = SealedWord::value(read<std::uint64_t>(at));
    if ((what & 1) != 0) write(at, value == 0 ? 0 : seal_word<SealedWord>(value, context));
    return value * kCacheLineBytes;
  };
  const auto fits = [](std::uint64_t at) { return at != 0 && at <= kBytes - kCacheLineBytes; };
  const bool content = (what & 4) != 0;
  const auto root = seal(kRootAt, root_context(id));
  if (!fits(root)) return;
  if ((what & 2) != 0)
    mend_body<CatalogueHeader>(root, content, rows, [&](const auto&) { return id; });
  auto at = seal(root + offsetof(CatalogueHeader, deltas), delta_context(id, root));
  for (unsigned steps = 0; fits(at) && steps < 8 && (what & 2) != 0; ++steps) {
    mend_body<DeltaHeader>(at, content, false, [&](const DeltaHeader& of) {
      return mix64(mix64(id + of.previous) + of.number);
    });
    at = read<DeltaHeader>(at).previous * kCacheLineBytes;
  }
}

// The answers to some queries, and what kept some from being answered.
std::string ask(const StarVersion& star, const Kernels& with) {
  static Team team(1);
  std::string all;
  DimensionCopies copies;
  auto& indexes = fuzz_region<8 * MiB>();
  if (star.rows() != nullptr) {
    if (DimensionCopy::bytes_needed(*star.rows()) > indexes.size_bytes()) return "too large";
    for (std::uint64_t at = 0; at < indexes.size_bytes(); at += MiB)
      std::memset(indexes.data() + at, 0, kPageBytes);
    auto built = DimensionCopy::build(*star.rows(), indexes);
    if (!built) return built.error().detail;
    copies.add(0, std::move(*built));
  }
  for (const auto* name : {"q1.2", "q2.1", "q3.3", "q4.3"}) {  // One of each flight.
    const auto& query = *ssb::queries_of(name).value().front();
    const auto found = star.rows() != nullptr ? answer(query, *star.rows(), copies, team)
                                              : answer(query, star, team, with);
    all += found ? found->table.csv() : found.error().detail;
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::byte> stars[] = {good_star(0), good_star(1), good_star(2)};
  static const std::vector<std::vector<EncodedBlock>> more{{block_of(dimensions(), 7)}};
  if (size < 2) return 0;
  const unsigned which = data[0] % 3;
  std::memcpy(region().data(), stars[which].data(), kBytes);
  for (std::size_t at = 2; at + 13 <= size; at += 13) {
    std::uint32_t place;
    std::memcpy(&place, data + at, sizeof place);
    // Most of what is there is in the first 16 KiB.
    place %= (data[at + 4] & 1) != 0 ? kBytes - 8 : 16 * KiB;
    const std::size_t bytes = std::size_t{1} << (data[at + 4] >> 1 & 3);
    std::memcpy(region().data() + place, data + at + 5, bytes);
  }
  mend(data[1], which == 2);
  const std::vector<std::byte> before(region().data(), region().data() + kBytes);
  auto store = StarStore::open(region());
  require(store || size >= 15, "a good star was refused");
  if (!store) {
    require(std::memcmp(before.data(), region().data(), kBytes) == 0, "a refused open wrote");
    return 0;
  }
  if (!(*store)->loaded()) return 0;
  const bool good = (*store)->verify().empty();
  const Kernels& with = kernels(data[0] < 128 ? VectorWidth::kPortable : VectorWidth::kAvx512);
  (void)ask(*(*store)->version(), with);
  if (!(*store)->append(more[0])) return 0;
  const auto answers = ask(*(*store)->version(), with);
  if ((*store)->merge() && good)
    require(ask(*(*store)->version(), with) == answers, "a merge changed an answer");
  store->reset();
  store = StarStore::open(region());
  require(store || !good, "a star that was written to is refused");
  if (store && good) {
    require((*store)->verify().empty(), "what was written is damaged");
    require(ask(*(*store)->version(), with) == answers, "an opening changed an answer");
  }
  return 0;
}
