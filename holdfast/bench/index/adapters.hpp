// adapters.hpp: the indexes that are measured, under one set of verbs.
//
//   Adapter(const blocks::Context&); Status create(std::uint64_t records)
//   Adapter::Session(Adapter&)        one for each thread
//     bool insert(key, value), update(key, value), erase(key); std::optional<value> find(key)
//     scan(from, visit(key, value) -> bool)                where kScans
//     find_many(keys, values), insert_many(records, outcomes)   where kMany: of Adapter::Record
//   Status reopen()                                      where kPersistent: closes and opens
//   std::uint64_t medium_bytes(), dram_bytes()             0: not known
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <holdfast/base/epoch.hpp>
#include <holdfast/bench/blocks/suites.hpp>
#include <holdfast/bench/index/key_choice.hpp>
#include <holdfast/bench/index/record_sizes.hpp>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/index/dash/byte_dash.hpp>
#include <holdfast/index/dash/dash.hpp>
#include <holdfast/index/fastfair/fastfair.hpp>
#include <holdfast/index/fptree/fptree.hpp>
#include <holdfast/index/offset_map.hpp>
#include <holdfast/index/ordered/ordered_index.hpp>
#include <holdfast/memory/superblock.hpp>

namespace holdfast::bench::index {

inline Extent extent_of(const blocks::Context& context) {
  return {0, context.options.region_bytes};
}
// The region holds leftovers: of the subject before, or of a run that was killed.
inline Status clear_place(const blocks::Context& context) {
  return erase_superblock(DurableWriter(context.region));
}

// What the indexes on the medium differ in.
struct NoRecord {};  // No verbs for many at once.
struct Footprint {
  std::uint64_t medium_bytes = 0;
  std::uint64_t dram_bytes = 0;
};
inline Footprint footprint(const holdfast::index::Dash& index) {
  return {index.segments() * std::uint64_t{16} * KiB,
          index.segments() * std::uint64_t{4} + (std::uint64_t{4} << index.depth())};
}
inline Footprint footprint(const holdfast::index::FpTree& tree) {
  return {tree.leaves() * std::uint64_t{1} * KiB,
          tree.inner_bytes() + tree.leaves() * std::uint64_t{4}};
}
inline Footprint footprint(const holdfast::index::FastFair& tree) {
  return {tree.nodes() * std::uint64_t{512}, tree.nodes() * std::uint64_t{8}};
}
using Found = std::span<std::optional<std::uint64_t>>;
inline Status find_many(holdfast::index::Dash& index, std::span<const std::uint64_t> keys,
                        Found values) {
  return index.find_many(keys, values, {.group = 64});
}
inline Status find_many(holdfast::index::FpTree& tree, std::span<const std::uint64_t> keys,
                        Found values) {
  return tree.find_many(keys, values);
}

// Of numbers, on the medium.
template <class Index, bool kInOrder, class RecordOfMany>
class MediumAdapter {
 public:
  using Record = RecordOfMany;
  static constexpr bool kScans = kInOrder, kMany = !std::is_same_v<Record, NoRecord>;
  static constexpr bool kUpdates = true, kPersistent = true;
  explicit MediumAdapter(const blocks::Context& context) : context_(context) {}
  Status create(std::uint64_t) {
    HF_RETURN_IF_ERROR(clear_place(context_));
    HF_ASSIGN_OR_RETURN(index_, Index::create(context_.region, extent_of(context_)));
    return {};
  }
  Status reopen() {
    index_.reset();
    HF_ASSIGN_OR_RETURN(index_, Index::open(context_.region, extent_of(context_)));
    return {};
  }
  class Session {
   public:
    explicit Session(MediumAdapter& adapter) : index_(*adapter.index_) {}
    bool insert(std::uint64_t key, std::uint64_t value) {
      return index_.insert(key, value).has_value();
    }
    bool update(std::uint64_t key, std::uint64_t value) {
      return index_.update(key, value).has_value();
    }
    bool erase(std::uint64_t key) { return index_.erase(key).has_value(); }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      const auto found = index_.find(key);
      return found ? std::optional(*found) : std::nullopt;
    }
    template <class Visit>
    bool scan(std::uint64_t from, Visit&& visit) {
      return index_.scan(from, visit).has_value();
    }
    bool find_many(std::span<const std::uint64_t> keys, Found values) {
      return index::find_many(index_, keys, values).has_value();
    }
    bool insert_many(std::span<const Record> records, std::span<Errc> outcomes) {
      return index_.insert_many(records, outcomes).has_value();
    }

