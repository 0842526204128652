// The cost goals of ordered stores, printed; every answer is checked. Not a test: run it on a quiet
// machine.
//
//   order_bench DIRECTORY [keys = 10000000] [part …]
//
// Parts: put (new keys, hashed and ordered, alone and by put_many, beside an insert into the ordered
// index alone), scan (fill() beside get_many, beside records read from places that are known: what
// places in the leaves would give, and what an overwrite would pay for them), open (behind SIGKILL,
// hashed and ordered), closed (open and close, with the order stored and without), mark (beside a writer, and an opening at it). Keys are 16 random bytes, values 200.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <holdfast/base/prefetch.hpp>
#include <holdfast/base/random.hpp>
#include <holdfast/kv/cursor.hpp>

#include "for_tests.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::kv;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kKey = 16, kValue = 200, kBatch = 64, kScan = 100;

struct Run {
  std::string directory;
  std::uint64_t keys;
  std::string spec() const { return directory + "/order_bench?granularity=line"; }
  void clear() const { std::filesystem::remove_all(directory + "/order_bench"); }
};

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "order_bench: wrong: %s\n", what);
  std::exit(1);
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string key_of(std::uint64_t i) {
  std::string key(kKey, '\0');
  const std::uint64_t words[] = {mix64(2 * i + 1), mix64(2 * i + 2)};
  std::memcpy(key.data(), words, kKey);
  return key;
}

std::string value_of(std::uint64_t i) {
  std::string value(kValue, static_cast<char>('a' + i % 26));
  std::memcpy(value.data(), &i, sizeof i);
  return value;
}

StoreOptions options_of(bool order, std::uint64_t keys) {
  StoreOptions options;
  options.order = order;
  options.recovery_threads = 2;
  options.initial_bytes = keys * 300;
  options.prefault = true;
  return options;
}

Store<> open(const Run& run, bool order) {
  Store<> store = Store<>::open(run.spec(), options_of(order, run.keys)).value();
  store.reserve(run.keys).value();
  return store;
}

void put_all(Store<>& store, std::uint64_t keys) {
  for (std::uint64_t i = 0; i < keys; ++i)
    expect(store.put(key_of(i), value_of(i)).value() == PutOutcome::kInserted, "a new key");
}

void put_many_all(Store<>& store, std::uint64_t keys) {
  std::vector<std::string> texts(2 * kBatch);
  std::vector<std::string_view> names(kBatch), values(kBatch);
  for (std::uint64_t i = 0; i < keys; i += kBatch) {
    const std::size_t count = std::min<std::uint64_t>(kBatch, keys - i);
    for (std::size_t at = 0; at < count; ++at) {
      names[at] = texts[at] = key_of(i + at);
      values[at] = texts[kBatch + at] = value_of(i + at);
    }
    store.put_many(std::span(names).first(count), std::span(values).first(count)).value();
  }
}

// ---- put ----

double insert_alone(std::uint64_t keys) {
  EpochDomain domain;
  auto participant = domain.join();
  const auto index = index::ordered::OrderedIndex::create(domain).value();
  const double seconds = seconds_of([&] {
    for (std::uint64_t i = 0; i < keys; ++i) {
      const auto guard = domain.enter(participant);
      index->insert(key_of(i)).value();
    }
  });
  expect(index->count() == keys, "the index has all keys");
  return seconds;
}

void measure_puts(const Run& run) {
  const double ns = 1e9 / static_cast<double>(run.keys);
  std::printf("put of %lu new keys, ns each\n%10s %10s %10s %10s %10s | %10s %10s\n",
              static_cast<unsigned long>(run.keys), "hashed", "ordered", "insert", "many",
              "ordered", "DRAM/key", "of order");
  for (int round = 0; round < 3; ++round) {
    double seconds[4] = {};
    double dram = 0, of_order = 0;
    for (int what = 0; what < 4; ++what) {
      run.clear();
      Store<> store = open(run, what % 2 == 1);
      if (what % 2 == 1) store.cursor().value().first();  // The order is there, empty.
      seconds[what] =
          seconds_of([&] { what < 2 ? put_all(store, run.keys) : put_many_all(store, run.keys); });
      expect(store.count() == run.keys, "the store has all keys");
      if (what % 2 == 0) continue;
      const auto order = static_cast<double>(ForTests::rooms(store).index.order()->keys().bytes());
      const auto keys = static_cast<double>(run.keys);
      of_order = order / keys;
      dram = (order + static_cast<double>(store.stats().dram_index_bytes)) / keys;
    }
    std::printf("%10.0f %10.0f %10.0f %10.0f %10.0f | %10.1f %10.1f\n", seconds[0] * ns,
                seconds[1] * ns, insert_alone(run.keys) * ns, seconds[2] * ns, seconds[3] * ns,
                dram, of_order);
  }
  run.clear();
}

