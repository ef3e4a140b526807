#include "cli/fabric_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cli/fabric_layout.h"
#include "cli/fabric_show_text.h"

namespace softrnic::cli {
namespace {

constexpr double kTop = 40;
constexpr double kLevel = 130;  ///< from one row to the next
constexpr double kBox = 40;     ///< height of a node
constexpr double kLegend = 60;
constexpr double kLeastPictureWidth = 640;
constexpr std::size_t kMostLabelCharacters = 28;

/// How links are drawn from that load on, the last first.
struct LoadColour {
  double least;
  const char* colour;
  const char* name;
};
constexpr std::array kColours = {
    LoadColour{0.75, "#c62828", "from 75%"}, LoadColour{0.50, "#ef6c00", "from 50%"},
    LoadColour{0.25, "#2e7d32", "from 25%"}, LoadColour{1e-9, "#1565c0", "some load"},
    LoadColour{0, "#90a4ae", "no load"},
};
constexpr const char* kDownColour = "#c62828";

const char* colour_of(double load) {
  for (const LoadColour& row : kColours)
    if (load >= row.least) return row.colour;
  return kColours.back().colour;
}

/// What fits into a box, at a character's end.
std::string shortened(std::string text) {
  if (text.size() <= kMostLabelCharacters) return text;
  std::size_t end = kMostLabelCharacters - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

struct Point {
  double x = 0, y = 0;
};

/// How high a link rises between two nodes of one row: further for longer ones, and below the row above.
double lift_of(double across) { return std::min(14 + 0.06 * std::abs(across), 60.0); }

class Picture {
 public:
  explicit Picture(const Json& fabric) : fabric_(fabric), layout_(lay_out(fabric)) {
    width_ = std::max(layout_.width, kLeastPictureWidth);
    shift_ = (width_ - layout_.width) / 2;
    height_ = kTop + kLevel * static_cast<double>(std::max<std::size_t>(layout_.levels, 1)) + kLegend;
    spread_ends();
  }

  std::string draw() {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"monospace\" font-size=\"11\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        "<text x=\"12\" y=\"22\" font-size=\"14\">{2}: load of links in the last {3:.1f} s</text>\n",
        width_, height_, xml_text(text_of(fabric_, "name")), number_of(fabric_, "load_seconds"));
    for (std::size_t i = 0; i < layout_.links.size(); ++i) draw_link(i);
    for (const DrawnNode& node : layout_.nodes) draw_node(node);
    draw_legend();
    return out_ + "</svg>\n";
  }

 private:
  double x_of(const DrawnNode& node) const { return node.x + shift_; }
  /// Of the upper edge.
  double y_of(const DrawnNode& node) const {
    return kTop + kLevel * static_cast<double>(layout_.levels - 1 - node.level) + kLevel - kBox - 20;
  }

  /// Links of one edge of a node begin beside each other, in the order of where they go.
  void spread_ends() {
    std::vector<std::vector<std::pair<double, Point*>>> above(layout_.nodes.size()), below(above);
    ends_.resize(layout_.links.size());
    for (std::size_t i = 0; i < layout_.links.size(); ++i) {
      const DrawnLink& link = layout_.links[i];
      const DrawnNode &from = layout_.nodes[link.from], &to = layout_.nodes[link.to];
      const bool beside = from.level == to.level;
      above[link.from].emplace_back(to.x, &ends_[i][0]);
      (beside ? above : below)[link.to].emplace_back(from.x, &ends_[i][1]);
    }
    for (std::size_t i = 0; i < layout_.nodes.size(); ++i) {
      spread(layout_.nodes[i], above[i], 0);
      spread(layout_.nodes[i], below[i], kBox);
    }
  }

  void spread(const DrawnNode& node, std::vector<std::pair<double, Point*>>& ends, double down) const {
    std::ranges::stable_sort(ends, {}, &std::pair<double, Point*>::first);
    const double step = node.width / (static_cast<double>(ends.size()) + 1);
    for (std::size_t i = 0; i < ends.size(); ++i)
      *ends[i].second = {x_of(node) - node.width / 2 + step * static_cast<double>(i + 1), y_of(node) + down};
  }

  void draw_link(std::size_t index) {
    const DrawnLink& link = layout_.links[index];
    const auto [from, to] = ends_[index];
    const bool beside = layout_.nodes[link.from].level == layout_.nodes[link.to].level;
    const Point middle{(from.x + to.x) / 2, beside ? from.y - lift_of(to.x - from.x) : (from.y + to.y) / 2};
    const Json& load = value_of(*link.from_port, "load");
    const double most = std::max(number_of(load, "out"), number_of(load, "in"));
    const bool is_active =
        text_of(*link.from_port, "state") == "active" && text_of(*link.to_port, "state") == "active";
    const std::string way =
        beside ? fmt::format("Q {:.1f} {:.1f} {:.1f} {:.1f}", middle.x, 2 * middle.y - from.y, to.x, to.y)
               : fmt::format("L {:.1f} {:.1f}", to.x, to.y);
    out_ += fmt::format(
        "<path d=\"M {:.1f} {:.1f} {}\" fill=\"none\" stroke=\"{}\" "
        "stroke-width=\"{:.1f}\"{}><title>{}</title>"
        "</path>\n",
        from.x, from.y, way, is_active ? colour_of(most) : kDownColour, 1.5 + 4 * std::min(most, 1.0),
        is_active ? "" : " stroke-dasharray=\"6 4\"", title_of(link));
    if (!is_active) return draw_mark(middle, "x", text_of(*link.from_port, "state"));
    if (const std::string errors = text_of(*link.from_port, "damaged_part"); !errors.empty())
      draw_mark(middle, "!", "errors " + errors);
  }

  void draw_mark(Point at, const char* sign, const std::string& words) {
    out_ += fmt::format(
        "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"8\" fill=\"#ffffff\" stroke=\"{2}\" stroke-width=\"2\"/>"
        "<text x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\" fill=\"{2}\" "
        "font-weight=\"bold\">{4}</text>"
        "<text x=\"{5:.1f}\" y=\"{3:.1f}\" fill=\"{2}\">{6}</text>\n",
        at.x, at.y, kDownColour, at.y + 4, sign, at.x + 12, xml_text(words));
  }

  std::string title_of(const DrawnLink& link) const {
    const Json& load = value_of(*link.from_port, "load");
    return xml_text(fmt::format("{} {} - {} {}: {}, {}, {} there, {} back", layout_.nodes[link.from].name,
                                text_of(*link.from_port, "port"), layout_.nodes[link.to].name,
                                text_of(*link.to_port, "port"), link_text(*link.from_port),
                                text_of(*link.from_port, "state"), percent_text(number_of(load, "out")),
                                percent_text(number_of(load, "in"))));
  }

  void draw_node(const DrawnNode& node) {
    const double y = y_of(node);
    out_ += fmt::format(
        "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" rx=\"{}\" "
        "fill=\"{}\" stroke=\"#37474f\"/>",
        xml_text(node.name + ", " + node.detail), x_of(node) - node.width / 2, y, node.width, kBox,
        node.is_switch ? 3 : 14, node.is_switch ? "#eceff1" : "#e3f2fd");
    const std::array<std::pair<std::string, double>, 2> lines = {{{node.name, 17}, {node.detail, 32}}};
    for (const auto& [text, down] : lines)
      out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", x_of(node),
                          y + down, xml_text(shortened(printable(text))));
    out_ += "</g>\n";
  }

