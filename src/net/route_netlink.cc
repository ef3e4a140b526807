#include "net/route_netlink.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
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

template <typename T>
T number(std::span<const std::uint8_t> value) {
  T out{};
  if (value.size() >= sizeof out) std::memcpy(&out, value.data(), sizeof out);
  return out;
}

/// The hop limit among the metrics of a route (RTA_METRICS: attributes within an attribute), 0: none.
std::uint32_t hop_limit_in(std::span<const std::uint8_t> metrics) {
  std::uint32_t found = 0;
  each_attribute(metrics, [&](unsigned type, std::span<const std::uint8_t> value) {
    if (type == RTAX_HOPLIMIT) found = number<std::uint32_t>(value);
  });
  return found;
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
  if (got < 0) return nullptr;
  errno = EPROTO;
  if (!NLMSG_OK(answer, static_cast<std::size_t>(got)) || answer->nlmsg_seq != sequence_) return nullptr;
  if (answer->nlmsg_type == answer_type) return answer;
  if (answer->nlmsg_type == NLMSG_ERROR && answer->nlmsg_len >= NLMSG_LENGTH(sizeof(nlmsgerr))) {
    nlmsgerr refusal;
    std::memcpy(&refusal, NLMSG_DATA(answer), sizeof refusal);
    if (refusal.error < 0) errno = -refusal.error;
  }
  return nullptr;
}

Expected<RouteNetlink::Route, int> RouteNetlink::route(const Query& query) {
  const RawAddress address(query.destination);
  Question<rtmsg> question(RTM_GETROUTE);
  question.fixed.rtm_family = address.family;
  question.fixed.rtm_dst_len = static_cast<unsigned char>(address.size * 8);
  question.add(RTA_DST, address.data, address.size);
  if (!query.source.is_zero()) {
    const RawAddress source(query.source);
    question.fixed.rtm_src_len = static_cast<unsigned char>(source.size * 8);
    question.add(RTA_SRC, source.data, source.size);
  }
  if (query.interface_index != 0) question.add(RTA_OIF, &query.interface_index, sizeof query.interface_index);
  const nlmsghdr* const answer = ask(question.header, RTM_NEWROUTE);
  if (answer == nullptr) return Unexpected{errno};
  rtmsg fixed;
  std::memcpy(&fixed, NLMSG_DATA(answer), sizeof fixed);
  Route route;
  route.is_local = fixed.rtm_type == RTN_LOCAL;
  route.is_broadcast = fixed.rtm_type == RTN_BROADCAST;
  route.next_hop = query.destination;
  route.source = query.source;
  each_attribute<rtmsg>(*answer, [&](unsigned type, std::span<const std::uint8_t> value) {
    if (type == RTA_GATEWAY) route.next_hop = gid_from(value);
    if (type == RTA_OIF) route.interface_index = number<std::uint32_t>(value);
    if (type == RTA_PREFSRC && query.source.is_zero()) route.source = gid_from(value);
    if (type == RTA_METRICS) {
      const std::uint32_t limit = hop_limit_in(value);
      if (limit != 0 && limit <= UINT8_MAX) route.hop_limit = static_cast<std::uint8_t>(limit);
    }
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
  entry.usable = (fixed.ndm_state & kUsable) != 0;
  each_attribute<ndmsg>(*answer, [&](unsigned type, std::span<const std::uint8_t> value) {
    if (type == NDA_LLADDR && value.size() == entry.mac.size())
      std::memcpy(entry.mac.data(), value.data(), value.size());
  });
  return entry;
}

RouteNetlink::Changes RouteNetlink::take_changes() {
  Changes out;
  for (;;) {
    const ssize_t got = recv(changes_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got < 0 && errno == ENOBUFS) out.lost = true;
    if (got < 0 && (errno == ENOBUFS || errno == EINTR)) continue;
    if (got <= 0) return out;
    auto left = static_cast<std::size_t>(got);
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer_.data()); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_len < NLMSG_LENGTH(sizeof(ndmsg))) continue;
      ndmsg fixed;
      std::memcpy(&fixed, NLMSG_DATA(message), sizeof fixed);
      each_attribute<ndmsg>(*message, [&](unsigned type, std::span<const std::uint8_t> value) {
        if (type == NDA_DST)
          out.hops.push_back({gid_from(value), static_cast<std::uint32_t>(fixed.ndm_ifindex)});
      });
    }
  }
}

bool RouteNetlink::wait_for_change(Duration timeout) {
  pollfd change{changes_.get(), POLLIN, 0};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  if (poll(&change, 1, static_cast<int>(milliseconds)) <= 0) return false;
  return recv(changes_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT) > 0;
}

}  // namespace softrnic::net
