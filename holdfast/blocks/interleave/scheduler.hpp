// scheduler.hpp: many small operations on one thread, so that their memory waits overlap and their
// writes share fences.
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
// Implements "Building blocks for persistent memory", section 3.5, with what it leaves open: two
// members may meet on one node, and acknowledgement waits for the group's fence.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <holdfast/base/check.hpp>
#include <holdfast/blocks/interleave/node_latches.hpp>
#include <holdfast/memory/persist.hpp>

namespace holdfast::blocks {

inline constexpr unsigned kMaxGroup = 64;

struct Interleaving {
  unsigned group = 16;        // Operations in flight, 1 to kMaxGroup. Flat from 16 to 32 on.
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
    __builtin_prefetch(address, 0, 3);
    return true;
  }

  void store(std::uint64_t* word, std::uint64_t value, HOLDFAST_SITE) {
    persist_.store(word, value, site);
    pending_ = true;
  }
  void copy(void* to, const void* from, std::size_t bytes, HOLDFAST_SITE) {
    persist_.copy(to, from, bytes, site);
    pending_ = true;
  }
  void write_back(const void* begin, std::size_t bytes, HOLDFAST_SITE) {
    persist_.write_back(begin, bytes, site);
    pending_ = true;
  }
  // Everything written so far must be durable before the next write. True: return kFence. False: it
  // is durable already.
  [[nodiscard]] bool order(HOLDFAST_SITE) {
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

  void fence(HOLDFAST_SITE) {
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
    bool finished = false;
  };
  std::array<Place, kMaxGroup> places;
  std::array<std::uint8_t, kMaxGroup> ready, parked;  // Places that may go on; that wait.
  unsigned ready_count = 0, parked_count = 0;
  std::size_t next = 0;

  const auto begin = [&](Place& place) {  // False: there is no operation left.
    if (next == count) return false;
    place.operation = next++;
    place.finished = false;
    place.machine.emplace(make(place.operation, *place.member));
    return true;
  };
  const auto acknowledge = [&](Place& place) {
    place.member->release();
    done(place.operation, *place.machine);
  };

  for (unsigned i = 0; i < how.group && i < count; ++i) {
    places[i].member.emplace(persist, how);
    begin(places[i]);
    ready[ready_count++] = static_cast<std::uint8_t>(i);
  }
  SpinWait wait;
  while (ready_count + parked_count != 0) {
    unsigned kept = 0;
    for (unsigned i = 0; i < ready_count; ++i) {
      const auto number = ready[i];
      auto& place = places[number];
      // Whoever is done makes room for the next operation, which asks for its first line at once:
      // the lines of a group are asked for spread over a round, not in one burst.
      auto step = place.machine->step(*place.member);
      while (step == Step::kDone) {
        if (place.member->pending_ && !how.shared_fences) place.member->fence();
        place.finished = place.member->pending_;
        if (place.finished) break;
        acknowledge(place);
        if (!begin(place)) break;
        step = place.machine->step(*place.member);
      }
      if (step == Step::kAgain)
        ready[kept++] = number;
      else if (step != Step::kDone || place.finished)
        parked[parked_count++] = number;
    }
    ready_count = kept;
    if (ready_count != 0) continue;

    // Everybody waits. One fence is for all who wrote; if nobody did, other threads hold the nodes.
    bool wrote = false;
    for (unsigned i = 0; i < parked_count; ++i)
      wrote = std::exchange(places[parked[i]].member->pending_, false) || wrote;
    if (wrote) {
      persist.fence();
      if (how.full_fences) [[unlikely]]
        std::atomic_thread_fence(std::memory_order_seq_cst);
    } else if (parked_count != 0) {
      wait();
    }
    for (unsigned i = 0; i < parked_count; ++i) {
      auto& place = places[parked[i]];
      if (place.finished) {
        acknowledge(place);
        if (!begin(place)) continue;
      }
      ready[ready_count++] = parked[i];
    }
    parked_count = 0;
  }
}

}  // namespace holdfast::blocks
