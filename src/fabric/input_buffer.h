// The buffer of one VL of an input port: first in, first out, and never more than its size.
#pragma once

#include "fabric/bid.h"
#include "fabric/credit.h"
#include "fabric/packet.h"

namespace softrnic::fabric {

struct InputBuffer {
  EnginePort* port = nullptr;
  Packet* head = nullptr;
  Packet* tail = nullptr;
  Bid* bids = nullptr;     ///< of the head, by Bid::sibling
  std::uint16_t size = 0;  ///< blocks
  std::uint16_t used = 0;
  CreditReceiver credit;
  std::uint8_t vl = 0;

  std::uint16_t free_blocks() const { return static_cast<std::uint16_t>(size - used); }
  bool fits(std::uint16_t blocks) const { return blocks <= free_blocks(); }
  bool empty() const { return head == nullptr; }

  /// It fits.
  void push(Packet* packet) {
    packet->next = nullptr;
    (tail == nullptr ? head : tail->next) = packet;
    tail = packet;
    used = static_cast<std::uint16_t>(used + packet->blocks);
  }
  /// It is not empty.
  Packet* pop() {
    Packet* const packet = head;
    head = packet->next;
    if (head == nullptr) tail = nullptr;
    used = static_cast<std::uint16_t>(used - packet->blocks);
    return packet;
  }
};

}  // namespace softrnic::fabric
