#include "fabric/topology_file.h"

#include <utility>

#include "fabric/ibnetdiscover_format.h"
#include "fabric/ibsim_format.h"
#include "fabric/line_scanner.h"
#include "fabric/net_line.h"

namespace softrnic::fabric {

Expected<TopologyFormat, TextError> recognise_format(std::string_view text) {
  TextLines lines(text);
  while (const auto line = lines.next()) {
    LineScanner scanner(line->text);
    if (!node_type_of(scanner.take_letters())) continue;
    scanner.skip_blanks();
    if (scanner.take(":"))
      return Unexpected{TextError{line->number,
                                  "this is a list of nodes (ibnetdiscover -l, ibnodes), without "
                                  "cables: expected ibnetdiscover without options"}};
    scanner.take_number();
    scanner.skip_blanks();
    const auto id = scanner.take_quoted();
    return id && parse_typed_guid(*id) ? TopologyFormat::ibnetdiscover : TopologyFormat::ibsim;
  }
  return Unexpected{TextError{0,
                              "no node is described: expected a net file of ibsim (Switch 8 \"NAME\") or the "
                              "output of ibnetdiscover"}};
}

Expected<Topology, TextError> read_topology(std::string_view text) {
  const auto format = recognise_format(text);
  if (!format) return Unexpected{format.error()};
  if (*format == TopologyFormat::ibsim) return read_ibsim(text);
  auto fabric = read_ibnetdiscover(text);
  if (!fabric) return Unexpected{fabric.error()};
  return std::move(fabric->topology);
}

}  // namespace softrnic::fabric
