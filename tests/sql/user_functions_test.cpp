// Functions of users: what each type is on both sides, which overload a call means, what is
// refused, and aggregates beside built-in ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/parser.hpp>
#include <holdfast/sql/planner.hpp>
#include <holdfast/sql/user_functions.hpp>

namespace holdfast::sql {
namespace {

namespace fn = holdfast::functions;

constexpr const char* kTable =
    "CREATE TABLE t (b BOOLEAN, t TINYINT, s SMALLINT, i INT, v BIGINT, d DECIMAL(10, 2), f FLOAT, "
    "r DOUBLE, k STRING, day DATE, ts TIMESTAMP(3), n INT) WITH ('connector' = 'none')";

Row row_of_all() {
  return {Value::of(1),        Value::of(-128), Value::of(-32768),   Value::of(-5),
          Value::of(7),        Value::of(-150), Value::of_real(0.5), Value::of_real(3),
          Value::of_text("ä"), Value::of(-1),   Value::of(5),        Value()};
}

// The statements, in a catalog that lives as long as the process: plans point to it.
Result<Plan> plan_with(const std::string& text, Catalog& catalog) {
  HF_ASSIGN_OR_RETURN(const auto statements, parse(text));
  for (const auto& statement : statements) {
    if (const auto* table = std::get_if<syntax::CreateTable>(&statement))
      HF_RETURN_IF_ERROR(catalog.add(*table));
    if (const auto* function = std::get_if<syntax::CreateFunction>(&statement))
      HF_RETURN_IF_ERROR(catalog.functions().add(*function));
    if (const auto* dropped = std::get_if<syntax::DropFunction>(&statement))
      HF_RETURN_IF_ERROR(catalog.functions().drop(*dropped));
    if (const auto* query = std::get_if<syntax::QueryStatement>(&statement))
      return plan_of(*query, catalog);
  }
  return Error{Errc::kNotFound, "there is no query"};
}

Catalog& new_catalog() {
  static std::vector<std::unique_ptr<Catalog>> all;
  return *all.emplace_back(std::make_unique<Catalog>());
}

// "TYPE value" of an expression over row_of_all(), or "error: …".
class Calls {
 public:
  Calls() : catalog_(new_catalog()) {
    const auto statements = parse(kTable).value();
    catalog_.add(std::get<syntax::CreateTable>(statements[0])).value();
  }
  Status define(std::string_view name, const fn::Definition& definition) {
    return catalog_.functions().add(name, definition);
  }
  std::string operator()(const std::string& expression) {
    const auto plan = plan_with("SELECT " + expression + " FROM t", catalog_);
    if (!plan) return "error: " + plan.error().detail;
    const auto& e = *std::get<Project>(plan->nodes.back().what).expressions[0];
    is_literal = e.operation == Operation::kLiteral;
    Value value;
    if (const auto status = evaluate(e, row_of_all(), value); !status)
      return "error: " + status.error().detail;
    return name_of(e.type) + " " + (value.null ? "NULL" : text_of(value, e.type));
  }
  Catalog& catalog() { return catalog_; }
  bool is_literal = false;

