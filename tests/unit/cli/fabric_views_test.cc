// What the views of a fabric make of its answers, of strange ones too.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/fabric_layout.h"
#include "cli/fabric_path_text.h"
#include "cli/fabric_picture.h"
#include "cli/fabric_show_text.h"
#include "cli/text_table.h"

namespace softrnic::cli {
namespace {

Json port(unsigned number, const std::string& peer, unsigned peer_port, double load = 0) {
  return {{"port", number},
          {"state", "active"},
          {"width", "4X"},
          {"speed", "EDR"},
          {"peer", {{"node", peer}, {"port", peer_port}}},
          {"load", {{"out", load}, {"in", 0.0}}}};
}

Json node(const std::string& name, const std::string& type, std::vector<Json> ports) {
  Json out = {{"name", name}, {"type", type}, {"guid", "0x1"}};
  out["ports"] = Json::array();
  for (Json& each : ports) out["ports"].push_back(std::move(each));
  return out;
}

/// b and a below leaf, spine above it, a switch that hangs on nothing.
Json fabric() {
  Json out = {{"name", "f"}, {"load_seconds", 1.25}};
  out["nodes"] =
      Json::array({node("leaf", "switch", {port(1, "a", 1), port(2, "b", 1), port(3, "spine", 1, 0.8)}),
                   node("spine", "switch", {port(1, "leaf", 3)}), node("lonely", "switch", {}),
                   node("b", "channel adapter", {port(1, "leaf", 2)}),
                   node("a", "channel adapter", {port(1, "leaf", 1)})});
  out["nodes"].elements()[4]["ports"].elements()[0]["lid"] = 7;
  return out;
}

const DrawnNode& find(const Layout& layout, const std::string& name) {
  return *std::ranges::find(layout.nodes, name, &DrawnNode::name);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

TEST(FabricLayout, PutsSwitchesAboveTheHostsTheyServe) {
  const Json json = fabric();
  const Layout layout = lay_out(json);
  EXPECT_EQ(layout.levels, 3U);
  EXPECT_EQ(find(layout, "a").level, 0U);
  EXPECT_EQ(find(layout, "leaf").level, 1U);
  EXPECT_EQ(find(layout, "spine").level, 2U);
  EXPECT_EQ(find(layout, "lonely").level, 1U);
  EXPECT_EQ(layout.links.size(), 3U) << "each cable once";
  for (const DrawnLink& link : layout.links)
    EXPECT_LE(layout.nodes[link.from].level, layout.nodes[link.to].level);
  for (const DrawnNode& each : layout.nodes) {
    EXPECT_GE(each.x - each.width / 2, 0) << each.name;
    EXPECT_LE(each.x + each.width / 2, layout.width) << each.name;
  }
  EXPECT_GE(std::abs(find(layout, "a").x - find(layout, "b").x), find(layout, "a").width);
}

TEST(FabricPicture, MarksLoadAndWhatIsBroken) {
  Json json = fabric();
  std::string picture = fabric_picture(json);
  EXPECT_EQ(count(picture, "<circle"), 0U);
  EXPECT_NE(picture.find("leaf 3 - spine 1: 4X EDR, active, 80% there, 0% back"), std::string::npos)
      << picture;
  json["nodes"].elements()[1]["ports"].elements()[0]["state"] = "down";
  json["nodes"].elements()[0]["ports"].elements()[0]["damaged_part"] =
      json["nodes"].elements()[4]["ports"].elements()[0]["damaged_part"] = 0.5;
  picture = fabric_picture(json);
  EXPECT_EQ(count(picture, "<circle"), 2U);
  EXPECT_EQ(count(picture, "errors 0.5"), 1U);
}

TEST(FabricPicture, NamesAreTextAndNothingElse) {
  Json json = fabric();
  const std::string evil = "</text><script>x</script>&\"'\x1b[2J\xff";
  json["nodes"].elements()[0]["name"] = json["name"] = evil;
  const std::string picture = fabric_picture(json);
  EXPECT_EQ(picture.find("<script"), std::string::npos);
  EXPECT_EQ(picture.find('\x1b'), std::string::npos);
  EXPECT_NE(picture.find("&lt;script&gt;"), std::string::npos);
  EXPECT_EQ(xml_text("a<b>&\"'\xef\xbf\xbe"), "a&lt;b&gt;&amp;&quot;&#39;?");
  EXPECT_EQ(xml_text("\x1b\xff"), "\\033\\377");
}

TEST(FabricText, ShowsPortsLoadAndLanes) {
  Json json = fabric();
  json["nodes"].elements()[0]["ports"].elements()[2]["vls"] =
      Json::array({{{"vl", 0}, {"queued", 2}, {"queued_blocks", 9}, {"buffer_blocks", 256}, {"waiting", 0}},
                   {{"vl", 1}, {"queued", 0}, {"waiting", 0}}});
  const std::string text = fabric_text(json);
  EXPECT_NE(text.find("active  4X EDR  spine 1  out 80%  in 0%\n"), std::string::npos) << text;
  EXPECT_NE(text.find("VL 0: queued 2 packets, 9 of 256 blocks\n        VL 1: empty\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("in the last 1.2 s"), std::string::npos);
  EXPECT_EQ(percent_text(0), "0%");
  EXPECT_EQ(percent_text(0.0001), "<0.1%");
  EXPECT_EQ(percent_text(0.055), "5.5%");
  EXPECT_EQ(percent_text(0.9999), "100%");
}

TEST(FabricText, ForeignNamesDoNothingToTheTerminal) {
  Json json = fabric();
  json["nodes"].elements()[0]["name"] = json["nodes"].elements()[1]["ports"].elements()[0]["peer"]["node"] =
      "\x1b[2J\nevil\x07";
  const std::string text = fabric_text(json);
  EXPECT_EQ(text.find_first_of("\x1b\x07"), std::string::npos) << text;
  EXPECT_NE(text.find("\\033[2J\\012evil\\007"), std::string::npos) << text;
}

TEST(FabricText, AnswersOfAnotherShapeAreBorne) {
  for (
      const char* const strange :
      {"null", "[]", "{}", "7", "\"x\"", R"({"nodes":7})", R"({"nodes":[1,null,{"ports":{"a":1}}]})",
       R"({"nodes":[{"name":[],"ports":[{"port":{},"peer":[],"load":9,"lid":"x","vls":7}]}],"load_seconds":[]})",
       R"({"hops":[1,{"lft":{}}],"to":9})", R"({"stops":[null,{"links":"x","branches":[3]}]})"}) {
    const Json json = Json::parse(strange).value();
    for (const auto view : {fabric_text, fabric_picture, path_text, multicast_text})
      EXPECT_NE(view(json), "") << strange;
  }
}

TEST(FabricPaths, AreTables) {
  const Json json =
      Json::parse(R"({"from":{"node":"a","port":1,"lid":1},"to":{"node":"b","port":1,"lid":2},"sl":0,
    "outcome":"no entry","hops":[{"node":"a","type":"channel adapter","out_port":1,"vl":0,"width":"4X","speed":"EDR",
    "state":"active","peer":{"node":"leaf","port":1}},{"node":"leaf","type":"switch","in_port":1,"lft":null}]})")
          .value();
  EXPECT_EQ(path_text(json),
            "a port 1, LID 1 -> b port 1, LID 2\n"
            "  node  in  LFT[2]  out  SL 0  link    state   to\n"
            "  a     -   -       1    VL 0  4X EDR  active  leaf 1\n"
            "  leaf  1   -       -    -     -       -       -\n"
            "not reached: no entry at leaf\n");
}

TEST(TextTable, ColumnsAreAsWideAsTheirLongestCell) {
  EXPECT_EQ(text_table({{"a", "b", "c"}, {"äöü", "", "d"}}, 1), " a    b  c\n äöü     d\n");
  EXPECT_EQ(text_table({}), "");
}

}  // namespace
}  // namespace softrnic::cli
