// What a crash leaves behind:
//
//  root word            the state
//  0                    nothing was loaded yet, or a first load did not finish
//  leads to a catalogue that version; what lies outside of its extent does not count
//  check fails          kCorrupt
//
//  its delta word       rows appended since
//  0                    none
//  leads to an entry    those of this entry and of all before it
//  check fails          kCorrupt
#include <holdfast/olap/star_store.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/memory/sealed_word.hpp>
#include <holdfast/olap/delta.hpp>

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
  write_back_superblock(DurableWriter(region), 0, header);  // read_root() has the fence.
  HF_RETURN_IF_ERROR(store->read_root());
  return store;
}

Result<std::unique_ptr<StarStore>> StarStore::open_or_create(Region& region) {
  // A crash in create() leaves all of a superblock but this word.
  const bool empty = region.size_bytes() >= kPageBytes && DurableWriter(region).word(0) == 0;
  return empty ? create(region) : open(region);
}

Status StarStore::read_root() {
  const DurableWriter writer(*region_);
  const auto root = open_or_unwritten<SealedWord>(writer.word(kRootAt), root_context(id_));
  const auto at = root.value_or(0) * kCacheLineBytes;
  const auto delta_at = at + offsetof(CatalogueHeader, deltas);
  if (!region_->read_only()) {
    // A process that was killed may have stored them and not waited. What follows rests on them.
    writer.persist().write_back(writer.at(kRootAt), sizeof(std::uint64_t));
    if (at != 0 && delta_at < region_->size_bytes())
      writer.persist().write_back(writer.at(delta_at), sizeof(std::uint64_t));
    HF_RETURN_IF_ERROR(writer.order());
  }
  if (!root)
    return Error{Errc::kCorrupt, "star: the root word (at " + std::to_string(kRootAt) +
                                     ") is damaged; load the tables into a new region"};
  if (*root == 0) return {};
  const std::span<const std::byte> bytes{region_->data(), region_->size_bytes()};
  HF_ASSIGN_OR_RETURN(auto catalogue, read_catalogue(bytes, at, id_));
  const auto last = open_or_unwritten<SealedWord>(writer.word(delta_at), delta_context(id_, at));
  if (!last || (*last != 0 && catalogue.layout == Layout::kByRow))
    return Error{Errc::kCorrupt, "star: the word that leads to appended rows (at " +
                                     std::to_string(delta_at) +
                                     ") is damaged; load the tables into a new region"};
  HF_RETURN_IF_ERROR(read_deltas(bytes, *last, id_, catalogue));
  adopt(std::move(catalogue));
  return {};
}

std::shared_ptr<const StarVersion> StarStore::version() const {
  const Lock lock(mutex_);
  return version_;
}

void StarStore::adopt(Catalogue catalogue) {
  const auto before = version();
  auto next = std::make_shared<const StarVersion>(*region_, std::move(catalogue), before.get());
  const Lock lock(mutex_);
  std::erase_if(held_, [](const auto& version) { return version.expired(); });
  held_.push_back(next);
  version_ = std::move(next);
}

std::vector<Extent> StarStore::used() const {
  const Lock lock(mutex_);
  std::vector<Extent> used;
  for (const auto& held : held_) {
    const auto version = held.lock();
    if (HF_MUTANT("O11", version == nullptr, version != version_)) continue;
    const auto extents = version->catalogue().extents();
    used.insert(used.end(), extents.begin(), extents.end());
  }
  return used;
}

Status StarStore::refuse_if_not_appendable() const {
  if (region_->read_only())
    return Error{Errc::kReadOnly, "star: the region is read-only; nothing can be appended"};
  const auto present = version();
  if (present == nullptr)
    return Error{Errc::kNotFound, "star: no tables are loaded that rows could be appended to"};
  if (present->catalogue().layout == Layout::kByRow)
    return Error{Errc::kUnsupported,
                 "star: rows cannot be appended to a star of rows, the baseline; load columns"};
  return refuse_if_unsure();
}

Status StarStore::refuse_if_unsure() const {
  if (HF_MUTANT("O18", unsure_, false))
    return Error{
        Errc::kIo,
        "star: an error of the medium left it open which version is durable; open it again"};
  return {};
}

Status StarStore::append(std::span<const EncodedBlock> blocks) {
  const Lock writing(writing_);
  HF_RETURN_IF_ERROR(refuse_if_not_appendable());
  if (blocks.empty()) return {};
  Catalogue next = version()->catalogue();
  FreeSpace space(*region_, kDataAt, used());
  const DurableWriter writer(*region_);
  std::vector<BlockInfo> infos;
  for (const auto& block : blocks) {
    infos.push_back(block.info);
    HF_ASSIGN_OR_RETURN(infos.back().offset, space.allocate(block.info.bytes));
  }
  const auto entry = delta_bytes(next, infos, id_);
  HF_ASSIGN_OR_RETURN(const auto at, space.allocate(entry.size()));
  if (HF_MUTANT("O17", space.full(), false))
    return Error{Errc::kNoSpace, "star: the appended rows need a region of " +
                                     std::to_string(space.end()) + " bytes; it has " +
                                     std::to_string(region_->size_bytes()) +
                                     " and cannot grow so far. Nothing was changed"};
  for (std::size_t i = 0; i < infos.size(); ++i)
    HF_RETURN_IF_ERROR(writer.put(infos[i].offset, blocks[i].bytes));
  HF_RETURN_IF_ERROR(writer.put(at, entry));
  // The entry is complete before the delta word leads to it.
  HF_RETURN_IF_ERROR(writer.order());
  unsure_ = true;
  const auto catalogue_at = next.place.offset_bytes;
  HF_RETURN_IF_ERROR(writer.put_word(
      catalogue_at + offsetof(CatalogueHeader, deltas),
      seal_word<SealedWord>(at / kCacheLineBytes, delta_context(id_, catalogue_at))));
  HF_RETURN_IF_ERROR(writer.order());
  add_delta(next, infos, {at, entry.size()});
  adopt(std::move(next));
  unsure_ = false;  // At last: what finds no memory before it leaves an older version shown.
  return {};
}

