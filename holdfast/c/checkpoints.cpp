// Checkpoints, restores, imports, and backups in a directory.
#include <algorithm>
#include <cstring>
#include <vector>

#include <holdfast/c/boundary.hpp>
#include <holdfast/c/handles.hpp>
#include <holdfast/kv/backup.hpp>

using namespace holdfast;
using c::boundary;

namespace holdfast::c {
namespace {

hf_run run_of(const kv::CheckpointRun& run) {
  return {run.name.origin, run.name.generation, run.bytes, run.records};
}

Status give_runs(std::span<const kv::CheckpointRun> of, hf_run* runs, std::size_t capacity,
                 std::size_t* count) {
  HF_NEEDS_BYTES(runs, capacity);
  HF_NEEDS(count);
  std::transform(of.begin(),
                 of.begin() + static_cast<std::ptrdiff_t>(std::min(of.size(), capacity)), runs,
                 run_of);
  *count = of.size();
  return {};
}

std::span<const std::byte> bytes_of(const void* bytes, std::size_t count) {
  return {static_cast<const std::byte*>(bytes), count};
}

// The caller's function that reads runs.
class Reader {
 public:
  Reader(hf_read_run read, void* context) : read_(read), context_(context) {}
  Status operator()(const kv::CheckpointRun& run, std::span<std::byte> to) const {
    const hf_run wanted = run_of(run);
    const std::int32_t code = read_(context_, &wanted, to.data());
    if (code == HF_OK) return {};
    const bool known = code > HF_OK && code <= HF_CLOSED;
    return Error{known ? static_cast<Errc>(code) : Errc::kIo,
                 "the function that reads runs returned " + std::to_string(code) + " for run " +
                     std::to_string(run.name.origin) + "/" + std::to_string(run.name.generation)};
  }

 private:
  hf_read_run read_;
  void* context_;
};

}  // namespace
}  // namespace holdfast::c

int32_t hf_checkpoint_begin(hf_store* store, hf_checkpoint** checkpoint) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS(checkpoint);
    *checkpoint = nullptr;
    HF_ASSIGN_OR_RETURN(auto begun, store->store.checkpoint());
    *checkpoint = new hf_checkpoint(*store, std::move(begun));
    return {};
  });
}

int32_t hf_checkpoint_version(const hf_checkpoint* checkpoint, uint64_t* version) {
  return boundary([&]() -> Status {
    HF_NEEDS(checkpoint);
    HF_NEEDS(version);
    *version = checkpoint->checkpoint.version();
    return {};
  });
}

int32_t hf_checkpoint_runs(const hf_checkpoint* checkpoint, hf_run* runs, size_t capacity,
                           size_t* count) {
  return boundary([&]() -> Status {
    HF_NEEDS(checkpoint);
    return c::give_runs(checkpoint->checkpoint.runs(), runs, capacity, count);
  });
}

int32_t hf_checkpoint_read(const hf_checkpoint* checkpoint, size_t run, void* buffer,
                           size_t capacity) {
  return boundary([&]() -> Status {
    HF_NEEDS(checkpoint);
    HF_NEEDS_BYTES(buffer, capacity);
    const std::size_t runs = checkpoint->checkpoint.runs().size();
    if (run >= runs)
      return Error{Errc::kInvalidOption, "run=" + std::to_string(run) + "; the checkpoint has " +
                                             std::to_string(runs) + " runs, from 0 on"};
    return checkpoint->checkpoint.read(run, std::span(static_cast<std::byte*>(buffer), capacity));
  });
}

int32_t hf_checkpoint_private(const hf_checkpoint* checkpoint, void* buffer, size_t capacity,
                              size_t* bytes) {
  return boundary([&]() -> Status {
    HF_NEEDS(checkpoint);
    HF_NEEDS_BYTES(buffer, capacity);
    HF_NEEDS(bytes);
    HF_ASSIGN_OR_RETURN(const auto part, checkpoint->checkpoint.private_part());
    if (const std::size_t copied = std::min(part.size(), capacity); copied != 0)
      std::memcpy(buffer, part.data(), copied);
    *bytes = part.size();
    return {};
  });
}

void hf_checkpoint_end(hf_checkpoint* checkpoint) { delete checkpoint; }

