#include <algorithm>

#include "tests/sim/model.h"
#include "tests/sim/network.h"

namespace softrnic::sim {

using ib::Status;

UdModel::UdModel(Ground& ground, Node& requester, const Network& network, std::vector<UdModel*>& all,
                 std::vector<std::unique_ptr<Node>>& nodes)
    : Model(ground, requester), network_(network), all_(all), nodes_(nodes) {
  all_[requester.index] = this;
}

/// IBTA A17.4.5.2: the GRH's place holds an IPv6 header, or an IPv4 header in its last 20 bytes.
std::string UdModel::check_grh(const Node& from, const Node& to, Bytes grh) {
  const wire::Gid& source = from.address.source;
  const wire::Gid& destination = to.address.source;
  const bool v4 = source.is_ipv4();
  const std::size_t address = v4 ? 4 : 16;
  const std::size_t at = v4 ? 20 + 12 : 8;
  if ((std::to_integer<unsigned>(grh[v4 ? 20 : 0]) >> 4) != (v4 ? 4U : 6U)) return "IP version of the GRH";
  const auto same = [&](std::size_t offset, const wire::Gid& gid) {
    return std::memcmp(grh.data() + offset, gid.raw.data() + 16 - address, address) == 0;
  };
  if (!same(at, source)) return "source address in the GRH";
  if (!same(at + address, destination)) return "destination address in the GRH";
  return "";
}

void UdModel::receive_done(Node& receiver, const ib::RecvDone& done, PostedReceive& receive) {
  if (done.status != Status::success) return receive_failed(receiver, done, receive);
  if (!done.has_grh || done.length < wire::kGrhBytes)
    return ground_.fail(format("node %u: a datagram without GRH", receiver.index));
  const auto sender =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& n) { return n->qpn == done.source; });
  if (sender == nodes_.end() || all_[(*sender)->index] == nullptr)
    return ground_.fail(
        format("node %u: a datagram from QP %x, which does not exist", receiver.index, done.source.value));
  const std::uint64_t allowed = 1 + network_.duplicates();
  for (WorkRequest& wr : all_[(*sender)->index]->log_) {
    if (wr.to_node != receiver.index || wr.length + wire::kGrhBytes != done.length || !wr.reaches_peer ||
        wr.delivered >= allowed || !mismatch(wr, done).empty() ||
        !holds(receiver, receive, wr.payload, wire::kGrhBytes, true))
      continue;
    ++wr.delivered;
    Region& region = *receiver.memory.find(receive.region);
    std::vector<std::byte> grh;
    for (const ib::Sge& sge : receive.sges)
      for (std::uint32_t i = 0; i < sge.length && grh.size() < wire::kGrhBytes; ++i)
        grh.push_back(region.bytes()[sge.address - region.base + i]);
    const std::string difference = check_grh(**sender, receiver, grh);
    if (!difference.empty()) complain(wr, "arrives with a wrong " + difference);
    return;
  }
  ground_.fail(format(
      "node %u: receive %llu of %u bytes from node %u is no datagram that was sent to it (or once too often)",
      receiver.index, static_cast<unsigned long long>(receive.id), done.length, (*sender)->index));
}

void UdModel::succeeded(std::size_t index) { check_local(log_[index], log_[index].image); }

}  // namespace softrnic::sim