 private:
  Catalog& catalog_;
};

template <class T>
T same(T value) {
  return value;
}

TEST(UserFunctions, EachTypeIsTheSameOnBothSides) {
  static const auto kSame =
      fn::scalar(same<bool>, same<std::int8_t>, same<std::int16_t>, same<std::int32_t>,
                 same<std::int64_t>, same<fn::Decimal<10, 2>>, same<float>, same<double>,
                 same<std::string>, same<fn::Date>, same<fn::Timestamp>);
  Calls call;
  call.define("Same", kSame).value();
  EXPECT_EQ(call("same(b)"), "BOOLEAN true");
  EXPECT_EQ(call("same(t)"), "TINYINT -128");
  EXPECT_EQ(call("SAME(s)"), "SMALLINT -32768");
  EXPECT_EQ(call("same(i)"), "INT -5");
  EXPECT_EQ(call("same(v)"), "BIGINT 7");
  EXPECT_EQ(call("same(d)"), "DECIMAL(10, 2) -1.50");
  EXPECT_EQ(call("same(f)"), "FLOAT 0.5");
  EXPECT_EQ(call("same(r)"), "DOUBLE 3.0");
  EXPECT_EQ(call("same(k)"), "STRING ä");
  EXPECT_EQ(call("same(day)"), "DATE 1969-12-31");
  EXPECT_EQ(call("same(ts)"), "TIMESTAMP(3) 1970-01-01 00:00:00.005");
  EXPECT_EQ(call("same(n)"), "INT NULL");
  EXPECT_EQ(call("same(CAST(d AS DECIMAL(5, 1)))"), "DECIMAL(10, 2) -1.50");
  EXPECT_EQ(call("same(same(i) + same(v))"), "BIGINT 2");
}

TEST(UserFunctions, AnOptionalArgumentSeesNullAndOthersAreNotCalledWithIt) {
  static const auto kSeen =
      fn::scalar([](std::optional<std::int32_t> a, std::int32_t b) { return (a ? *a : 100) + b; });
  static const auto kNothing = fn::scalar([]() -> std::optional<double> { return std::nullopt; });
  Calls call;
  call.define("seen", kSeen).value();
  call.define("nothing", kNothing).value();
  EXPECT_EQ(call("seen(i, 1)"), "INT -4");
  EXPECT_EQ(call("seen(n, 1)"), "INT 101");
  EXPECT_EQ(call("seen(NULL, 1)"), "INT 101");
  EXPECT_EQ(call("seen(1, n)"), "INT NULL");
  EXPECT_EQ(call("nothing()"), "DOUBLE NULL");
}

TEST(UserFunctions, ACallMeansTheExactOverloadElseTheFirstThatFits) {
  static const auto kWhich = fn::scalar(
      [](std::int64_t) { return std::string("bigint"); },
      [](double) { return std::string("double"); }, [](std::int32_t) { return std::string("int"); },
      [](std::string_view, std::string_view) { return std::string("two texts"); });
  Calls call;
  call.define("which", kWhich).value();
  EXPECT_EQ(call("which(i)"), "STRING int");
  EXPECT_EQ(call("which(s)"), "STRING bigint");
  EXPECT_EQ(call("which(f)"), "STRING double");
  EXPECT_EQ(call("which(d)"), "STRING double");
  EXPECT_EQ(call("which(k, 'x')"), "STRING two texts");
  EXPECT_EQ(call("which(k)"),
            "error: line 1, column 8: there is no WHICH(STRING); there is WHICH(BIGINT), "
            "WHICH(DOUBLE), WHICH(INT), WHICH(STRING, STRING); write a CAST");
  EXPECT_NE(call("which(1, 2, 3)").find("WHICH with 3 arguments is not known"), std::string::npos);
  EXPECT_NE(call("which(i, k)").find("WHICH wants STRING, this is INT"), std::string::npos);
}

// The argument is an object of the call: it was gone before its result was read.
TEST(UserFunctions, AResultMayReferToAnArgument) {
  const std::string text(100, 'x');
  static const auto kRest =
      fn::scalar([](const std::string& all) { return std::string_view(all).substr(1); });
  static const auto kLonger =
      fn::scalar([](const std::string& a, const std::string& b) -> const std::string& {
        return b.size() > a.size() ? b : a;
      });
  Calls call;
  call.define("rest", kRest).value();
  call.define("longer", kLonger).value();
  EXPECT_EQ(call("rest(REPEAT('x', 101))"), "STRING " + text);
  EXPECT_EQ(call("longer('', REPEAT('x', 100))"), "STRING " + text);
}

// Names that began as those of windows were taken for such, and TUMBLE_ROWS was none.
TEST(UserFunctions, ANameMayBeginAsThatOfAWindow) {
  static const auto kOne = fn::scalar([] { return std::int32_t{1}; });
  Calls call;
  for (const std::string name : {"session_id", "hop_count", "tumble_"}) {
    call.define(name, kOne).value();
    EXPECT_EQ(call(name + "()"), "INT 1");
  }
  for (const std::string window : {"tumble", "hop", "session"})
    for (const std::string part : {"", "_start", "_end", "_rowtime", "_proctime"})
      EXPECT_FALSE(call.define(window + part, kOne)) << window << part;
  for (const auto* name : {"tumble_rows", "hop_rows", "current_timestamp"})
    EXPECT_FALSE(call.define(name, kOne)) << name;
}

TEST(UserFunctions, NamesThatAreTakenAreRefused) {
  static const auto kOne = fn::scalar([] { return std::int32_t{1}; });
  Calls call;
  for (const auto* name : {"upper", "SUM", "coalesce", "Median", "json_value", "TUMBLE", "regexp"})
    EXPECT_NE(call.define(name, kOne).error().detail.find("is a built-in one"), std::string::npos)
        << name;
  call.define("one", kOne).value();
  EXPECT_NE(call.define("ONE", kOne).error().detail.find("is there already"), std::string::npos);
  for (const auto* name : {"", "a b", "1st", "ä", "x;"})
    EXPECT_NE(call.define(name, kOne).error().detail.find("cannot be called"), std::string::npos)
        << name;
  EXPECT_NE(call("onee()").find("did you mean ONE?"), std::string::npos);
  EXPECT_NE(call("one() FILTER (WHERE b)").find("is no aggregate"), std::string::npos);
  EXPECT_NE(call("one() OVER (ORDER BY ts)").find("error"), std::string::npos);
}

TEST(UserFunctions, ErrorsAndExceptionsNameTheCall) {
  static const auto kFails =
      fn::scalar([](std::string_view text, std::int32_t n) -> fn::Outcome<std::int32_t> {
        if (n == 0) return fn::Error{"n is 0\n"};
        if (n == 1) throw std::runtime_error("thrown");
        if (n == 2) throw 5;
        return static_cast<std::int32_t>(text.size());
      });
  static const auto kText = fn::scalar([]() -> fn::Outcome<std::string> { return "a literal"; });
  Calls call;
  call.define("fails", kFails).value();
  call.define("text", kText).value();
  EXPECT_EQ(call("text()"), "STRING a literal");
  EXPECT_EQ(call("fails('abc', 3)"), "INT 3");
  EXPECT_EQ(call("fails('a\nc', 0)"), "error: line 1, column 8: FAILS('a\\nc', 0): n is 0\\n");
  EXPECT_EQ(call("fails(k, 1)"), "error: line 1, column 8: FAILS('ä', 1): thrown");
  EXPECT_NE(call("fails(k, 2)").find("an exception that is no std::exception"), std::string::npos);
  // Only where a row needs it.
  EXPECT_EQ(call("CASE WHEN b THEN 1 ELSE fails('a', 0) END"), "INT 1");
}

TEST(UserFunctions, AResultThatHasNoPlaceInItsTypeIsAnError) {
  static const auto kLong = fn::scalar([] { return fn::Decimal<3, 1>{1000}; });
  static const auto kLate = fn::scalar([] { return fn::Timestamp{INT64_MAX}; });
  static const auto kFar = fn::scalar([] { return fn::Date{INT32_MIN}; });
  static const auto kBytes = fn::scalar([] { return std::string("\xFF"); });
  static const auto kHuge = fn::scalar([] { return std::string((16u << 20) + 1, 'x'); });
  Calls call;
  call.define("a", kLong).value();
  call.define("b", kLate).value();
  call.define("c", kFar).value();
  call.define("d", kBytes).value();
  call.define("e", kHuge).value();
  EXPECT_NE(call("a()").find("A(): the result is a decimal of too many digits"), std::string::npos);
  EXPECT_NE(call("b()").find("a time beyond the years"), std::string::npos);
  EXPECT_NE(call("c()").find("a date beyond the years"), std::string::npos);
  EXPECT_NE(call("d()").find("a text that is no UTF-8"), std::string::npos);
  EXPECT_NE(call("e()").find("longer than 16 MiB"), std::string::npos);
}

TEST(UserFunctions, OneThatIsNotDeterministicIsCalledForEachRow) {
  static int calls = 0;
  static const auto kCounts = fn::scalar([](std::int32_t) { return std::int32_t{++calls}; });
  static const auto kVaries = kCounts.not_deterministic();
  Calls call;
  call.define("counts", kCounts).value();
  call.define("varies", kVaries).value();
  call("counts(1)");
  EXPECT_TRUE(call.is_literal);
  call("varies(1)");
  EXPECT_FALSE(call.is_literal);
  EXPECT_NE(call("COALESCE(varies(1), 2)").find("is read twice"), std::string::npos);
  EXPECT_NE(call("varies(1) BETWEEN 1 AND 2").find("is read twice"), std::string::npos);
  EXPECT_EQ(call("CASE varies(1) WHEN 1 THEN 2 ELSE 3 END").find("error"), std::string::npos);
  EXPECT_NE(call("CASE varies(1) + 1 WHEN 1 THEN 2 WHEN 2 THEN 3 END").find("is read twice"),
            std::string::npos);
  // Rows that change would be taken back as others.
  const std::string changing = "SELECT varies(m) AS x FROM (SELECT MAX(i) AS m FROM t)";
  EXPECT_EQ(
      plan_with(changing, call.catalog()).error().detail,
      "line 1, column 8: VARIES[version 1] of rows that change is not supported; the function "
      "is not deterministic");
  EXPECT_TRUE(
      plan_with("SELECT varies(i) AS x, COUNT(*) FROM t GROUP BY varies(i)", call.catalog()));
  const std::string sorted = "SELECT * FROM (SELECT k, MAX(i) AS m FROM t GROUP BY k) ORDER BY ";
  EXPECT_TRUE(plan_with(sorted + "counts(m)", call.catalog()));
  EXPECT_FALSE(plan_with(sorted + "varies(m)", call.catalog()));
  const auto ranked = [](const std::string& key) {
    return "SELECT * FROM (SELECT m, ROW_NUMBER() OVER (PARTITION BY 1 ORDER BY " + key +
           ") AS r FROM (SELECT k, MAX(i) AS m FROM t GROUP BY k)) WHERE r = 1";
  };
  EXPECT_TRUE(plan_with(ranked("counts(m)"), call.catalog()));
  EXPECT_FALSE(plan_with(ranked("varies(m)"), call.catalog()));
  // A condition on it does not go below the projection, where it would be another call.
  // Nor does a projection of it merge with one that reads it.
  for (const auto* rest : {"* FROM (SELECT varies(i) AS x FROM t) WHERE x > 1",
                           "x + x FROM (SELECT varies(i) AS x FROM t)"}) {
    const auto text = text_of(plan_with(std::string("SELECT ") + rest, call.catalog()).value());
    EXPECT_EQ(text.find("VARIES"), text.rfind("VARIES")) << text;
  }
}

// ---- Libraries ----

std::string error_of(const std::string& text) {
  const auto plan = plan_with(text + "; " + kTable, new_catalog());
  return plan.error().detail;
}

std::string library(const std::string& name, const std::string& symbol,
                    const std::string& path = HF_FUNCTIONS_LIBRARY) {
  return "CREATE FUNCTION " + name + " AS '" + symbol + "' LANGUAGE CPP USING LIBRARY '" + path +
         "'";
}

TEST(UserFunctions, ALibraryIsLoadedAndItsFunctionsAreCalled) {
  auto& catalog = new_catalog();
  const auto plan = plan_with(library("Plus", "plus") +
                                  "; CREATE TEMPORARY SYSTEM FUNCTION IF NOT EXISTS "
                                  "plus AS 'none' LANGUAGE CPP USING LIBRARY '/none'; " +
                                  library("h", "half") + "; DROP FUNCTION h; " +
                                  "DROP TEMPORARY FUNCTION IF EXISTS h; " + kTable +
                                  "; SELECT PLUS(i, v), plus(k, 'x') FROM t",
                              catalog);
  ASSERT_TRUE(plan) << plan.error().detail;
  Value value;
  evaluate(*std::get<Project>(plan->nodes.back().what).expressions[0], row_of_all(), value).value();
  EXPECT_EQ(static_cast<int>(value.number), 2);
  evaluate(*std::get<Project>(plan->nodes.back().what).expressions[1], row_of_all(), value).value();
  EXPECT_EQ(value.text, "ä+x");
  EXPECT_EQ(catalog.functions().find("H"), nullptr);
}

TEST(UserFunctions, WhatIsWrongWithALibraryIsSaidWithItsPlace) {
  const std::string tail = " LANGUAGE CPP USING LIBRARY ";
  EXPECT_NE(error_of("CREATE FUNCTION f AS 'x'" + tail + "'/none.so'")
                .find("line 1, column 53: there is no library /none.so"),
            std::string::npos);
  EXPECT_NE(
      error_of("CREATE FUNCTION f AS 'x'" + tail + "'/proc/self/maps'").find("cannot be loaded"),
      std::string::npos);
  EXPECT_NE(error_of(library("f", "none")).find("line 1, column 22: the library"),
            std::string::npos);
  EXPECT_NE(error_of(library("f", "none")).find("exports no function 'none'; HF_FUNCTION(none)"),
            std::string::npos);
  EXPECT_NE(error_of(library("f", "a;b")).find("no name that a library can export"),
            std::string::npos);
  EXPECT_NE(error_of(library("f", "of_other_interface"))
                .find("the function F: it was built for interface 2 of functions, this is 1"),
            std::string::npos);
  EXPECT_NE(error_of(library("f", "of_unknown_type")).find("the type of an argument is not known"),
            std::string::npos);
  EXPECT_NE(error_of(library("upper", "half")).find("is a built-in one"), std::string::npos);
  EXPECT_NE(
      error_of("CREATE FUNCTION f AS 'x' USING JAR 'x.jar'").find("LANGUAGE CPP USING LIBRARY"),
      std::string::npos);
  EXPECT_NE(error_of("CREATE FUNCTION f AS 'x' LANGUAGE JAVA").find("line 1, column 35"),
            std::string::npos);
  EXPECT_NE(error_of("DROP FUNCTION nothing").find("there is no function nothing to drop"),
            std::string::npos);
  EXPECT_NE(error_of("DROP TABLE t").find("DROP TABLE is not supported"), std::string::npos);
}

// Functions have no types that a zone is part of.
TEST(UserFunctions, TheZoneMayBeSetBehindThem) {
  EXPECT_TRUE(parse("DROP FUNCTION IF EXISTS f;" + library("f", "half") +
                    "; SET 'table.local-time-zone' = 'Europe/Berlin'; SELECT f(1)"));
  EXPECT_FALSE(
      parse("CREATE VIEW v AS SELECT 1; SET 'table.local-time-zone' = 'Europe/Berlin'; SELECT 1"));
}

TEST(UserFunctions, ADefinitionThatLacksSomethingIsRefused) {
  static const auto kGood = fn::scalar([](std::int32_t) { return std::int32_t{1}; });
  static auto overload = *kGood.overloads;
  overload.arguments = nullptr;
  static auto lacking = kGood;
  lacking.overloads = &overload;
  Calls call;
  EXPECT_NE(call.define("f", lacking).error().detail.find("types of its arguments are missing"),
            std::string::npos);
  static const fn::Aggregate kNoCalls{};
  overload = *kGood.overloads;
  overload.call = nullptr;
  overload.aggregate = &kNoCalls;
  EXPECT_NE(call.define("f", lacking).error().detail.find("calls of an aggregate are missing"),
            std::string::npos);
}

// ---- Aggregates ----

struct OfTotal {
  std::shared_ptr<const Plan> plan;
  const Group& group;
};

// The aggregates of SELECT … FROM t GROUP BY k.
OfTotal aggregates_of(const std::string& select) {
  auto& catalog = new_catalog();
  auto plan = plan_with(library("total", "total") + ";" + library("mode", "mode") + ";" +
                            library("mean_of", "weighted_mean") + ";" + library("seq", "sequence") +
                            ";" + library("ones", "ones") + ";" +
                            library("thousands", "thousands", HF_OTHER_FUNCTIONS_LIBRARY) + ";" +
                            library("unwritten", "unwritten") + ";" + kTable + "; SELECT " +
                            select + " FROM t GROUP BY k",
                        catalog);
  const auto kept = std::make_shared<const Plan>(std::move(plan).value());
  for (const auto& node : kept->nodes)
    if (const auto* group = std::get_if<Group>(&node.what)) return {kept, *group};
  std::abort();
}

std::string shown(const Aggregate& aggregate, const Accumulator& all) {
  const auto value = all.result(aggregate);
  if (!value) return "error: " + value.error().detail;
  return value->null ? "NULL" : text_of(*value, aggregate.type);
}

std::string bytes_of(const Aggregate& aggregate, const Accumulator& all) {
  std::string bytes;
  all.append_bytes(aggregate, bytes);
  return bytes;
}

// Random values are added, taken back, merged, written and read: TOTAL is what SUM is.
TEST(UserAggregates, AreWhatABuiltInOneIsThroughAllThatHappensToState) {
  const auto made = aggregates_of("SUM(v), total(v), SUM(DISTINCT v), total(DISTINCT v)");
  const auto& group = made.group;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<Accumulator> all(4), others(4);
    std::vector<Value> there;
    for (int step = 0; step < 60; ++step) {
      const auto choice = random() % 10;
      const Value value = random() % 5 == 0 ? Value() : Value::of(random() % 7);
      for (std::size_t i = 0; i < 4; ++i) {
        const auto& aggregate = group.aggregates[i];
        if (choice < 5) all[i].add(aggregate, value);
        if (choice == 5) others[i].add(aggregate, value);
        if (choice == 6 && i < 2 && !there.empty()) all[i].take_back(aggregate, there.back());
        if (choice == 7) all[i].merge(aggregate, others[i]), others[i] = Accumulator();
        if (choice == 8) {
          const auto bytes = bytes_of(aggregate, all[i]);
          std::string_view rest = bytes;
          Accumulator read;
          ASSERT_TRUE(read.take_bytes(aggregate, rest) && rest.empty());
          all[i] = read;
        }
        if (choice == 9) all[i] = Accumulator(all[i]);
      }
      if (choice < 5) there.push_back(value);
      if (choice == 6 && !there.empty()) there.pop_back();
      ASSERT_EQ(shown(group.aggregates[0], all[0]), shown(group.aggregates[1], all[1])) << seed;
      ASSERT_EQ(shown(group.aggregates[2], all[2]), shown(group.aggregates[3], all[3])) << seed;
    }
  }
}

TEST(UserAggregates, SeveralArgumentsAndNulls) {
  const auto made = aggregates_of("mean_of(v, i), seq(v), mode(k), seq(v) FILTER (WHERE b)");
  ASSERT_EQ(made.group.aggregates.size(), 4u);
  const auto add = [&](Accumulator& to, std::size_t number, std::vector<Value> row) {
    Value value;
    evaluate(*made.group.aggregates[number].argument, row, value).value();
    to.add(made.group.aggregates[number], value);
  };
  std::vector<Accumulator> all(3);
  auto row = row_of_all();
  for (std::size_t i = 0; i < 3; ++i) {
    row[4] = Value::of(10), row[3] = Value::of(1), row[8] = Value::of_text("x");
    add(all[i], i, row);
    row[4] = Value(), row[3] = Value::of(5), row[8] = Value();
    add(all[i], i, row);
    row[4] = Value::of(20), row[3] = Value::of(3), row[8] = Value::of_text("y");
    add(all[i], i, row);
  }
  EXPECT_EQ(shown(made.group.aggregates[0], all[0]), "17.5");
  EXPECT_EQ(shown(made.group.aggregates[1], all[1]), "10;-;20;");
  EXPECT_EQ(shown(made.group.aggregates[2], all[2]), "x");
  EXPECT_EQ(shown(made.group.aggregates[0], Accumulator()), "NULL");
  EXPECT_EQ(shown(made.group.aggregates[1], Accumulator()), "");
}

TEST(UserAggregates, AnErrorStaysAndStateThatIsNoneIsRefused) {
  const auto made = aggregates_of("total(v), mode(k)");
  const auto& total = made.group.aggregates[0];
  Accumulator failed;
  failed.add(total, Value::of(5));
  EXPECT_TRUE(failed.failure(total));
  failed.add(total, Value::of(-999'999));
  ASSERT_FALSE(failed.failure(total));
  EXPECT_NE(failed.failure(total).error().detail.find("TOTAL(-999999): -999999 is refused"),
            std::string::npos);
  failed.add(total, Value::of(1));
  EXPECT_NE(shown(total, failed).find("is refused"), std::string::npos);
  Accumulator merged;
  merged.merge(total, failed);
  EXPECT_FALSE(merged.failure(total));
  const auto bytes_of_failed = bytes_of(total, failed);
  EXPECT_FALSE(UserState::take_unwritten());
  std::string_view rest = bytes_of_failed;
  EXPECT_FALSE(Accumulator().take_bytes(total, rest));

  // Each prefix of good bytes, and bytes of another aggregate.
  Accumulator good;
  good.add(made.group.aggregates[1], Value::of_text("abc"));
  const auto bytes = bytes_of(made.group.aggregates[1], good);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    std::string_view part(bytes.data(), length);
    EXPECT_FALSE(Accumulator().take_bytes(made.group.aggregates[1], part)) << length;
  }
  rest = bytes;
  EXPECT_FALSE(Accumulator().take_bytes(total, rest));
}

// The table of calls was a static of a template, which is one for all libraries of a process.
TEST(UserAggregates, TwoLibrariesMayHaveAStateOfOneName) {
  const auto made = aggregates_of("ones(v), thousands(v)");
  std::vector<Accumulator> all(2);
  for (std::size_t i = 0; i < 2; ++i)
    all[i].add(made.group.aggregates[i], Value::of(5));
  EXPECT_EQ(shown(made.group.aggregates[0], all[0]), "5");
  EXPECT_EQ(shown(made.group.aggregates[1], all[1]), "5000");
}

TEST(UserAggregates, AStateThatCannotBeWrittenIsTold) {
  const auto made = aggregates_of("unwritten(v)");
  const auto& aggregate = made.group.aggregates[0];
  Accumulator all;
  all.add(aggregate, Value::of(1000));
  bytes_of(aggregate, all);
  EXPECT_TRUE(UserState::take_unwritten());
  all.add(aggregate, Value::of(1));
  const auto bytes = bytes_of(aggregate, all);
  EXPECT_EQ(UserState::take_unwritten().error().detail,
            "UNWRITTEN: its state cannot be written: too much");
  EXPECT_TRUE(UserState::take_unwritten()) << "it was told";
  std::string_view rest = bytes;
  EXPECT_FALSE(Accumulator().take_bytes(aggregate, rest));
}

// Exceptions and texts of all calls have the function's name, without its version.
TEST(UserAggregates, ErrorsNameTheFunction) {
  struct Fails {
    std::int64_t number = 0;
    void add(std::int64_t value) { number = value; }
    fn::Outcome<void> merge(const Fails&) { return fn::Error{"no\nmerge"}; }
    std::int64_t result() const {
      if (number > 1) throw std::runtime_error("no result");
      return number;
    }
  };
  static const auto kFails = fn::aggregate<Fails>();
  auto& catalog = new_catalog();
  catalog.functions().add("fails", kFails).value();
  const auto plan =
      plan_with(std::string(kTable) + "; SELECT fails(v) FROM t GROUP BY k", catalog).value();
  for (const auto& node : plan.nodes) {
    const auto* group = std::get_if<Group>(&node.what);
    if (group == nullptr) continue;
    const auto& aggregate = group->aggregates[0];
    Accumulator one, other;
    one.add(aggregate, Value::of(2));
    EXPECT_EQ(shown(aggregate, one), "error: line 1, column 185: FAILS: no result");
    other.add(aggregate, Value::of(1));
    other.merge(aggregate, one);
    EXPECT_EQ(shown(aggregate, other), "error: line 1, column 185: FAILS: no\\nmerge");
  }
}

TEST(UserAggregates, TheVersionIsInTheTextOfThePlan) {
  EXPECT_NE(text_of(*aggregates_of("total(v)").plan).find("TOTAL[version 1]"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::sql
