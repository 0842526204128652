// expiry.hpp: records that expire.
// Public header.
//
//   ExpiryRule sessions{.prefix = "session:", .offset_bytes = 0, .ttl = 3'600'000};
//   store.expire(sessions).value();         // Values of these keys begin with a time stamp.
//   store.set_clock(now_ms).value();        // What is an hour old is absent from here on.
//
// A record has expired when the clock has reached its stamp + ttl. It is absent to every verb then,
// at once. Its medium comes back with reclamation, which does not copy it.
//
// Rules      are the store's, and stay; those of a keyspace go with it. Of several whose prefixes
//            fit a key the longest counts. Once the clock is set, a rule that lets keys live longer
//            than their present rule is refused. A value that is too short for the stamp never
//            expires.
// Clock      is the caller's, in whatever unit stamps and ttl have. It never runs backwards.
// Guarantee  An expired record is never seen again, not even after a crash, nor is an older version
//            in its place: the clock is durable before it counts.
// Snapshots  (and checkpoints) judge by the clock and the rules with which they were opened.
// count()    includes expired records until reclamation comes upon them.
// Renewal    takes a write: put() with a new stamp; update() or update_word() of the stamp;
//            append(), merge() and update() with WriteOptions::renew.
// Cost       A store with rules runs its verbs in their general form, which asks for the rules of
//            each record: O(rules).
#pragma once

#include <bit>
#include <cstdint>
#include <string>

namespace holdfast::kv {

struct ExpiryRule {
  std::string prefix = {};         // Of the keys; empty: all. At most 255 bytes.
  std::uint32_t offset_bytes = 0;  // Of the stamp in the value.
  std::uint32_t width_bytes = 8;   // 4 or 8.
  std::endian order = std::endian::little;
  std::uint64_t ttl = 0;  // 0: the stamp is the time at which the record ends.

  bool operator==(const ExpiryRule&) const = default;
};

}  // namespace holdfast::kv
