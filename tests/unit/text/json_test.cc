#include "text/json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace softrnic {
namespace {

TEST(Json, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(Json("caf\xe9 \xc3\xa9").to_string(), "\"caf\xef\xbf\xbd \xc3\xa9\"");
  EXPECT_EQ(Json("caf\xe9 \xc3\xa9").to_lines(), "\"caf\\ufffd \\u00e9\"");
}

TEST(Json, KeepsTypesAndTheOrderOfMembers) {
  Json out = {{"z", 1}, {"a", true}, {"half", 0.5}, {"whole", 2.0}, {"text", std::string("t\n")}};
  out["least"] = std::numeric_limits<std::int64_t>::min();
  out["most"] = std::numeric_limits<std::uint64_t>::max();
  out["none"] = nullptr;
  out["rows"] = Json::array_of(std::vector<std::uint8_t>{1, 2});
  out["rows"].push_back({{"only", "member"}});
  out["nothing"] = Json::array();
  out["z"] = Json::object();
  EXPECT_EQ(out.to_string(),
            R"({"z":{},"a":true,"half":0.5,"whole":2.0,"text":"t\n","least":-9223372036854775808,)"
            R"("most":18446744073709551615,"none":null,"rows":[1,2,{"only":"member"}],"nothing":[]})");
}

TEST(Json, LinesOfTheirOwn) {
  EXPECT_EQ(Json({{"a", Json::array_of(std::vector<int>{1, 2})}, {"b", Json::array()}}).to_lines(),
            "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": []\n}");
}

TEST(Json, ReadsWhatItWrites) {
  const std::string text = R"({"b":[1,-1,1.5,true,null,"x"],"a":{"c":{}}})";
  const auto read = Json::parse(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->to_string(), text);
  EXPECT_EQ(read->find("b")->elements()[2].number(), 1.5);
  EXPECT_EQ(read->find("b")->elements()[1].number(), -1);
  EXPECT_TRUE(read->find("b")->elements()[3].truth());
  EXPECT_EQ(read->find("b")->elements()[5].string(), "x");
  EXPECT_EQ(read->find("c"), nullptr);
}

TEST(Json, WhatIsOfAnotherKindIsEmpty) {
  const Json number = 1;
  EXPECT_EQ(number.string(), "");
  EXPECT_FALSE(number.truth());
  EXPECT_TRUE(number.elements().empty());
  EXPECT_TRUE(number.members().empty());
  EXPECT_EQ(number.find("x"), nullptr);
  EXPECT_EQ(Json("1").number(), 0);
  EXPECT_EQ(Json(true).number(), 0);
}

TEST(Json, RefusesWhatIsNoneAndWhatNestsTooDeeply) {
  EXPECT_FALSE(Json::parse("{\"a\":"));
  EXPECT_TRUE(Json::parse(std::string(50, '[') + std::string(50, ']')));
  EXPECT_FALSE(Json::parse(std::string(1'000'000, '[') + std::string(1'000'000, ']')));
}

TEST(Json, UpdateSetsMembersAndAddsOthers) {
  Json out = {{"a", 1}, {"b", 2}};
  out.update({{"b", 3}, {"c", 4}});
  EXPECT_EQ(out.to_string(), R"({"a":1,"b":3,"c":4})");
}

}  // namespace
}  // namespace softrnic
