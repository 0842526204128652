// make_golden DIRECTORY: makes the golden stores and backups of the present format version, where
// they do not exist yet. Those of a released version are never made again: they must open for ever.
#include <cstdio>

#include <holdfast/kv/backup.hpp>

#include "golden_content.hpp"
#include "golden_file.hpp"

using namespace holdfast;
using namespace holdfast::kv;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_golden DIRECTORY\n");
    return 2;
  }
  for (const Golden& golden : golden_stores(kFormatVersion)) {
    const std::string path = std::string(argv[1]) + "/" + golden_name(golden);
    if (std::filesystem::exists(path)) {
      std::printf("%s is there already\n", path.c_str());
      continue;
    }
    const Scratch scratch = Scratch::tmpfs();
    auto store = Store<>::open(scratch.path("store") + golden.medium, golden.options).value();
    golden.fill(store);
    if (golden.clean) store.close().value();
    write_golden(Image::of(scratch.path("store")), path);
    std::printf("%s made\n", path.c_str());
  }
  for (const Golden& golden : golden_backups()) {
    const std::string path = std::string(argv[1]) + "/" + golden_backup_name(golden);
    if (std::filesystem::exists(path)) {
      std::printf("%s is there already\n", path.c_str());
      continue;
    }
    const Scratch scratch = Scratch::tmpfs();
    auto store = Store<>::open(scratch.path("store") + golden.medium, golden.options).value();
    golden.fill(store);
    backup(store, scratch.path("backup")).value();
    store.put(kBehindTheFirstBackup, "b").value();
    backup(store, scratch.path("backup")).value();
    write_golden_files(scratch.path("backup"), path);
    std::printf("%s made\n", path.c_str());
  }
}
