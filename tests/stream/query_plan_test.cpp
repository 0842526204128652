// Each form of a query that a program puts together has the plan of the SQL that somebody would
// write; and what is wrong with it is said with its place.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include <holdfast/sql/parser.hpp>
#include <holdfast/sql/planner.hpp>
#include <holdfast/stream/query.hpp>

namespace holdfast::stream {
namespace {

using std::chrono::milliseconds;

const std::string kShopTables =
    "CREATE TABLE orders (id BIGINT, item STRING, price BIGINT, tags ARRAY<STRING>, "
    "at TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR at AS at) WITH ('connector' = 'x');\n"
    "CREATE TABLE items (name STRING, stock BIGINT, at TIMESTAMP(3), "
    "PRIMARY KEY (name) NOT ENFORCED, WATERMARK FOR at AS at) WITH ('connector' = 'x');\n"
    "CREATE TABLE shops (name STRING, city STRING) WITH ('connector' = 'x');\n"
    "CREATE TABLE sums (item STRING, total BIGINT) WITH ('connector' = 'x');\n";

// The text of its plan, or what is wrong with it.
std::string planned(const std::string& text) {
  const auto statements = sql::parse(kShopTables + text);
  if (!statements) return statements.error().message();
  sql::Catalog catalog;
  for (const auto& statement : *statements) {
    if (const auto* table = std::get_if<sql::syntax::CreateTable>(&statement))
      catalog.add(*table).value();
  }
  const auto plan =
      sql::plan_of(std::get<sql::syntax::QueryStatement>(statements->back()), catalog);
  return plan ? sql::text_of(*plan) : plan.error().message();
}
std::string planned(const Query& query) { return planned(query.sql()); }

class QueryPlan : public testing::Test {
 protected:
  static void expect(const Query& query, const std::string& sql) {
    const auto wanted = planned(sql);
    EXPECT_TRUE(wanted.starts_with("Sink")) << sql << "\n" << wanted;
    EXPECT_EQ(planned(query), wanted) << query.sql();
  }

