// Input: a conversation with softrnicd: datagrams of a length byte (times four) and a type byte, then their bytes. The
// header is put right, so that the bodies are reached; a length byte of 0xff sends the bytes as they are. Whatever
// comes, there is one answer that parses, a dropped client is one that sent nonsense, and in the end all is taken back.
#include <algorithm>
#include <set>
#include <vector>

#include "daemon/service.h"
#include "fuzz/check.h"

using namespace softrnic;

namespace {

class CountingLanes final : public daemon::Lanes {
 public:
  Expected<daemon::LaneGrant, Failure> take(int) override {
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

daemon::NetSnapshot network() {
  daemon::NetSnapshot snapshot;
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

std::vector<std::byte> next_datagram(Bytes& input) {
  const auto length = std::to_integer<std::size_t>(input[0]);
  const auto type = std::to_integer<std::uint16_t>(input[1]);
  input = input.subspan(2);
  const Bytes body = input.first(std::min(input.size(), length * 4));
  input = input.subspan(body.size());
  std::vector<std::byte> datagram(body.begin(), body.end());
  if (length == 0xff) return datagram;
  control::Header header;
  header.type = static_cast<control::MessageType>(type);
  header.size = static_cast<std::uint32_t>(sizeof header + body.size());
  header.serial = type;
  const Bytes front = control::bytes_of(header);
  datagram.insert(datagram.begin(), front.begin(), front.end());
  return datagram;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes input(reinterpret_cast<const std::byte*>(data), size);
  CountingLanes lanes;
  daemon::Service service(lanes, daemon::DeviceList("fuzz"));
  service.look_at_network = network;
  daemon::Connection bystander, client;
  const auto hello = control::make_message<control::Hello>();
  FUZZ_CHECK(!service.handle(bystander, control::bytes_of(hello), {}).drop);
  FUZZ_CHECK(
      !service.handle(bystander, control::bytes_of(control::make_message<control::TakeLane>()), {}).drop);
  while (input.size() >= 2) {
    const std::vector<std::byte> datagram = next_datagram(input);
    const daemon::Answer answer = service.handle(client, datagram, {});
    check_answer(answer, control::peek_header(datagram));
    if (!answer.drop) continue;
    service.release(client, 1);
    client = daemon::Connection();
    FUZZ_CHECK(lanes.used() == 1);  // the bystander's
  }
  service.release(client, 1);
  FUZZ_CHECK(lanes.used() == 1);
  service.release(bystander, 1);
  FUZZ_CHECK(lanes.used() == 0);
  return 0;
}
