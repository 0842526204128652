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
  friend class Interleaved;

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

// The operations of one call of interleave().
template <class Machine, class Make, class Done>
class Interleaved {
 public:
  Interleaved(const Persist& persist, const Interleaving& how, std::size_t count, Make& make,
              Done& done)
      : persist_(persist), how_(how), count_(count), make_(make), done_(done) {}

  void run_all() {
    for (auto i = static_cast<unsigned>(std::min<std::size_t>(2 * how_.group, count_)); i-- != 0;) {
      places_[i].member.emplace(persist_, how_);
      empty_.push(static_cast<std::uint8_t>(i));
    }
    while (next_ < count_ && next_ < how_.group) {
      const auto number = empty_.pop();
      begin(number);
      later_->push(number);
    }
    SpinWait wait;
    while (later_->count + parked_.count + unfenced_.count != 0) {
      std::swap(now_, later_);
      later_->count = 0;
      for (unsigned i = 0; i < now_->count; ++i)
        run(now_->list[i]);
      if (later_->count != 0) continue;

      // All operations wait. One fence serves all that wrote; if none did, other threads hold the
      // nodes.
      bool wrote = unfenced_.count != 0;
      for (unsigned i = 0; i < parked_.count && !wrote; ++i)
        wrote = places_[parked_.list[i]].member->pending_;
      if (wrote) {
        fence();
      } else if (parked_.count != 0) {
        wait();
        unpark();
      }
    }
  }

 private:
  struct Place {
    std::optional<Member> member;
    std::optional<Machine> machine;
    std::size_t operation = 0;
  };
  struct Numbers {  // Of places.
    std::array<std::uint8_t, 2 * kMaxGroup> list;
    unsigned count = 0;
    void push(std::uint8_t number) { list[count++] = number; }
    std::uint8_t pop() { return list[--count]; }
  };

  void begin(std::uint8_t number) {
    auto& place = places_[number];
    place.operation = next_++;
    place.machine.emplace(make_(place.operation, *place.member));
  }
  void acknowledge(std::uint8_t number) {
    auto& place = places_[number];
    place.member->release();
    done_(place.operation, *place.machine);
  }
  void unpark() {
    for (unsigned i = 0; i < parked_.count; ++i)
      later_->push(parked_.list[i]);
    parked_.count = 0;
  }
  void fence() {
    persist_.fence();
    if (how_.full_fences) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
    for (unsigned i = 0; i < parked_.count; ++i)
      places_[parked_.list[i]].member->pending_ = false;
    unpark();
    for (unsigned i = 0; i < unfenced_.count; ++i) {
      places_[unfenced_.list[i]].member->pending_ = false;
      acknowledge(unfenced_.list[i]);
      empty_.push(unfenced_.list[i]);
    }
    unfenced_.count = 0;
  }
  // Runs an operation until it waits. One that is done makes room for the next one, which asks for
  // its first line at once: the lines of a group are asked for spread over a round, not in one
  // burst.
  void run(std::uint8_t number) {
    for (;;) {
      auto& member = *places_[number].member;
      const auto step = places_[number].machine->step(member);
      if (step == Step::kAgain) return later_->push(number);
      if (step != Step::kDone) return parked_.push(number);
      if (member.pending_ && !how_.shared_fences) member.fence();
      const bool waits = member.pending_;
      if (!waits) {
        acknowledge(number);
      } else {
        unfenced_.push(number);
        if (unfenced_.count == how_.group) fence();
      }
      if (next_ == count_) return;
      if (waits) number = empty_.pop();
      begin(number);
    }
  }

  const Persist& persist_;
  const Interleaving& how_;
  const std::size_t count_;
  Make& make_;
  Done& done_;
  // Twice as many as operate. An operation that has written and is done keeps its place until the
  // fence. Meanwhile another place takes the next operation, whose first line is on its way.
  std::array<Place, 2 * kMaxGroup> places_;
  Numbers rounds_[2], parked_, unfenced_, empty_;
  Numbers *now_ = &rounds_[0], *later_ = &rounds_[1];
  std::size_t next_ = 0;
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
  Interleaved<Machine, std::remove_reference_t<Make>, std::remove_reference_t<Done>>(
      persist, how, count, make, done)
      .run_all();
}

}  // namespace holdfast::blocks
