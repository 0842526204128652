// user_aggregates.hpp: aggregates of users, as compiled code calls them.
//
// Each function has one number in the process, whatever queries call it. Compiled code is told
// apart by these numbers, so two libraries with the same names never share it.
//
// Threads  Any.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <holdfast/sql/user_aggregate.hpp>
#include <holdfast/stream/compile/runtime/interface.hpp>

namespace holdfast::stream::compile {

std::uint32_t number_of(const sql::UserAggregate& function);
// It lives as long as the process.
const query::UserAggregate* user_aggregate(std::uint32_t number);

// The state that compiled code has; null: that of no values.
const sql::UserState& state_of(const void* state);

// What compiled code passes, as a function takes it: they are laid out alike.
static_assert(offsetof(functions::Slot, null) == offsetof(query::Slot, null) &&
              offsetof(functions::Text, bytes) == offsetof(query::Text, size));
inline functions::Slot slot_of(const query::Slot& slot) {
  return std::bit_cast<functions::Slot>(slot);
}

}  // namespace holdfast::stream::compile
