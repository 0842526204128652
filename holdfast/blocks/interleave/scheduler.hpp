// scheduler.hpp: many small operations on one thread, so that their memory waits overlap and their
// writes share fences.
// Public header.
//
// Each operation is a machine whose step() runs until it would have to wait:
//
//   for a line of memory   the line is asked for, the other members of the group go on meanwhile
//   for a fence            all members that get there wait; one fence then serves them all
//   for a node             another operation holds it; tried again after the next fence
//
// A machine is either hand-written (asynchronous memory access chaining: a switch over its states)
// or a C++20 coroutine (fiber.hpp). Both run under the same scheduler.
//
// Guarantee  An operation is acknowledged (`done` is called for it) only after a fence that came
//            after its last write-back. No operation can forget that: members have no fence of
//            their own. The node it latched is released then, too, so that nobody meets what is
//            not yet durable.
// Order      Operations of one call have no order, unless they meet on a node: then one is over
//            before the other begins.
// Threads    Any number of calls at a time over the same nodes; each keeps to its own thread.
// Cost       A visit to each member per wait; cheaper for state machines than for coroutines.
// Implements van Renen et al., "Building Blocks for Persistent Memory" (VLDB Journal 2020), section
//            3.5, with what it leaves open: two members may meet on one node, and acknowledgement
//            waits for the group's fence.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <holdfast/base/check.hpp>
#include <holdfast/base/prefetch.hpp>
#include <holdfast/blocks/interleave/node_latches.hpp>
#include <holdfast/memory/persist.hpp>