namespace {

void append_rows(const StarVersion& version, std::size_t number, FactRows& rows) {
  const auto& info = version.catalogue().blocks[number];
  for (Column column = 0; column < kColumns; ++column) {
    for (std::uint32_t row = 0; row < info.rows; ++row)
      rows.columns[column].push_back(value_at(version.block(number), info, column, row));
  }
}

}  // namespace

Status StarStore::merge() {
  StarWriter writer(*this);
  HF_RETURN_IF_ERROR(refuse_if_not_appendable());
  const auto present = version();
  const auto& catalogue = present->catalogue();
  if (catalogue.deltas.empty()) return {};
  // Blocks before the appended ones stay where they are, but for small ones at their end.
  auto kept = catalogue.blocks.size() - catalogue.delta_blocks;
  while (kept > 0 && HF_MUTANT("O10", catalogue.blocks[kept - 1].rows < kUsualBlockRows / 2, true))
    --kept;
  writer.keep({catalogue.blocks.data(), kept});
  FactRows rows;
  for (auto number = kept; number < catalogue.blocks.size(); ++number) {
    for (Column column = 0; column < kColumns; ++column)
      HF_RETURN_IF_ERROR(HF_MUTANT("O14", present->use(number, column), Status{}));
    append_rows(*present, number, rows);
    const bool last = number + 1 == catalogue.blocks.size();
    std::size_t done = 0;
    for (; rows.size() - done >= kUsualBlockRows || (last && done < rows.size());) {
      const auto count = std::min<std::size_t>(kUsualBlockRows, rows.size() - done);
      HF_RETURN_IF_ERROR(writer.append(encode_block(rows, done, count)));
      done += count;
    }
    rows.drop_first(done);
  }
  return writer.finish(catalogue.source, catalogue.dimensions);
}

StarWriter::StarWriter(StarStore& store)
    : store_(store), space_(store.region(), kDataAt, store.begin_writing()) {}

StarWriter::~StarWriter() { store_.end_writing(); }

Status StarWriter::append(const EncodedBlock& block) {
  HF_RETURN_IF_ERROR(store_.refuse_if_unsure());
  HF_ASSIGN_OR_RETURN(const auto at, space_.allocate(block.info.bytes));
  blocks_.push_back(block.info);
  blocks_.back().offset = at;
  if (space_.full()) return {};
  return DurableWriter(store_.region()).put(at, block.bytes);
}

Status StarWriter::finish(std::string source, std::vector<DimensionTable> dimensions) {
  HF_CHECK(dimensions.size() == kDimensions);
  return switch_to({std::move(source), std::move(dimensions), std::move(blocks_), {}});
}

Result<RowRun> StarWriter::put_run(std::span<const std::byte> bytes) {
  HF_RETURN_IF_ERROR(store_.refuse_if_unsure());
  RowRun run;
  HF_ASSIGN_OR_RETURN(run.offset, space_.allocate(bytes.size()));
  run.rows = static_cast<std::uint32_t>(bytes.size() / kRowBytes);
  run.checksum = checksum64(bytes, run.rows);
  if (!space_.full()) HF_RETURN_IF_ERROR(DurableWriter(store_.region()).put(run.offset, bytes));
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
  HF_RETURN_IF_ERROR(store_.refuse_if_unsure());
  Region& region = store_.region();
  const auto bytes = to_bytes(catalogue, store_.id());
  HF_ASSIGN_OR_RETURN(const auto at, space_.allocate(bytes.size()));
  catalogue.place = {at, bytes.size()};
  if (space_.full())
    return Error{Errc::kNoSpace, "star: the tables need a region of " +
                                     std::to_string(space_.end()) + " bytes; it has " +
                                     std::to_string(region.size_bytes()) +
                                     " and cannot grow so far. Nothing was changed" +
                                     (store_.loaded() ? "; the version that is loaded stays, and "
                                                        "needs its place until the next is there"
                                                      : "")};
  const DurableWriter writer(region);
  HF_RETURN_IF_ERROR(writer.put(at, bytes));
  // The version is complete before the root word leads to it.
  HF_RETURN_IF_ERROR(writer.order());
  store_.set_unsure(true);
  HF_RETURN_IF_ERROR(writer.put_word(
      kRootAt, seal_word<SealedWord>(at / kCacheLineBytes, root_context(store_.id()))));
  HF_RETURN_IF_ERROR(writer.order());
  store_.adopt(std::move(catalogue));
  store_.set_unsure(false);
  return {};
}

}  // namespace holdfast::olap