// ---- scan ----

std::uint64_t sum_of(std::string_view value) {
  std::uint64_t word;
  std::memcpy(&word, value.data(), sizeof word);
  return word;
}

struct Places {  // Of all records, in the order of their keys.
  std::vector<std::string> keys;
  std::vector<Line> lines;
};

Places places_of(Store<>& store) {
  Places places;
  Cursor cursor = store.cursor().value();
  for (cursor.first(); cursor; cursor.next()) {
    places.keys.emplace_back(cursor.key());
    places.lines.push_back(ForTests::line_of(store, cursor.key()));
  }
  return places;
}

double fill_scans(Store<>& store, const Places& places, std::span<const std::size_t> starts,
                  std::uint64_t& sum) {
  std::vector<std::byte> buffer(kScan * 256);
  Cursor cursor = store.cursor().value();
  return seconds_of([&] {
    for (const std::size_t start : starts) {
      const std::size_t used = cursor.fill_from(places.keys[start], buffer, kScan).value();
      auto packed = std::span<const std::byte>(buffer).first(used);
      while (const auto record = unpack(packed))
        sum += sum_of(record->value);
    }
  });
}

// As if leaves had places: records are asked for 16 at a time, their keys are not looked up.
double scans_by_places(Store<>& store, const Places& places, std::span<const std::size_t> starts,
                       std::uint64_t& sum) {
  std::vector<std::byte> buffer(kScan * 256);
  const Records& records = ForTests::rooms(store).records;
  constexpr std::size_t kAhead = 16;
  const auto ask = [&](std::size_t at) {
    const std::byte* const record = records.at(places.lines[at]).bytes();
    for (std::size_t byte = 0; byte < 256; byte += kCacheLineBytes)
      prefetch_for_read(record + byte);
  };
  Cursor cursor = store.cursor().value();
  return seconds_of([&] {
    for (const std::size_t start : starts) {
      cursor.seek(places.keys[start]);  // The descent is the same.
      std::size_t used = 0;
      for (std::size_t at = start; at < start + kAhead; ++at)
        ask(at);
      for (std::size_t at = start; at < start + kScan; ++at) {
        if (at + kAhead < start + kScan) ask(at + kAhead);
        const RecordView record = records.at(places.lines[at]);
        const std::string_view key(reinterpret_cast<const char*>(record.key().data()), kKey);
        std::memcpy(buffer.data() + used, key.data(), kKey);
        std::memcpy(buffer.data() + used + 24, record.value_span().data(), kValue);
        sum += sum_of({reinterpret_cast<const char*>(buffer.data() + used + 24), kValue});
        used += 24 + kKey + kValue;
      }
    }
  });
}

double get_manys(Store<>& store, const Places& places, std::span<const std::size_t> picks,
                 std::uint64_t& sum) {
  constexpr std::size_t kMany = 16;
  std::vector<std::string_view> keys(kMany);
  std::vector<std::string> values(kMany);
  std::vector<Errc> outcomes(kMany);
  return seconds_of([&] {
    for (std::size_t i = 0; i + kMany <= picks.size(); i += kMany) {
      for (std::size_t at = 0; at < kMany; ++at)
        keys[at] = places.keys[picks[i + at]];
      store.get_many(keys, values, outcomes).value();
      for (const std::string& value : values)
        sum += sum_of(value);
    }
  });
}

// What an overwrite would pay to keep places: a descent, a latch, and a search in the leaf.
double descents(Store<>& store, const Places& places, std::span<const std::size_t> picks) {
  Rooms& rooms = ForTests::rooms(store);
  std::uint64_t found = 0;
  const double seconds = seconds_of([&] {
    for (const std::size_t pick : picks) {
      const auto guard = rooms.epochs.enter(rooms.sessions.of_this_thread().participant);
      found += rooms.index.order()->keys().contains(places.keys[pick]);
    }
  });
  expect(found == picks.size(), "the order has the keys");
  return seconds;
}

