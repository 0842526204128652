#include <holdfast/olap/mart/catalogue.hpp>

#include <cstring>
#include <utility>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/format.hpp>
#include <holdfast/olap/catalogue_bytes.hpp>

namespace holdfast::olap::mart {
namespace {

Error damaged(const std::string& what) {
  return {Errc::kCorrupt, "star: the catalogue: " + what + "; load the tables into a new region"};
}

void write_schema(ByteWriter& out, const Schema& schema) {
  out.number(static_cast<std::uint32_t>(schema.tables.size()));
  for (const auto& table : schema.tables) {
    out.text(table.name);
    out.number(static_cast<std::uint32_t>(table.columns.size()));
    for (const auto& column : table.columns) {
      out.text(column.name);
      out.number(static_cast<std::uint32_t>(column.type.kind));
      out.number(column.type.precision);
      out.number(column.type.scale);
      out.number(column.references);
    }
    out.number(table.key);
    out.number(static_cast<std::uint32_t>(table.order.size()));
    for (const auto column : table.order)
      out.number(column);
  }
}

Result<Schema> read_schema(ByteReader& in) {
  Schema schema;
  schema.tables.resize(in.count(16));
  for (auto& table : schema.tables) {
    table.name = in.text();
    table.columns.resize(in.count(20));
    for (auto& column : table.columns) {
      column.name = in.text();
      const auto kind = in.number<std::uint32_t>();
      if (kind > static_cast<std::uint32_t>(sql::Kind::kInterval))
        return damaged("a type that this build does not know");
      column.type.kind = static_cast<sql::Kind>(kind);
      column.type.precision = in.number<std::uint32_t>();
      column.type.scale = in.number<std::uint32_t>();
      column.references = in.number<std::uint32_t>();
    }
    table.key = in.number<std::uint32_t>();
    table.order.resize(in.count(4));
    for (auto& column : table.order)
      column = in.number<std::uint32_t>();
  }
  if (const auto status = schema.validate(); !status) return damaged(status.error().detail);
  return schema;
}

constexpr std::size_t kColumnInfoBytes = 40;
constexpr std::size_t kPieceBytes = 28;

void write_data(ByteWriter& out, const TableData& data) {
  out.number(static_cast<std::uint32_t>(data.blocks.size()));
  for (const auto& block : data.blocks) {
    out.number(block.offset);
    out.number(block.bytes);
    out.number(block.rows);
    for (const auto& column : block.columns) {
      out.number(column.min);
      out.number(column.max);
      out.number(column.width);
      out.number(column.has_null);
      out.number(column.offset);
      out.number(column.checksum);
    }
  }
  for (const auto& pieces : data.dictionaries) {
    out.number(static_cast<std::uint32_t>(pieces.size()));
    for (const auto& piece : pieces) {
      out.number(piece.place.offset_bytes);
      out.number(piece.place.size_bytes);
      out.number(piece.texts);
      out.number(piece.checksum);
    }
  }
}

Status check_place(const Extent& extent, std::uint64_t region_bytes, const char* what) {
  if (extent.offset_bytes % kCacheLineBytes != 0 || extent.offset_bytes < kMartDataAt ||
      extent.offset_bytes > region_bytes || extent.size_bytes > region_bytes - extent.offset_bytes)
    return damaged(std::string(what) + " leads outside of the region");
  return {};
}

Result<TableData> read_data(ByteReader& in, const Table& table, std::uint64_t region_bytes) {
  TableData data;
  data.blocks.resize(in.count(20 + table.columns.size() * kColumnInfoBytes));
  for (auto& block : data.blocks) {
    block.offset = in.number<std::uint64_t>();
    block.bytes = in.number<std::uint64_t>();
    block.rows = in.number<std::uint32_t>();
    block.columns.resize(table.columns.size());
    for (auto& column : block.columns) {
      column.min = in.number<std::int64_t>();
      column.max = in.number<std::int64_t>();
      column.width = in.number<std::uint32_t>();
      column.has_null = in.number<std::uint32_t>();
      column.offset = in.number<std::uint64_t>();
      column.checksum = in.number<std::uint64_t>();
    }
    HF_RETURN_IF_ERROR(block.check(table));
    HF_RETURN_IF_ERROR(check_place({block.offset, block.bytes}, region_bytes, "a block"));
  }
  data.dictionaries.resize(table.columns.size());
  for (auto& pieces : data.dictionaries) {
    pieces.resize(in.count(kPieceBytes));
    for (auto& piece : pieces) {
      piece.place.offset_bytes = in.number<std::uint64_t>();
      piece.place.size_bytes = in.number<std::uint64_t>();
      piece.texts = in.number<std::uint32_t>();
      piece.checksum = in.number<std::uint64_t>();
      HF_RETURN_IF_ERROR(check_place(piece.place, region_bytes, "a dictionary"));
      if (piece.texts > piece.place.size_bytes / sizeof(std::uint32_t))
        return damaged("a dictionary has more texts than bytes");
    }
  }
  return data;
}

// Indexes lead to a row or a text that is there. Of the bounds, which the values must keep to.
Status check_indexes(const Catalogue& catalogue) {
  for (std::size_t number = 0; number < catalogue.tables.size(); ++number) {
    const auto& table = catalogue.schema.tables[number];
    const auto& data = catalogue.tables[number];
    for (std::uint32_t i = 0; i < table.columns.size(); ++i) {
      const auto& column = table.columns[i];
      if (!column.is_index()) continue;
      const auto most =
          column.references != 0 ? catalogue.tables[column.references].rows() : data.texts(i);
      for (const auto& block : data.blocks) {
        if (static_cast<std::uint64_t>(block.columns[i].max) > most)
          return damaged(escape(table.name) + "." + escape(column.name) + " leads to nothing");
      }
    }
  }
  return {};
}

}  // namespace

std::uint64_t TableData::rows() const {
  std::uint64_t rows = 0;
  for (const auto& block : blocks)
    rows += block.rows;
  return rows;
}

std::uint64_t TableData::texts(std::uint32_t column) const {
  std::uint64_t texts = 0;
  for (const auto& piece : dictionaries[column])
    texts += piece.texts;
  return texts;
}

std::uint64_t Catalogue::fact_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& block : tables[0].blocks)
    bytes += block.bytes;
  return bytes;
}

