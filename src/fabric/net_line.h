// The lines that ibsim's net files and the output of ibnetdiscover have in common:
//
//   Switch  36 "ID"   # "description" enhanced port 0 lid 3 lmc 0
//   Ca      2 "ID"    # "description"                            (ibsim: also Hca)        Rt: a router
//   [1](guid)  "ID of the peer"[2](guid)  w=2 s=7 e=3            # lid 4 lmc 0 "description" lid 3 4xEDR
//
// GUIDs in parentheses and what follows "#" are ibnetdiscover's, though ibsim reads it too; of a switch the
// first "lid … lmc …" is missing. w=, s= and e= are ibsim's. "[ext 3]" may follow a port number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "fabric/link_rate.h"
#include "fabric/topology.h"
#include "wire/lid.h"

namespace softrnic::fabric {

/// Longer lines are refused: the tools' own are a third of it.
inline constexpr std::size_t kMaxLineBytes = 1024;

/// LinkWidthEnabled, LinkSpeedEnabled and LinkSpeedExtEnabled of ports (IBTA 14.2.5.6), as far as they
/// are said.
struct LinkMasks {
  std::optional<std::uint8_t> width;      ///< w=, 1 - 31
  std::optional<std::uint8_t> speed;      ///< s=, 0 - 7; 0 is taken for QDR, as ibsim does
  std::optional<std::uint8_t> speed_ext;  ///< e=, 0 - 15
};

/// The most that the masks enable; what they leave open is in `standard`, which leaves nothing open.
LinkRate best_rate(const LinkMasks& masks, const LinkMasks& standard);

struct NodeLine {
  NodeType type = NodeType::channel_adapter;
  std::uint8_t port_count = 0;
  std::string_view id;
  std::string_view description;  ///< empty: none
  bool enhanced_port0 = false;
  std::uint8_t lmc = 0;
  wire::Lid lid;
};

struct PortLine {
  std::uint8_t port = 0;  ///< 1 - 254
  std::optional<Guid> guid;
  bool names_port = false;  ///< "@[1] "ALIAS"": `peer` is a name for this port (ibsim)
  std::string_view peer;
  std::uint8_t peer_port = 1;
  std::optional<Guid> peer_guid;
  LinkMasks masks;
  std::optional<LinkRate> rate;  ///< of the comment
  std::uint8_t lmc = 0;
  wire::Lid lid;
};

/// The type that a node line begins with: Switch, Ca, Hca or Rt.
std::optional<NodeType> node_type_of(std::string_view keyword);

/// `line` begins with such a keyword. Errors say what was expected.
Expected<NodeLine, std::string> parse_node_line(std::string_view line);
/// `line` begins with "[" or "@".
Expected<PortLine, std::string> parse_port_line(std::string_view line);

/// The value of "width=", "speed=" and "extspeed=" or of "w=", "s=" and "e="; an error says what is allowed.
Expected<void, std::string> set_mask(LinkMasks& masks, char key, std::uint64_t value);

}  // namespace softrnic::fabric
