// Sends every opcode over every transport in many sizes, in both directions, and checks every byte.
//
//   verify [options]              waits for the other side
//   verify [options] HOST         connects to it and decides what is done
// Options: --gid-index N  --port N  --mtu N  --messages N  --seed N  --max-size N  --ack-timeout N
//          --type rc|uc|ud|all
// Exit status 0 when nothing was wrong. UC and UD may lose messages; what arrives must be right.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "tests/interop/verify/options.h"
#include "tests/interop/verify/sides.h"

namespace interop {

void judge(Tally& tally, bool right, const Operation& o, const char* what, std::uint64_t bytes) {
  static constexpr const char* kNames[] = {"SEND", "SEND_WITH_IMM", "WRITE",     "WRITE_WITH_IMM",
                                           "READ", "COMPARE_SWAP",  "FETCH_ADD", "ATOMIC_WRITE"};
  if (right) {
    tally.bytes += bytes;
    return;
  }
  if (++tally.wrong <= 10) {
    std::fprintf(stderr, "wrong: %s %u of %u bytes in %u pieces%s: %s\n", kNames[static_cast<int>(o.kind)],
                 o.number, o.size, o.pieces, o.inlined ? ", inline" : "", what);
  }
}

namespace {

struct Options {
  Settings settings;
  int gid_index = 0;
  std::uint16_t port = 18600;
  char type[4] = "all";
  std::string host;
};

std::optional<Options> options_of(int argc, char** argv) {
  Options o;
  const auto set = [&o](std::string_view word, std::string_view value) {
    if (word == "--type") {
      if (value.size() > 3 || value.empty()) return false;
      o.type[value.copy(o.type, 3)] = '\0';
      return true;
    }
    return word == "--gid-index"     ? parse(value, o.gid_index)
           : word == "--port"        ? parse(value, o.port)
           : word == "--mtu"         ? parse(value, o.settings.mtu)
           : word == "--messages"    ? parse(value, o.settings.messages)
           : word == "--seed"        ? parse(value, o.settings.seed)
           : word == "--max-size"    ? parse(value, o.settings.max_size)
           : word == "--ack-timeout" ? parse(value, o.settings.ack_timeout)
                                     : false;
  };
  if (!read_options(argc, argv, o.host, set)) return std::nullopt;
  return o;
}

struct Transport {
  const char* name;
  ibv_qp_type type;
};
constexpr Transport kTransports[] = {{"rc", IBV_QPT_RC}, {"uc", IBV_QPT_UC}, {"ud", IBV_QPT_UD}};

Tally both_directions(const Device& device, const Transport& transport, Settings settings, bool first,
                      Channel& channel) {
  settings.lossy = transport.type != IBV_QPT_RC;
  settings.datagrams = transport.type == IBV_QPT_UD;
  Tally total;
  for (const bool initiator : {first, !first}) {
    Peer peer(device, transport.type, settings, channel);
    const Tally t = initiator ? initiate(peer, settings, channel) : be_target(peer, settings, channel);
    total = {total.messages + t.messages, total.bytes + t.bytes, total.wrong + t.wrong, total.lost + t.lost};
    channel.barrier();
  }
  return total;
}

/// What the client decides for both.
struct Agreement {
  Settings settings;
  char type[4];
  std::uint32_t active_mtu;
};

int run(Options options) {
  Channel channel = options.host.empty() ? Channel::accept_one(options.port)
                                         : Channel::connect_to(options.host, options.port);
  const Device device(options.gid_index);
  Agreement mine{options.settings, {}, device.active_mtu()};
  std::memcpy(mine.type, options.type, sizeof mine.type);
  const Agreement theirs = channel.exchange(mine);
  Agreement agreed = options.host.empty() ? theirs : mine;
  agreed.settings.mtu = std::min({agreed.settings.mtu, mine.active_mtu, theirs.active_mtu});
  Tally total;
  for (const Transport& transport : kTransports) {
    if (std::strcmp(agreed.type, "all") != 0 && std::strcmp(agreed.type, transport.name) != 0) continue;
    const Tally t = both_directions(device, transport, agreed.settings, !options.host.empty(), channel);
    std::printf("%s: %llu messages, %llu bytes verified, %llu wrong, %llu lost\n", transport.name,
                static_cast<unsigned long long>(t.messages), static_cast<unsigned long long>(t.bytes),
                static_cast<unsigned long long>(t.wrong), static_cast<unsigned long long>(t.lost));
    total = {total.messages + t.messages, total.bytes + t.bytes, total.wrong + t.wrong, total.lost + t.lost};
  }
  std::printf("all: MTU %u, %llu bytes verified, %llu wrong\n", agreed.settings.mtu,
              static_cast<unsigned long long>(total.bytes), static_cast<unsigned long long>(total.wrong));
  return total.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace interop

int main(int argc, char** argv) {
  const auto options = interop::options_of(argc, argv);
  if (!options) {
    std::fprintf(stderr, "see the head of verify.cc for the options\n");
    return 2;
  }
  return interop::run(*options);
}
