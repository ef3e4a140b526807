#include "abi/verbs/route_netlink.h"

#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>

namespace softrnic::abi {
namespace {

UniqueFd open_netlink(std::uint32_t groups) {
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  sockaddr_nl local{};
  local.nl_family = AF_NETLINK;
  local.nl_groups = groups;
  if (fd && bind(fd.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0) fd.reset();
  return fd;
}

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

wire::Gid gid_from(const void* data, std::size_t size) {
  wire::Gid gid;
  if (size == 4) {
    std::uint32_t address;
    std::memcpy(&address, data, sizeof address);
    return wire::Gid::from_ipv4_be(address);
  }
  if (size == gid.raw.size()) std::memcpy(gid.raw.data(), data, size);
  return gid;
}

/// Calls visit(type, data, size) for the attributes behind a message's fixed part.
template <typename Fixed, typename Visit>
void each_attribute(const nlmsghdr& header, Visit&& visit) {
  const auto* at = reinterpret_cast<const char*>(NLMSG_DATA(&header)) + NLMSG_ALIGN(sizeof(Fixed));
  const auto* const end = reinterpret_cast<const char*>(&header) + header.nlmsg_len;
  while (end - at >= static_cast<std::ptrdiff_t>(sizeof(rtattr))) {
    rtattr attribute;
    std::memcpy(&attribute, at, sizeof attribute);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > end - at) return;
    visit(attribute.rta_type, at + RTA_LENGTH(0), attribute.rta_len - RTA_LENGTH(0));
    at += RTA_ALIGN(attribute.rta_len);
  }
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
  each_attribute<rtmsg>(*answer, [&](unsigned short type, const char* data, std::size_t size) {
    if (type == RTA_GATEWAY) route.next_hop = gid_from(data, size);
    if (type == RTA_OIF && size == sizeof route.interface_index)
      std::memcpy(&route.interface_index, data, size);
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
  each_attribute<ndmsg>(*answer, [&](unsigned short type, const char* data, std::size_t size) {
    if (type != NDA_LLADDR || size != entry.mac.size()) return;
    std::memcpy(entry.mac.data(), data, size);
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

}  // namespace softrnic::abi
