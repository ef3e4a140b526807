#include "fabric/net_line.h"

#include <algorithm>
#include <array>

#include "fabric/line_scanner.h"
#include "fabric/text_error.h"

namespace softrnic::fabric {
namespace {

using Trouble = std::string;  // empty: none

constexpr std::uint32_t kMaxPort = Topology::kMaxNodePorts;

struct Keyword {
  std::string_view word;
  NodeType type;
};
constexpr std::array kKeywords = {
    Keyword{"Switch", NodeType::switch_node},
    Keyword{"Ca", NodeType::channel_adapter},
    Keyword{"Hca", NodeType::channel_adapter},
    Keyword{"Rt", NodeType::router},
};

struct MaskRow {
  char key;
  std::uint8_t least;
  std::uint8_t most;
  std::optional<std::uint8_t> LinkMasks::*member;
  std::string_view meaning;
};
constexpr std::array kMasks = {
    MaskRow{'w', 1, 31, &LinkMasks::width, "widths (1: 1x, 2: 4x, 4: 8x, 8: 12x, 16: 2x, added up)"},
    MaskRow{'s', 0, 7, &LinkMasks::speed, "speeds (1: SDR, 2: DDR, 4: QDR, added up)"},
    MaskRow{'e', 0, 15, &LinkMasks::speed_ext, "extended speeds (1: FDR, 2: EDR, 4: HDR, 8: NDR, added up)"},
};

/// "lid 3" or "lmc 0" at this place; more than `most` is taken for no such thing.
std::optional<std::uint32_t> take_labelled(LineScanner& line, std::string_view label, std::uint32_t most) {
  const LineScanner before = line;
  if (line.take(label)) {
    line.skip_blanks();
    const auto value = line.take_number();
    if (value && *value <= most) return static_cast<std::uint32_t>(*value);
  }
  line = before;
  return std::nullopt;
}

Trouble take_lid_and_lmc(LineScanner& line, wire::Lid& lid, std::uint8_t& lmc) {
  if (const auto value = take_labelled(line, "lid", 0xffff))
    lid = wire::Lid(static_cast<std::uint16_t>(*value));
  line.skip_blanks();
  if (!line.rest().starts_with("lmc")) return {};
  const auto value = take_labelled(line, "lmc", Topology::kMaxLmc);
  if (!value) return "lmc: expected a number from 0 to 7 after it";
  lmc = static_cast<std::uint8_t>(*value);
  line.skip_blanks();
  return {};
}

/// ibsim ends a description without quotes where one of these begins.
std::string_view take_bare_description(LineScanner& line) {
  const std::string_view rest = line.rest();
  std::size_t end = rest.size();
  for (const std::string_view mark : {" enhanced port ", " base port ", " lid ", " lmc "})
    end = std::min(end, rest.find(mark));
  line = LineScanner(rest.substr(end));
  return rest.substr(0, end);
}

Trouble parse_node_comment(LineScanner line, NodeLine& out) {
  line.skip_blanks();
  const auto description = line.take_quoted_to_last();
  out.description = description ? *description : take_bare_description(line);
  line.skip_blanks();
  out.enhanced_port0 = line.take("enhanced port 0");
  if (!out.enhanced_port0) line.take("base port 0");
  line.skip_blanks();
  return take_lid_and_lmc(line, out.lid, out.lmc);
}

/// "lid 3 4xEDR"; widths and speeds that the tool had no name for ("??", "???") are not known here either.
Trouble take_peer_lid_and_rate(LineScanner& line, std::optional<LinkRate>& rate) {
  if (!take_labelled(line, "lid", 0xffff)) return {};
  line.skip_blanks();
  const std::string_view word = line.take_word();
  if (word.empty() || word.find('?') != std::string_view::npos) return {};
  rate = parse_link_rate(word);
  if (rate) return {};
  return quoted(word) + ": expected a width (" + link_width_names() + ") and a speed (" + link_speed_names() +
         ") as in 4xEDR";
}

Trouble parse_port_comment(LineScanner line, PortLine& out) {
  line.skip_blanks();
  if (Trouble trouble = take_lid_and_lmc(line, out.lid, out.lmc); !trouble.empty()) return trouble;
  if (!line.take_quoted_to_last()) return {};  // any other comment
  line.skip_blanks();
  return take_peer_lid_and_rate(line, out.rate);
}

/// "w=2" and so on, up to the comment.
Trouble parse_options(LineScanner& line, LinkMasks& masks) {
  for (line.skip_blanks(); !line.at_end() && line.rest().front() != '#'; line.skip_blanks()) {
    const LineScanner before = line;
    const std::string_view key = line.take_letters();
    if (key.size() != 1 || !line.take("="))
      return quoted(before.rest()) + ": expected w=, s= or e= and a number, or # and a comment";
    const auto value = line.take_number();
    if (!value) return quoted(before.rest()) + ": expected a number after \"" + std::string(key) + "=\"";
    if (const auto set = set_mask(masks, key.front(), *value); !set) return set.error();
  }
  return {};
}

std::optional<Guid> take_guid_in_parentheses(LineScanner& line) {
  const LineScanner before = line;
  if (line.take("(")) {
    const auto value = line.take_hex();
    if (value && line.take(")")) return Guid(*value);
  }
  line = before;
  return std::nullopt;
}

/// "[2]", and after it maybe "[ext 3]" and "(guid)", with blanks between; what is left begins with none
/// of them.
Trouble parse_end(LineScanner& line, std::uint8_t& port, std::optional<Guid>& guid) {
  const LineScanner before = line;
  const auto number = line.take_enclosed("[", "]", kMaxPort);
  if (!number || *number == 0)
    return quoted(before.rest()) + ": expected a port number from 1 to 254 in brackets";
  port = static_cast<std::uint8_t>(*number);
  line.skip_blanks();
  line.take_enclosed("[ext ", "]", 0xffff);
  line.skip_blanks();
  guid = take_guid_in_parentheses(line);
  line.skip_blanks();
  return {};
}

Trouble parse_peer(LineScanner& line, PortLine& out) {
  const auto peer = line.take_quoted();
  if (!peer || peer->empty()) return quoted(line.rest()) + ": expected the name of the peer in quotes";
  out.peer = *peer;
  line.skip_blanks();
  if (out.names_port || !line.rest().starts_with('[')) return {};
  return parse_end(line, out.peer_port, out.peer_guid);
}

Trouble parse_port(LineScanner& line, PortLine& out) {
  out.names_port = line.take("@");
  if (Trouble trouble = parse_end(line, out.port, out.guid); !trouble.empty()) return trouble;
  if (Trouble trouble = parse_peer(line, out); !trouble.empty()) return trouble;
  if (Trouble trouble = parse_options(line, out.masks); !trouble.empty()) return trouble;
  return line.take("#") ? parse_port_comment(line, out) : Trouble();
}

Trouble parse_node(LineScanner& line, NodeLine& out) {
  const std::string_view keyword = line.take_letters();
  out.type = node_type_of(keyword).value_or(NodeType::channel_adapter);
  line.skip_blanks();
  const auto ports = line.take_number();
  if (!ports || *ports < 1 || *ports > kMaxPort)
    return std::string(keyword) + ": expected a number of ports from 1 to 254 after it";
  out.port_count = static_cast<std::uint8_t>(*ports);
  line.skip_blanks();
  const auto id = line.take_quoted();
  if (!id || id->empty()) return quoted(line.rest()) + ": expected the name of the node in quotes";
  out.id = *id;
  line.skip_blanks();
  if (line.take("#")) return parse_node_comment(line, out);
  return line.at_end() ? Trouble() : quoted(line.rest()) + ": expected # and a description, or nothing";
}

template <std::size_t n>
constexpr std::uint8_t highest_of(std::uint8_t mask, const std::array<std::uint8_t, n>& descending) {
  for (const std::uint8_t bit : descending) {
    if (mask & bit) return bit;
  }
  return 0;
}

LinkSpeed best_speed(std::uint8_t speed, std::uint8_t speed_ext) {
  const std::uint8_t ext = highest_of(speed_ext, std::array<std::uint8_t, 4>{8, 4, 2, 1});
  const std::uint8_t basic = speed == 0 ? 4 : highest_of(speed, std::array<std::uint8_t, 3>{4, 2, 1});
  for (const LinkSpeedRow& row : kLinkSpeeds) {
    if (row.link_speed_ext_active == ext && (ext != 0 || row.link_speed_active == basic)) return row.speed;
  }
  return LinkSpeed::sdr;
}

}  // namespace

LinkRate best_rate(const LinkMasks& masks, const LinkMasks& standard) {
  const auto either = [&](std::optional<std::uint8_t> LinkMasks::*member) {
    return (masks.*member).value_or((standard.*member).value_or(0));
  };
  LinkRate rate{LinkWidth::x1, best_speed(either(&LinkMasks::speed), either(&LinkMasks::speed_ext))};
  const std::uint8_t widths = either(&LinkMasks::width);
  for (const LinkWidthRow& row : kLinkWidths) {
    if (widths & static_cast<std::uint8_t>(row.width)) rate.width = row.width;
  }
  return rate;
}

Expected<void, std::string> set_mask(LinkMasks& masks, char key, std::uint64_t value) {
  for (const MaskRow& row : kMasks) {
    if (row.key != key) continue;
    if (value < row.least || value > row.most)
      return Unexpected{std::to_string(value) + ": expected " + std::to_string(row.least) + " to " +
                        std::to_string(row.most) + ", a mask of " + std::string(row.meaning)};
    masks.*row.member = static_cast<std::uint8_t>(value);
    return {};
  }
  return Unexpected{quoted(std::string_view(&key, 1)) +
                    ": expected w (widths), s (speeds) or e (extended speeds)"};
}

std::optional<NodeType> node_type_of(std::string_view keyword) {
  const auto row = std::find_if(kKeywords.begin(), kKeywords.end(),
                                [&](const Keyword& entry) { return entry.word == keyword; });
  if (row == kKeywords.end()) return std::nullopt;
  return row->type;
}

Expected<NodeLine, std::string> parse_node_line(std::string_view text) {
  NodeLine out;
  LineScanner line(text);
  if (Trouble trouble = parse_node(line, out); !trouble.empty()) return Unexpected{std::move(trouble)};
  return out;
}

Expected<PortLine, std::string> parse_port_line(std::string_view text) {
  PortLine out;
  LineScanner line(text);
  if (Trouble trouble = parse_port(line, out); !trouble.empty()) return Unexpected{std::move(trouble)};
  return out;
}

}  // namespace softrnic::fabric
