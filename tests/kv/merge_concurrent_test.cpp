// append() and merge() beside writers, readers, snapshots and reclamation.
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/base/sanitizer.hpp>
#include <holdfast/kv/piece_collector.hpp>
#include <holdfast/kv/pieces.hpp>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

#ifdef HF_TSAN
constexpr std::uint64_t kSteps = 1'500;
#else
constexpr std::uint64_t kSteps = 12'000;
#endif
constexpr std::uint64_t kKeys = 8, kWriters = 3;

std::string key_of(std::uint64_t i) { return "list-of-16-byte" + std::to_string(i); }

// What a writer adds: its number, and how often it wrote before.
struct Added {
  std::uint64_t writer = 0, count = 0;
};
std::string text_of(Added added) {
  std::string text(80, static_cast<char>('a' + added.writer));
  std::memcpy(text.data(), &added, sizeof added);
  return text;
}

// Whether a value consists of whole additions, those of each writer in their order without a gap.
bool is_sound(const std::string& value) {
  if (value.size() % 80 != 0) return false;
  std::vector<std::uint64_t> next(kWriters);
  std::vector<bool> seen(kWriters);
  for (std::size_t at = 0; at < value.size(); at += 80) {
    Added added;
    std::memcpy(&added, value.data() + at, sizeof added);
    if (added.writer >= kWriters || value.compare(at, 80, text_of(added)) != 0) return false;
    if (seen[added.writer] && added.count != next[added.writer]) return false;
    seen[added.writer] = true;
    next[added.writer] = added.count + 1;
  }
  return true;
}

// What threads found wrong; the first few, with words.
class Complaints {
 public:
  template <class Outcome>
  void unless(const Outcome& outcome, const std::string& what) {
    if (!outcome) add(what + ": " + outcome.error().message());
  }
  void add(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (++count_ <= 5) text_ += what + '\n';
  }
  std::string text() const { return text_; }

 private:
  std::mutex mutex_;
  std::uint64_t count_ = 0;
  std::string text_;
};

class MergeConcurrent : public OnEveryPlace {};
INSTANTIATE_TEST_SUITE_P(Everywhere, MergeConcurrent, kEveryPlace, place_name);

