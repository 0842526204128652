#include <holdfast/olap/background_merge.hpp>

#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::olap {

Result<std::unique_ptr<BackgroundMerge>> BackgroundMerge::started(
    std::unique_ptr<BackgroundMerge> merge) {
  try {
    merge->thread_ = std::thread([raw = merge.get()] { raw->run(); });
  } catch (const std::system_error& error) {
    return Error{Errc::kIo, std::string("star: a thread to merge: ") + error.what()};
  }
  return merge;
}

Result<std::unique_ptr<BackgroundMerge>> BackgroundMerge::start(StarStore& store,
                                                                std::size_t from) {
  const auto waiting = [&store] {
    const auto version = store.version();
    return version == nullptr ? 0 : version->catalogue().deltas.size();
  };
  return started(std::unique_ptr<BackgroundMerge>(
      new BackgroundMerge(waiting, [&store] { return store.merge(); }, from)));
}

Result<std::unique_ptr<BackgroundMerge>> BackgroundMerge::start(mart::MartStore& store,
                                                                std::size_t from) {
  const auto waiting = [&store] {
    const auto version = store.version();
    return version == nullptr ? 0 : mart::small_blocks(version->catalogue());
  };
  return started(std::unique_ptr<BackgroundMerge>(
      new BackgroundMerge(waiting, [&store] { return mart::merge(store); }, from)));
}

BackgroundMerge::~BackgroundMerge() {
  {
    const Lock lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void BackgroundMerge::notice() {
  const Lock lock(mutex_);
  noticed_ = true;
  changed_.notify_all();
}

Status BackgroundMerge::last_error() const {
  const Lock lock(mutex_);
  return last_;
}

void BackgroundMerge::run() {
  for (;;) {
    {
      const Lock lock(mutex_);
      while (!noticed_ && !stop_)
        changed_.wait(mutex_);
      if (stop_) return;
      noticed_ = false;
    }
    Status merged;
    try {
      if (waiting_() < HF_MUTANT("O31", from_, ~std::size_t{0})) continue;
      merged = merge_();
    } catch (const std::bad_alloc&) {
      merged = Error{Errc::kNoSpace, "out of memory"};  // So short that it needs none.
    }
    const Lock lock(mutex_);
    last_ = std::move(merged);
  }
}

}  // namespace holdfast::olap
