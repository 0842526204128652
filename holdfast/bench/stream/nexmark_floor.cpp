#include <holdfast/bench/stream/nexmark_floor.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

namespace holdfast::bench::stream {
namespace {

// Open addressing, at most half full; keys are not negative.
template <class Value>
class NumberMap {
 public:
  struct Slot {
    std::int64_t key = -1;
    Value value{};
  };

  Value& operator[](std::int64_t key) {
    if (count_ * 2 >= slots_.size()) grow();
    Slot& slot = slots_[place_of(key)];
    if (slot.key < 0) {
      slot.key = key;
      ++count_;
    }
    return slot.value;
  }
  Value* find(std::int64_t key) {
    Slot& slot = slots_[place_of(key)];
    return slot.key < 0 ? nullptr : &slot.value;
  }
  template <class Visit>
  void for_each(const Visit& visit) {
    for (auto& slot : slots_) {
      if (slot.key >= 0) visit(slot.key, slot.value);
    }
  }
  void clear() {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    count_ = 0;
  }

 private:
  std::size_t place_of(std::int64_t key) const {
    auto at = static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15u >> shift_;
    while (slots_[at].key >= 0 && slots_[at].key != key)
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    auto old = std::move(slots_);
    slots_.assign(old.size() * 2, {});
    shift_ = 64 - std::countr_zero(slots_.size());
    for (auto& slot : old) {
      if (slot.key >= 0) slots_[place_of(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);
  int shift_ = 64 - 6;
  std::size_t count_ = 0;
};

std::string_view view(const RecordText& text) { return {text.data, text.bytes}; }

void q0(const NexmarkEvents& events, Answer& answer) {
  for (const auto& bid : events.bids().as<Bid>())
    answer.add(bid.auction, bid.bidder, bid.price, bid.time, bid.extra);
}

void q1(const NexmarkEvents& events, Answer& answer) {
  for (const auto& bid : events.bids().as<Bid>())
    answer.add(bid.auction, bid.bidder, sql::Int128{908} * bid.price, bid.time, bid.extra);
}

void q2(const NexmarkEvents& events, Answer& answer) {
  for (const auto& bid : events.bids().as<Bid>()) {
    if (bid.auction % 123 == 0) answer.add(bid.auction, bid.price);
  }
}

// left(event), right(event) in the order of their times, the left ones first.
template <class Left, class Right, class OfLeft, class OfRight>
void merge_by_time(std::span<const Left> left, std::span<const Right> right, const OfLeft& of_left,
                   const OfRight& of_right) {
  std::size_t i = 0, j = 0;
  while (i < left.size() || j < right.size()) {
    if (j == right.size() || (i < left.size() && left[i].time <= right[j].time))
      of_left(left[i++]);
    else
      of_right(right[j++]);
  }
}

void q3(const NexmarkEvents& events, Answer& answer) {
  NumberMap<const Person*> people;
  NumberMap<std::vector<std::int64_t>> auctions;  // By seller.
  const auto show = [&](const Person& person, std::int64_t auction) {
    answer.add(person.name, person.city, person.state, auction);
  };
  merge_by_time(
      events.auctions().as<Auction>(), events.persons().as<Person>(),
      [&](const Auction& auction) {
        if (auction.category != 10) return;
        auctions[auction.seller].push_back(auction.id);
        if (auto* const person = people.find(auction.seller)) show(**person, auction.id);
      },
      [&](const Person& person) {
        const auto state = view(person.state);
        if (state != "OR" && state != "ID" && state != "CA") return;
        people[person.id] = &person;
        if (const auto* const of_person = auctions.find(person.id)) {
          for (const auto auction : *of_person)
            show(person, auction);
        }
      });
}

struct Sum {
  std::int64_t sum = 0, count = 0;
};

// Each change of an average goes out, as it does from the query. No key is declared: all bids are
// kept, since an auction that comes late meets those before it, and an id may have several
// auctions, of one category or of several.
void q4(const NexmarkEvents& events, Answer& answer) {
  struct KeptBid {
    std::int64_t time, price;
    std::uint32_t next;
  };
  struct KeptAuction {
    std::int64_t begins, expires;
    std::uint32_t group, next;
  };
  struct Group {
    std::int64_t category, highest;
    std::uint32_t next;
  };
  struct Item {
    std::uint32_t bids = 0, auctions = 0, groups = 0;  // The newest; 0: none.
  };
  NumberMap<Item> items;
  NumberMap<Sum> categories;
  std::vector<KeptBid> bids(1);
  std::vector<KeptAuction> auctions(1);
  std::vector<Group> groups(1);
  const auto add = [](auto& all, auto what) {
    all.push_back(what);
    return static_cast<std::uint32_t>(all.size() - 1);
  };
  const auto compare = [&](const KeptAuction& auction, std::int64_t time, std::int64_t price) {
    auto& group = groups[auction.group];
    if (time < auction.begins || time > auction.expires || price <= group.highest) return;
    auto& sum = categories[group.category];
    if (sum.count > 0) answer.change(-1, group.category, sum.sum / sum.count);
    sum.count += group.highest < 0;
    sum.sum += price - std::max<std::int64_t>(0, group.highest);
    group.highest = price;
    answer.add(group.category, sum.sum / sum.count);
  };
  merge_by_time(
      events.auctions().as<Auction>(), events.bids().as<Bid>(),
      [&](const Auction& auction) {
        auto& item = items[auction.id];
        auto group = item.groups;
        while (group != 0 && groups[group].category != auction.category)
          group = groups[group].next;
        if (group == 0) item.groups = group = add(groups, Group{auction.category, -1, item.groups});
        item.auctions =
            add(auctions, KeptAuction{auction.time, auction.expires, group, item.auctions});
        for (auto bid = item.bids; bid != 0; bid = bids[bid].next)
          compare(auctions.back(), bids[bid].time, bids[bid].price);
      },
      [&](const Bid& bid) {
        auto& item = items[bid.auction];
        item.bids = add(bids, KeptBid{bid.time, bid.price, item.bids});
        for (auto auction = item.auctions; auction != 0; auction = auctions[auction].next)
          compare(auctions[auction], bid.time, bid.price);
      });
}

void q5(const NexmarkEvents& events, Answer& answer) {
  constexpr std::int64_t kSlide = 2'000;
  std::array<NumberMap<std::int64_t>, 5> slices;  // The newest five.
  NumberMap<std::int64_t> window;
  std::int64_t number = -1;  // Of the newest slice.
  const auto end_window = [&] {
    window.clear();
    for (auto& slice : slices)
      slice.for_each([&](std::int64_t auction, std::int64_t count) { window[auction] += count; });
    std::int64_t most = 0;
    window.for_each([&](std::int64_t, std::int64_t count) { most = std::max(most, count); });
    window.for_each([&](std::int64_t auction, std::int64_t count) {
      if (count == most) answer.add(auction, count);
    });
  };
  const auto go_on = [&] {
    end_window();
    slices[static_cast<std::size_t>(++number % 5)].clear();
  };
  for (const auto& bid : events.bids().as<Bid>()) {
    const auto slice = bid.time / kSlide;
    if (number < 0) number = slice;
    while (number < slice)
      go_on();
    ++slices[static_cast<std::size_t>(slice % 5)][bid.auction];
  }
  for (int i = 0; i < 5 && number >= 0; ++i)
    go_on();
}

// A bid at the end of a window is compared with its highest, too: the query says BETWEEN.
void q7(const NexmarkEvents& events, Answer& answer) {
  constexpr std::int64_t kSize = 10'000;
  std::vector<const Bid*> highest;
  std::int64_t number = -1, most = -1, most_before = -1;
  const auto show = [&](const Bid& bid) {
    answer.add(bid.auction, bid.price, bid.bidder, bid.time, bid.extra);
  };
  const auto end_window = [&] {
    for (const auto* bid : highest)
      show(*bid);
    highest.clear();
    most_before = most;
    most = -1;
  };
  for (const auto& bid : events.bids().as<Bid>()) {
    if (bid.time / kSize != number) {
      end_window();
      if (bid.time / kSize != number + 1) most_before = -1;
      number = bid.time / kSize;
    }
    if (bid.time % kSize == 0 && bid.price == most_before) show(bid);
    if (bid.price < most) continue;
    if (bid.price > most) highest.clear();
    most = bid.price;
    highest.push_back(&bid);
  }
  end_window();
}

// No key is declared: an id may have several names.
void q8(const NexmarkEvents& events, Answer& answer) {
  constexpr std::int64_t kSize = 10'000;
  struct Named {
    const Person* person;
    std::uint32_t next;
  };
  NumberMap<std::uint32_t> people;  // The newest name of each; 0: none.
  std::vector<Named> names(1);
  NumberMap<bool> sellers;
  std::int64_t number = -1;
  const auto end_window = [&] {
    people.for_each([&](std::int64_t id, std::uint32_t name) {
      if (sellers.find(id) == nullptr) return;
      for (; name != 0; name = names[name].next)
        answer.add(id, names[name].person->name, number * kSize);
    });
    people.clear();
    names.resize(1);
    sellers.clear();
  };
  const auto go_to = [&](std::int64_t time) {
    if (time / kSize == number) return;
    end_window();
    number = time / kSize;
  };
  merge_by_time(
      events.persons().as<Person>(), events.auctions().as<Auction>(),
      [&](const Person& person) {
        go_to(person.time);
        auto& newest = people[person.id];
        auto name = newest;
        while (name != 0 && view(names[name].person->name) != view(person.name))
          name = names[name].next;
        if (name != 0) return;
        names.push_back({&person, newest});
        newest = static_cast<std::uint32_t>(names.size() - 1);
      },
      [&](const Auction& auction) { go_to(auction.time), sellers[auction.seller] = true; });
  end_window();
}

}  // namespace

NexmarkLoop* nexmark_loop(unsigned number) {
  constexpr std::array<NexmarkLoop*, 9> kLoops = {q0, q1, q2, q3, q4, q5, nullptr, q7, q8};
  return number < kLoops.size() ? kLoops[number] : nullptr;
}

}  // namespace holdfast::bench::stream
