// Opening, closing, what a store knows of itself, and its upkeep.
#include <cstring>

#include <holdfast/c/boundary.hpp>
#include <holdfast/c/handles.hpp>
#include <holdfast/kv/expiry.hpp>

using namespace holdfast;
using c::boundary;

namespace holdfast::c {
namespace {

// hf_stats behind its size: the names of kv::StoreStats, in the order of the struct.
struct Field {
  const char* name;
  std::uint64_t kv::StoreStats::* value;
};
#define HF_FIELD(name) {#name, &kv::StoreStats::name}
constexpr Field kFields[] = {HF_FIELD(records),
                             HF_FIELD(live_bytes),
                             HF_FIELD(medium_bytes),
                             HF_FIELD(used_bytes),
                             HF_FIELD(blocks),
                             HF_FIELD(free_blocks),
                             HF_FIELD(open_blocks),
                             HF_FIELD(dram_index_bytes),
                             HF_FIELD(dram_other_bytes),
                             HF_FIELD(sessions),
                             HF_FIELD(snapshots_open),
                             HF_FIELD(fences),
                             HF_FIELD(lines_written_back),
                             HF_FIELD(syncs),
                             HF_FIELD(reclaimed_blocks),
                             HF_FIELD(relocated_bytes),
                             HF_FIELD(tombstones_dropped),
                             HF_FIELD(expired_records),
                             HF_FIELD(index_rehashes),
                             HF_FIELD(displaced_records),
                             HF_FIELD(newest_version),
                             HF_FIELD(events_dropped),
                             HF_FIELD(mark_version),
                             HF_FIELD(mark_held_bytes)};
#undef HF_FIELD
static_assert(sizeof(hf_stats) == 8 * (1 + std::size(kFields)));
static_assert(sizeof(kv::StoreStats) == 8 * std::size(kFields), "a new field goes here, too");

}  // namespace

detail::ErrorWord too_large(const char* what, std::size_t seen, std::uint64_t allowed) {
  return detail::ErrorWord({Errc::kTooLarge, std::string(what) + "=" + std::to_string(seen) +
                                                 "; at most " + std::to_string(allowed) +
                                                 " is allowed"});
}

std::string Children::text() const {
  constexpr const char* kKinds[] = {"pin", "iterator", "snapshot", "checkpoint", "import"};
  std::string text;
  for (std::size_t kind = 0; kind < open_.size(); ++kind) {
    const std::uint32_t open = open_[kind].load(std::memory_order_acquire);
    if (open == 0) continue;
    if (!text.empty()) text += ", ";
    text += std::to_string(open) + " " + kKinds[kind] + (open == 1 ? "" : "s");
  }
  return text;
}

}  // namespace holdfast::c

int32_t hf_open(const char* spec, const hf_options* options, hf_store** store) {
  return boundary([&]() -> Status {
    HF_NEEDS(spec);
    HF_NEEDS(store);
    *store = nullptr;
    c::Opening opening(options);
    HF_ASSIGN_OR_RETURN(auto opened, kv::Store<>::open(spec, opening.options));
    *store = new hf_store(std::move(opened), std::move(opening.events));
    return {};
  });
}

int32_t hf_close(hf_store* store) {
  if (store == nullptr) return HF_OK;
  return boundary([&]() -> Status {
    if (const std::string open = store->children.text(); !open.empty())
      return Error{Errc::kBusy, open + " of the store open; close them first"};
    Status status = store->store.close();
    if (status.code() != Errc::kBusy) delete store;
    return status;
  });
}

int32_t hf_sync(hf_store* store) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    return store->store.sync();
  });
}

int32_t hf_durable_up_to(hf_store* store, uint64_t* version) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS(version);
    HF_RETURN_IF_ERROR(c::check_open(store));
    *version = store->store.durable_up_to();
    return {};
  });
}

int32_t hf_count(hf_store* store, uint64_t* records) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS(records);
    HF_RETURN_IF_ERROR(c::check_open(store));
    *records = store->store.count();
    return {};
  });
}

int32_t hf_stats_get(hf_store* store, hf_stats* stats) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS(stats);
    HF_RETURN_IF_ERROR(c::check_open(store));
    const std::uint64_t size = stats->size;
    if (size < 8 || size % 8 != 0)
      return c::unknown_number("stats->size", static_cast<std::int64_t>(size), "sizeof(hf_stats)");
    const kv::StoreStats seen = store->store.stats();
    std::uint64_t words[1 + std::size(c::kFields)];
    words[0] = std::min<std::uint64_t>(size, sizeof words);
    for (std::size_t i = 0; i < std::size(c::kFields); ++i)
      words[1 + i] = seen.*c::kFields[i].value;
    std::memcpy(stats, words, words[0]);
    return {};
  });
}

int32_t hf_stats_json(hf_store* store, char* buffer, size_t capacity, size_t* length) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS_BYTES(buffer, capacity);
    HF_NEEDS(length);
    HF_RETURN_IF_ERROR(c::check_open(store));
    const kv::StoreStats seen = store->store.stats();
    std::string text = "{";
    for (const c::Field& field : c::kFields) {
      if (text.size() > 1) text += ",";
      text += std::string("\"") + field.name + "\":" + std::to_string(seen.*field.value);
    }
    c::copy_text(text + "}", buffer, capacity, length);
    return {};
  });
}

int32_t hf_expire(hf_store* store, const void* prefix, size_t prefix_bytes, uint32_t offset_bytes,
                  uint32_t width_bytes, int32_t byte_order, uint64_t ttl) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS_BYTES(prefix, prefix_bytes);
    if (byte_order != HF_LITTLE_ENDIAN && byte_order != HF_BIG_ENDIAN)
      return c::unknown_number("byte_order", byte_order, "0 (little) or 1 (big)");
    kv::ExpiryRule rule;
    rule.prefix = c::text_of(prefix, prefix_bytes);
    rule.offset_bytes = offset_bytes;
    rule.width_bytes = width_bytes;
    rule.order = byte_order == HF_BIG_ENDIAN ? std::endian::big : std::endian::little;
    rule.ttl = ttl;
    return store->store.expire(rule);
  });
}

int32_t hf_set_clock(hf_store* store, uint64_t now) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    return store->store.set_clock(now);
  });
}

int32_t hf_clock(hf_store* store, uint64_t* now) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS(now);
    HF_RETURN_IF_ERROR(c::check_open(store));
    *now = store->store.clock();
    return {};
  });
}

int32_t hf_reserve(hf_store* store, uint64_t records) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    return store->store.reserve(records);
  });
}

int32_t hf_reclaim(hf_store* store) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    return store->store.reclaim();
  });
}

int32_t hf_verify(hf_store* store) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_RETURN_IF_ERROR(c::check_open(store));
    const kv::VerifyReport report = store->store.verify();
    if (report.ok()) return {};
    return Error{Errc::kCorrupt, std::to_string(report.defects_total) + " defects, the first at " +
                                     std::to_string(report.defects.front().offset) + ": " +
                                     report.defects.front().what};
  });
}
