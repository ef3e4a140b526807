#include "rnic/tag_message.h"

#include <infiniband/tm_types.h>

#include <algorithm>
#include <cstring>

namespace softrnic::rnic {
namespace {

static_assert(sizeof(ibv_tmh) == TagMessage::kEagerHeader);
static_assert(sizeof(ibv_tmh) + sizeof(ibv_rvh) == TagMessage::kRendezvousHeader);

template <typename Header>
Header header_at(Bytes bytes, std::size_t offset) {
  Header header;
  std::memcpy(&header, bytes.data() + offset, sizeof header);
  return header;
}

void add_rendezvous(TagMessage& message, Bytes first) {
  const auto rvh = header_at<ibv_rvh>(first, sizeof(ibv_tmh));
  message.kind = TagMessage::Kind::rendezvous;
  message.address = __builtin_bswap64(rvh.va);
  message.rkey = MemoryKey(__builtin_bswap32(rvh.rkey));
  message.length = __builtin_bswap32(rvh.len);
  std::copy_n(first.begin(), message.headers.size(), message.headers.begin());
}

}  // namespace

TagMessage TagMessage::parse(Bytes first, std::size_t size, bool whole) {
  TagMessage message;
  message.whole = whole;
  if (first.size() < sizeof(ibv_tmh)) return message;
  const auto tmh = header_at<ibv_tmh>(first, 0);
  if (tmh.opcode != IBV_TMH_EAGER && tmh.opcode != IBV_TMH_RNDV) return message;
  message.tag = __builtin_bswap64(tmh.tag);
  message.app_ctx = __builtin_bswap32(tmh.app_ctx);
  message.kind = tmh.opcode == IBV_TMH_EAGER ? Kind::eager : Kind::tagged;
  const bool complete = whole && first.size() >= kRendezvousHeader && size <= limits::kMaxRendezvousHeader;
  if (tmh.opcode == IBV_TMH_RNDV && complete) add_rendezvous(message, first);
  return message;
}

TagMessage::Headers fin_of(const TagMessage& message) {
  TagMessage::Headers fin = message.headers;
  fin[offsetof(ibv_tmh, opcode)] = std::byte{IBV_TMH_FIN};
  return fin;
}

}  // namespace softrnic::rnic
