// What a crash leaves behind:
//
//  root word            the state
//  0                    nothing was loaded yet, or a first load did not finish
//  leads to a catalogue that version; what lies outside of its extent does not count
//  check fails          kCorrupt
#include <holdfast/olap/star_store.hpp>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/memory/sealed_word.hpp>

namespace holdfast::olap {

StarStore::StarStore(Region& region, std::uint64_t id, Claim claim)
    : claim_(std::move(claim)), region_(&region), id_(id) {}

Result<std::unique_ptr<StarStore>> StarStore::create(Region& region) {
  const Extent whole{0, region.size_bytes()};
  if (region.read_only())
    return Error{Errc::kReadOnly, "star: cannot be created in a read-only region"};
  if (region.size_bytes() < kDataAt)
    return Error{Errc::kNoSpace, "star: the region has " + std::to_string(region.size_bytes()) +
                                     " bytes; at least " + std::to_string(kDataAt) +
                                     " are needed without any table"};
  HF_ASSIGN_OR_RETURN(auto claim, region.claim(whole, "star"));
  HF_RETURN_IF_ERROR(refuse_to_overwrite("star", region, whole));
  HF_ASSIGN_OR_RETURN(const auto header, new_header(kStarFormat, {}));
  const DurableWriter writer(region);
  HF_RETURN_IF_ERROR(writer.put_word(kRootAt, 0));
  HF_RETURN_IF_ERROR(write_superblock(writer, 0, header, {}));
  return std::unique_ptr<StarStore>(new StarStore(region, header.id, std::move(claim)));
}

Result<std::unique_ptr<StarStore>> StarStore::open(Region& region) {
  if (region.size_bytes() < kDataAt)
    return Error{Errc::kNotHoldfast, "star: the region is too small to hold one"};
  HF_ASSIGN_OR_RETURN(auto claim, region.claim({0, region.size_bytes()}, "star"));
  HF_ASSIGN_OR_RETURN(const auto header,
                      read_superblock(kStarFormat, {region.data(), kPageBytes}, {}));
  std::unique_ptr<StarStore> store(new StarStore(region, header.id, std::move(claim)));
  HF_RETURN_IF_ERROR(store->read_root());
  return store;
}

Result<std::unique_ptr<StarStore>> StarStore::open_or_create(Region& region) {
  const auto first = std::span(region.data(), std::min(region.size_bytes(), kPageBytes));
  const bool empty =
      std::all_of(first.begin(), first.end(), [](std::byte byte) { return byte == std::byte{0}; });
  return empty ? create(region) : open(region);
}

Status StarStore::read_root() {
  const DurableWriter writer(*region_);
  if (!region_->read_only()) {
    // A process that was killed may have stored it and not waited. What follows rests on it.
    writer.persist().write_back(writer.at(kRootAt), sizeof(std::uint64_t));
    HF_RETURN_IF_ERROR(writer.order());
  }
  const auto root = open_or_unwritten<SealedWord>(writer.word(kRootAt), root_context(id_));
  if (!root)
    return Error{Errc::kCorrupt, "star: the root word (at " + std::to_string(kRootAt) +
                                     ") is damaged; load the tables into a new region"};
  if (*root == 0) return {};
  HF_ASSIGN_OR_RETURN(auto catalogue, read_catalogue({region_->data(), region_->size_bytes()},
                                                     *root * kCacheLineBytes, id_));
  adopt(std::move(catalogue));
  return {};
}

void StarStore::adopt(Catalogue catalogue) {
  rows_ = catalogue.layout == Layout::kByRow
              ? std::make_unique<StoredRows>(*region_, catalogue.row_tables)
              : nullptr;
  catalogue_ = std::move(catalogue);
  checked_ = std::make_unique<std::atomic<std::uint32_t>[]>(catalogue_->blocks.size());
}

Status StarStore::check(std::size_t number, Column column) const {
  const BlockInfo& info = catalogue_->blocks[number];
  const ColumnInfo& of = info.columns[column];
  if (!of.constant() &&
      HF_MUTANT("O02",
                checksum64({block(number) + of.offset, column_bytes(info.rows, of.width)},
                           info.rows) != of.checksum,
                false))
    return Error{Errc::kCorrupt,
                 "star: block " + std::to_string(number) + ", column " +
                     std::string(kColumnNames[column]) + " (at " +
                     std::to_string(info.offset + of.offset) +
                     "): the checksum does not fit; load the tables again, or restore a copy"};
  checked_[number].fetch_or(std::uint32_t{1} << column, std::memory_order_release);
  return {};
}

namespace {

// How many rows each leaf has, by outer * 256 + inner; so a key is looked up without a search.
std::vector<std::uint32_t> rows_by_digits(const DimensionTable& table) {
  std::vector<std::uint32_t> rows(65'536);
  for (const Leaf& leaf : table.leaves())
    rows[leaf.outer * 256u + leaf.inner] = leaf.rows;
  return rows;
}

// What is wrong with the values of a block whose checksums fit; empty if nothing is.
std::string check_values(const Catalogue& catalogue, const std::byte* bytes,
                         const BlockInfo& info) {
  std::array<std::vector<std::uint32_t>, kColumns> values;
  for (Column column = 0; column < kColumns; ++column) {
    values[column].resize(info.rows);
    for (std::uint32_t row = 0; row < info.rows; ++row)
      values[column][row] = value_at(bytes, info, column, row);
    const auto [least, most] = std::minmax_element(values[column].begin(), values[column].end());
    if (*least < info.columns[column].min || *most > info.columns[column].max)
      return std::string(kColumnNames[column]) + " is outside of its bounds";
  }
  for (const auto& table : catalogue.dimensions) {
    const auto rows = rows_by_digits(table);
    const auto digit = [&](Digit which) { return values[column(table.dimension(), which)].data(); };
    const auto *outer = digit(Digit::kOuter), *inner = digit(Digit::kInner),
               *ordinal = digit(Digit::kOrdinal);
    for (std::uint32_t row = 0; row < info.rows; ++row) {
      if (ordinal[row] >= rows[outer[row] * 256 + inner[row]])
        return "a key leads to no row of " + std::string(shape(table.dimension()).table);
    }
  }
  return "";
}

}  // namespace

std::vector<std::string> StarStore::verify() const {
  std::vector<std::string> found;
  if (!loaded()) return found;
  if (rows_ != nullptr) return rows_->verify();
  for (std::size_t number = 0; number < catalogue_->blocks.size(); ++number) {
    const auto before = found.size();
    for (Column column = 0; column < kColumns; ++column) {
      // check() and not use(): it may have been damaged since it was used.
      if (const auto status = check(number, column); !status)
        found.push_back(status.error().detail);
    }
    if (found.size() != before) continue;
    const auto wrong = check_values(*catalogue_, block(number), catalogue_->blocks[number]);
    if (!wrong.empty())
      found.push_back("star: block " + std::to_string(number) + ": " + wrong +
                      ", though its checksums fit");
  }
  return found;
}

StarWriter::StarWriter(StarStore& store) : store_(store) {
  std::vector<Extent> used;
  if (store.loaded()) {
    used = store.catalogue().extents();
    std::sort(used.begin(), used.end(),
              [](const Extent& a, const Extent& b) { return a.offset_bytes < b.offset_bytes; });
  }
  std::uint64_t from = kDataAt;
  for (const Extent& extent : used) {
    if (extent.offset_bytes > from) free_.push_back({from, extent.offset_bytes - from});
    const auto end = extent.offset_bytes + HF_MUTANT("O03", extent.size_bytes, 0);
    from = std::max(from, round_up(end, kCacheLineBytes));
  }
  const auto most = store.region().max_size_bytes();
  free_.push_back({from, most > from ? most - from : 0});
}

// First fit, lines; the region grows as it must. Where nothing is left, `full_` is set and the
// place is one behind the end, for the sum only.
Result<std::uint64_t> StarWriter::allocate(std::uint64_t bytes) {
  Region& region = store_.region();
  bytes = round_up(bytes, kCacheLineBytes);
  for (Extent& extent : free_) {
    if (extent.size_bytes < bytes && &extent != &free_.back()) continue;
    const auto at = extent.offset_bytes, end = at + bytes;
    end_ = std::max(end_, end);
    full_ |= extent.size_bytes < bytes;
    extent.offset_bytes = end;
    extent.size_bytes -= std::min(bytes, extent.size_bytes);
    if (full_ || end <= region.size_bytes()) return at;
    const auto unit = region.unit_bytes();
    const Status grown = region.grow((end + unit - 1) / unit * unit);
    if (!grown && grown.code() != Errc::kNoSpace && grown.code() != Errc::kUnsupported)
      return grown.error();
    full_ = !grown;
    return at;
  }
  HF_CHECK(false);
  return 0;
}

Status StarWriter::append(const EncodedBlock& block) {
  HF_ASSIGN_OR_RETURN(const auto at, allocate(block.info.bytes));
  blocks_.push_back(block.info);
  blocks_.back().offset = at;
  if (full_) return {};
  return DurableWriter(store_.region()).put(at, block.bytes);
}

Status StarWriter::finish(std::string source, std::vector<DimensionTable> dimensions) {
  HF_CHECK(dimensions.size() == kDimensions);
  return switch_to({std::move(source), std::move(dimensions), std::move(blocks_), {}});
}

Result<RowRun> StarWriter::put_run(std::span<const std::byte> bytes) {
  RowRun run;
  HF_ASSIGN_OR_RETURN(run.offset, allocate(bytes.size()));
  run.rows = static_cast<std::uint32_t>(bytes.size() / kRowBytes);
  run.checksum = checksum64(bytes, run.rows);
  if (!full_) HF_RETURN_IF_ERROR(DurableWriter(store_.region()).put(run.offset, bytes));
  return run;
}

Status StarWriter::set_tuples(Dimension dimension, std::span<const DimensionTuple> tuples) {
  HF_ASSIGN_OR_RETURN(row_tables_.dimensions[static_cast<std::size_t>(dimension)],
                      put_run(std::as_bytes(tuples)));
  return {};
}

Status StarWriter::append(std::span<const FactRow> rows) {
  HF_CHECK(!rows.empty() && rows.size() <= kMaxBlockRows);
  HF_ASSIGN_OR_RETURN(auto run, put_run(std::as_bytes(rows)));
  for (const FactRow& row : rows)
    run.most.include(row);
  row_tables_.facts.push_back(run);
  return {};
}

Status StarWriter::finish_rows(std::string source) {
  for (const auto& run : row_tables_.dimensions)
    HF_CHECK(run.offset != 0);
  return switch_to({std::move(source), {}, {}, {}, Layout::kByRow, std::move(row_tables_)});
}

Status StarWriter::switch_to(Catalogue catalogue) {
  Region& region = store_.region();
  const auto bytes = to_bytes(catalogue, store_.id());
  HF_ASSIGN_OR_RETURN(const auto at, allocate(bytes.size()));
  catalogue.place = {at, bytes.size()};
  if (full_)
    return Error{Errc::kNoSpace, "star: the tables need a region of " + std::to_string(end_) +
                                     " bytes; it has " + std::to_string(region.size_bytes()) +
                                     " and cannot grow so far. Nothing was changed" +
                                     (store_.loaded() ? "; the version that is loaded stays, and "
                                                        "needs its place until the next is there"
                                                      : "")};
  const DurableWriter writer(region);
  HF_RETURN_IF_ERROR(writer.put(at, bytes));
  // The version is complete before the root word leads to it.
  HF_RETURN_IF_ERROR(writer.order());
  HF_RETURN_IF_ERROR(writer.put_word(
      kRootAt, seal_word<SealedWord>(at / kCacheLineBytes, root_context(store_.id()))));
  HF_RETURN_IF_ERROR(writer.order());
  store_.adopt(std::move(catalogue));
  return {};
}

}  // namespace holdfast::olap
