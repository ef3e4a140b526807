// Whatever the far end of a cable to another fabric says: each message makes sense or none, and the engine
// behind it keeps its buffers.
#include <cstdint>
#include <optional>

#include "fabric/engine.h"
#include "fabric/remote_link.h"
#include "fabricd/fabric_cable_messages.h"
#include "fuzz/check.h"

namespace {

using namespace softrnic;

/// Of a peer that says it again and again.
constexpr int kRepeats = 64;

/// A switch with a host that takes nothing, and a cable to elsewhere at port 2.
class Cable : fabric::RemoteSink, fabric::HostSink {
 public:
  Cable() {
    const fabric::NodeId node = *engine_.add_switch(2, {});
    const fabric::PortId host = engine_.port(*engine_.add_adapter(1, {}), 1)->id;
    const fabric::PortId out = engine_.port(node, 1)->id;
    FUZZ_CHECK(engine_.connect(host, out, {}, Duration(0)));
    near_ = engine_.port(node, 2)->id;
    remote_ = engine_.connect_remote(near_, {}, Duration(0))->remote;
    engine_.forwarding(node)->set_linear(wire::Lid(1), 1);
    for (const fabric::PortId port : {host, out}) activate(port);
    link_.emplace(engine_, remote_);
    link_->connect([](const fabric::RemoteLinkStatus&) {});
  }

  void take(const fabricd::CableMessage& message) {
    if (const auto* packet = std::get_if<fabricd::CablePacket>(&message)) {
      for (int i = 0; i < kRepeats; ++i) engine_.hear(remote_, packet->bytes, packet->damaged);
    } else if (const auto* flow_control = std::get_if<wire::FlowControlPacket>(&message)) {
      engine_.hear(remote_, *flow_control);
    } else if (const auto* link = std::get_if<fabricd::CableLink>(&message)) {
      link_->hear(link->status);
      activate(near_);
    } else if (const auto* addresses = std::get_if<fabricd::CableAddresses>(&message)) {
      FUZZ_CHECK(addresses->list.size() <= fabricd::kMostCableMessage / 12);
    }
    engine_.advance(engine_.now() + Duration(1000), 100);
    for (const fabric::InputBuffer& buffer : engine_.port(near_)->in) FUZZ_CHECK(buffer.used <= buffer.size);
  }

 private:
  void activate(fabric::PortId port) {
    engine_.set_state(port, fabric::PortState::armed);
    engine_.set_state(port, fabric::PortState::active);
  }
  bool on_packet(fabric::PortId, const fabric::Packet&) override { return false; }
  void on_room(fabric::PortId) override {}
  void carry(fabric::PortId, const fabric::Packet&) override {}
  void carry(fabric::PortId, const wire::FlowControlPacket&) override {}
  void on_link(fabric::PortId) override {
    if (link_) link_->changed();
  }

  fabric::Engine engine_{
      {}, {.management = nullptr, .hosts = this, .tap = nullptr, .dice = nullptr, .remotes = this}};
  fabric::PortId near_, remote_;
  std::optional<fabric::RemoteLink> link_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes left(reinterpret_cast<const std::byte*>(data), size);
  Cable cable;
  while (left.size() >= fabricd::kCableHeaderBytes) {
    const std::size_t length = load_be16(left.data());
    if (length < fabricd::kCableHeaderBytes || length > left.size()) break;
    if (const auto message = fabricd::parse_cable_message(left.first(length))) cable.take(*message);
    left = left.subspan(length);
  }
  return 0;
}
