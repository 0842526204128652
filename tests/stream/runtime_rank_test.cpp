// The state of a compiled ranking, under the sanitizers.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include <holdfast/stream/compile/runtime/graph_ranks.hpp>

#include "no_host.hpp"

namespace holdfast::query {
namespace {

// A store that keeps its entries, of one checkpoint.
class OneCheckpoint final : public NoHost {
 public:
  bool replace(std::int64_t, Text key, Text state, std::uint64_t&) override {
    ++(state.size == 0 ? gone : put_entries);
    return keys_.emplace(key.data, key.size).second;
  }
  bool keeps_entries() const override { return true; }

  int gone = 0, put_entries = 0;

 private:
  std::set<std::string> keys_;
};

struct Definition {
  using Row = RowOf<std::int64_t>;
  using Key = KeyOf<std::int64_t>;
  static constexpr std::int64_t kNode = 0;
  static constexpr std::uint64_t kFirst = 1, kLast = 3;
  static constexpr bool kRetracts = true;
  static Key key(const Row&, Run&) { return Key(some(std::int64_t{1})); }
  static int compare(const Row& a, const Row& b) {
    return compare_in_order<false, false>(a.get<0>(), b.get<0>());
  }
  template <class Graph>
  static void give(Graph&, Change, const Row&, std::int64_t) {}
};

// The newest row went before compiled code took over: what a store is told of it, and of a row that
// comes, are two entries.
TEST(RuntimeRank, ARowThatComesDoesNotHaveTheNumberOfOneThatIsGone) {
  OneCheckpoint host;
  query::Output output;
  query::Run run{host, output};
  RunningRank<Definition> ranking(run);
  std::string key;
  append_key_part(Definition::key({}, run), key);
  append_ordered(0, key);  // The number that the next row of an empty ranking would have.
  ASSERT_TRUE(ranking.adopt({first_slice(0), {key.data(), key.size()}, {nullptr, 0}, 3, true}));
  int graph = 0;
  ranking.take(graph, Change::kInsert, Definition::Row(some(std::int64_t{5})));
  // One that comes and goes leaves nothing.
  ranking.take(graph, Change::kInsert, Definition::Row(some(std::int64_t{6})));
  ranking.take(graph, Change::kDelete, Definition::Row(some(std::int64_t{6})));
  EXPECT_TRUE(ranking.put_state()) << "a key twice in a checkpoint";
  EXPECT_EQ(host.gone, 1);
  EXPECT_EQ(host.put_entries, 1);
  EXPECT_FALSE(ranking.adopt({first_slice(0), {"short", 5}, {nullptr, 0}, 3, true}));
}

}  // namespace
}  // namespace holdfast::query
