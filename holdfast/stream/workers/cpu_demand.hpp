// cpu_demand.hpp: how long a thread has wanted a CPU: its time on one, and its time in a queue for
// one. What is left of a time is what it slept or waited for others.
//
// The time in the queue is Linux's (/proc/thread-self/schedstat). Where it cannot be read it counts
// as none. Four system calls.
#pragma once

namespace holdfast::stream {

// Of the calling thread, since it began, in seconds.
double cpu_demand();

}  // namespace holdfast::stream
