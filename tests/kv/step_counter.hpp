// step_counter.hpp: counts the instructions of pieces of a program by single-stepping it (ptrace).
//
//   const auto counted = step::count([] {          // Runs in a forked child.
//     prepare();
//     step::mark(); piece_a(); step::mark();       // One sample.
//     step::mark(); piece_b(); step::mark();       // The next.
//     return 0;                                    // The child's exit code.
//   });
//
// Guarantee  A sample is the number of instructions that the marking thread executed between its
//            two marks, exactly: the same on a busy machine as on an idle one, and with or without
//            hardware counters. It includes the return from the first mark and the call of the
//            second; callers subtract a sample of nothing, taken in the same way.
// Counts     A string instruction with a rep prefix is one instruction, however often it repeats. A
//            system call is one instruction. Other threads of the child run free and uncounted.
// Errors     kUnsupported where the system forbids ptrace, or another tracer was first, or the CPU
//            is no x86-64; kIo where the child failed.
#pragma once

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>

#ifdef __x86_64__
// A function of two instructions whose address the tracer knows: no compiler moves or copies it.
asm(R"(
.text
.type holdfast_step_mark, @function
holdfast_step_mark:
  int3
  ret
.size holdfast_step_mark, . - holdfast_step_mark
)");
extern "C" void holdfast_step_mark();
#endif

namespace holdfast::step {

// Begins or ends a sample. Only inside of count(): elsewhere it ends the process with SIGTRAP.
inline void mark() {
#ifdef __x86_64__
  holdfast_step_mark();
#endif
}

struct Counted {
  std::vector<std::uint64_t> samples;  // In the order of their marks.
  // How often each instruction address was executed, by sample; only if asked for.
  std::vector<std::map<std::uint64_t, std::uint64_t>> addresses;
};

namespace detail {

inline constexpr int kForbiddenExit = 77;

inline Error child_failed(int status) {
  return Error{Errc::kIo,
               WIFEXITED(status)
                   ? "the counted child ended with exit code " + std::to_string(WEXITSTATUS(status))
                   : "the counted child was ended by signal " + std::to_string(WTERMSIG(status))};
}

#ifdef __x86_64__
inline std::uint64_t next_instruction(pid_t child) {
  return static_cast<std::uint64_t>(
      ::ptrace(PTRACE_PEEKUSER, child, offsetof(user_regs_struct, rip), nullptr));
}

// A step is two switches between tracer and child. On one CPU they cost a tenth of what waking up
// another CPU costs. Threads that the child has started before keep theirs.
inline void share_one_cpu(pid_t child) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  CPU_SET(::sched_getcpu(), &mine);
  (void)::sched_setaffinity(0, sizeof mine, &mine);
  (void)::sched_setaffinity(child, sizeof mine, &mine);
}

// The child stands behind the first mark of a sample. Steps to behind the second. False: it ended.
inline bool step_through_sample(pid_t child, std::uint64_t behind_mark, bool keep_addresses,
                                Counted& counted, int& status) {
  std::uint64_t count = 0, at = behind_mark;
  std::map<std::uint64_t, std::uint64_t> addresses;
  for (int signal = 0;;) {
    if (::ptrace(PTRACE_SINGLESTEP, child, nullptr, signal) != 0) return false;
    if (::waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status)) return false;
    // Any other signal is the child's own; it takes effect with the next step.
    signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    if (signal != 0) continue;
    const auto next = next_instruction(child);
    if (next == at) continue;  // One more repetition of a string instruction.
    if (keep_addresses) ++addresses[at];
    at = next;
    ++count;
    if (at == behind_mark) break;
  }
  counted.samples.push_back(count);
  if (keep_addresses) counted.addresses.push_back(std::move(addresses));
  return true;
}
#endif

}  // namespace detail

// Forks a child that runs `program()`, and counts its samples. Call it with one thread.
template <class Program>
Result<Counted> count(Program&& program, [[maybe_unused]] bool keep_addresses = false) {
#ifndef __x86_64__
  return Error{Errc::kUnsupported, "instructions are counted on x86-64 only"};
#else
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return Error{Errc::kIo, "fork failed"};
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0 || ::raise(SIGSTOP) != 0)
      ::_exit(detail::kForbiddenExit);
    const int code = program();
    std::fflush(nullptr);
    ::_exit(code);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) < 0) return Error{Errc::kIo, "waitpid failed"};
  if (WIFEXITED(status) && WEXITSTATUS(status) == detail::kForbiddenExit)
    return Error{Errc::kUnsupported, "ptrace is forbidden here, or a tracer was first"};
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL);

  Counted counted;
  const auto behind_mark = reinterpret_cast<std::uint64_t>(&holdfast_step_mark) + 1;
  for (int signal = 0; WIFSTOPPED(status);) {
    ::ptrace(PTRACE_CONT, child, nullptr, signal);
    if (::waitpid(child, &status, 0) < 0) return Error{Errc::kIo, "waitpid failed"};
    if (!WIFSTOPPED(status)) break;
    const bool at_mark =
        WSTOPSIG(status) == SIGTRAP && detail::next_instruction(child) == behind_mark;
    signal = at_mark ? 0 : WSTOPSIG(status);
    if (at_mark && counted.samples.empty()) detail::share_one_cpu(child);
    if (at_mark &&
        !detail::step_through_sample(child, behind_mark, keep_addresses, counted, status))
      return detail::child_failed(status);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return detail::child_failed(status);
  return counted;
#endif
}

}  // namespace holdfast::step
