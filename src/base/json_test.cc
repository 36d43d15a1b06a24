#include "base/json.h"

#include "gtest/gtest.h"

namespace motley {
namespace {

std::string site_of(std::string_view text) { return rejection_site(parse_json(text, "test.json").status()); }

TEST(Json, KeepsKindsAndOrder) {
  const auto json = parse_json(R"({"b": 1, "a": [true, null, 2.5, "x\u00e9\n"], "big": 18446744073709551615})", "t");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->dump(), "{\"b\":1,\"a\":[true,null,2.5,\"x\u00e9\\n\"],\"big\":18446744073709551615}");
  EXPECT_EQ(json->find("b")->as_int(), 1);
  EXPECT_EQ(json->find("big")->as_int(), std::nullopt);
  EXPECT_EQ(json->find("big")->as_uint(), 18446744073709551615u);
  EXPECT_EQ(json->find("missing"), nullptr);
}

TEST(Json, IntegersAndRealsMeet) {
  EXPECT_EQ(parse_json("2.0", "t")->as_int(), 2);
  EXPECT_EQ(parse_json("2.5", "t")->as_int(), std::nullopt);
  EXPECT_EQ(parse_json("1e5", "t")->as_double(), 100000.0);
  EXPECT_EQ(parse_json("-1", "t")->as_uint(), std::nullopt);
}

TEST(Json, IntegersOfAnyLengthAreReals) {
  const auto json = parse_json(R"({"model_max_length": 1000000000000000019884624838656, "a": [-99999999999999999999, 7],
                                   "s": "\\\"99999999999999999999\\", "r": 1.99999999999999999999, "e": 1e-00000000000000000001})",
                               "t");
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(json->find("model_max_length")->as_double(), 1e30);
  EXPECT_EQ((*json->find("a")->as_array())[0].as_double(), -1e20);
  EXPECT_EQ((*json->find("a")->as_array())[1].as_int(), 7);
  EXPECT_EQ(*json->find("s")->as_string(), "\\\"99999999999999999999\\");
  EXPECT_EQ(json->find("r")->as_double(), 2.0);
  EXPECT_EQ(json->find("e")->as_double(), 0.1);
  EXPECT_EQ(site_of("[99999999999999999999-]"), "json.syntax");
}

TEST(Json, RefusesWhatIsNoJson) {
  EXPECT_EQ(site_of("{\"a\": }"), "json.syntax");
  EXPECT_EQ(site_of(""), "json.syntax");
  EXPECT_EQ(site_of("{} {}"), "json.syntax");
  EXPECT_EQ(site_of("\"\xff\""), "json.syntax");
  EXPECT_EQ(site_of("{\"a\": 1, \"a\": 2}"), "json.duplicate_key");
  EXPECT_EQ(site_of(std::string(65, '[') + std::string(65, ']')), "json.depth");
  EXPECT_EQ(site_of(std::string(2000, '[') + std::string(2000, ']')), "json.depth");
}

TEST(Json, SetReplacesOrAppends) {
  Json json;
  json.set("a", 1);
  json.set("b", "two");
  json.set("a", Json::Array{1, 2});
  EXPECT_EQ(json.dump(), R"({"a":[1,2],"b":"two"})");
  EXPECT_EQ(parse_json(json.dump_pretty(), "t")->dump(), json.dump());
}

}  // namespace
}  // namespace motley
