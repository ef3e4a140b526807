#include "wire/gid.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/bytes.h"

namespace softrnic::wire {
namespace {

// ::ffff:0:0/96 (RFC 4291 2.5.5.2)
constexpr std::array<std::byte, 12> kMapped = {std::byte{0}, std::byte{0}, std::byte{0},    std::byte{0},
                                               std::byte{0}, std::byte{0}, std::byte{0},    std::byte{0},
                                               std::byte{0}, std::byte{0}, std::byte{0xff}, std::byte{0xff}};

// 100::/112; the LID is behind it.
constexpr std::array<std::byte, 14> kOfLid = {std::byte{0x01}};

}  // namespace

bool Gid::is_ipv4() const { return std::memcmp(raw.data(), kMapped.data(), kMapped.size()) == 0; }

bool Gid::is_multicast() const {
  // RFC 1112: class D addresses begin with the bits 1110
  return raw[0] == std::byte{0xff} || (is_ipv4() && (raw[12] & std::byte{0xf0}) == std::byte{0xe0});
}

bool Gid::is_link_local() const {
  return raw[0] == std::byte{0xfe} && (raw[1] & std::byte{0xc0}) == std::byte{0x80};
}

std::uint32_t Gid::ipv4_be() const {
  if (!is_ipv4()) return 0;
  std::uint32_t address;
  std::memcpy(&address, raw.data() + kMapped.size(), sizeof address);
  return address;
}

std::uint64_t Gid::high_half() const { return load_be64(raw.data()); }
std::uint64_t Gid::low_half() const { return load_be64(raw.data() + 8); }

Gid Gid::ipv4_loopback() { return from_ipv4_be(htonl(INADDR_LOOPBACK)); }

Gid Gid::from_ipv4_be(std::uint32_t address) {
  Gid gid;
  std::copy(kMapped.begin(), kMapped.end(), gid.raw.begin());
  std::memcpy(gid.raw.data() + kMapped.size(), &address, sizeof address);
  return gid;
}

Gid Gid::of_lid(Lid lid) {
  Gid gid;
  std::copy(kOfLid.begin(), kOfLid.end(), gid.raw.begin());
  store_be16(gid.raw.data() + kOfLid.size(), lid.value);
  return gid;
}

bool Gid::is_lid() const { return std::memcmp(raw.data(), kOfLid.data(), kOfLid.size()) == 0; }

Lid Gid::lid() const { return Lid(load_be16(raw.data() + kOfLid.size())); }

std::string Gid::to_string() const {
  if (is_lid()) {
    char number[16];
    std::snprintf(number, sizeof number, "LID 0x%04x", unsigned{lid().value});
    return number;
  }
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, raw.data(), text, sizeof text) != nullptr ? text : "";
}

}  // namespace softrnic::wire