// Writers append, and now and then replace the whole list; readers and snapshots find lists of whole
// additions, without gaps.
TEST_P(MergeConcurrent, ListsAreWholeAndInOrder) {
  StoreOptions options = tiny();
  options.background = true;
  auto store = open(options);
  std::atomic<std::uint64_t> writing{kWriters}, reads{0};
  Complaints complaints;
  std::vector<std::thread> threads;
  for (std::uint64_t w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      Random random(w);
      std::vector<std::uint64_t> counts(kKeys);
      for (std::uint64_t step = 0; step < kSteps; ++step) {
        const std::uint64_t i = random.below(kKeys);
        const std::string added = text_of({w, counts[i]++});
        if (random.below(60) != 0) {
          complaints.unless(store.append(key_of(i), added), "append");
        } else if (random.below(2) == 0) {
          complaints.unless(store.put(key_of(i), added), "put");
        } else {
          complaints.unless(store.erase(key_of(i)), "erase");
          complaints.unless(store.append(key_of(i), text_of({w, counts[i]++})),
                            "append to nothing");
        }
      }
      --writing;
    });
  }
  threads.emplace_back([&] {
    Random random(100);
    std::string value;
    while (writing != 0 || reads == 0) {
      const auto found = store.get(key_of(random.below(kKeys)), value);
      if (!found && found.code() != Errc::kNotFound) complaints.unless(found, "get");
      if (found && !is_sound(value)) complaints.add("get: no list of whole additions");
      reads += found.has_value();
    }
  });
  threads.emplace_back([&] {
    while (writing != 0) {
      const Snapshot snapshot = store.snapshot();
      const Contents first = contents_of(snapshot);
      for (const auto& [key, value] : first) {
        if (!is_sound(value)) complaints.add("snapshot: no list of whole additions: " + key);
      }
      const Contents second = contents_of(snapshot);
      if (second != first) {
        complaints.add("a snapshot of " + std::to_string(first.size()) + " keys had " +
                       std::to_string(second.size()) + " the second time");
        for (const auto& [key, value] : first) {
          const auto again = second.find(key);
          if (again == second.end())
            complaints.add("then without " + key);
          else if (again->second != value)
            complaints.add("then " + std::to_string(again->second.size()) + " bytes instead of " +
                           std::to_string(value.size()) + " at " + key);
        }
      }
    }
  });
  threads.emplace_back([&] {
    while (writing != 0) {
      complaints.unless(store.reclaim(), "reclaim");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(complaints.text(), "");
  ASSERT_TRUE(store.reclaim());
  const Contents contents = contents_of(store);
  std::uint64_t bytes = 0;
  for (const auto& [key, value] : contents) {
    EXPECT_TRUE(is_sound(value)) << key;
    bytes += value.size();
  }
  expect_contents(store, contents);
  Pieces& pieces = ForTests::rooms(store).pieces;
  ASSERT_TRUE(pieces.any()) << "a list is longer than a piece now and then";
  EXPECT_LE(pieces.space().index.map().size(), bytes / Pieces::kPieceBytes) << "no others are left";
}

// Sums of all writers come out right.
TEST_P(MergeConcurrent, NoAdditionIsLost) {
  auto store = open();
  std::vector<std::thread> threads;
  for (std::uint64_t w = 1; w <= kWriters; ++w) {
    threads.emplace_back([&, w] {
      const std::string amount(reinterpret_cast<const char*>(&w), sizeof w);
      for (std::uint64_t step = 0; step < kSteps / 10; ++step)
        EXPECT_TRUE(store.merge(key_of(step % kKeys), MergeFunction::kAdd, amount));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  std::uint64_t sum = 0;
  for (const auto& [key, value] : contents_of(store)) {
    std::uint64_t one;
    ASSERT_EQ(value.size(), sizeof one);
    std::memcpy(&one, value.data(), sizeof one);
    sum += one;
  }
  EXPECT_EQ(sum, (1 + 2 + 3) * (kSteps / 10));
}

// The collector hears of a lineage before its last record is superseded: of versions, of records
// that were moved, and of pieces whose record found no room, which the next try counts.
TEST_P(MergeConcurrent, PiecesOfAGrowingValueStayWhileTheyAreRead) {
  StoreOptions options = tiny();
  options.max_bytes = 1 * GiB;
  auto store = open(options);
  Rooms& rooms = ForTests::rooms(store);
  const std::string key = key_of(0), added(500, 'x');
  ASSERT_TRUE(store.put(key, added));
  std::atomic<bool> writing{true};
  Complaints complaints;
  std::thread collecting([&] {
    PieceCollector collector(rooms);
    Session& own = rooms.sessions.of_this_thread();
    while (writing) {
      PiecesView view;
      {
        const auto guard = rooms.epochs.enter(own.participant);
        const Bytes bytes = ForTests::bytes(key);
        const Live found =
            rooms.index.find(rooms.index.place(rooms.index.hash(bytes)), bytes, guard);
        if (!found) continue;
        if (!PiecesView::read(found.record, view)) view.head.lineage = found.record.sequence();
      }
      rooms.pieces.end({key, kDefaultSpace, view.head.lineage, view.head.pieces + 1});
      complaints.unless(collector.collect(), "collect");
    }
  });
  std::thread reader([&] {
    std::string value;
    while (writing)
      complaints.unless(store.get(key, value), "get");
  });
  std::string expected = added;
  for (std::uint64_t step = 1; step < kSteps * 2; ++step) {
    if (step % 20 == 0) {
      complaints.unless(store.put(key, added), "put");
      expected = added;
    } else {
      complaints.unless(store.append(key, added), "append");
      expected += added;
    }
    if (step % 10 == 0 && get(store, key) != expected) complaints.add("another value");
  }
  writing = false;
  collecting.join();
  reader.join();
  EXPECT_EQ(complaints.text(), "");
  EXPECT_EQ(get(store, key), expected);
}

}  // namespace
}  // namespace holdfast::kv