  void draw_legend() {
    double x = 12;
    const double y = height_ - 24;
    const auto entry = [&](const char* colour, const char* dashes, const char* name) {
      out_ += fmt::format(
          "<path d=\"M {:.0f} {:.0f} h 24\" stroke=\"{}\" stroke-width=\"3\"{}/>"
          "<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
          x, y, colour, dashes, x + 30, y + 4, name);
      x += 110;
    };
    for (auto row = kColours.rbegin(); row != kColours.rend(); ++row) entry(row->colour, "", row->name);
    entry(kDownColour, " stroke-dasharray=\"6 4\"", "not active");
  }

  const Json& fabric_;
  Layout layout_;
  std::vector<std::array<Point, 2>> ends_;  ///< by link
  double width_ = 0, height_ = 0;
  double shift_ = 0;
  std::string out_;
};

struct Entity {
  std::string_view text, entity;
};
/// Markup, and the two characters that XML 1.0 does not have although they are printable UTF-8.
constexpr Entity kEntities[] = {
    {"&", "&amp;"}, {"<", "&lt;"},         {">", "&gt;"},         {"\"", "&quot;"},
    {"'", "&#39;"}, {"\xef\xbf\xbe", "?"}, {"\xef\xbf\xbf", "?"},
};

}  // namespace

std::string xml_text(std::string_view text) {
  const std::string plain = printable(text);
  std::string out;
  for (std::size_t at = 0; at < plain.size();) {
    const std::string_view rest = std::string_view(plain).substr(at);
    const auto* const found =
        std::ranges::find_if(kEntities, [rest](const Entity& each) { return rest.starts_with(each.text); });
    const bool is_plain = found == std::end(kEntities);
    out += is_plain ? rest.substr(0, 1) : found->entity;
    at += is_plain ? 1 : found->text.size();
  }
  return out;
}

std::string fabric_picture(const Json& fabric) { return Picture(fabric).draw(); }

}  // namespace softrnic::cli
