#include "cli/fabric_layout.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

namespace softrnic::cli {
namespace {

constexpr double kCharacter = 7;  ///< about the width of one, in the picture's font
constexpr double kPadding = 16;
constexpr double kGap = 18;
constexpr double kLeastWidth = 64;
constexpr std::size_t kMostCharacters = 28;
constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);

using Neighbors = std::vector<std::vector<std::size_t>>;

std::string detail_of(const Json& node) {
  std::string text;
  for (const Json& port : value_of(node, "ports").elements()) {
    const std::string lid = text_of(port, "lid");
    if (!lid.empty() && lid != "0") text += (text.empty() ? "" : ", ") + lid;
  }
  return text.empty() ? "no LID" : "LID " + text;
}

DrawnNode node_of(const Json& node) {
  DrawnNode drawn;
  drawn.name = text_of(node, "name");
  drawn.detail = detail_of(node);
  drawn.is_switch = text_of(node, "type") == "switch";
  const std::size_t longest = std::min(std::max(drawn.name.size(), drawn.detail.size()), kMostCharacters);
  drawn.width = std::max(kLeastWidth, kCharacter * static_cast<double>(longest) + kPadding);
  return drawn;
}

class Builder {
 public:
  explicit Builder(const Json& fabric) {
    for (const Json& node : value_of(fabric, "nodes").elements()) {
      const std::size_t place = layout_.nodes.size();
      layout_.nodes.push_back(node_of(node));
      for (const Json& port : value_of(node, "ports").elements())
        ports_[{text_of(node, "name"), text_of(port, "port")}] = {place, &port};
    }
    add_links();
  }

  Layout build() {
    set_levels();
    for (DrawnLink& link : layout_.links)
      if (layout_.nodes[link.from].level > layout_.nodes[link.to].level) {
        std::swap(link.from, link.to);
        std::swap(link.from_port, link.to_port);
      }
    arrange();
    return std::move(layout_);
  }

 private:
  struct End {
    std::size_t node = 0;
    const Json* port = nullptr;
  };

  void add_links() {
    neighbors_.resize(layout_.nodes.size());
    for (const auto& [key, end] : ports_) {
      const Json& peer = value_of(*end.port, "peer");
      const std::pair<std::string, std::string> other{text_of(peer, "node"), text_of(peer, "port")};
      const auto found = ports_.find(other);
      if (found == ports_.end() || !(key < other)) continue;
      layout_.links.push_back({end.node, found->second.node, end.port, found->second.port});
      neighbors_[end.node].push_back(found->second.node);
      neighbors_[found->second.node].push_back(end.node);
    }
  }

  /// Switches that no host reaches stand where those beside hosts do.
  void set_levels() {
    std::deque<std::size_t> open;
    for (std::size_t i = 0; i < layout_.nodes.size(); ++i) {
      layout_.nodes[i].level = layout_.nodes[i].is_switch ? kUnknown : 0;
      if (!layout_.nodes[i].is_switch) open.push_back(i);
    }
    for (; !open.empty(); open.pop_front())
      for (const std::size_t next : neighbors_[open.front()])
        if (layout_.nodes[next].level == kUnknown) {
          layout_.nodes[next].level = layout_.nodes[open.front()].level + 1;
          open.push_back(next);
        }
    for (DrawnNode& node : layout_.nodes) {
      if (node.level == kUnknown) node.level = 1;
      layout_.levels = std::max(layout_.levels, node.level + 1);
    }
  }

  /// Rows from the switches nearest to hosts on, each in the order of what it hangs on, so that few links
  /// cross; hosts follow their switches.
  void arrange() {
    rows_.resize(layout_.levels);
    for (std::size_t i = 0; i < layout_.nodes.size(); ++i) rows_[layout_.nodes[i].level].push_back(i);
    for (const auto& row : rows_) layout_.width = std::max(layout_.width, width_of(row));
    for (const auto& row : rows_) place(row);
    for (std::size_t level = 2; level < rows_.size(); ++level) sort_by(level, level - 1);
    if (rows_.size() > 1) sort_by(0, 1);
  }

  double width_of(const std::vector<std::size_t>& row) const {
    double width = kGap;
    for (const std::size_t node : row) width += layout_.nodes[node].width + kGap;
    return width;
  }

  /// Evenly over all of the width.
  void place(const std::vector<std::size_t>& row) {
    if (row.empty()) return;
    const double spare = (layout_.width - width_of(row)) / static_cast<double>(row.size());
    double x = kGap;
    for (const std::size_t node : row) {
      const double room = layout_.nodes[node].width + spare;
      layout_.nodes[node].x = x + room / 2;
      x += room + kGap;
    }
  }

  void sort_by(std::size_t level, std::size_t other) {
    std::vector<std::pair<double, std::size_t>> order;
    for (const std::size_t node : rows_[level]) order.emplace_back(middle_of(node, other), node);
    std::ranges::stable_sort(order, {}, &std::pair<double, std::size_t>::first);
    for (std::size_t i = 0; i < order.size(); ++i) rows_[level][i] = order[i].second;
    place(rows_[level]);
  }

  /// Of the neighbors on that level; its own place where there are none.
  double middle_of(std::size_t node, std::size_t level) const {
    double sum = 0, count = 0;
    for (const std::size_t neighbor : neighbors_[node])
      if (layout_.nodes[neighbor].level == level) {
        sum += layout_.nodes[neighbor].x;
        count += 1;
      }
    return count > 0 ? sum / count : layout_.nodes[node].x;
  }

  Layout layout_;
  std::map<std::pair<std::string, std::string>, End> ports_;  ///< by names of node and port
  Neighbors neighbors_;
  std::vector<std::vector<std::size_t>> rows_;  ///< by level
};

}  // namespace

Layout lay_out(const Json& fabric) { return Builder(fabric).build(); }

}  // namespace softrnic::cli
