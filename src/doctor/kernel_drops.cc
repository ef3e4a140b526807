#include "doctor/kernel_drops.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace softrnic::doctor {
namespace {

struct Row {
  std::string_view counter;
  std::string_view cause;
};

// IPv4 has "Ip" and "Udp" in snmp, IPv6 "Ip6" and "Udp6" in snmp6.
constexpr Row kRows[] = {
    {"UdpInCsumErrors", "a wrong UDP checksum: a netdev or a tunnel that damages packets"},
    {"Udp6InCsumErrors",
     "a wrong UDP checksum, or none where the socket does not take that (rxe sends none)"},
    {"UdpRcvbufErrors", "full receive buffers: see receive-buffer"},
    {"Udp6RcvbufErrors", "full receive buffers: see receive-buffer"},
    {"UdpMemErrors", "net.ipv4.udp_mem is used up"},
    {"Udp6MemErrors", "net.ipv4.udp_mem is used up"},
    {"IpInAddrErrors", "packets for an address that is not here, or from one that rp_filter refuses"},
    {"Ip6InAddrErrors", "packets for an address that is not here"},
    {"IpOutNoRoutes", "no route to the peer: ip route get PEER"},
    {"Ip6OutNoRoutes", "no route to the peer: ip -6 route get PEER"},
    {"IpOutDiscards", "nothing takes what is sent: a firewall's output, or a neighbour that does not answer"},
    {"Ip6OutDiscards",
     "nothing takes what is sent: a firewall's output, or a neighbour that does not answer"},
};

/// Takes what stands before the next `end` from the text.
std::string_view take(std::string_view& text, char end) {
  const std::size_t length = std::min(text.find(end), text.size());
  const std::string_view found = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return found;
}

std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::size_t length = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view word = line.substr(0, length);
  line.remove_prefix(length);
  return word;
}

void add(std::vector<KernelDrop>& drops, std::string counter, std::string_view figure) {
  std::uint64_t count = 0;
  std::from_chars(figure.data(), figure.data() + figure.size(), count);
  if (count != 0 && !cause_of_drop(counter).empty()) drops.push_back({std::move(counter), count});
}

}  // namespace

std::string_view cause_of_drop(std::string_view counter) {
  const auto* const row = std::ranges::find(kRows, counter, &Row::counter);
  return row == std::end(kRows) ? std::string_view() : row->cause;
}

std::vector<KernelDrop> kernel_drops(std::string_view snmp, std::string_view snmp6) {
  std::vector<KernelDrop> drops;
  while (!snmp.empty()) {  // a line of names, then one of figures: "Udp: InDatagrams …", "Udp: 940 …"
    std::string_view names = take(snmp, '\n'), figures = take(snmp, '\n');
    const std::string_view section = take(names, ':');
    if (take(figures, ':') != section) break;
    for (std::string_view name = take_word(names); !name.empty(); name = take_word(names))
      add(drops, std::string(section).append(name), take_word(figures));
  }
  while (!snmp6.empty()) {
    std::string_view line = take(snmp6, '\n');
    const std::string_view name = take_word(line);
    add(drops, std::string(name), take_word(line));
  }
  return drops;
}

}  // namespace softrnic::doctor
