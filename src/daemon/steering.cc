#include "daemon/steering.h"

#include <linux/filter.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/strong.h"
#include "wire/fields.h"

namespace softrnic::daemon {
namespace {

using Code = std::vector<sock_filter>;

constexpr std::uint32_t kLaneOffset = wire::field::Bth::Destination::kOffset;  // the QPN's top byte
constexpr std::uint32_t kNumberOffset = 16;                                    // of a probe
constexpr std::uint32_t kLastOffset = Probe::kLength - 1;
constexpr std::uint32_t kWhole = 0xffffffff;  // the packet is taken, all of it
constexpr std::uint32_t kUdpHeader = 8;       // a socket's filter sees it, that of a group does not

void add(Code& code, unsigned operation, std::uint32_t operand) {
  code.push_back(BPF_STMT(static_cast<std::uint16_t>(operation), operand));
}

/// Goes on when the accumulator is `value`, else leaves out the next `otherwise` instructions.
void add_if(Code& code, std::uint32_t value, unsigned otherwise) {
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, static_cast<std::uint8_t>(otherwise)));
}

/// What follows, `length` instructions, is for probes of that number alone.
void add_if_probe(Code& code, std::uint64_t number, std::uint32_t before, unsigned length) {
  add(code, BPF_LD | BPF_W | BPF_LEN, 0);
  add_if(code, Probe::kLength + before, length + 4);
  add(code, BPF_LD | BPF_W | BPF_ABS, kNumberOffset + before);
  add_if(code, static_cast<std::uint32_t>(number >> 32), length + 2);
  add(code, BPF_LD | BPF_W | BPF_ABS, kNumberOffset + 4 + before);
  add_if(code, static_cast<std::uint32_t>(number), length);
}

int attach(int fd, int option, Code& code) {
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  return setsockopt(fd, SOL_SOCKET, option, &program, sizeof program) == 0 ? 0 : errno;
}

}  // namespace

int attach_steering(int fd, const Places& places, const std::optional<Probe>& probe) {
  Code code;
  if (probe) {
    add_if_probe(code, probe->number, 0, 4);
    add(code, BPF_LD | BPF_B | BPF_ABS, kLastOffset);
    add_if(code, kMarker, 1);
    add(code, BPF_RET | BPF_K, probe->marker_place);
    add(code, BPF_RET | BPF_K, probe->place);
  }
  add(code, BPF_LD | BPF_B | BPF_ABS, kLaneOffset);  // a packet that is too short goes to the first socket
  for (std::uint32_t lane = 0; lane < places.size(); ++lane) {
    if (places[lane] == lane) continue;  // as long as no daemon has died together with its keeper
    add_if(code, lane, 1);
    add(code, BPF_RET | BPF_K, places[lane] == kNoPlace ? places[0] : places[lane]);
  }
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, static_cast<std::uint32_t>(places.size()), 1, 0));
  add(code, BPF_RET | BPF_A, 0);
  add(code, BPF_RET | BPF_K, places[0]);
  return attach(fd, SO_ATTACH_REUSEPORT_CBPF, code);
}

int confine_to_lane(int fd, std::uint32_t lane) {
  Code code;
  add(code, BPF_LD | BPF_B | BPF_ABS, kUdpHeader + kLaneOffset);  // what is too short is dropped
  add_if(code, lane, 1);
  add(code, BPF_RET | BPF_K, kWhole);
  add_if(code, Qpn::kMulticast >> 16, 1);
  add(code, BPF_RET | BPF_K, kWhole);
  add(code, BPF_RET | BPF_K, 0);
  if (const int error = attach(fd, SO_ATTACH_FILTER, code)) return error;
  const int on = 1;
  return setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof on) == 0 ? 0 : errno;
}

int drop_probes(int fd, std::uint64_t number) {
  Code code;
  add_if_probe(code, number, kUdpHeader, 1);
  add(code, BPF_RET | BPF_K, 0);
  add(code, BPF_RET | BPF_K, kWhole);
  return attach(fd, SO_ATTACH_FILTER, code);
}

void stop_dropping(int fd) {
  const int unused = 0;
  setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused);
}

}  // namespace softrnic::daemon
