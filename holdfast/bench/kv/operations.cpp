#include <holdfast/bench/kv/operations.hpp>

namespace holdfast::bench::kv {

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = {
      {"get", Verb::kGet, Writes::kNone, false, 0, "one value copied out"},
      {"get_many", Verb::kGetMany, Writes::kNone, false, 0, "a batch of values copied out"},
      {"scan", Verb::kScan, Writes::kNone, false, 0,
       "100 records copied out in the order of their keys"},
      {"ycsb-c", Verb::kYcsbC, Writes::kNone, false, 0, "100 % get"},
      {"update8", Verb::kUpdate8, Writes::kAll, false, 0, "an 8-byte word of a value changed"},
      {"overwrite", Verb::kOverwrite, Writes::kAll, false, 1, "put of a key that is there"},
      {"steady-overwrite", Verb::kSteadyOverwrite, Writes::kAll, false, 1,
       "put of a key that is there for all of --seconds, while what it supersedes is reclaimed"},
      {"ycsb-b", Verb::kYcsbB, Writes::kOneOf20, false, 0.06, "95 % get, 5 % overwrite"},
      {"ycsb-a", Verb::kYcsbA, Writes::kEveryOther, false, 0.5, "50 % get, 50 % overwrite"},
      {"ycsb-f", Verb::kYcsbF, Writes::kEveryOther, false, 0.5, "50 % get, 50 % get + overwrite"},
      {"ycsb-w90", Verb::kYcsbW90, Writes::kNineOf10, false, 0.9, "10 % get, 90 % overwrite"},
      {"update_copy", Verb::kUpdateCopy, Writes::kAll, false, 1,
       "a value read, changed and put again as a whole"},
      {"get_reclaiming", Verb::kGetReclaiming, Writes::kNone, false, 0,
       "get while the holes of 33 % of the records are reclaimed"},
      {"put_reclaiming", Verb::kPutReclaiming, Writes::kAll, true, 1,
       "put of a new key while the holes of 33 % of the records are reclaimed"},
      {"put", Verb::kPut, Writes::kAll, true, 1, "put of a new key"},
      {"put_many", Verb::kPutMany, Writes::kAll, true, 1, "put of a batch of new keys"},
      {"group64", Verb::kPutMany, Writes::kAll, true, 1,
       "put of a batch of 64 new keys by one thread"},
      {"waiters64", Verb::kPut, Writes::kAll, true, 1,
       "64 threads that each put a new key and wait"},
      {"ycsb-d", Verb::kYcsbD, Writes::kAll, true, 0.06,
       "95 % get of the latest, 5 % put of a new key"},
      {"ycsb-e", Verb::kYcsbE, Writes::kAll, true, 0.06,
       "95 % scan of 1 to 100 records, 5 % put of a new key"},
      {"erase", Verb::kErase, Writes::kAll, false, 1, "erase of a key that is there"},
  };
  return all;
}

const Operation* find_operation(const std::string& name) {
  for (const auto& operation : operations()) {
    if (name == operation.name) return &operation;
  }
  return nullptr;
}

}  // namespace holdfast::bench::kv
