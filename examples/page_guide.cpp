// page_guide.cpp: pages of a program's own that reach the medium whole or not at all: first through
// the page store, then through a buffer manager on top of it. docs/guide_pages.md.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <holdfast/blocks/page/buffer_manager.hpp>
#include <holdfast/blocks/page/page_store.hpp>

using holdfast::Errc;
using holdfast::Region;
using holdfast::RegionOptions;
using holdfast::Status;
using holdfast::blocks::Access;
using holdfast::blocks::BufferManager;
using holdfast::blocks::BufferOptions;
using holdfast::blocks::LineSet;
using holdfast::blocks::PageId;
using holdfast::blocks::PageStore;
using holdfast::blocks::PageStoreOptions;
using holdfast::blocks::whole;

constexpr PageId kCounters{7};  // Page numbers are the program's own choice.

// A page in DRAM that knows which of its lines changed: a flush writes only those.
Status count_by_hand(PageStore& store) {
  std::vector<std::byte> page(store.page_bytes());
  if (const auto read = store.read(kCounters, page); !read && read.code() != Errc::kNotFound)
    return read;
  std::uint64_t runs;
  std::memcpy(&runs, page.data(), sizeof runs);
  ++runs;
  std::memcpy(page.data(), &runs, sizeof runs);
  LineSet dirty;
  dirty.mark(0, sizeof runs);
  HF_RETURN_IF_ERROR(store.flush({kCounters, page.data(), &dirty}));  // Durable now.
  std::printf("run %llu\n", static_cast<unsigned long long>(runs));
  return {};
}

// The same by a buffer manager, which keeps frames and dirty lines itself.
Status count_by_buffers(BufferManager& buffers) {
  HF_ASSIGN_OR_RETURN(auto page, buffers.fix(kCounters, Access::kWrite));
  const auto place = page.change(64, 8);  // Bytes 64 to 71, to be changed in place.
  std::uint64_t runs;
  std::memcpy(&runs, place.data(), sizeof runs);
  ++runs;
  std::memcpy(place.data(), &runs, sizeof runs);
  return {};  // The page is unfixed here. It is durable after flush_all().
}

Status run(const std::string& spec) {
  RegionOptions size;
  size.size_bytes = size.unit_bytes = 2 * holdfast::MiB;
  HF_ASSIGN_OR_RETURN(auto region, Region::open(spec, size));
  PageStoreOptions options;
  options.page_bytes = 4 * holdfast::KiB;
  auto store = PageStore::open(region, whole(region), options);
  if (store.code() == Errc::kNotHoldfast) store = PageStore::create(region, whole(region), options);
  if (!store) return store.error();

  HF_RETURN_IF_ERROR(count_by_hand(**store));
  BufferOptions frames;
  frames.frames = 16;  // Pages in DRAM.
  HF_ASSIGN_OR_RETURN(auto buffers, BufferManager::create(**store, frames));
  HF_RETURN_IF_ERROR(count_by_buffers(*buffers));
  return buffers->flush_all();
}

int main(int count, char** arguments) {
  const auto status = run(count > 1 ? arguments[1] : "/dev/shm/guide.pages?granularity=line");
  if (!status) std::fprintf(stderr, "%s\n", status.error().message().c_str());
  return status ? 0 : 1;
}
