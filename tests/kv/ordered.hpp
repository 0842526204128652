// ordered.hpp: stores that keep their keys in order, and what their cursors show.
#pragma once

#include <gtest/gtest.h>

#include <holdfast/kv/cursor.hpp>

#include "support.hpp"

namespace holdfast::kv {

inline StoreOptions ordered(StoreOptions options = tiny()) {
  options.order = true;
  return options;
}

// The cursor goes over exactly `expected`, from the first to the last.
inline void expect_in_order(Cursor& cursor, const Contents& expected) {
  auto wanted = expected.begin();
  for (cursor.first(); cursor; cursor.next(), ++wanted) {
    ASSERT_NE(wanted, expected.end()) << cursor.key();
    ASSERT_EQ(cursor.key(), wanted->first);
    ASSERT_EQ(cursor.value(), wanted->second);
  }
  EXPECT_TRUE(cursor.status()) << cursor.status().error().message();
  EXPECT_EQ(wanted, expected.end());
}
inline void expect_in_order(const Store<>& store, const Contents& expected) {
  auto cursor = store.cursor().value();
  expect_in_order(cursor, expected);
}

}  // namespace holdfast::kv