int32_t hf_mark(hf_store* store, uint64_t* version) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_ASSIGN_OR_RETURN(const kv::Version marked, store->store.mark());
    if (version != nullptr) *version = marked;
    return {};
  });
}

int32_t hf_drop_mark(hf_store* store) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    return store->store.drop_mark();
  });
}

int32_t hf_private_runs(const void* private_part, size_t bytes, hf_run* runs, size_t capacity,
                        size_t* count) {
  return boundary([&]() -> Status {
    HF_NEEDS_BYTES(private_part, bytes);
    HF_ASSIGN_OR_RETURN(const auto contents,
                        kv::read_private_part(c::bytes_of(private_part, bytes)));
    return c::give_runs(contents.runs, runs, capacity, count);
  });
}

int32_t hf_restore(const char* spec, const void* private_part, size_t bytes, hf_read_run read,
                   void* context, const hf_options* options) {
  return boundary([&]() -> Status {
    HF_NEEDS(spec);
    HF_NEEDS_BYTES(private_part, bytes);
    HF_NEEDS(read);
    return kv::restore(spec, c::bytes_of(private_part, bytes), c::Reader(read, context),
                       c::options_of(options));
  });
}

int32_t hf_restore_open(const char* spec, const void* private_part, size_t bytes, hf_read_run read,
                        void* context, const hf_options* options, hf_store** store) {
  return boundary([&]() -> Status {
    HF_NEEDS(spec);
    HF_NEEDS_BYTES(private_part, bytes);
    HF_NEEDS(read);
    HF_NEEDS(store);
    *store = nullptr;
    c::Opening opening(options);
    HF_ASSIGN_OR_RETURN(auto opened, kv::restore_open(spec, c::bytes_of(private_part, bytes),
                                                      c::Reader(read, context), opening.options));
    *store = new hf_store(std::move(opened), std::move(opening.events));
    return {};
  });
}

int32_t hf_import_checkpoint(hf_store* store, const void* private_part, size_t bytes,
                             hf_read_run read, void* context, const hf_key_range* ranges,
                             size_t count, uint64_t* records) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS_BYTES(private_part, bytes);
    HF_NEEDS(read);
    HF_NEEDS_BYTES(ranges, count);
    std::vector<kv::KeyRange> wanted(count);
    for (std::size_t i = 0; i < count; ++i) {
      HF_NEEDS_BYTES(ranges[i].from, ranges[i].from_bytes);
      HF_NEEDS_BYTES(ranges[i].to, ranges[i].to_bytes);
      wanted[i].from = c::text_of(ranges[i].from, ranges[i].from_bytes);
      wanted[i].to = c::text_of(ranges[i].to, ranges[i].to_bytes);
    }
    const c::Child under_way(store->children, c::Children::kImport);  // `read` may try to close it.
    HF_ASSIGN_OR_RETURN(const std::uint64_t imported,
                        kv::import_checkpoint(store->store, c::bytes_of(private_part, bytes),
                                              c::Reader(read, context), wanted));
    if (records != nullptr) *records = imported;
    return {};
  });
}

int32_t hf_backup(hf_store* store, const char* directory, uint32_t keep, uint32_t* number) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS(directory);
    kv::BackupOptions options;
    options.keep = keep;
    HF_ASSIGN_OR_RETURN(const kv::BackupReport report,
                        kv::backup(store->store, directory, options));
    if (number != nullptr) *number = report.number;
    return {};
  });
}

int32_t hf_verify_backup(const char* directory) {
  return boundary([&]() -> Status {
    HF_NEEDS(directory);
    HF_ASSIGN_OR_RETURN(const kv::BackupVerification seen, kv::verify_backup(directory));
    if (seen.defects.empty()) return {};
    return Error{Errc::kCorrupt, std::to_string(seen.defects.size()) +
                                     " defects, the first: " + seen.defects.front()};
  });
}

int32_t hf_restore_backup(const char* directory, const char* spec, uint32_t number,
                          const hf_options* options) {
  return boundary([&]() -> Status {
    HF_NEEDS(directory);
    HF_NEEDS(spec);
    HF_RETURN_IF_ERROR(kv::restore_backup(directory, spec, number, c::options_of(options)));
    return {};
  });
}
