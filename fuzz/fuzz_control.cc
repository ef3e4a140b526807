// Input: conversations of four clients with softrnicd: datagrams of a length byte (times four), a type byte
// and one that says which client sends it (two bits) and what descriptor comes along (the others), then their
// bytes. The header is put right, so that the bodies are reached; a length byte of 0xff sends the bytes as
// they are. Whatever comes, there is one answer that parses, no descriptor stays open that nobody holds, a
// dropped client is one that sent nonsense, and in the end all is taken back.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "base/reason_id.h"
#include "control/page_layout.h"
#include "control/shared_memory.h"
#include "daemon/service.h"
#include "fuzz/check.h"

using namespace softrnic;

namespace {

class CountingLanes final : public daemon::Lanes {
 public:
  Expected<daemon::LaneGrant, Failure> take(int, uid_t) override {
    if (taken.size() == 4) return Unexpected{refuse(ENOSPC, ReasonId::out_of_lanes, 4)};
    std::uint32_t lane = 1;
    while (!taken.insert(lane).second) ++lane;
    return daemon::LaneGrant{lane, -1, 1, true};
  }
  void free(std::uint32_t lane) override { FUZZ_CHECK(taken.erase(lane) == 1); }
  std::uint32_t made() const override { return 5; }
  std::uint32_t used() const override { return static_cast<std::uint32_t>(taken.size()); }
  int socket_of(std::uint32_t) const override { return -1; }
  std::uint32_t receive_buffer() const override { return 0; }

  std::set<std::uint32_t> taken;
};

net::NetSnapshot network() {
  net::NetSnapshot snapshot;
  snapshot.netdevs.push_back({1, "lo", true, true, 65536, {}, 0});
  snapshot.addresses.push_back({1, wire::Gid::from_ipv4_be(0x0100007f), false});
  return snapshot;
}

void check_answer(const daemon::Answer& answer, const std::optional<control::Header>& request) {
  const auto header = control::peek_header(answer.bytes);
  FUZZ_CHECK(header.has_value());
  FUZZ_CHECK(static_cast<unsigned>(header->type) >= static_cast<unsigned>(control::MessageType::welcome));
  FUZZ_CHECK(!request || header->serial == request->serial);
  if (header->type == control::MessageType::error) {
    const auto error = control::parse_message<control::ErrorReply>(answer.bytes);
    FUZZ_CHECK(error && error->error > 0 && error->reason < reason_count());
    const auto text = control::text_in(error->text);
    FUZZ_CHECK(text && !text->empty());
  }
  if (const auto devices = control::parse_message<control::DevicesReply>(answer.bytes)) {
    FUZZ_CHECK(devices->count <= control::kMaxDevices);
    for (std::size_t i = 0; i < devices->count; ++i) FUZZ_CHECK(control::from_record(devices->devices[i]));
  }
}

struct Message {
  std::vector<std::byte> datagram;
  std::size_t client = 0;
  UniqueFd fd;
};

UniqueFd sealed_memory(std::size_t bytes) { return control::make_shared_memory("fuzz", bytes); }

UniqueFd one_of_pair(int type) {
  int ends[2];
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) return UniqueFd();
  close(ends[1]);
  return UniqueFd(ends[0]);
}

UniqueFd one_of_pipe(int which) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return UniqueFd();
  close(ends[1 - which]);
  return UniqueFd(ends[which]);
}

/// An eventfd that cannot be written without waiting.
UniqueFd full_event() {
  UniqueFd fd(eventfd(0, EFD_CLOEXEC));
  eventfd_write(fd.get(), ~0ULL - 1);
  return fd;
}

UniqueFd descriptor(unsigned kind) {
  switch (kind % 16) {
    case 1:
      return UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC));
    case 2:
      return one_of_pipe(0);
    case 3:
      return one_of_pipe(1);
    case 4:
      return one_of_pair(SOCK_SEQPACKET);
    case 5:
      return UniqueFd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    case 6:
      return UniqueFd(eventfd(0, EFD_CLOEXEC));
    case 7:
      return full_event();
    case 8:
      return UniqueFd(memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    case 9:
      return sealed_memory(4096);
    case 10:
      return sealed_memory(control::kPageBytes);
    case 11:
      return UniqueFd(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    case 12:
      return UniqueFd(open("/", O_PATH | O_CLOEXEC));
    case 13:
      return UniqueFd(epoll_create1(EPOLL_CLOEXEC));
    default:
      return UniqueFd();
  }
}

Message next_letter(Bytes& input) {
  const auto length = std::to_integer<std::size_t>(input[0]);
  const auto type = std::to_integer<std::uint16_t>(input[1]);
  const auto way = std::to_integer<unsigned>(input[2]);
  input = input.subspan(3);
  const Bytes body = input.first(std::min(input.size(), length * 4));
  input = input.subspan(body.size());
  Message letter{{body.begin(), body.end()}, way & 3, descriptor(way >> 2)};
  if (length == 0xff) return letter;
  control::Header header;
  header.type = static_cast<control::MessageType>(type);
  header.size = static_cast<std::uint32_t>(sizeof header + body.size());
  header.serial = type;
  const Bytes front = control::bytes_of(header);
  letter.datagram.insert(letter.datagram.begin(), front.begin(), front.end());
  return letter;
}

/// The lowest number that is free: it rises when descriptors are left open.
int lowest_free() { return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)).get(); }

void converse(Bytes input) {
  CountingLanes lanes;
  daemon::Service service(lanes, daemon::DeviceList("fuzz"));
  service.look_at_network = network;
  daemon::Connection bystander;
  std::array<daemon::Connection, 4> clients;
  const daemon::Credentials own = bystander.credentials = daemon::Credentials::own();
  for (daemon::Connection& client : clients) client.credentials = own;
  const auto hello = control::make_message<control::Hello>();
  FUZZ_CHECK(!service.handle(bystander, control::bytes_of(hello), {}).drop);
  FUZZ_CHECK(
      !service.handle(bystander, control::bytes_of(control::make_message<control::TakeLane>()), {}).drop);
  while (input.size() >= 3) {
    Message letter = next_letter(input);
    daemon::Connection& client = clients[letter.client];
    const daemon::Answer answer = service.handle(client, letter.datagram, std::move(letter.fd));
    check_answer(answer, control::peek_header(letter.datagram));
    if (!answer.drop) continue;
    service.release(client, 1);
    client = daemon::Connection();
    client.credentials = own;
  }
  for (daemon::Connection& client : clients) service.release(client, 1);
  FUZZ_CHECK(lanes.used() == 1);  // the bystander's
  service.release(bystander, 1);
  FUZZ_CHECK(lanes.used() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int before = lowest_free();
  converse(Bytes(reinterpret_cast<const std::byte*>(data), size));
  FUZZ_CHECK(lowest_free() == before);
  return 0;
}
