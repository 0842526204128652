#include <holdfast/blocks/field/fam_field.hpp>
#include <holdfast/blocks/field/field_group.hpp>
#include <holdfast/blocks/field/log_field.hpp>

#include <algorithm>
#include <string>

#include <holdfast/base/mutant.hpp>

namespace holdfast::blocks {

namespace field_detail {

Status check_mapping(const Persist& persist) {
  switch (persist.mapping()) {
    case Mapping::kWritable: break;
    case Mapping::kReadOnly:
      return Error{Errc::kReadOnly, "field: the region was opened read-only"};
    case Mapping::kPageMedium:
      return Error{Errc::kUnsupported,
                   "field: granularity=page: a plain file is written by system calls, a field by "
                   "stores; use a region of granularity line or byte, or keep the value in a Log"};
  }
  return {};
}

Status fam_recover(const Persist& persist, std::uint64_t* blocks, std::size_t count) {
  const auto version = [](std::uint64_t block) { return block >> kFamVersionShift; };
  bool seen[4] = {};
  for (std::size_t i = 0; i < count; ++i)
    seen[version(blocks[i])] = true;
  // A crash leaves one version, or two of which one follows the other.
  for (std::uint64_t v = 0; v < 4; ++v) {
    const auto before = (v + 3) % 4;
    if (!seen[v] || !seen[before]) continue;
    if ((seen[(v + 1) % 4] || seen[(v + 2) % 4]) && HF_MUTANT("F04", true, false))
      return Error{Errc::kCorrupt, "field: its blocks carry more than two versions"};
    for (std::size_t i = 0; i < count; ++i) {
      if (version(blocks[i]) != v) continue;
      const auto old = blocks[i] >> 31 & kFamMask;
      persist.store(blocks + i, before << kFamVersionShift | old << 31 | old);
    }
    persist.write_back(blocks, count * 8);
    return {};
  }
  if (std::count(seen, seen + 4, true) != 1)
    return Error{Errc::kCorrupt, "field: its blocks carry versions that do not follow each other"};
  // A process that was killed may have left it complete, but not written back.
  persist.write_back(blocks, count * 8);
  return {};
}

}  // namespace field_detail

FieldGroup::~FieldGroup() { commit(); }

void FieldGroup::commit() {
  if (fields_.empty()) return;
  persist_.fence();
  fields_.clear();
}

void FieldGroup::enter(const void* field) {
  if (std::find(fields_.begin(), fields_.end(), field) != fields_.end() &&
      HF_MUTANT("F03", true, false))
    commit();
  fields_.push_back(field);
}

Status FieldLog::write(void* field, std::span<const std::byte> value) {
  HF_RETURN_IF_ERROR(field_detail::check_mapping(region_.persist()));
  const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(field) - region_.data());
  HF_CHECK(offset <= region_.size_bytes() && value.size() <= region_.size_bytes() - offset);
  std::byte record[8 + kMaxBytes];
  HF_CHECK(value.size() <= kMaxBytes);
  std::memcpy(record, &offset, 8);
  std::memcpy(record + 8, value.data(), value.size());
  if (HF_MUTANT("F02", false, true)) {
    region_.persist().copy(field, value.data(), value.size());
    region_.persist().write_back(field, value.size());
  }
  auto lsn = log_.append({record, 8 + value.size()});
  if (!lsn && lsn.code() == Errc::kNoSpace) {
    // All that it holds is in place and durable.
    HF_RETURN_IF_ERROR(log_.truncate({log_.stable().value + HF_MUTANT("F05", 1, 0)}));
    lsn = log_.append({record, 8 + value.size()});
  }
  if (!lsn) return lsn.error();
  const auto& persist = region_.persist();
  persist.copy(field, value.data(), value.size());
  persist.persist(field, value.size());
  return {};
}

Status FieldLog::recover() {
  const auto& persist = region_.persist();
  HF_RETURN_IF_ERROR(field_detail::check_mapping(persist));
  const auto& own = log_.where();  // No field lies in the log: it would change while it is read.
  auto reader = log_.read();
  for (;;) {
    HF_ASSIGN_OR_RETURN(const bool more, reader.next());
    if (!more) break;
    const auto record = reader.record();
    std::uint64_t offset = 0;
    if (record.size() >= 8) std::memcpy(&offset, record.data(), 8);
    const auto bytes = record.size() - 8;
    if (record.size() < 8 || bytes > kMaxBytes || offset > region_.size_bytes() ||
        bytes > region_.size_bytes() - offset ||
        (offset < own.offset_bytes + own.size_bytes && own.offset_bytes < offset + bytes))
      return Error{Errc::kCorrupt, "field log: the record of LSN " +
                                       std::to_string(reader.lsn().value) +
                                       " is no update of a field in this region"};
    persist.copy(region_.data() + offset, record.data() + 8, bytes);
    persist.write_back(region_.data() + offset, bytes - HF_MUTANT("F01", 0, 8));
  }
  persist.fence();
  return {};
}

}  // namespace holdfast::blocks
