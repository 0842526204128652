// A system that has no room for another thread: structures that want one of their own.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

#include <gtest/gtest.h>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/blocks/page/buffer_manager.hpp>
#include <holdfast/blocks/page/page_store.hpp>

namespace {

std::atomic<bool> no_more_threads{false};

}  // namespace

// In place of the system's, for this program.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) {
  if (no_more_threads) return EAGAIN;
  static const auto system_s =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return system_s(thread, attributes, run, argument);
}

namespace holdfast::blocks {
namespace {

// Both threw std::system_error through functions that return errors.
TEST(FewThreads, APageStoreIsMeasuredByOneAndABufferManagerSaysWhatItLacks) {
  RegionOptions of_region;
  of_region.size_bytes = of_region.unit_bytes = 4 * MiB;
  auto region = Region::open("dram?granularity=line", of_region).value();
  PageStoreOptions options;
  options.method = FlushMethod::kHybrid;
  no_more_threads = true;
  auto store = PageStore::create(region, whole(region), options);
  ASSERT_TRUE(store) << store.error().message();
  BufferOptions buffers;
  buffers.frames = 16;
  buffers.background = true;
  const auto refused = BufferManager::create(**store, buffers);
  no_more_threads = false;
  ASSERT_EQ(refused.code(), Errc::kNoSpace);
  EXPECT_NE(refused.error().detail.find("thread"), std::string::npos) << refused.error().detail;
  EXPECT_TRUE(BufferManager::create(**store, buffers));
}

}  // namespace
}  // namespace holdfast::blocks