  // Made once: two queries of one program have the same definitions.
  const std::shared_ptr<const Definitions> shop_ = std::make_shared<Definitions>();
  const Query orders_{shop_, "orders"}, items_{shop_, "items"}, shops_{shop_, "shops"};
  const Query o_ = orders_.as("o"), i_ = items_.as("i");
};

TEST_F(QueryPlan, RegularJoins) {
  const std::string columns = "SELECT o.id, i.stock FROM orders AS o ", on = "o.item = i.name";
  const auto shown = [](const Query& query) { return query.select({"o.id", "i.stock"}); };
  expect(shown(o_.join(i_, on)), columns + "JOIN items AS i ON " + on);
  expect(shown(o_.left_outer_join(i_, on)), columns + "LEFT JOIN items AS i ON " + on);
  expect(shown(o_.right_outer_join(i_, on)), columns + "RIGHT JOIN items AS i ON " + on);
  expect(shown(o_.full_outer_join(i_, on)), columns + "FULL JOIN items AS i ON " + on);
  expect(shown(o_.join(i_).where(on)), columns + ", items AS i WHERE " + on);
  expect(orders_.join(items_, "USING (at)"), "SELECT * FROM orders JOIN items USING (at)");
  expect(orders_.join(items_, "item = items.name").join(shops_, "city = item"),
         "SELECT * FROM orders JOIN items ON item = items.name JOIN shops ON city = item");
}

TEST_F(QueryPlan, AJoinReadsWhatBothSidesAreByThen) {
  const std::string on = "orders.item = items.name";
  expect(orders_.where("price > 1").left_outer_join(items_.where("stock > 2"), on),
         "SELECT * FROM (SELECT * FROM orders WHERE price > 1) AS orders "
         "LEFT JOIN (SELECT * FROM items WHERE stock > 2) AS items ON orders.item = items.name");
  // Not a condition on the right side's rows, which would lose those without a partner.
  expect(orders_.left_outer_join(items_, on).where("stock IS NULL"),
         "SELECT * FROM orders LEFT JOIN items ON orders.item = items.name WHERE stock IS NULL");
  const auto cheap = items_.join(shops_, "items.name = shops.name").select({"items.name", "city"});
  expect(orders_.join(cheap.as("c"), "orders.item = c.name").select({"id", "c.city"}),
         "SELECT id, c.city FROM orders JOIN (SELECT items.name, city FROM items JOIN shops "
         "ON items.name = shops.name) AS c ON orders.item = c.name");
  // Joins on the right side are made first, too.
  expect(orders_.left_outer_join(items_.join(shops_, "stock > 1"), "item = city").select({"id"}),
         "SELECT id FROM orders LEFT JOIN (SELECT * FROM items JOIN shops ON stock > 1) "
         "ON item = city");
}

TEST_F(QueryPlan, JoinsOfWindowsAndOfNearTimes) {
  const milliseconds minute(60'000);
  const std::string same =
      "o.item = i.name AND o.window_start = i.window_start AND "
      "o.window_end = i.window_end";
  const std::string tables =
      " FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '60' "
      "SECOND)) AS o JOIN TABLE(TUMBLE(TABLE items, DESCRIPTOR(at), "
      "INTERVAL '60' SECOND)) AS i ON ";
  const auto joined = o_.tumble("at", minute).join(i_.tumble("at", minute), same);
  EXPECT_NE(planned(joined).find("WindowJoin inner"), std::string::npos);
  expect(joined.select({"id", "stock", "o.window_start"}),
         "SELECT id, stock, o.window_start" + tables + same);
  // A name may come behind the window, and a condition before it.
  expect(orders_.tumble("at", minute).as("o").join(items_.tumble("at", minute).as("i"), same),
         "SELECT *" + tables + same);
  // Groups of what was joined are no groups of its windows.
  expect(joined.group_by({"item"}).select({"item", "COUNT(*)"}),
         "SELECT item, COUNT(*)" + tables + same + " GROUP BY item");
  const std::string near = "o.item = i.name AND o.at BETWEEN i.at AND i.at + INTERVAL '1' MINUTE";
  EXPECT_NE(planned(o_.join(i_, near)).find("IntervalJoin inner"), std::string::npos);
  expect(o_.join(i_, near), "SELECT * FROM orders AS o JOIN items AS i ON " + near);
}

TEST_F(QueryPlan, JoinsAsOfATime) {
  expect(o_.join(i_.as_of("o.at"), "o.item = i.name").select({"id", "stock"}),
         "SELECT id, stock FROM orders AS o JOIN items FOR SYSTEM_TIME AS OF o.at AS i "
         "ON o.item = i.name");
  expect(o_.left_outer_join(shops_.as_of("o.p"), "item = name").select({"id", "city"}),
         "SELECT id, city FROM orders AS o LEFT JOIN shops FOR SYSTEM_TIME AS OF o.p ON item = "
         "name");
  // What is read as of a time may be the newest rows of a query.
  const auto newest = orders_
                          .select({"item", "price", "at",
                                   "ROW_NUMBER() OVER (PARTITION BY item ORDER BY at DESC) AS n"})
                          .where("n = 1");
  const std::string numbered =
      "(SELECT * FROM (SELECT item, price, at, ROW_NUMBER() OVER (PARTITION BY item ORDER BY at "
      "DESC) AS n FROM orders) WHERE n = 1)";
  expect(i_.join(newest.as("v").as_of("i.at"), "i.name = v.item").select({"stock", "v.price"}),
         "SELECT stock, v.price FROM items AS i JOIN " + numbered +
             " FOR SYSTEM_TIME AS OF i.at AS v ON i.name = v.item");
}

TEST_F(QueryPlan, SemiAndAntiJoins) {
  expect(o_.semi_join(i_, "o.item = i.name AND stock > 1").select({"id"}),
         "SELECT id FROM orders AS o WHERE EXISTS (SELECT * FROM items AS i "
         "WHERE o.item = i.name AND stock > 1)");
  expect(o_.where("price > 3").anti_join(i_.where("stock > 1"), "o.item = i.name").select({"id"}),
         "SELECT id FROM orders AS o WHERE price > 3 AND NOT EXISTS (SELECT * FROM "
         "items AS i WHERE stock > 1 AND o.item = i.name)");
  // Groups have no table's name before their columns but what as() gives.
  const auto stocks = i_.group_by({"name"}).select({"name AS n"}).as("g");
  expect(o_.semi_join(stocks, "o.item = g.n").select({"id"}),
         "SELECT id FROM orders AS o WHERE EXISTS (SELECT * FROM (SELECT name AS n FROM items "
         "GROUP BY name) AS g WHERE o.item = g.n)");
  // Of groups: the condition is on them, not on the rows that they have.
  const auto groups = o_.group_by({"item"}).select({"item", "SUM(price) AS s"});
  expect(groups.semi_join(shops_, "item = name"),
         "SELECT * FROM (SELECT item, SUM(price) AS s FROM orders AS o GROUP BY item) AS o "
         "WHERE EXISTS (SELECT * FROM shops WHERE item = name)");
}

TEST_F(QueryPlan, UnionsAndWhatIsLikeThem) {
  const auto of_orders = orders_.select({"item", "price"}),
             of_items = items_.select({"name", "stock"});
  const std::string left = "SELECT item, price FROM orders ",
                    right = " SELECT name, stock FROM items";
  expect(of_orders.union_all(of_items), left + "UNION ALL" + right);
  expect(of_orders.union_distinct(of_items), left + "UNION" + right);
  expect(of_orders.intersect(of_items), left + "INTERSECT" + right);
  expect(of_orders.minus(of_items), left + "EXCEPT" + right);
  // As they were called, without an order of their own.
  const auto more = shops_.select({"name", "1"});
  expect(of_orders.union_distinct(of_items).intersect(more),
         "(" + left + "UNION" + right + ") INTERSECT SELECT name, 1 FROM shops");
  expect(of_orders.minus(of_items.minus(more)),
         left + "EXCEPT (" + right + " EXCEPT SELECT name, 1 FROM shops)");
  // What limits one side, and what limits both.
  expect(of_orders.limit(3).union_all(of_items.order_by({"stock"}).limit(2)).limit(4, 1),
         "(" + left + "LIMIT 3) UNION ALL (" + right + " ORDER BY stock LIMIT 2) LIMIT 4 OFFSET 1");
  expect(of_orders.union_all(of_items)
             .where("price > 1")
             .group_by({"item"})
             .select({"item", "COUNT(*)"}),
         "SELECT item, COUNT(*) FROM (" + left + "UNION ALL" + right +
             ") WHERE price > 1 GROUP BY item");
  expect(of_orders.union_all(of_items).distinct(),
         "SELECT DISTINCT * FROM (" + left + "UNION ALL" + right + ")");
  EXPECT_EQ(
      of_orders.union_all(of_items).union_all(of_items).insert_sql("sums").value().substr(0, 34),
      "INSERT INTO sums\nSELECT *\nFROM ((S");
}

TEST_F(QueryPlan, WindowsOfOver) {
  const std::string frame =
      "PARTITION BY item ORDER BY at ROWS BETWEEN 2 PRECEDING AND CURRENT ROW";
  expect(orders_.over("w", frame).select({"id", "SUM(price) OVER w AS s", "MAX(price) OVER w"}),
         "SELECT id, SUM(price) OVER (" + frame + ") AS s, MAX(price) OVER (" + frame +
             ") FROM orders");
  expect(orders_.over("w", frame)
             .over("v", "ORDER BY at")
             .select({"SUM(price) OVER w", "COUNT(*) OVER v"}),
         "SELECT SUM(price) OVER w, COUNT(*) OVER v FROM orders WINDOW w AS (" + frame +
             "), v AS (ORDER BY at)");
}

TEST_F(QueryPlan, RankingsAreAColumnAndACondition) {
  const std::string by_price = "ROW_NUMBER() OVER (PARTITION BY item ORDER BY price DESC) AS n";
  expect(orders_.select({"id", "item", by_price}).where("n <= 2"),
         "SELECT * FROM (SELECT id, item, " + by_price + " FROM orders) WHERE n <= 2");
  const auto first = orders_.select({"*", "ROW_NUMBER() OVER (PARTITION BY id ORDER BY at) AS n"})
                         .where("n = 1")
                         .select({"id", "item"});
  EXPECT_NE(planned(first).find("once"), std::string::npos) << planned(first);
  const std::string in_window =
      "ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC) AS n";
  const auto top =
      orders_.tumble("at", milliseconds(1'000)).select({"*", in_window}).where("n <= 3");
  EXPECT_NE(planned(top).find("in windows to"), std::string::npos);
  expect(top.select({"id", "n"}), "SELECT id, n FROM (SELECT *, " + in_window +
                                      " FROM TABLE(TUMBLE(TABLE orders, "
                                      "DESCRIPTOR(at), INTERVAL '1' SECOND))) WHERE n <= 3");
}

TEST_F(QueryPlan, DistinctOrderAndLimitStandWhereTheyWereCalled) {
  expect(orders_.select({"item"}).distinct(), "SELECT DISTINCT item FROM orders");
  expect(shops_.distinct(), "SELECT DISTINCT * FROM shops");
  expect(shops_.limit(5).distinct(), "SELECT DISTINCT * FROM (SELECT * FROM shops LIMIT 5)");
  expect(shops_.distinct().limit(5), "SELECT DISTINCT * FROM shops LIMIT 5");
  expect(shops_.order_by({"city DESC", "name"}).limit(5),
         "SELECT * FROM shops ORDER BY city DESC, name LIMIT 5");
  // The order may read what is not shown.
  expect(shops_.select({"name"}).order_by({"city"}), "SELECT name FROM shops ORDER BY city");
  expect(shops_.limit(5).order_by({"city"}),
         "SELECT * FROM (SELECT * FROM shops LIMIT 5) ORDER BY city");
  expect(shops_.limit(9).limit(5, 2),
         "SELECT * FROM (SELECT * FROM shops LIMIT 9) LIMIT 5 OFFSET 2");
  expect(shops_.limit(5).where("city = 'x'").select({"name"}),
         "SELECT name FROM (SELECT * FROM shops LIMIT 5) WHERE city = 'x'");
  expect(
      orders_.select({"item", "price"}).group_by({"item"}).having("COUNT(*) > 1").select({"item"}),
      "SELECT item FROM (SELECT item, price FROM orders) GROUP BY item HAVING COUNT(*) > 1");
}

TEST_F(QueryPlan, WindowsOfWindowsAndGroupingSets) {
  const auto seconds = orders_.tumble("at", milliseconds(1'000))
                           .group_by({"item"})
                           .select({"window_time AS wt", "item", "SUM(price) AS s"});
  const std::string of_seconds =
      "SELECT window_time AS wt, item, SUM(price) AS s FROM TABLE(TUMBLE(TABLE orders, "
      "DESCRIPTOR(at), INTERVAL '1' SECOND)) GROUP BY window_start, window_end, item";
  expect(seconds, of_seconds);
  expect(
      seconds.hop("wt", milliseconds(2'000), milliseconds(4'000)).group_by({}).select({"MAX(s)"}),
      "SELECT MAX(s) FROM TABLE(HOP((" + of_seconds +
          "), DESCRIPTOR(wt), INTERVAL '2' SECOND, "
          "INTERVAL '4' SECOND)) GROUP BY window_start, window_end");
  expect(orders_.tumble("at", milliseconds(1'000))
             .group_by({"ROLLUP(item, id)"})
             .select({"item", "COUNT(*)"}),
         "SELECT item, COUNT(*) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' "
         "SECOND)) GROUP BY window_start, window_end, ROLLUP(item, id)");
  // A join of near times keeps the time.
  const std::string near =
      "item = name AND orders.at BETWEEN items.at AND items.at + INTERVAL '1' HOUR";
  expect(
      orders_.join(items_, near).select({"orders.at", "stock"}).tumble("at", milliseconds(1'000)),
      "SELECT * FROM TABLE(TUMBLE((SELECT orders.at, stock FROM orders JOIN items ON " + near +
          "), DESCRIPTOR(at), INTERVAL '1' SECOND))");
}

// A condition before session() was one on the rows of finished sessions.
TEST_F(QueryPlan, AConditionBeforeASessionIsOnTheRowsThatMakeIt) {
  const std::string call = "DESCRIPTOR(at), INTERVAL '1' SECOND))";
  expect(
      orders_.where("price > 1").session("at", milliseconds(1'000)).select({"id", "window_end"}),
      "SELECT id, window_end FROM TABLE(SESSION((SELECT * FROM orders WHERE price > 1), " + call);
  expect(orders_.session("at", milliseconds(1'000)).where("price > 1").select({"id", "window_end"}),
         "SELECT id, window_end FROM TABLE(SESSION(TABLE orders, " + call + " WHERE price > 1");
  expect(orders_.where("price > 1")
             .session("at", milliseconds(1'000))
             .group_by({"item"})
             .select({"item", "COUNT(*)"}),
         "SELECT item, COUNT(*) FROM TABLE(SESSION((SELECT * FROM orders WHERE price > 1) "
         "PARTITION BY item, " +
             call + " GROUP BY window_start, window_end, item");
}

TEST_F(QueryPlan, OtherTableExpressionsOfSqlAreTables) {
  const Query tags(shop_, "UNNEST(tags) AS t(tag)"),
      rows(shop_, "(VALUES ('a', 1), ('b', 2)) AS v(k, n)");
  expect(orders_.join(tags).select({"id", "tag"}),
         "SELECT id, tag FROM orders CROSS JOIN UNNEST(tags) AS t(tag)");
  expect(orders_.left_outer_join(tags, "TRUE").select({"id", "tag"}),
         "SELECT id, tag FROM orders LEFT JOIN UNNEST(tags) AS t(tag) ON TRUE");
  expect(orders_.join(rows, "item = v.k").select({"id", "n"}),
         "SELECT id, n FROM orders JOIN (VALUES ('a', 1), ('b', 2)) AS v(k, n) ON item = v.k");
  expect(rows.as("w").where("w.n > 1"),
         "SELECT * FROM (VALUES ('a', 1), ('b', 2)) AS w(k, n) WHERE n > 1");
}

TEST_F(QueryPlan, AQueryIsJoinedWithItselfByTwoNames) {
  expect(o_.join(orders_.as("p"), "o.id = p.price").select({"o.id", "p.item"}),
         "SELECT o.id, p.item FROM orders AS o JOIN orders AS p ON o.id = p.price");
  const auto sums = o_.group_by({"item"}).select({"item", "SUM(price) AS s"});
  const auto both = sums.as("a").join(sums.as("b"), "a.s = b.s").select({"a.item"});
  // It is computed once.
  EXPECT_NE(planned(both).find("as above"), std::string::npos) << planned(both);
}

TEST_F(QueryPlan, WhatIsWrongIsRefusedAsInSql) {
  const auto refused = [](const Query& query, std::string_view what) {
    const auto said = planned(query);
    EXPECT_TRUE(said.starts_with("kInvalidOption: line ")) << query.sql() << "\n" << said;
    EXPECT_NE(said.find(what), std::string::npos) << said;
  };
  refused(o_.join(i_, "o.itm = i.name"), "item");
  refused(o_.join(i_, "o.item = i.name").where("at > o.at"), "at");
  refused(o_.join(i_, "o.id = i.name"), "BIGINT");
  refused(orders_.join(orders_, "orders.id = orders.price"), "more than one table has a column id");
  refused(orders_.join(shops_.where("city = 'x'"), "item = s.name"), "there is no table s");
  refused(orders_.union_all(shops_), "columns");
  refused(orders_.select({"id", "item"}).union_all(shops_), "UNION");
  refused(o_.where("items.stock > 1"), "items");
  // Without group_by() a window's rows are rows.
  const auto sums = orders_.tumble("at", milliseconds(1'000)).select({"SUM(price)"});
  EXPECT_NE(planned(sums).find("grouping a window's rows without the window"), std::string::npos);
}

// A part that is no whole took another meaning: where("a) OR (b") was beside other conditions.
TEST_F(QueryPlan, APartStandsByItself) {
  const auto said = [](const Query& query) {
    const auto text = query.insert_sql("sums");
    return text ? std::string("nothing") : text.error().message();
  };
  EXPECT_EQ(
      said(orders_.where("price > 1) OR (id = 2")),
      "kInvalidOption: where: line 1, column 10: ) has no partner; in: price > 1) OR (id = 2");
  EXPECT_EQ(said(orders_.select({"tags[1)"})),
            "kInvalidOption: select: line 1, column 7: ) has no partner; in: tags[1)");
  EXPECT_EQ(said(orders_.group_by({"(item"})),
            "kInvalidOption: group_by: line 1, column 6: a ) is missing; in: (item");
  EXPECT_EQ(said(orders_.having("")),
            "kInvalidOption: having: line 1, column 1: there is nothing; in: ");
  EXPECT_EQ(
      said(o_.join(i_, "o.item = i.name; SELECT 1")),
      "kInvalidOption: JOIN: line 1, column 16: a ; ends statements only; in: o.item = i.name; "
      "SELECT 1");
  EXPECT_EQ(said(o_.join(i_.where("'"), "TRUE")),
            "kInvalidOption: where: line 1, column 1: this ' has no partner; a quote within is "
            "written twice; in: '");
  EXPECT_NE(said(o_.semi_join(i_.as(")"), "TRUE")).find("as: line 1"), std::string::npos);
  EXPECT_NE(said(o_.semi_join(i_, ")")).find("EXISTS: line 1"), std::string::npos);
  EXPECT_NE(said(Query(shop_, "orders;")).find("from: line 1"), std::string::npos);
  EXPECT_NE(said(o_.union_all(o_.order_by({"a)"}))).find("order_by: line 1"), std::string::npos);
  EXPECT_NE(said(o_.over("w", ")")).find("over: line 1"), std::string::npos);
  EXPECT_NE(said(o_.tumble("at)", milliseconds(1))).find("TUMBLE: line 1"), std::string::npos);
  EXPECT_NE(said(o_.as_of("(")).find("as_of: line 1"), std::string::npos);
  EXPECT_EQ(said(orders_.where("item = ') ; ('").select({"tags[1]", "(price)"})), "nothing");
  EXPECT_FALSE(orders_.insert_sql("sums; SELECT 1"));
  EXPECT_FALSE(orders_.insert_sql(""));
  EXPECT_FALSE(orders_.join(items_, "").insert_sql("sums"));
}

// A comment took what came behind it on the line: select({"id -- key", "item"}) had one column.
TEST_F(QueryPlan, ACommentEndsWithItsPart) {
  expect(orders_.where("price > 1 -- dear").select({"id -- key", "item"}),
         "SELECT id, item FROM orders WHERE price > 1");
}

TEST(QueryDefinitions, TheFirstOneIsTheFirst) {
  const auto nothing = std::make_shared<Definitions>();
  const auto first = std::make_shared<Definitions>(Definitions{"a;\n", {}, nothing});
  const Definitions last{"b;\n", {}, first};
  EXPECT_EQ(last.all_statements(), "a;\nb;\n");
}

TEST(QueryDefinitions, OfTwoQueriesTheLaterOnesCount) {
  const auto first = std::make_shared<Definitions>();
  const auto later = std::make_shared<Definitions>(Definitions{"SET 'a' = 'b';\n", {}, first});
  const auto other = std::make_shared<Definitions>(Definitions{"SET 'a' = 'b';\n", {}, first});
  const Query a(first, "a"), b(later, "b"), c(other, "c");
  for (const auto& both : {a.join(b), b.join(a), a.union_all(b), b.semi_join(a, "TRUE")}) {
    EXPECT_EQ(both.definitions(), later);
    EXPECT_TRUE(both.insert_sql("t"));
  }
  for (const auto& both :
       {c.join(b), b.minus(c), c.anti_join(b, "TRUE"), a.join(b).join(a.join(c))})
    EXPECT_NE(both.insert_sql("t").error().detail.find("not of the same Queries"),
              std::string::npos);
}

}  // namespace
}  // namespace holdfast::stream