std::vector<Extent> Catalogue::extents() const {
  std::vector<Extent> extents{place};
  for (const auto& table : tables) {
    for (const auto& block : table.blocks)
      extents.push_back({block.offset, block.bytes});
    for (const auto& pieces : table.dictionaries) {
      for (const auto& piece : pieces)
        extents.push_back(piece.place);
    }
  }
  return extents;
}

std::vector<std::byte> to_bytes(const Catalogue& catalogue, std::uint64_t id) {
  std::vector<std::byte> all(sizeof(MartHeader));
  ByteWriter out(all);
  out.text(catalogue.source);
  write_schema(out, catalogue.schema);
  for (const auto& table : catalogue.tables)
    write_data(out, table);
  MartHeader header{};
  header.magic = kMartMagic;
  header.body_bytes = all.size() - sizeof header;
  header.checksum = checksum64(std::span(all).subspan(sizeof header), id);
  std::memcpy(all.data(), &header, sizeof header);
  return all;
}

Result<Catalogue> read_mart_catalogue(std::span<const std::byte> region, std::uint64_t offset,
                                      std::uint64_t id) {
  MartHeader header;
  if (offset < kMartDataAt || offset > region.size() || region.size() - offset < sizeof header)
    return damaged("the root word leads outside of the region, to " + std::to_string(offset));
  std::memcpy(&header, region.data() + offset, sizeof header);
  if (header.magic != kMartMagic || header.body_bytes > region.size() - offset - sizeof header)
    return damaged("there is none at " + std::to_string(offset));
  const auto body = region.subspan(offset + sizeof header, header.body_bytes);
  if (checksum64(body, id) != header.checksum) return damaged("its checksum does not fit");
  Catalogue catalogue;
  catalogue.place = {offset, sizeof header + header.body_bytes};
  ByteReader in(body);
  catalogue.source = in.text();
  HF_ASSIGN_OR_RETURN(catalogue.schema, read_schema(in));
  for (const auto& table : catalogue.schema.tables) {
    HF_ASSIGN_OR_RETURN(auto data, read_data(in, table, region.size()));
    catalogue.tables.push_back(std::move(data));
  }
  if (!in.done()) return damaged("it is shorter or longer than it says");
  HF_RETURN_IF_ERROR(check_indexes(catalogue));
  return catalogue;
}

}  // namespace holdfast::olap::mart