   private:
    Index& index_;
  };
  std::uint64_t medium_bytes() const { return footprint(*index_).medium_bytes; }
  std::uint64_t dram_bytes() const { return footprint(*index_).dram_bytes; }

 private:
  const blocks::Context& context_;
  std::unique_ptr<Index> index_;
};

using DashAdapter = MediumAdapter<holdfast::index::Dash, false, holdfast::index::DashRecord>;
using FpTreeAdapter = MediumAdapter<holdfast::index::FpTree, true, holdfast::index::FpRecord>;
using FastFairAdapter = MediumAdapter<holdfast::index::FastFair, true, NoRecord>;

// Keys and values of any length: the numbers, and what fills them up.
class ByteDashAdapter {
 public:
  static constexpr bool kScans = false, kMany = false, kUpdates = true, kPersistent = true;
  ByteDashAdapter(const blocks::Context& context, RecordSizes sizes)
      : context_(context), sizes_(sizes) {}
  Status create(std::uint64_t) {
    HF_RETURN_IF_ERROR(clear_place(context_));
    holdfast::index::ByteDashOptions options;
    if (context_.options.quick) options.segment_bytes = 64 * KiB;
    HF_ASSIGN_OR_RETURN(
        index_, holdfast::index::ByteDash::create(context_.region, extent_of(context_), options));
    return {};
  }
  Status reopen() {
    index_.reset();
    HF_ASSIGN_OR_RETURN(index_,
                        holdfast::index::ByteDash::open(context_.region, extent_of(context_)));
    return {};
  }
  class Session {
   public:
    explicit Session(ByteDashAdapter& adapter)
        : index_(*adapter.index_), key_(adapter.sizes_.key), value_(adapter.sizes_.value) {}
    bool insert(std::uint64_t key, std::uint64_t value) {
      return index_.insert(key_.of(key), value_.of(value)).has_value();
    }
    bool update(std::uint64_t key, std::uint64_t value) {
      return index_.update(key_.of(key), value_.of(value)).has_value();
    }
    bool erase(std::uint64_t key) { return index_.erase(key_.of(key)).has_value(); }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      const auto found = index_.find(key_.of(key));
      if (!found || found->size() != value_.size()) return std::nullopt;
      std::uint64_t value;
      std::memcpy(&value, found->data(), sizeof value);
      return value;
    }

   private:
    class Text {
     public:
      explicit Text(unsigned bytes) : bytes_(bytes, 'x') {}
      std::size_t size() const { return bytes_.size(); }
      // Until the next one.
      std::string_view of(std::uint64_t number) {
        std::memcpy(bytes_.data(), &number, sizeof number);
        return bytes_;
      }

     private:
      std::string bytes_;
    };
    holdfast::index::ByteDash& index_;
    Text key_, value_;
  };
  std::uint64_t medium_bytes() const {
    const auto& log = index_->log();
    return footprint(index_->dash()).medium_bytes + log.where().size_bytes -
           log.free_segments() * log.options().segment_bytes;
  }
  std::uint64_t dram_bytes() const { return footprint(index_->dash()).dram_bytes; }

 private:
  const blocks::Context& context_;
  const RecordSizes sizes_;
  std::unique_ptr<holdfast::index::ByteDash> index_;
};

// The store's hash index, in DRAM: from a key to a number. No value is kept: the number is that of
// the record, and the value follows from it.
class OffsetMapAdapter {
 public:
  static constexpr bool kScans = false, kMany = false, kUpdates = false, kPersistent = false;
  explicit OffsetMapAdapter(const blocks::Context&) {}
  Status create(std::uint64_t records) {
    HF_ASSIGN_OR_RETURN(map_,
                        holdfast::index::OffsetMap::create(domain_, {.expected_records = records}));
    return {};
  }
  class Session {
    // The key is a hash already.
    static holdfast::index::Line line_of(std::uint64_t key) { return {number_of(key) + 1}; }
    static auto matching(std::uint64_t key) {
      return [key](holdfast::index::Line at) { return key_of(at.number - 1) == key; };
    }

