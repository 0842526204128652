// JSON as a tree, and paths into it: what is found, what is refused, and the bounds.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include <holdfast/sql/json_path.hpp>
#include <holdfast/sql/json_tree.hpp>

namespace holdfast::sql {
namespace {

std::string repeated(const char* text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i)
    all += text;
  return all;
}

// As JSON, with a blank between several; "missing" or "refused: …".
std::string found(const std::string& text, const std::string& path) {
  const auto root = parse_json(text);
  if (!root) return "no JSON";
  const auto parsed = JsonPath::parse(path);
  if (!parsed) return "refused: " + parsed.error().detail;
  const auto result = parsed->find(*root);
  if (result.missing) return "missing";
  std::string all;
  for (const auto* node : result.nodes) {
    if (!all.empty()) all += ' ';
    append_json(*node, all);
  }
  return all;
}

TEST(JsonTree, IsWrittenAsItWas) {
  for (const auto* text : {"null", "true", "-12", "1.50", "12345678901234567890123", "1e2",
                           R"("a\"\\\n")", "[]", "{}", R"({"a":[1,{"b":null}],"":"x"})", R"("ä")"})
    EXPECT_EQ(found(text, "$"), text);
  EXPECT_EQ(found(" [ 1 , \"\\u00e4\" ] ", "$"), "[1,\"ä\"]");
}

TEST(JsonTree, OfMembersOfOneNameTheLastStays) {
  EXPECT_EQ(found(R"({"a":1,"b":2,"a":3,"c":4,"b":5})", "$"), R"({"a":3,"c":4,"b":5})");
  // In no quadratic time.
  std::string many = "{\"a\":0";
  for (int i = 0; i < 100'000; ++i)
    many += ",\"" + std::to_string(i) + "\":1,\"a\":2";
  EXPECT_EQ(found(many + "}", "$.a"), "2");
}

TEST(JsonTree, WhatIsNoJson) {
  for (const auto* text : {"", " ", "{", "[1,]", "{'a':1}", "NaN", "1 2", "01", "\"\\ud800\"",
                           "\"\xff\"", "1e400", "tru", "[1}"})
    EXPECT_EQ(found(text, "$"), "no JSON") << text;
}

TEST(JsonTree, AZeroByteEndsNothing) {
  for (const std::string_view text : {std::string_view("1\0", 2), std::string_view("1\0x", 3),
                                      std::string_view("\0", 1), std::string_view("\"\0\"", 3)})
    EXPECT_EQ(found(std::string(text), "$"), "no JSON") << text.size();
  EXPECT_EQ(found(R"("\u0000")", "$"), R"("\u0000")");
}

TEST(JsonTree, DeepTextsAreNoJson) {
  const auto nested = [](std::size_t depth) { return repeated("[", depth) + repeated("]", depth); };
  EXPECT_EQ(found(nested(kMaxJsonDepth), "$"), nested(kMaxJsonDepth));
  EXPECT_EQ(found(nested(kMaxJsonDepth + 1), "$"), "no JSON");
  EXPECT_EQ(found(repeated("[", 1'000'000), "$"), "no JSON");
  EXPECT_EQ(found(repeated("{\"a\":", 1'000'000), "$"), "no JSON");
}

TEST(JsonPath, Finds) {
  const std::string text = R"({"a":[1,{"b":2},{"b":3}],"c d":{"x":4,"y":5},"n":null})";
  EXPECT_EQ(found(text, "$.a[0]"), "1");
  EXPECT_EQ(found(text, "lax $.a[ 1 ].b"), "2");
  EXPECT_EQ(found(text, "strict $['c d'].x"), "4");
  EXPECT_EQ(found(text, "$.[\"c d\"][\"y\"]"), "5");
  EXPECT_EQ(found(text, "$.a[*].b"), "2 3");
  EXPECT_EQ(found(text, "$['c d'].*"), "4 5");
  EXPECT_EQ(found(text, "$.n"), "null");
  EXPECT_EQ(found(R"({"it's":1,"\\":2})", "$['it\\'s']"), "1");
  EXPECT_EQ(found(R"({"it's":1,"\\":2})", "$['\\\\']"), "2");
}

TEST(JsonPath, MissesWhatIsNotThere) {
  const std::string text = R"({"a":[1],"n":null})";
  for (const auto* path :
       {"$.b", "$.a.b", "$.a[1]", "$[0]", "$.n.x", "$.a[0][0]", "$.n[*]", "$.a[0].*"})
    EXPECT_EQ(found(text, path), "missing") << path;
  EXPECT_EQ(found("[]", "$[*]"), "");  // Behind a [*] nothing is missing.
  EXPECT_EQ(found(text, "$.a[*].b"), "");
}

TEST(JsonPath, SaysWhatIsWrongAndWhere) {
  const auto refused = [](const std::string& path) { return found("1", path); };
  EXPECT_EQ(refused("a"), "refused: the path, at character 1: a path begins with $");
  EXPECT_EQ(refused("lax a"), "refused: the path, at character 5: a path begins with $");
  EXPECT_EQ(refused("$a"), "refused: the path, at character 2: a step begins with . or [");
  EXPECT_NE(refused("$..a").find("(..) is not supported"), std::string::npos);
  EXPECT_NE(refused("$.").find("stands a name or *"), std::string::npos);
  EXPECT_NE(refused("$[0").find("a [ has no ]"), std::string::npos);
  EXPECT_NE(refused("$[0:1]").find("lists and ranges"), std::string::npos);
  EXPECT_NE(refused("$[-1]").find("in [] stands a number"), std::string::npos);
  EXPECT_NE(refused("$[4294967296]").find("in [] stands a number"), std::string::npos);
  EXPECT_NE(refused("$['a]").find("a quote has no partner"), std::string::npos);
  EXPECT_NE(refused("$['a\\").find("a quote has no partner"), std::string::npos);
  EXPECT_NE(refused("$" + repeated(".a", 201)).find("more than 200 steps"), std::string::npos);
  EXPECT_EQ(found(repeated("[", 200) + "7" + repeated("]", 200), "$" + repeated("[0]", 200)), "7");
}

}  // namespace
}  // namespace holdfast::sql
