#include "net/route_netlink.h"

#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <span>

#include "net/netlink_socket.h"

namespace softrnic::net {
namespace {

/// An address as attributes carry it: 4 or 16 bytes.
struct RawAddress {
  explicit RawAddress(const wire::Gid& gid)
      : family(gid.is_ipv4() ? AF_INET : AF_INET6),
        data(gid.raw.data() + (gid.is_ipv4() ? 12 : 0)),
        size(gid.is_ipv4() ? 4 : 16) {}
  unsigned char family;
  const std::byte* data;
  std::size_t size;
};

wire::Gid gid_from(std::span<const std::uint8_t> value) {
  wire::Gid gid;
  if (value.size() == 4) {
    std::uint32_t address;
    std::memcpy(&address, value.data(), sizeof address);
    return wire::Gid::from_ipv4_be(address);
  }
  if (value.size() == gid.raw.size()) std::memcpy(gid.raw.data(), value.data(), value.size());
  return gid;
}

}  // namespace

template <typename Fixed>
struct RouteNetlink::Question {
  nlmsghdr header{};
  Fixed fixed{};
  char attributes[64]{};

  explicit Question(std::uint16_t type) {
    header.nlmsg_type = type;
    header.nlmsg_flags = NLM_F_REQUEST;
    header.nlmsg_len = NLMSG_LENGTH(sizeof fixed);
  }
  void add(std::uint16_t type, const void* data, std::size_t size) {
    rtattr attribute{};
    attribute.rta_type = type;
    attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(size));
    char* const at = reinterpret_cast<char*>(this) + NLMSG_ALIGN(header.nlmsg_len);
    std::memcpy(at, &attribute, sizeof attribute);
    std::memcpy(at + RTA_LENGTH(0), data, size);
    header.nlmsg_len =
        static_cast<std::uint32_t>(NLMSG_ALIGN(header.nlmsg_len) + RTA_ALIGN(attribute.rta_len));
  }
};

RouteNetlink::RouteNetlink() : questions_(open_netlink(0)), changes_(open_netlink(RTMGRP_NEIGH)) {}

const nlmsghdr* RouteNetlink::ask(nlmsghdr& question, std::uint16_t answer_type) {
  question.nlmsg_seq = ++sequence_;
  if (send(questions_.get(), &question, question.nlmsg_len, 0) < 0) return nullptr;
  const ssize_t got = recv(questions_.get(), buffer_.data(), buffer_.size(), 0);
  const auto* const answer = reinterpret_cast<const nlmsghdr*>(buffer_.data());
  if (got < 0 || !NLMSG_OK(answer, static_cast<std::size_t>(got))) return nullptr;
  return answer->nlmsg_type == answer_type && answer->nlmsg_seq == sequence_ ? answer : nullptr;
}

std::optional<RouteNetlink::Route> RouteNetlink::route(const wire::Gid& destination,
                                                       std::uint32_t interface_index) {
  const RawAddress address(destination);
  Question<rtmsg> question(RTM_GETROUTE);
  question.fixed.rtm_family = address.family;
  question.fixed.rtm_dst_len = static_cast<unsigned char>(address.size * 8);
  question.add(RTA_DST, address.data, address.size);
  // A link-local address means nothing without its link; any other destination is the routing table's to decide.
  if (destination.is_link_local()) question.add(RTA_OIF, &interface_index, sizeof interface_index);
  const nlmsghdr* const answer = ask(question.header, RTM_NEWROUTE);
  if (answer == nullptr) return std::nullopt;
  rtmsg fixed;
  std::memcpy(&fixed, NLMSG_DATA(answer), sizeof fixed);
  Route route;
  route.is_local = fixed.rtm_type == RTN_LOCAL;
  route.next_hop = destination;
  each_attribute<rtmsg>(*answer, [&](unsigned type, std::span<const std::uint8_t> value) {
    if (type == RTA_GATEWAY) route.next_hop = gid_from(value);
    if (type == RTA_OIF && value.size() == sizeof route.interface_index)
      std::memcpy(&route.interface_index, value.data(), value.size());
  });
  return route;
}

std::optional<RouteNetlink::Entry> RouteNetlink::neighbour(const wire::Gid& gid,
                                                           std::uint32_t interface_index) {
  const RawAddress address(gid);
  Question<ndmsg> question(RTM_GETNEIGH);
  question.fixed.ndm_family = address.family;
  question.fixed.ndm_ifindex = static_cast<int>(interface_index);
  question.add(NDA_DST, address.data, address.size);
  const nlmsghdr* const answer = ask(question.header, RTM_NEWNEIGH);
  if (answer == nullptr) return std::nullopt;
  ndmsg fixed;
  std::memcpy(&fixed, NLMSG_DATA(answer), sizeof fixed);
  constexpr unsigned kUsable = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY;
  Entry entry;
  entry.failed = (fixed.ndm_state & NUD_FAILED) != 0;
  each_attribute<ndmsg>(*answer, [&](unsigned type, std::span<const std::uint8_t> value) {
    if (type != NDA_LLADDR || value.size() != entry.mac.size()) return;
    std::memcpy(entry.mac.data(), value.data(), value.size());
    entry.usable = (fixed.ndm_state & kUsable) != 0;
  });
  return entry;
}

bool RouteNetlink::wait_for_change(Duration timeout) {
  pollfd change{changes_.get(), POLLIN, 0};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  if (poll(&change, 1, static_cast<int>(milliseconds)) <= 0) return false;
  return recv(changes_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT) > 0;
}

}  // namespace softrnic::net
