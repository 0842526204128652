#include "snapshot_store.hpp"

#include <holdfast/base/hash.hpp>
#include <holdfast/stream/durable_file.hpp>

namespace holdfast::stream {
namespace {

constexpr std::uint64_t kFormat = 0xFF;  // Of the magic number: its lowest byte.
constexpr std::uint64_t kMagic = 0x3153544d53464801;

}  // namespace

Result<std::optional<Checkpoint>> SnapshotStore::open() {
  auto file = read_file(path_);
  if (!file && file.code() == Errc::kNotFound) return std::optional<Checkpoint>();
  if (!file) return std::move(file).pass_on();
  const std::string_view bytes = *file;
  const Error corrupt{Errc::kCorrupt, path_ +
                                          " is no checkpoint, or is damaged; move it away to begin "
                                          "anew, or with a savepoint (--from)"};
  if (bytes.size() < 16) return corrupt;
  const auto body = bytes.substr(0, bytes.size() - 8);
  if (ByteReader(bytes.substr(body.size())).number() != hash64(body)) return corrupt;
  ByteReader reader(body);
  const std::uint64_t magic = reader.number();
  if ((magic | kFormat) != (kMagic | kFormat)) return corrupt;
  if (magic != kMagic)
    return Error{Errc::kNewerFormat, path_ + " has format " + std::to_string(magic & kFormat) +
                                         "; this build knows format " +
                                         std::to_string(kMagic & kFormat)};
  Checkpoint checkpoint;
  checkpoint.epoch = reader.number();
  checkpoint.metadata = reader.text();
  for (auto count = reader.number(); count > 0 && reader.ok(); --count) {
    const auto slice = static_cast<std::int64_t>(reader.number());
    const auto key = reader.text(), state = reader.text();
    found_[slice].emplace_back(key, state);
  }
  if (!reader.ok() || !reader.at_end()) return corrupt;
  return std::optional(std::move(checkpoint));
}

Result<std::vector<std::int64_t>> SnapshotStore::slices() {
  std::vector<std::int64_t> slices;
  for (const auto& [slice, entries] : found_)
    slices.push_back(slice);
  return slices;
}

Status SnapshotStore::for_each(std::int64_t slice, Visit visit) {
  for (const auto& [key, state] : found_[slice])
    HF_RETURN_IF_ERROR(visit(key, state));
  return {};
}

Status SnapshotStore::put(std::int64_t slice, std::string_view key, std::string_view state) {
  entries_.number(static_cast<std::uint64_t>(slice));
  entries_.text(key);
  entries_.text(state);
  ++count_;
  return {};
}

Status SnapshotStore::complete(const Checkpoint& checkpoint) {
  ByteWriter writer;
  writer.number(kMagic);
  writer.number(checkpoint.epoch);
  writer.text(checkpoint.metadata);
  writer.number(count_);
  std::string bytes = writer.take() + entries_.take();
  ByteWriter sum;
  sum.number(hash64(bytes));
  entries_ = ByteWriter();
  count_ = 0;
  found_.clear();
  bytes += sum.take();
  bytes_ = bytes.size();
  return replace_file(path_, bytes);
}

}  // namespace holdfast::stream
