// page_crash.hpp: a page store under the crash checker: its operations, what a reader sees, and the
// dull model that says what may be seen.
//
// Pages are 128 bytes, two lines, so that every crash state is tried. An operation gives each of
// its page's dirty lines a value of its own; a reader sees each word.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/blocks/page/page_kernels.hpp>
#include <holdfast/blocks/page/page_store.hpp>
#include <holdfast/crash/checker.hpp>

namespace holdfast::blocks {

inline constexpr std::uint32_t kSmallPageBytes = 128;
inline constexpr std::uint32_t kSmallPageLines = 2;

// A page as read: its words; absent: no such page.
using PageWords = std::vector<std::uint64_t>;
struct StoreState {
  bool exists = true;  // The store itself.
  std::map<std::uint32_t, PageWords> pages;
  bool operator==(const StoreState&) const = default;
};

inline std::uint64_t value_of(std::uint64_t operation, std::uint32_t line) {
  return operation << 8 | (line + 1);
}

// Page `page` gets the lines `lines` (bit per line) of operation `id`; 0 lines: it is freed.
struct PageOperation {
  std::uint64_t id;
  std::uint32_t page;
  unsigned lines;
};

class PageModel {
 public:
  explicit PageModel(std::vector<PageOperation> operations) {
    for (const auto& operation : operations)
      by_id_[operation.id] = operation;
  }

  // What a correct store holds after `operation`.
  static void apply(const PageOperation& operation, StoreState& state) {
    if (operation.lines == 0) {
      state.pages.erase(operation.page);
      return;
    }
    auto& words = state.pages.try_emplace(operation.page, kSmallPageBytes / 8, 0).first->second;
    for (std::uint32_t line = 0; line < kSmallPageLines; ++line) {
      if ((operation.lines >> line & 1) != 0)
        std::fill_n(words.begin() + line * 8, 8, value_of(operation.id, line));
    }
  }

  // Pages are independent: each shows its acknowledged operations and, of the one in flight, all or
  // nothing. (Of two in flight on one page, the later may have overtaken: they are concurrent.)
  std::string check(const crash::Past<StoreState>& past, const StoreState& seen) const {
    if (!seen.exists) return "the store is gone";
    for (std::uint32_t page = 0; page < 8; ++page) {
      std::vector<StoreState> allowed = {past.base};
      for (const auto& done : past.operations) {
        const auto found = by_id_.find(done.id);
        if (found == by_id_.end() || found->second.page != page) continue;
        auto after = allowed;
        for (auto& state : after)
          apply(found->second, state);
        if (done.acknowledged())
          allowed = after;
        else
          allowed.insert(allowed.end(), after.begin(), after.end());
      }
      if (std::none_of(allowed.begin(), allowed.end(), [&](const StoreState& state) {
            return words_of(state, page) == words_of(seen, page);
          }))
        return "page " + std::to_string(page) + " holds neither what was acknowledged nor that " +
               "and all of what was in flight";
    }
    return "";
  }

  std::string describe(std::uint64_t id) const {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return "operation " + std::to_string(id);
    return (found->second.lines == 0 ? "free page " : "flush page ") +
           std::to_string(found->second.page) + " (lines " + std::to_string(found->second.lines) +
           ", operation " + std::to_string(id) + ")";
  }

 private:
  static std::optional<PageWords> words_of(const StoreState& state, std::uint32_t page) {
    const auto found = state.pages.find(page);
    if (found == state.pages.end()) return std::nullopt;
    return found->second;
  }

