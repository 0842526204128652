// workload.hpp: what the threads of the real-crash tests do to a store, so that the survivor can be
// judged.
//
// An operation is a pure function of (seed, thread, number): the process that is killed and the one
// that judges compute the same one, and only times and results have to be handed over. Every write
// carries a stamp that occurs once in a run, so a value found later names the operation that wrote
// it.
//
// Keys     Thread t owns keys [t * private_keys, (t + 1) * private_keys): only t writes them. The
//          shared_keys behind them are written by all threads.
// Batches  put to private and shared keys, erase private ones only (final_state.hpp says why).
// Value    Word 0: stamp of the last update_word(), or of the put. Word 1: stamp of the put. Then
//          bytes that follow from it, so that a value with a byte from elsewhere does not decode.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/kv/store.hpp>

namespace holdfast::real {

// Round, thread, operation, member; never 0.
using Stamp = std::uint64_t;
Stamp make_stamp(std::uint32_t round, unsigned thread, std::uint64_t number, std::size_t member);
// "round 3, thread 1, operation 17, member 0".
std::string describe(Stamp stamp);

// kPutMany: by put_many(), or through a Pipeline; of both a kill leaves a prefix.
enum class Kind : std::uint8_t { kPut, kPutMany, kUpdateWord, kErase, kBatch };

struct Member {
  std::uint32_t key = 0;
  bool erase = false;
};
struct Operation {
  Kind kind = Kind::kPut;
  std::vector<Member> members;  // Distinct keys; one, but for kPutMany and kBatch.
};

struct Workload {
  std::uint64_t seed = 1;
  unsigned threads = 2;
  std::uint32_t private_keys = 100;  // Per thread; at least 8.
  std::uint32_t shared_keys = 0;

  std::uint32_t keys() const { return threads * private_keys + shared_keys; }
  Operation operation(unsigned thread, std::uint64_t number) const;
};

std::string key_name(std::uint32_t key);
// 16 bytes to 6 KB, as the stamp has it.
std::string value_of(Stamp writer);

// What a record holds.
struct RecordState {
  Stamp writer = 0;
  Stamp updater = 0;  // Equal to writer where no update_word() followed.
  bool operator==(const RecordState&) const = default;
};
// Nothing where the bytes are not exactly what a put and updates of its word 0 leave.
std::optional<RecordState> decode_value(std::string_view value);

struct Performed {
  Errc code = Errc::kOk;  // kNotFound where update_word() or erase() found no record.
  std::string detail;
};
// Does it. `previous` receives the word that update_word() saw, before its new word can be
// anywhere.
Performed perform(kv::Store<>& store, const Operation& operation, std::uint32_t round,
                  unsigned thread, std::uint64_t number, std::atomic<std::uint64_t>& previous);

}  // namespace holdfast::real
