// make_golden_pages DIRECTORY VERSION: makes whole.vVERSION.hex and unfinished.vVERSION.hex, page
// stores of the format version that this build writes. Not run by the build.
#include <cstring>
#include <iostream>

#include "golden_pages.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::blocks;

std::string image(const Region& region) {
  return {reinterpret_cast<const char*>(region.data()), region.size_bytes()};
}

PageStoreOptions shape(FlushMethod method) {
  PageStoreOptions options;
  options.page_bytes = kGoldenPageBytes;
  options.pages = kGoldenPages;
  options.spare_slots = 2;
  options.micro_logs = 2;
  options.method = method;
  return options;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const std::string directory = words[1], version = words[2];
  RegionOptions options;
  options.access = RegionAccess::kCreate;
  options.size_bytes = options.unit_bytes =
      PageStore::bytes_needed(shape(FlushMethod::kCopyOnWrite));
  {
    auto region = Region::open("dram", options).value();
    auto store = PageStore::create(region, whole(region), shape(FlushMethod::kCopyOnWrite)).value();
    for (std::uint32_t page = 0; page + 1 < kGoldenPages; ++page)
      store->flush(PageId{page}, golden_content(page, 1)).value();
    store->free(PageId{kGoldenFreedPage}).value();
    write_golden(directory + "/whole.v" + version + ".hex", image(region));
  }
  {
    auto region = Region::open("dram", options).value();
    auto store = PageStore::create(region, whole(region), shape(FlushMethod::kMicroLog)).value();
    for (std::uint32_t page = 0; page + 1 < kGoldenPages; ++page)
      store->flush(PageId{page}, golden_content(page, 1)).value();
    store->free(PageId{kGoldenFreedPage}).value();
    const auto before = image(region);
    LineSet dirty;
    dirty.mark_lines(1, 2);
    const auto changed = golden_changed_content();
    store->flush({PageId{kGoldenChangedPage}, changed.data(), &dirty}).value();
    auto after = image(region);
    // The header's version and the last line of the slot did not arrive.
    std::vector<std::size_t> differing;
    for (std::size_t at = 0; at < after.size(); at += kCacheLineBytes) {
      if (after.compare(at, kCacheLineBytes, before, at, kCacheLineBytes) != 0)
        differing.push_back(at);
    }
    for (const auto at : {differing.front(), differing.back()})
      after.replace(at, kCacheLineBytes, before, at, kCacheLineBytes);
    write_golden(directory + "/unfinished.v" + version + ".hex", after);
    std::cout << differing.size() << " lines differ\n";
  }
}