namespace holdfast::blocks {

inline constexpr unsigned kMaxGroup = 64;

struct Interleaving {
  // Operations under way, 1 to kMaxGroup; as many again may be done and wait for their fence. Flat
  // from 16 to 32 on.
  unsigned group = 16;
  bool reads = true;          // Switch at memory misses.
  bool shared_fences = true;  // Else every member makes its own.
  // For measuring what a fence that loads wait for would cost (section 3.5.4, mfence): a full one
  // behind each.
  bool full_fences = false;
};

enum class Step : std::uint8_t {
  kAgain,    // A line was asked for: go on with somebody else, then with me.
  kFence,    // Go on after the next fence.
  kBlocked,  // A node is taken: go on after the next fence, or whenever another thread lets go.
  kDone,     // The result is there; acknowledge it after the next fence, if I wrote.
};

// What an operation may do to memory. One per place in the group.
class Member {
 public:
  Member(const Persist& persist, const Interleaving& how) : persist_(persist), how_(how) {}
  ~Member() { release(); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // Asks for the line of `address`. True: return kAgain, the line is there afterwards. False: go
  // on.
  [[nodiscard]] bool touch(const void* address) const {
    if (!how_.reads) return false;
    prefetch_for_read(address);
    return true;
  }

  void store(std::uint64_t* word, std::uint64_t value, HF_SITE) {
    persist_.store(word, value, site);
    pending_ = true;
  }
  void copy(void* to, const void* from, std::size_t bytes, HF_SITE) {
    persist_.copy(to, from, bytes, site);
    pending_ = true;
  }
  void write_back(const void* begin, std::size_t bytes, HF_SITE) {
    persist_.write_back(begin, bytes, site);
    pending_ = true;
  }
  // Everything written so far must be durable before the next write. True: return kFence. False: it
  // is durable already.
  [[nodiscard]] bool order(HF_SITE) {
    if (!pending_) return false;
    if (how_.shared_fences) return true;
    fence(site);
    return false;
  }

  // Takes the node for itself until it is acknowledged, then reads and writes it as it likes.
  // False: return kBlocked. At most one node. Return kAgain (co_await switched()) between this and
  // the first write: the locked instruction in it waits for every write-back before it, as a fence
  // would, so a group takes its nodes first and then writes.
  [[nodiscard]] bool latch(NodeLatch& node) {
    HF_DCHECK(node_ == nullptr);
    if (!node.try_lock()) return false;
    node_ = &node;
    return true;
  }

 private:
  template <class Machine, class Make, class Done>
  friend void interleave(const Persist&, const Interleaving&, std::size_t, Make&&, Done&&);

  void fence(HF_SITE) {
    persist_.fence(site);
    if (how_.full_fences) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
    pending_ = false;
  }
  void release() {
    if (node_ != nullptr) std::exchange(node_, nullptr)->unlock();
  }

  const Persist persist_;
  const Interleaving how_;
  NodeLatch* node_ = nullptr;
  bool pending_ = false;  // Wrote since its last fence.
};

// Runs operations 0 … count - 1, `how.group` at a time.
//
//   Machine make(std::size_t i, Member&)      operation i at its beginning
//   Step Machine::step(Member&)               see above
//   void done(std::size_t i, Machine&)        operation i is durable; in no particular order
//
// Returns when all are done. Not from within a step.
template <class Machine, class Make, class Done>
void interleave(const Persist& persist, const Interleaving& how, std::size_t count, Make&& make,
                Done&& done) {
  HF_CHECK(how.group >= 1 && how.group <= kMaxGroup);
  struct Place {
    std::optional<Member> member;
    std::optional<Machine> machine;
    std::size_t operation = 0;
  };
  // Twice as many as operate. An operation that has written and is done keeps its place until the
  // fence. Meanwhile another place takes the next operation, whose first line is on its way.
  std::array<Place, 2 * kMaxGroup> places;
  struct Numbers {  // Of places.
    std::array<std::uint8_t, 2 * kMaxGroup> list;
    unsigned count = 0;
    void push(std::uint8_t number) { list[count++] = number; }
    std::uint8_t pop() { return list[--count]; }
  } rounds[2], parked, unfenced, empty;
  auto *now = &rounds[0], *later = &rounds[1];
  std::size_t next = 0;

  const auto begin = [&](std::uint8_t number) {
    auto& place = places[number];
    place.operation = next++;
    place.machine.emplace(make(place.operation, *place.member));
  };
  const auto acknowledge = [&](std::uint8_t number) {
    auto& place = places[number];
    place.member->release();
    done(place.operation, *place.machine);
  };
  const auto unpark = [&] {
    for (unsigned i = 0; i < parked.count; ++i)
      later->push(parked.list[i]);
    parked.count = 0;
  };
  const auto fence = [&] {
    persist.fence();
    if (how.full_fences) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
    for (unsigned i = 0; i < parked.count; ++i)
      places[parked.list[i]].member->pending_ = false;
    unpark();
    for (unsigned i = 0; i < unfenced.count; ++i) {
      places[unfenced.list[i]].member->pending_ = false;
      acknowledge(unfenced.list[i]);
      empty.push(unfenced.list[i]);
    }
    unfenced.count = 0;
  };
  // Runs an operation until it waits. One that is done makes room for the next one, which asks for
  // its first line at once: the lines of a group are asked for spread over a round, not in one
  // burst.
  const auto run = [&](std::uint8_t number) {
    for (;;) {
      auto& member = *places[number].member;
      const auto step = places[number].machine->step(member);
      if (step == Step::kAgain) return later->push(number);
      if (step != Step::kDone) return parked.push(number);
      if (member.pending_ && !how.shared_fences) member.fence();
      const bool waits = member.pending_;
      if (!waits) {
        acknowledge(number);
      } else {
        unfenced.push(number);
        if (unfenced.count == how.group) fence();
      }
      if (next == count) return;
      if (waits) number = empty.pop();
      begin(number);
    }
  };

  for (auto i = static_cast<unsigned>(std::min<std::size_t>(2 * how.group, count)); i-- != 0;) {
    places[i].member.emplace(persist, how);
    empty.push(static_cast<std::uint8_t>(i));
  }
  while (next < count && next < how.group) {
    const auto number = empty.pop();
    begin(number);
    later->push(number);
  }
  SpinWait wait;
  while (later->count + parked.count + unfenced.count != 0) {
    std::swap(now, later);
    later->count = 0;
    for (unsigned i = 0; i < now->count; ++i)
      run(now->list[i]);
    if (later->count != 0) continue;

    // Everybody waits. One fence is for all who wrote; if nobody did, other threads hold the nodes.
    bool wrote = unfenced.count != 0;
    for (unsigned i = 0; i < parked.count && !wrote; ++i)
      wrote = places[parked.list[i]].member->pending_;
    if (wrote) {
      fence();
    } else if (parked.count != 0) {
      wait();
      unpark();
    }
  }
}

}  // namespace holdfast::blocks