void measure_scans(const Run& run) {
  run.clear();
  StoreOptions options = options_of(true, run.keys);
  options.reclaim.background = false;  // Records stay where they are.
  Store<> store = Store<>::open(run.spec(), options).value();
  put_many_all(store, run.keys);
  Places places = places_of(store);
  expect(places.keys.size() == run.keys, "the cursor shows all keys");
  Random random(3);
  constexpr std::size_t kScans = 20'000, kPicks = kScans * kScan;
  std::printf("ns per record of %lu\n%10s %10s %10s %10s %10s\n",
              static_cast<unsigned long>(run.keys), "get_many", "fill", "places", "overwrite",
              "descent");
  for (int round = 0; round < 5; ++round) {
    std::vector<std::size_t> starts(kScans), picks(kPicks);
    for (std::size_t& start : starts)
      start = random.below(run.keys - kScan);
    for (std::size_t& pick : picks)
      pick = random.below(run.keys);
    std::uint64_t by_fill = 0, by_places = 0, by_gets = 0;
    const double gets = get_manys(store, places, picks, by_gets);
    const double fill = fill_scans(store, places, starts, by_fill);
    const double direct = scans_by_places(store, places, starts, by_places);
    expect(by_fill == by_places && by_fill != 0 && by_gets != 0, "both scans read the same");
    const std::size_t some = kPicks / 4;
    const double down = descents(store, places, std::span(picks).first(some));
    const std::string value = value_of(static_cast<std::uint64_t>(round));
    const double over = seconds_of([&] {
      for (const std::size_t pick : std::span(picks).first(some / 4))
        expect(store.put(places.keys[pick], value).value() == PutOutcome::kOverwrote,
               "an overwrite");
    });
    std::printf("%10.0f %10.0f %10.0f %10.0f %10.0f\n", gets * 1e9 / kPicks, fill * 1e9 / kPicks,
                direct * 1e9 / kPicks, over * 4e9 / static_cast<double>(some),
                down * 1e9 / static_cast<double>(some));
    if (round == 4) break;
    // The places are those of now.
    for (std::size_t at = 0; at < places.keys.size(); ++at) {
      places.lines[at] = ForTests::line_of(store, places.keys[at]);
    }
  }
  store.close().value();
  run.clear();
}

// ---- open ----

void measure_opens(const Run& run) {
  run.clear();
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    Store<> store = open(run, false);
    put_many_all(store, run.keys);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  expect(WIFSIGNALED(status), "the child was killed");
  std::printf("open of %lu behind SIGKILL, s\n%10s %10s %10s %10s\n",
              static_cast<unsigned long>(run.keys), "hashed", "ordered", "first get", "in order");
  for (int round = 0; round < 3; ++round) {
    double seconds[4] = {};
    for (const bool order : {false, true}) {
      StoreOptions options = options_of(order, run.keys);
      options.prefault = false;
      std::optional<Store<>> store;
      const auto begin = Clock::now();
      seconds[order] = seconds_of([&] { store = Store<>::open(run.spec(), options).value(); });
      if (order) {
        std::string value;
        store->get(key_of(7), value).value();
        seconds[2] = std::chrono::duration<double>(Clock::now() - begin).count();
        Cursor cursor = store->cursor().value();
        expect(cursor.first(), "there is a first key");
        seconds[3] = std::chrono::duration<double>(Clock::now() - begin).count();
      }
      expect(store->count() == run.keys && !store->recovery().clean, "all is there, by recovery");
      ForTests::abandon(*store);
    }
    std::printf("%10.2f %10.2f %10.2f %10.2f\n", seconds[0], seconds[1], seconds[2], seconds[3]);
  }
  run.clear();
}

// ---- closed ----

