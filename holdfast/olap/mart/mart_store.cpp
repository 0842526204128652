// What a crash leaves behind:
//
//  root word              the state
//  0                      nothing was loaded yet, or a first load did not finish
//  leads to a catalogue   that version; what lies outside of its extents does not count
//  check fails            kCorrupt
#include <holdfast/olap/mart/mart_store.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/memory/durable_writer.hpp>
#include <holdfast/memory/sealed_word.hpp>

namespace holdfast::olap::mart {

MartStore::MartStore(Region& region, std::uint64_t id, Claim claim)
    : claim_(std::move(claim)), region_(&region), id_(id) {}

Result<std::unique_ptr<MartStore>> MartStore::create(Region& region) {
  const Extent whole{0, region.size_bytes()};
  if (region.read_only())
    return Error{Errc::kReadOnly, "star: cannot be created in a read-only region"};
  if (region.size_bytes() < kMartDataAt)
    return Error{Errc::kNoSpace, "star: the region has " + std::to_string(region.size_bytes()) +
                                     " bytes; at least " + std::to_string(kMartDataAt) +
                                     " are needed without any table"};
  HF_ASSIGN_OR_RETURN(auto claim, region.claim(whole, "star"));
  HF_RETURN_IF_ERROR(refuse_to_overwrite("star", region, whole));
  HF_ASSIGN_OR_RETURN(const auto header, new_header(kMartFormat, {}));
  const DurableWriter writer(region);
  HF_RETURN_IF_ERROR(writer.put_word(kMartRootAt, 0));
  HF_RETURN_IF_ERROR(write_superblock(writer, 0, header, {}));
  return std::unique_ptr<MartStore>(new MartStore(region, header.id, std::move(claim)));
}

Result<std::unique_ptr<MartStore>> MartStore::open(Region& region) {
  if (region.size_bytes() < kMartDataAt)
    return Error{Errc::kNotHoldfast, "star: the region is too small to hold one"};
  HF_ASSIGN_OR_RETURN(auto claim, region.claim({0, region.size_bytes()}, "star"));
  HF_ASSIGN_OR_RETURN(const auto header,
                      read_superblock(kMartFormat, {region.data(), kPageBytes}, {}));
  std::unique_ptr<MartStore> store(new MartStore(region, header.id, std::move(claim)));
  write_back_superblock(DurableWriter(region), 0, header);  // read_root() has the fence.
  HF_RETURN_IF_ERROR(store->read_root());
  return store;
}

Result<std::unique_ptr<MartStore>> MartStore::open_or_create(Region& region) {
  // A crash in create() leaves all of a superblock but this word.
  const bool empty = region.size_bytes() >= kPageBytes && DurableWriter(region).word(0) == 0;
  return empty ? create(region) : open(region);
}

Status MartStore::read_root() {
  const DurableWriter writer(*region_);
  if (!region_->read_only()) {
    // A process that was killed may have stored it and not waited. What follows rests on it.
    writer.persist().write_back(writer.at(kMartRootAt), sizeof(std::uint64_t));
    HF_RETURN_IF_ERROR(writer.order());
  }
  const auto root = open_or_unwritten<SealedWord>(writer.word(kMartRootAt), mart_root_context(id_));
  if (!root)
    return Error{Errc::kCorrupt, "star: the root word (at " + std::to_string(kMartRootAt) +
                                     ") is damaged; load the tables into a new region"};
  if (*root == 0) return {};
  const std::span<const std::byte> bytes{region_->data(), region_->size_bytes()};
  HF_ASSIGN_OR_RETURN(auto catalogue, read_mart_catalogue(bytes, *root * kCacheLineBytes, id_));
  adopt(std::move(catalogue));
  return {};
}

std::shared_ptr<const MartVersion> MartStore::version() const {
  const Lock lock(mutex_);
  return version_;
}

void MartStore::adopt(Catalogue catalogue) {
  auto next = std::make_shared<const MartVersion>(*region_, std::move(catalogue));
  const Lock lock(mutex_);
  std::erase_if(held_, [](const auto& version) { return version.expired(); });
  held_.push_back(next);
  version_ = std::move(next);
}

std::vector<Extent> MartStore::used() const {
  const Lock lock(mutex_);
  std::vector<Extent> used;
  for (const auto& held : held_) {
    const auto version = held.lock();
    if (HF_MUTANT("O23", version == nullptr, version != version_)) continue;
    const auto extents = version->catalogue().extents();
    used.insert(used.end(), extents.begin(), extents.end());
  }
  return used;
}

MartStore::Writer::Writer(MartStore& store)
    : store_((store.writing_.lock(), store)),
      present_(store.version()),
      space_(store.region(), kMartDataAt, store.used()) {}

MartStore::Writer::~Writer() { store_.writing_.unlock(); }

// What seems to be free may be the version's that the root word leads to.
Status MartStore::Writer::refuse_if_unsure() const {
  if (HF_MUTANT("O40", store_.unsure_, false))
    return Error{
        Errc::kIo,
        "star: an error of the medium left it open which version is durable; open it again"};
  return {};
}

Result<std::uint64_t> MartStore::Writer::put_bytes(std::span<const std::byte> bytes) {
  HF_RETURN_IF_ERROR(refuse_if_unsure());
  HF_ASSIGN_OR_RETURN(const auto at, space_.allocate(bytes.size()));
  if (!space_.full()) HF_RETURN_IF_ERROR(DurableWriter(store_.region()).put(at, bytes));
  return at;
}

Result<BlockInfo> MartStore::Writer::put(const EncodedBlock& block) {
  auto info = block.info;
  HF_ASSIGN_OR_RETURN(info.offset, put_bytes(block.bytes));
  return info;
}

Result<DictionaryPiece> MartStore::Writer::put(std::span<const std::string_view> texts) {
  std::vector<std::byte> bytes(texts.size() * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto length = static_cast<std::uint32_t>(texts[i].size());
    std::memcpy(bytes.data() + i * sizeof length, &length, sizeof length);
    const auto* text = reinterpret_cast<const std::byte*>(texts[i].data());
    bytes.insert(bytes.end(), text, text + texts[i].size());
  }
  DictionaryPiece piece;
  piece.texts = static_cast<std::uint32_t>(texts.size());
  piece.checksum = checksum64(bytes, piece.texts);
  piece.place.size_bytes = bytes.size();
  HF_ASSIGN_OR_RETURN(piece.place.offset_bytes, put_bytes(bytes));
  return piece;
}

Status MartStore::Writer::finish(Catalogue next) {
  Region& region = store_.region();
  if (region.read_only()) return Error{Errc::kReadOnly, "star: the region is read-only"};
  HF_RETURN_IF_ERROR(refuse_if_unsure());
  const auto bytes = to_bytes(next, store_.id_);
  HF_ASSIGN_OR_RETURN(const auto at, space_.allocate(bytes.size()));
  next.place = {at, bytes.size()};
  if (space_.full())
    return Error{Errc::kNoSpace,
                 "star: the tables need a region of " + std::to_string(space_.end()) +
                     " bytes; it has " + std::to_string(region.size_bytes()) +
                     " and cannot grow so far. Nothing was changed" +
                     (present_ != nullptr ? "; the version that is loaded stays, and needs its "
                                            "place until the next is there"
                                          : "")};
  const DurableWriter writer(region);
  HF_RETURN_IF_ERROR(writer.put(at, bytes));
  // The version is complete before the root word leads to it.
  HF_RETURN_IF_ERROR(writer.order());
  store_.unsure_ = true;
  HF_RETURN_IF_ERROR(writer.put_word(
      kMartRootAt, seal_word<SealedWord>(at / kCacheLineBytes, mart_root_context(store_.id_))));
  HF_RETURN_IF_ERROR(writer.order());
  store_.adopt(std::move(next));
  store_.unsure_ = false;  // At last: what finds no memory before it leaves an older version shown.
  return {};
}

namespace {

// The first of the blocks at the end of which at least one is small, and not only the last.
std::size_t first_to_merge(std::span<const BlockInfo> blocks) {
  std::size_t first = 0;
  while (first < blocks.size() && blocks[first].rows == kBlockRows)
    ++first;
  return first + HF_MUTANT("O38", 1, 0) < blocks.size() ? first : blocks.size();
}

Status merge_table(const MartVersion& present, std::uint32_t number, MartWriter& writer,
                   TableData& data) {
  const auto& table = present.schema().tables[number];
  const auto first = first_to_merge(data.blocks);
  std::vector<BlockInfo> old(data.blocks.begin() + static_cast<std::ptrdiff_t>(first),
                             data.blocks.end());
  data.blocks.resize(first);
  std::vector<Words> rows(table.columns.size());
  for (std::size_t i = 0; i < old.size(); ++i) {
    for (std::uint32_t column = 0; column < rows.size(); ++column) {
      HF_RETURN_IF_ERROR(HF_MUTANT("O39", present.use(number, first + i, column), Status{}));
      decode(present.block(number, first + i), old[i].columns[column], 0, old[i].rows,
             rows[column]);
    }
    const bool last = i + 1 == old.size();
    if (rows[0].size() < kBlockRows && !last) continue;
    std::size_t done = 0;
    while (rows[0].size() - done >= kBlockRows || (last && done < rows[0].size())) {
      const auto count = std::min<std::size_t>(kBlockRows, rows[0].size() - done);
      HF_ASSIGN_OR_RETURN(auto info, writer.put(encode_block(table, rows, done, count)));
      data.blocks.push_back(std::move(info));
      done += count;
    }
    for (auto& words : rows) {
      const auto erase = [&](auto& from) {
        from.erase(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(done));
      };
      erase(words.values);
      if (!words.null.empty()) erase(words.null);
    }
  }
  return {};
}

}  // namespace

std::size_t small_blocks(const Catalogue& catalogue) {
  std::size_t small = 0;
  for (const auto& table : catalogue.tables)
    small += table.blocks.size() - first_to_merge(table.blocks);
  return small;
}

Status merge(MartStore& store) {
  MartWriter writer(store);
  const auto& present = writer.present();
  if (present == nullptr) return Error{Errc::kNotFound, "star: no tables are loaded"};
  Catalogue next = present->catalogue();
  if (small_blocks(next) == 0) return {};
  for (std::uint32_t number = 0; number < next.tables.size(); ++number)
    HF_RETURN_IF_ERROR(merge_table(*present, number, writer, next.tables[number]));
  return writer.finish(std::move(next));
}

}  // namespace holdfast::olap::mart
