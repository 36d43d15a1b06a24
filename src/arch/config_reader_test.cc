#include "arch/config_reader.h"

#include <gtest/gtest.h>

namespace motley::arch {
namespace {

Json tree(std::string_view text) { return *parse_json(text, "test"); }

TEST(ConfigReader, ReadsWhatIsThereAndNullIsAbsence) {
  const Json json = tree(R"({"p.a": 3, "p.b": null, "p.c": 0.5, "p.d": true, "p.e": "x", "p.f": 4.0})");
  ConfigReader config(json, "file", "p.");
  EXPECT_EQ(config.count("a").value(), 3u);
  EXPECT_EQ(config.count("b").value(), std::nullopt);
  EXPECT_TRUE(config.has("b"));
  EXPECT_FALSE(config.has("z"));
  EXPECT_EQ(config.number("c").value(), 0.5);
  EXPECT_EQ(config.flag("d").value(), true);
  EXPECT_EQ(config.text("e").value(), "x");
  EXPECT_EQ(config.count("f").value(), 4u) << "whole numbers may be written as reals";
  EXPECT_EQ(config.where("a"), "file key p.a");
}

TEST(ConfigReader, RefusesOtherKindsAndWhatIsMissing) {
  const Json json = tree(R"({"a": -1, "b": "1", "c": 4294967296, "d": 1, "e": [1]})");
  ConfigReader config(json, "file");
  EXPECT_EQ(rejection_site(config.count("a").status()), "config.count");
  EXPECT_EQ(rejection_site(config.count("c").status()), "config.count");
  EXPECT_EQ(rejection_site(config.number("b").status()), "config.number");
  EXPECT_EQ(rejection_site(config.flag("d").status()), "config.flag");
  EXPECT_EQ(rejection_site(config.text("e").status()), "config.text");
  EXPECT_EQ(rejection_site(config.required_count("z").status()), "config.missing_count");
  EXPECT_EQ(rejection_site(config.required_number("z").status()), "config.missing_number");
}

constexpr std::string_view kInert[] = {"inert_*"};
constexpr NeutralKey kNeutral[] = {{"multiplier", 1}};

std::string site_of_rest(std::string_view text, std::vector<std::string>& notes) {
  const Json json = tree(text);
  ConfigReader config(json, "file");
  config.value("read");
  return rejection_site(config.account_for_rest({.inert = kInert, .neutral = kNeutral}, notes));
}

TEST(ConfigReader, EveryKeyIsReadInertNeutralOrReported) {
  std::vector<std::string> notes;
  EXPECT_EQ(
      site_of_rest(R"({"read": 7, "inert_scale": 2, "multiplier": 1, "some_norm": null, "rope_x": false, "moe": 0})",
                   notes),
      "");
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(site_of_rest(R"({"multiplier": 0.5})", notes), "config.unsupported");
  EXPECT_EQ(site_of_rest(R"({"LogitScale": 0.5})", notes), "config.unread");
  EXPECT_EQ(site_of_rest(R"({"favourite_colour": "blue"})", notes), "");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("favourite_colour"), std::string::npos);
}

}  // namespace
}  // namespace motley::arch
