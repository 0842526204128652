// Suite pmdk, bytes: what is shared, our own verbs, and the floor: libc, one write-back per line,
// one fence.
#include <holdfast/peers/blocks/pmdk_bytes.hpp>

#include <sys/mman.h>

#include <holdfast/memory/cpu.hpp>

namespace holdfast::bench::blocks {
namespace {

using O = ByteOperation;

Error wrong(const std::string& what) {
  return {Errc::kCorrupt, "wrong answer when the area was read back: " + what};
}

// The least that could do: no library. Its memcpy and memset are libc's, and are of no durability.
struct BareCalls : ByteCalls {
  explicit BareCalls(const Persist& persist) : with(persist) {}
  bool has(O operation) const { return operation != O::kDeepPersist && operation != O::kUnknown; }
  bool counts_persists() const { return true; }
  bool flush(std::byte* to, std::size_t bytes) const { return with.write_back(to, bytes), true; }
  bool persist(std::byte* to, std::size_t bytes) const { return with.persist(to, bytes), true; }
  // The system call, over the pages that hold the range.
  bool msync(std::byte* to, std::size_t bytes) const {
    const auto address = reinterpret_cast<std::uintptr_t>(to);
    const auto page = round_down(address, kPageBytes);
    return ::msync(reinterpret_cast<void*>(page), address + bytes - page, MS_SYNC) == 0;
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
  }
  void copy_nodrain(std::byte* to, const std::byte* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
    with.write_back(to, bytes);
  }
  void copy_persist(std::byte* to, const std::byte* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
    with.persist(to, bytes);
  }
  void set(std::byte* to, unsigned char byte, std::size_t bytes) const {
    std::memset(to, byte, bytes);
  }
  void set_nodrain(std::byte* to, unsigned char byte, std::size_t bytes) const {
    std::memset(to, byte, bytes);
    with.write_back(to, bytes);
  }
  void set_persist(std::byte* to, unsigned char byte, std::size_t bytes) const {
    std::memset(to, byte, bytes);
    with.persist(to, bytes);
  }
  void drain() const { with.fence(); }

  Persist with;
};

// Ours. Deep persist and msync have no counterpart: a region of lines is durable after a fence,
// and one of pages takes no stores. There is no memset either: memory is filled by copies from a
// buffer that holds the pattern, which also keeps words whole.
struct HoldfastCalls : ByteCalls {
  explicit HoldfastCalls(const Persist& persist) : with(persist) {}
  bool has(O operation) const {
    return operation == O::kFlush || operation == O::kPersist || operation == O::kMemcpy ||
           operation == O::kMemcpyNodrain || operation == O::kMemcpyPersist;
  }
  bool counts_persists() const { return true; }
  results::Fields facts(const Context&) const {
    results::Fields facts;
    facts.set("calls", "Persist::write_back, persist, copy, write");
    return facts;
  }
  bool flush(std::byte* to, std::size_t bytes) const { return with.write_back(to, bytes), true; }
  bool persist(std::byte* to, std::size_t bytes) const { return with.persist(to, bytes), true; }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
    with.copy(to, from, bytes);
  }
  void copy_nodrain(std::byte* to, const std::byte* from, std::size_t bytes) const {
    with.write(to, from, bytes);
  }
  void copy_persist(std::byte* to, const std::byte* from, std::size_t bytes) const {
    with.write(to, from, bytes);
    with.fence();
  }
  void drain() const { with.fence(); }

  Persist with;
};

// One pattern per thread, made anew for every operation: the price of having no memset is in it.
struct HoldfastFill : ByteCalls {
  explicit HoldfastFill(const Persist& persist) : with(persist) {}
  bool has(O operation) const {
    return operation == O::kMemsetNodrain || operation == O::kMemsetPersist;
  }
  bool counts_persists() const { return true; }
  results::Fields facts(const Context&) const {
    results::Fields facts;
    facts.set("calls", "std::memset of a buffer of up to 512 bytes, Persist::write from it");
    return facts;
  }
  void set_nodrain(std::byte* to, unsigned char byte, std::size_t bytes) const {
    alignas(kCacheLineBytes) std::byte pattern[512];
    std::memset(pattern, byte, std::min(bytes, sizeof pattern));
    for (std::size_t at = 0; at < bytes; at += sizeof pattern)
      with.write(to + at, pattern, std::min(bytes - at, sizeof pattern));
  }
  void set_persist(std::byte* to, unsigned char byte, std::size_t bytes) const {
    set_nodrain(to, byte, bytes);
    with.fence();
  }
  void drain() const { with.fence(); }

  Persist with;
};

}  // namespace

void evict(const std::byte* begin, std::uint64_t bytes) {
  const Persist away(
      cpu().clflushopt ? WriteBackInstruction::kClflushopt : WriteBackInstruction::kClflush, false);
  away.persist(begin, bytes);
}

Status check_bytes(const ByteShape& shape, const Phase& phase, unsigned thread,
                   std::uint64_t operations, std::uint64_t seed, const ReadPlace& read) {
  const Places places(shape, seed);
  ByteContent content(shape, phase.number, thread);
  // A few thousand of the newest, some megabytes at most: a wrong copy is wrong everywhere.
  const auto checked = std::min<std::uint64_t>({operations, 4096, 4 * MiB / shape.bytes});
  std::unordered_set<std::uint64_t> seen;
  std::vector<std::byte> expected(shape.bytes);
  for (std::uint64_t back = 1; back <= checked; ++back) {
    const auto i = operations - back;
    const auto offset = places.at(i);
    if (!seen.insert(offset).second) continue;
    const auto* const found = read(offset);
    const auto where = "operation " + std::to_string(i) + " of " + std::to_string(operations);
    if (found == nullptr) return wrong(where + " left nothing");
    if (shape.verb == "persist") {
      const auto stamp = content.stamp(i);
      for (std::size_t line = 0; line < shape.bytes; line += kCacheLineBytes) {
        if (std::memcmp(found + line, &stamp, sizeof stamp) != 0) return wrong(where);
      }
      continue;
    }
    if (shape.verb == "memcpy")
      std::memcpy(expected.data(), content.copy(i), shape.bytes);
    else
      std::memset(expected.data(), content.byte(i), shape.bytes);
    if (std::memcmp(found, expected.data(), shape.bytes) != 0) return wrong(where);
  }
  return {};
}

std::vector<SubjectEntry> own_byte_entries(const Context& context, const ByteShape& shape) {
  const auto& persist = context.region.persist();
  std::vector<SubjectEntry> entries;
  entries.push_back(byte_entry("fence", context, shape, BareCalls(persist)));
  if (shape.verb == "memset")
    entries.push_back(byte_entry("holdfast", context, shape, HoldfastFill(persist)));
  else
    entries.push_back(byte_entry("holdfast", context, shape, HoldfastCalls(persist)));
  return entries;
}

}  // namespace holdfast::bench::blocks
