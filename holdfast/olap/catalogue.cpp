#include <holdfast/olap/catalogue.hpp>

#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include <holdfast/base/checksum.hpp>
#include <holdfast/olap/catalogue_bytes.hpp>

namespace holdfast::olap {
namespace {

Error damaged(const std::string& what) {
  return {Errc::kCorrupt, "star: the catalogue: " + what + "; load the tables into a new region"};
}

void write_dimension(ByteWriter& out, const DimensionTable& table) {
  out.number(static_cast<std::uint32_t>(table.leaves().size()));
  for (const Leaf& leaf : table.leaves()) {
    out.number(leaf.outer);
    out.number(leaf.inner);
    out.number(leaf.first);
    out.number(leaf.rows);
    for (const auto& value : leaf.values)
      out.text(value);
  }
  out.number(static_cast<std::uint32_t>(table.keys().size()));
  out.bytes(table.keys().data(), table.keys().size_bytes());
}

Result<DimensionTable> read_dimension(ByteReader& in, Dimension dimension) {
  std::vector<Leaf> leaves(in.count(10));
  for (Leaf& leaf : leaves) {
    leaf.outer = in.number<std::uint8_t>();
    leaf.inner = in.number<std::uint8_t>();
    leaf.first = in.number<std::uint32_t>();
    leaf.rows = in.number<std::uint32_t>();
    for (auto& value : leaf.values)
      value = in.text();
  }
  std::vector<std::uint32_t> keys(in.count(sizeof(std::uint32_t)));
  in.bytes(keys.data(), keys.size() * sizeof(std::uint32_t));
  return DimensionTable::restore(dimension, std::move(leaves), std::move(keys));
}

void write_run(ByteWriter& out, const RowRun& run) {
  out.number(run.offset);
  out.number(run.rows);
  out.number(run.checksum);
  for (const auto number :
       {run.most.discount, run.most.extended_price, run.most.revenue, run.most.supply_cost})
    out.number(number);
}

constexpr std::size_t kRunBytes = 36;

RowRun read_run(ByteReader& in) {
  RowRun run;
  run.offset = in.number<std::uint64_t>();
  run.rows = in.number<std::uint32_t>();
  run.checksum = in.number<std::uint64_t>();
  for (auto* number :
       {&run.most.discount, &run.most.extended_price, &run.most.revenue, &run.most.supply_cost})
    *number = in.number<std::uint32_t>();
  return run;
}

Status check_place(const Extent& extent, std::uint64_t region_bytes, const char* what) {
  if (extent.offset_bytes % kCacheLineBytes != 0 || extent.offset_bytes < kDataAt ||
      extent.offset_bytes > region_bytes || extent.size_bytes > region_bytes - extent.offset_bytes)
    return damaged(std::string(what) + " leads outside of the region");
  return {};
}

Status read_columns(ByteReader& in, std::uint64_t region_bytes, Catalogue& catalogue) {
  for (std::size_t i = 0; i < kDimensions; ++i) {
    HF_ASSIGN_OR_RETURN(auto table, read_dimension(in, static_cast<Dimension>(i)));
    catalogue.dimensions.push_back(std::move(table));
  }
  catalogue.blocks.resize(in.count(kBlockInfoBytes));
  for (auto& block : catalogue.blocks) {
    block = read_block(in);
    HF_RETURN_IF_ERROR(block.check());
    HF_RETURN_IF_ERROR(check_place({block.offset, block.bytes}, region_bytes, "a block"));
  }
  return {};
}

Status read_rows(ByteReader& in, std::uint64_t region_bytes, RowTables& tables) {
  for (auto& run : tables.dimensions) {
    run = read_run(in);
    HF_RETURN_IF_ERROR(check_place({run.offset, run.bytes()}, region_bytes, "a dimension"));
  }
  tables.facts.resize(in.count(kRunBytes));
  for (auto& run : tables.facts) {
    run = read_run(in);
    HF_RETURN_IF_ERROR(check_place({run.offset, run.bytes()}, region_bytes, "a run of rows"));
  }
  return {};
}

}  // namespace

std::uint64_t Catalogue::rows() const {
  std::uint64_t rows = 0;
  for (const auto& block : blocks)
    rows += block.rows;
  for (const auto& run : row_tables.facts)
    rows += run.rows;
  return rows;
}

std::uint64_t Catalogue::block_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& block : blocks)
    bytes += block.bytes;
  for (const auto& run : row_tables.facts)
    bytes += run.bytes();
  return bytes;
}

std::vector<Extent> Catalogue::extents() const {
  std::vector<Extent> extents(deltas);
  extents.push_back(place);
  for (const auto& block : blocks)
    extents.push_back({block.offset, block.bytes});
  if (layout == Layout::kByColumn) return extents;
  for (const auto& run : row_tables.dimensions)
    extents.push_back({run.offset, run.bytes()});
  for (const auto& run : row_tables.facts)
    extents.push_back({run.offset, run.bytes()});
  return extents;
}

std::vector<std::byte> to_bytes(const Catalogue& catalogue, std::uint64_t id) {
  std::vector<std::byte> all(sizeof(CatalogueHeader));
  ByteWriter out(all);
  out.text(catalogue.source);
  out.number(catalogue.layout);
  if (catalogue.layout == Layout::kByColumn) {
    for (const auto& table : catalogue.dimensions)
      write_dimension(out, table);
    out.number(static_cast<std::uint32_t>(catalogue.blocks.size()));
    for (const auto& block : catalogue.blocks)
      write_block(out, block);
  } else {
    for (const auto& run : catalogue.row_tables.dimensions)
      write_run(out, run);
    out.number(static_cast<std::uint32_t>(catalogue.row_tables.facts.size()));
    for (const auto& run : catalogue.row_tables.facts)
      write_run(out, run);
  }
  CatalogueHeader header{};
  header.magic = kCatalogueMagic;
  header.body_bytes = all.size() - sizeof header;
  header.checksum = checksum64(std::span(all).subspan(sizeof header), id);
  std::memcpy(all.data(), &header, sizeof header);
  return all;
}

Result<Catalogue> read_catalogue(std::span<const std::byte> region, std::uint64_t offset,
                                 std::uint64_t id) {
  CatalogueHeader header;
  if (offset < kDataAt || offset > region.size() || region.size() - offset < sizeof header)
    return damaged("the root word leads outside of the region, to " + std::to_string(offset));
  std::memcpy(&header, region.data() + offset, sizeof header);
  if (header.magic != kCatalogueMagic || header.body_bytes > region.size() - offset - sizeof header)
    return damaged("there is none at " + std::to_string(offset));
  const auto body = region.subspan(offset + sizeof header, header.body_bytes);
  if (checksum64(body, id) != header.checksum) return damaged("its checksum does not fit");
  Catalogue catalogue;
  catalogue.place = {offset, sizeof header + header.body_bytes};
  ByteReader in(body);
  catalogue.source = in.text();
  const auto layout = in.number<std::uint32_t>();
  if (layout > static_cast<std::uint32_t>(Layout::kByRow))
    return damaged("layout=" + std::to_string(layout) + ", which this build does not know");
  catalogue.layout = static_cast<Layout>(layout);
  HF_RETURN_IF_ERROR(catalogue.layout == Layout::kByColumn
                         ? read_columns(in, region.size(), catalogue)
                         : read_rows(in, region.size(), catalogue.row_tables));
  if (!in.done()) return damaged("it is shorter or longer than it says");
  return catalogue;
}

}  // namespace holdfast::olap
