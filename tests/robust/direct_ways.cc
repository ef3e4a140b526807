#include "direct_ways.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "control/page_reader.h"
#include "patience.h"

namespace softrnic::robust {

bool post_write(Side& side, const Card& peer, std::uint32_t bytes) {
  ibv_sge sge{side.card().address, bytes, side.mr->lkey};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = peer.address;
  wr.wr.rdma.rkey = peer.rkey;
  return ibv_post_send(side.qp, &wr, &bad) == 0;
}

bool post_empty(Side& side, ibv_wr_opcode opcode) {
  ibv_send_wr wr{}, *bad = nullptr;
  wr.opcode = opcode;
  wr.send_flags = IBV_SEND_SIGNALED;
  return ibv_post_send(side.qp, &wr, &bad) == 0;
}

bool write_once(Side& side, const Card& peer, std::uint32_t bytes) {
  ibv_wc wc{};
  if (!post_write(side, peer, bytes)) return fail(refused, "a post") == done;
  if (!side.next(wc)) return fail(not_as_expected, "a completion") == done;
  return wc.status == IBV_WC_SUCCESS || fail(not_as_expected, "a success", wc) == done;
}

bool write_until_it_goes(const Way& way, Side& side, const Card& peer) {
  Patience patience{std::chrono::seconds(10)};
  const std::uint64_t direct = counted(ib::Counter::direct_messages);
  const std::uint64_t mapped = counted(ib::Counter::direct_mapped_bytes);
  do {
    if (!write_once(side, peer, 4096)) return false;
    if (counted(ib::Counter::direct_messages) != direct &&
        (counted(ib::Counter::direct_mapped_bytes) != mapped) == way.mapped)
      return true;
  } while (!patience.over());
  return fail(not_as_expected, "WRITEs that go the way that they should") == done;
}

std::uint64_t counted(ib::Counter counter) {
  auto client = control::Client::connect({.daemon_path = {}, .spawn = false});
  auto pages = client ? (*client)->pages() : Unexpected{client.error()};
  std::uint64_t sum = 0;
  if (!pages) return sum;
  for (const control::PageFd& page : *pages) {
    const auto reader = control::PageReader::open(page.fd.get());
    if (page.pid != getpid() || page.ended_ns != 0 || !reader) continue;
    for (const control::LaneView& lane : reader->lanes())
      sum += lane.counters[static_cast<std::size_t>(counter)];
  }
  return sum;
}

}  // namespace softrnic::robust