   public:
    explicit Session(OffsetMapAdapter& adapter)
        : domain_(adapter.domain_), map_(*adapter.map_), participant_(domain_.join()) {}
    bool insert(std::uint64_t key, std::uint64_t) {
      const auto guard = domain_.enter(participant_);
      for (;;) {
        auto home = map_.latch(key);
        if (home.find(matching(key))) return false;
        if (home.insert(line_of(key))) return true;
        home.release();
        if (!map_.grow(key)) return false;
      }
    }
    bool update(std::uint64_t, std::uint64_t) { return false; }
    bool erase(std::uint64_t key) {
      const auto guard = domain_.enter(participant_);
      auto home = map_.latch(key);
      const auto entry = home.find(matching(key));
      if (entry) home.remove(entry);
      return static_cast<bool>(entry);
    }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      const auto guard = domain_.enter(participant_);
      if (!map_.find(key, matching(key))) return std::nullopt;
      return value_of(key);
    }

   private:
    EpochDomain& domain_;
    holdfast::index::OffsetMap& map_;
    EpochDomain::Participant participant_;
  };
  std::uint64_t medium_bytes() const { return 0; }
  std::uint64_t dram_bytes() const { return map_->dram_bytes(); }

 private:
  EpochDomain domain_;
  std::unique_ptr<holdfast::index::OffsetMap> map_;
};

// The store's set of keys in order, in DRAM. No values: they follow from the keys.
class OrderedAdapter {
 public:
  static constexpr bool kScans = true, kMany = false, kUpdates = false, kPersistent = false;
  explicit OrderedAdapter(const blocks::Context&) {}
  Status create(std::uint64_t) {
    HF_ASSIGN_OR_RETURN(index_, holdfast::index::ordered::OrderedIndex::create(domain_));
    return {};
  }
  class Session {
   public:
    explicit Session(OrderedAdapter& adapter)
        : domain_(adapter.domain_), index_(*adapter.index_), participant_(domain_.join()) {}
    bool insert(std::uint64_t key, std::uint64_t) {
      const auto guard = domain_.enter(participant_);
      return index_.insert(Text(key).view()).value_or(false);
    }
    bool update(std::uint64_t, std::uint64_t) { return false; }
    bool erase(std::uint64_t key) {
      const auto guard = domain_.enter(participant_);
      return index_.erase(Text(key).view());
    }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      const auto guard = domain_.enter(participant_);
      if (!index_.contains(Text(key).view())) return std::nullopt;
      return value_of(key);
    }
    template <class Visit>
    bool scan(std::uint64_t from, Visit&& visit) {
      const auto guard = domain_.enter(participant_);
      index_.read_from(Text(from).view(), batch_);
      for (;;) {
        for (std::size_t i = 0; i < batch_.size(); ++i) {
          std::uint64_t key;
          std::memcpy(&key, batch_[i].data(), sizeof key);
          key = __builtin_bswap64(key);
          if (!visit(key, value_of(key))) return true;
        }
        if (!batch_.more()) return true;
        index_.read_from(std::string(batch_.resume()), batch_);
      }
    }

   private:
    // Big-endian: in the order of the numbers.
    class Text {
     public:
      explicit Text(std::uint64_t key) : bytes_(__builtin_bswap64(key)) {}
      std::string_view view() const {
        return {reinterpret_cast<const char*>(&bytes_), sizeof bytes_};
      }

     private:
      std::uint64_t bytes_;
    };
    EpochDomain& domain_;
    holdfast::index::ordered::OrderedIndex& index_;
    EpochDomain::Participant participant_;
    holdfast::index::ordered::KeyBatch batch_;
  };
  std::uint64_t medium_bytes() const { return 0; }
  std::uint64_t dram_bytes() const { return index_->bytes(); }

 private:
  EpochDomain domain_;
  std::unique_ptr<holdfast::index::ordered::OrderedIndex> index_;
};

}  // namespace holdfast::bench::index
