// Packets as one line of text: "RC RDMA Write First psn=5 va=0x10000 rkey=0x20 dmalen=2000 len=1024 ackreq".
//
// The opcode's name as wireshark prints it, then fields:
//   psn, len (payload bytes), qp (destination), pkey, va, rkey, dmalen, add, swap, cmp, orig, imm, inv, msn,
//   qkey, src, srqn,
//   nak=sequence|invalid|access|operational, rnr=CODE, credits=RECEIVES, syndrome,
//   mig (MigReq, 1 if not said), packets (that it stands for, 1 if not said);
//   flags
//   ackreq, se, and elsewhere (incoming: the payload is to be fetched).
#pragma once

#include <map>
#include <string>

#include "transport/ib/types.h"

namespace softrnic::ib::test {

struct PacketText {
  std::string name;
  std::map<std::string, std::uint64_t> fields;  ///< flags have value 1
};

/// Adds a test failure when the line cannot be read.
PacketText parse_packet_text(const std::string& line);

/// All fields that a packet has.
PacketText describe_packet(const wire::Headers& headers, std::size_t payload_bytes);
std::string to_string(const PacketText& text);

/// Headers from text; len is not part of them.
wire::Headers headers_of(const PacketText& text);

}  // namespace softrnic::ib::test
