#include <holdfast/bench/kv/context.hpp>

#include <malloc.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace holdfast::bench::kv {

const std::vector<std::uint32_t>& Context::zipf(unsigned thread, bool scrambled) const {
  const Lock lock(mutex_);
  auto& lists = zipf_[scrambled ? 1 : 0];
  while (lists.size() <= thread)
    lists.push_back(nullptr);
  if (!lists[thread]) {
    lists[thread] = std::make_unique<std::vector<std::uint32_t>>(
        zipf_list(records, mix(seed ^ mix(thread)), kZipfListed, scrambled));
  }
  return *lists[thread];
}

std::string place_of(const Context& context, const std::string& name) {
  if (context.base.empty() || context.base.starts_with("/dev/dax")) return context.region;
  return context.base + "/" + name + context.options;
}

std::uint64_t anonymous_bytes() {
  malloc_trim(0);
  std::ifstream smaps("/proc/self/smaps_rollup");
  for (std::string word; smaps >> word;) {
    if (word == "Anonymous:") {
      std::uint64_t kib = 0;
      smaps >> kib;
      return kib * KiB;
    }
  }
  return 0;
}

std::uint64_t allocated_bytes(const std::string& path) {
  const auto size_of = [](const std::filesystem::path& file) -> std::uint64_t {
    struct stat info{};
    return ::lstat(file.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_blocks) * 512 : 0;
  };
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return size_of(path);
  std::uint64_t bytes = 0;
  for (std::filesystem::recursive_directory_iterator entry(path, error), end;
       !error && entry != end; entry.increment(error)) {
    bytes += size_of(entry->path());
  }
  return bytes;
}

}  // namespace holdfast::bench::kv