  std::map<std::uint64_t, PageOperation> by_id_;
};

inline PageStoreOptions small_store(FlushMethod method = FlushMethod::kHybrid) {
  PageStoreOptions options;
  options.page_bytes = kSmallPageBytes;
  options.pages = 3;
  options.spare_slots = 1;
  options.micro_logs = 1;
  options.method = method;
  // One dirty line goes to the log, two are copied; with others about, all go to the log.
  options.costs = FlushCosts{{{{1, 1}, {2, 2}}}, {}};
  return options;
}

inline crash::Options small_medium(const crash::Model& model) {
  crash::Options options;
  options.model = model;
  options.size_bytes = options.unit_bytes = options.max_size_bytes = 20 * KiB;
  options.images_per_run = 10'000'000;
  if (model == crash::kLineStreaming) {  // Any subset of words: too many to try all.
    options.states_per_point = 1'000;
    options.nested_states_per_point = 100;
    options.images_per_run = 15'000;
  }
  return options;
}

// The models under which a page store promises what it promises: all but system calls.
inline const std::vector<crash::Model>& page_models() {
  static const std::vector<crash::Model> models = {crash::kLine, crash::kLineStreaming,
                                                   crash::kByte};
  return models;
}

inline std::unique_ptr<PageStore> open_store(Region& region, const PageStoreOptions& options) {
  return std::move(PageStore::open(region, whole(region), options)).value();
}

// The page's content after `operation`, given what the store holds before it.
inline std::vector<std::uint64_t> content_after(const PageStore& store,
                                                const PageOperation& operation) {
  std::vector<std::uint64_t> words(kSmallPageBytes / 8, 0);
  if (store.contains({operation.page}))
    store.read({operation.page}, std::as_writable_bytes(std::span(words))).value();
  StoreState state;
  state.pages[operation.page] = words;
  PageModel::apply(operation, state);
  return state.pages[operation.page];
}

inline LineSet lines_of(const PageOperation& operation) {
  LineSet dirty;
  for (std::uint32_t line = 0; line < kSmallPageLines; ++line) {
    if ((operation.lines >> line & 1) != 0) dirty.mark_lines(line, 1);
  }
  return dirty;
}

inline void do_operation(PageStore& store, const PageOperation& operation) {
  if (operation.lines == 0) return store.free({operation.page}).value();
  const auto words = content_after(store, operation);
  const auto dirty = lines_of(operation);
  store.flush({{operation.page}, reinterpret_cast<const std::byte*>(words.data()), &dirty}).value();
}

inline Result<StoreState> read_store(Region& region, const PageStoreOptions& options) {
  auto store = PageStore::open(region, whole(region), options);
  if (!store) {
    if (store.code() != Errc::kNotHoldfast) return std::move(store).error();
    return StoreState{false, {}};
  }
  StoreState state;
  for (std::uint32_t page = 0; page < (*store)->pages(); ++page) {
    if (!(*store)->contains({page})) continue;
    PageWords words(kSmallPageBytes / 8);
    HF_RETURN_IF_ERROR((*store)->read({page}, std::as_writable_bytes(std::span(words))));
    state.pages[page] = words;
  }
  return state;
}

// `before` is done quietly, then `operations` one after the other, then, in each recovered store,
// `after`. Ids differ.
struct PageRun {
  PageStoreOptions options = small_store();
  std::vector<PageOperation> before, operations, after;

  crash::Protocol<StoreState> protocol() const {
    auto all = operations;
    all.insert(all.end(), after.begin(), after.end());
    crash::Protocol<StoreState> protocol;
    for (const auto& operation : before)
      PageModel::apply(operation, protocol.initial);
    protocol.setup = [*this](Region& region) {
      auto store = PageStore::create(region, whole(region), options).value();
      for (const auto& operation : before)
        do_operation(*store, operation);
    };
    protocol.workload = [*this](Region& region, crash::Workload& run) {
      auto store = open_store(region, options);
      for (const auto& operation : operations)
        run.perform(operation.id, [&] { do_operation(*store, operation); });
    };
    protocol.recover = [*this](Region& region) { return read_store(region, options); };
    const auto model = std::make_shared<PageModel>(all);
    protocol.check = [model](const auto& past, const auto& seen) {
      return model->check(past, seen);
    };
    protocol.describe = [model](std::uint64_t id) { return model->describe(id); };
    protocol.print = [](const StoreState& state) {
      std::string text = state.exists ? "" : "no store";
      for (const auto& [page, words] : state.pages) {
        text += "page " + std::to_string(page) + " [";
        for (const auto word : words)
          text += " " + std::to_string(word >> 8) + "/" + std::to_string(word & 0xff);
        text += " ] ";
      }
      return text;
    };
    if (!after.empty()) {
      protocol.then = [*this](Region& region, crash::Workload& run, const StoreState&) {
        auto store = open_store(region, options);
        for (const auto& operation : after)
          run.perform(operation.id, [&] { do_operation(*store, operation); });
      };
    }
    return protocol;
  }
};

}  // namespace holdfast::blocks
