// A short message between two queue pairs of one host, without the packet: a SEND of one packet, of which
// only that is told which the peer does not know already.
//
// It is not another protocol. An eager send takes a PSN and room in the window as its packet would, the
// responder executes it as that packet, and whatever is out of the ordinary is left to packets: an endpoint
// that cannot take an eager send as it stands is given the packet that it stands for, and an endpoint that
// has more to do than to send one is asked for packets. Only the ACK differs: the peer says by other means
// how far it is (Endpoint::acknowledged).
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/strong.h"
#include "wire/headers.h"

namespace softrnic::ib {

struct EagerSend {
  static constexpr std::uint32_t kMostBytes = 1024;

  Qpn destination;
  std::uint32_t psn = 0;        ///< 24 bits
  std::uint32_t immediate = 0;  ///< host order
  std::uint16_t pkey = 0;
  bool has_immediate = false;
  bool solicited = false;
  Bytes payload;  ///< at most kMostBytes, and the path MTU
};

/// Writes the headers of the packet that an eager send stands for: those that its opcode has.
inline void put_headers(const EagerSend& eager, wire::Headers& out) {
  out.bth = {};
  out.bth.opcode = eager.has_immediate ? wire::Opcode::rc_send_only_imm : wire::Opcode::rc_send_only;
  out.bth.solicited = eager.solicited;
  out.bth.pad = wire::pad_for(eager.payload.size());
  out.bth.pkey = eager.pkey;
  out.bth.destination = eager.destination;
  out.bth.ack_request = true;
  out.bth.psn = eager.psn;
  out.immediate = eager.immediate;
}

}  // namespace softrnic::ib
