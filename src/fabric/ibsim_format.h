// Net files of ibsim, the simulator of subnet management.
//
//   vendid=0x2c9  devid=0x1003  sysimgguid=0x…       of the next node (one to a line; devid stays)
//   switchguid=0x200000  caguid=0x100000  rtguid=…   of the next node; later ones go on from there
//   switchguid+16                                    that many after the last value given
//   width=2  speed=7  extspeed=3                     masks as w=, s= and e= below, of all ports from here on
//   module="rack1"                                   what is named from here on is in rack1 (rack1#h1)
//   Switch 8 "spine1"  # "description" enhanced port 0 lid 0 lmc 1
//   [1] "leaf1"[3]  w=3 s=7 e=3                      port 1 goes to port 3 of leaf1, or to 1 when none is named
//   @[2] "uplink"                                    port 2 has a name; another node says: [5] "@uplink"
//   Hca 2 "h1"    Ca 2 "h1"    Rt 2 "r1"             an adapter, with its ports in lines below, and a router
//
// Comments begin with "#". Without a word about it, links are 4xSDR, GUIDs begin at 0x100000 (adapters)
// and 0x200000 (switches) and the port GUIDs of an adapter follow its own, all as in ibsim. Of masks the
// highest bit counts. Differences: "include" and "do" are refused, for there are no other files and no
// console here; so is what ibsim silently skips; routers begin at 0x300000, not at 0; a name rack1#h1
// becomes rack1.h1.
#pragma once

#include <string>
#include <string_view>

#include "base/expected.h"
#include "fabric/text_error.h"
#include "fabric/topology.h"

namespace softrnic::fabric {

Expected<Topology, TextError> read_ibsim(std::string_view text);

/// A net file that reads as this topology, in ibsim as well. Lost: that a system image GUID is 0, and the
/// rates of ports without a cable where they differ among ports. ibsim itself does not take port GUIDs.
std::string write_ibsim(const Topology& topology);

}  // namespace softrnic::fabric