// A store that was closed in order: with the keys in order beside the index, without them, and
// opened without an order.
void measure_closed(const Run& run) {
  run.clear();
  {
    Store<> store = open(run, true);
    put_many_all(store, run.keys);
    store.close().value();
  }
  std::printf("close and open of %lu, s\n%12s %10s %10s %10s %10s\n",
              static_cast<unsigned long>(run.keys), "", "open", "first get", "in order", "close");
  struct Way {
    const char* name;
    bool order, stored;
  };
  // Each leaves what the next one needs: an ordered close stores the order, a hashed one does not.
  constexpr Way kWays[] = {
      {"stored", true, true}, {"hashed", false, false}, {"not stored", true, false}};
  for (int round = 0; round < 3; ++round) {
    for (const Way& way : kWays) {
      StoreOptions options = options_of(way.order, run.keys);
      options.prefault = false;
      std::optional<Store<>> store;
      const auto begin = Clock::now();
      const auto since = [&] {
        return std::chrono::duration<double>(Clock::now() - begin).count();
      };
      store = Store<>::open(run.spec(), options).value();
      const double opened = since();
      expect(store->recovery().clean && store->count() == run.keys, "it was closed in order");
      std::string value;
      store->get(key_of(7), value).value();
      const double got = since();
      double in_order = 0;
      if (way.order) {
        Cursor cursor = store->cursor().value();
        expect(cursor.first(), "there is a first key");
        in_order = since();
        const KeyOrder& order = *ForTests::rooms(*store).index.order();
        expect(order.was_stored() == way.stored && order.keys().count() == run.keys,
               "the order has all keys, from where they ought to come");
      }
      const double closed = seconds_of([&] { store->close().value(); });
      std::printf("%12s %10.3f %10.3f %10.3f %10.3f\n", way.name, opened, got, in_order, closed);
    }
  }
  run.clear();
}

// ---- mark ----

void measure_marks(const Run& run) {
  run.clear();
  std::optional<Store<>> store = open(run, false);
  put_many_all(*store, run.keys);
  std::printf("mark() of %lu records, ms, beside a writer; then an opening at it, s\n",
              static_cast<unsigned long>(run.keys));
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> written{0};
  std::thread writer([&] {
    Random random(4);
    for (; !stop; ++written)
      store->put(key_of(random.below(run.keys)), value_of(written)).value();
  });
  const auto rate = [&](double seconds) {
    const std::uint64_t before = written;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return static_cast<double>(written - before) / seconds;
  };
  rate(0.5);
  const double alone = rate(1);
  for (int round = 0; round < 6; ++round) {
    const double took = seconds_of([&] { store->mark().value(); });
    const double beside = rate(1);
    std::printf("%8.1f   writer at %.2f of its rate before, %lu MiB kept for the mark\n",
                took * 1e3, beside / alone,
                static_cast<unsigned long>(store->stats().mark_held_bytes / MiB));
  }
  stop = true;
  writer.join();
  const double still = seconds_of([&] { store->mark().value(); });
  const std::string marked = value_of(123);
  store->put(key_of(7), marked).value();
  store->mark().value();
  for (std::uint64_t i = 0; i < run.keys / 10; ++i)
    store->put(key_of(i), value_of(~i)).value();
  ForTests::abandon(*store);
  store.reset();
  StoreOptions options = options_of(false, run.keys);
  options.prefault = false;
  options.at_mark = true;
  options.access = RegionAccess::kOpen;
  const double opened = seconds_of([&] { store = Store<>::open(run.spec(), options).value(); });
  std::string value;
  store->get(key_of(7), value).value();
  expect(value == marked && store->count() == run.keys, "the store is as it was at the mark");
  std::printf("%8.1f   no writer\n%8.2f   opening\n", still * 1e3, opened);
  store->close().value();
  run.clear();
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "use: order_bench DIRECTORY [KEYS] [put|scan|open|closed|mark …]\n");
    return 2;
  }
  const Run run{words[1], count > 2 ? std::strtoull(words[2], nullptr, 10) : 10'000'000};
  const auto wanted = [&](const char* part) {
    return count < 4 ||
           std::find_if(
               words + 3, words + count,
               [&](const char* word) { return std::strcmp(word, part) == 0; }) != words + count;
  };
  if (wanted("put")) measure_puts(run);
  if (wanted("scan")) measure_scans(run);
  if (wanted("open")) measure_opens(run);
  if (wanted("closed")) measure_closed(run);
  if (wanted("mark")) measure_marks(run);
}
