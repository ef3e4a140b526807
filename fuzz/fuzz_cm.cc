// Input: records of a 256-byte datagram each, led by what the host does in between and whose datagram it is:
// the peer's, another host's, our own, or one with a forged sender, who never hears what goes there. A
// connection manager must survive any of it: send only well-formed datagrams, few to forged senders, tell
// nothing of destroyed ids, remember no more than its limits allow, and forget everything in the end.
#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "cm/manager.h"
#include "cm/messages.h"
#include "fuzz/check.h"

using namespace softrnic;

namespace {

constexpr cm::Limits kLimits{.half_open = 8,
                             .half_open_peer = 6,
                             .strangers = 3,
                             .strangers_a_second = 1,
                             .held = 3,
                             .held_peer = 2,
                             .asked = 3,
                             .asked_peer = 1,
                             .connections = 16};

const wire::Gid kOwn = wire::Gid::from_ipv4_be(0x0100000a);
const wire::Gid kForged = wire::Gid::from_ipv4_be(0x0400000a);
const std::array kSenders{wire::Gid::from_ipv4_be(0x0200000a), wire::Gid::from_ipv4_be(0x0300000a), kOwn,
                          kForged};

class Host final : public cm::Host {
 public:
  void send(const mad::Address& to, Bytes mad) override {
    const auto header = mad::parse_header(mad);
    FUZZ_CHECK(header.has_value());
    FUZZ_CHECK(header->management_class == mad::ManagementClass::communication);
    if (to.remote == kForged) ++sent_to_forged;
  }
  void event(const cm::Event& event) override {
    FUZZ_CHECK(!destroyed.contains(event.id.value));
    if (event.path.remote == kForged) of_forged.insert(event.id.value);
    FUZZ_CHECK(!cm::name_of(event.kind).empty());
    std::size_t sum = 0;  // every byte that was promised is there
    for (const std::byte byte : event.private_data) sum += std::to_integer<std::size_t>(byte);
    for (const std::byte byte : event.additional_info) sum += std::to_integer<std::size_t>(byte);
    FUZZ_CHECK(sum <= 255 * mad::kMadBytes);
    if (std::ranges::find(ids, event.id.value) == ids.end()) ids.push_back(event.id.value);
  }
  // IDs are small, so that inputs can name them.
  std::uint32_t random_number() override { return ++number; }
  void explain(const Reason& reason, const mad::Address&) override { FUZZ_CHECK(!describe(reason).empty()); }

  std::uint32_t number = 0;
  std::vector<std::uint32_t> ids;
  std::set<std::uint32_t> destroyed;
  std::set<std::uint32_t> of_forged;  ///< requests
  std::size_t sent_to_forged = 0;
};

class Driver {
 public:
  Driver() {
    (void)manager_.listen(cm::ServiceId(0x1061c06));
    (void)manager_.listen(cm::ServiceId(0x1110000), ~std::uint64_t{0xffff});
    from_.local = kOwn;
  }

  void record(Bytes bytes) {
    const auto what = std::to_integer<unsigned>(bytes[0]);
    act(what % kActs, std::to_integer<unsigned>(bytes[1]));
    const Bytes mad = bytes.subspan(2);
    from_.remote = kSenders[what / kActs % kSenders.size()];
    if (from_.remote == kForged) {
      receive_forged(mad);
    } else {
      manager_.receive(from_, mad, now_);
    }
    if (mad.size() == mad::kMadBytes) recode(mad);
    FUZZ_CHECK(manager_.size() <= kLimits.connections);
    FUZZ_CHECK(host_.sent_to_forged <= 3 * forged_);  // RFC 9000 8.1
  }

  void finish() {
    for (const std::uint32_t id : host_.ids) destroy(id);
    for (int steps = 0; manager_.deadline() != kNever; ++steps) {
      FUZZ_CHECK(steps < 2000);
      manager_.advance(now_ = manager_.deadline());
    }
    FUZZ_CHECK(manager_.size() == 0);
  }

 private:
  // Who does not hear what goes to the address that he gives has to guess our IDs.
  void receive_forged(Bytes mad) {
    constexpr std::uint32_t kNobodys = 0x7fffffff;
    std::vector<std::byte> copy(mad.begin(), mad.end());
    if (copy.size() >= mad::kHeaderBytes + 8) {
      const auto message = static_cast<cm::Message>(load_be16(&copy[16]));
      const bool sidr = message == cm::Message::sidr_rep;
      if (message != cm::Message::req && message != cm::Message::sidr_req)
        store_be32(&copy[mad::kHeaderBytes + (sidr ? 0 : 4)], kNobodys);
    }
    ++forged_;
    manager_.receive(from_, copy, now_);
  }

  // The table of fields loses no bit, whatever stands in the datagram.
  static void recode(Bytes mad) {
    const cm::Format* const format = cm::find_format(load_be16(&mad[16]));
    if (format == nullptr) return;
    mad::Mad again{};
    std::copy(mad.begin(), mad.begin() + mad::kHeaderBytes, again.begin());
    format->recode(mad, again);
    FUZZ_CHECK(std::ranges::equal(mad, again));
    (void)cm::print(mad);
  }

  void destroy(std::uint32_t id) {
    host_.destroyed.insert(id);
    manager_.destroy(cm::Id(id), now_);
  }

  void act(unsigned what, unsigned which) {
    const cm::Id id(host_.ids.empty() ? 1 : host_.ids[which % host_.ids.size()]);
    switch (what) {
      case 0:
        return connect(which);
      case 1:
        return resolve();
      case 2:
        return (void)manager_.reply(id, {}, now_);
      case 3:
        return (void)manager_.confirm(id, {}, now_);
      case 4:
        return (void)manager_.reject(id, {}, now_);
      case 5:
        return (void)manager_.delay(id, which % 32, {}, now_);
      case 6:
        return (void)manager_.disconnect(id, {}, now_);
      case 7:
        return (void)manager_.disconnect_reply(id, {}, now_);
      case 8:
        (void)manager_.answer(id, {}, now_);
        // the first packet of a queue pair that a forged REQ names never comes
        if (!host_.of_forged.contains(id.value)) (void)manager_.established(id, now_);
        return;
      case 9:
        return destroy(id.value);
      case 10:
        now_ = std::max(now_, manager_.deadline() == kNever ? now_ : manager_.deadline());
        return manager_.advance(now_);
      default:
        return;  // only the datagram
    }
  }

  void connect(unsigned which) {
    cm::Request request;
    request.endpoint.qpn = Qpn(which);
    if (const auto id = manager_.connect(request, now_)) host_.ids.push_back(id->value);
  }
  void resolve() {
    if (const auto id = manager_.request_service_id({}, now_)) host_.ids.push_back(id->value);
  }

  static constexpr unsigned kActs = 12;

  Host host_;
  std::size_t forged_ = 0;  ///< datagrams
  cm::Manager manager_{host_, 0xb, kLimits};
  mad::Address from_;
  TimePoint now_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kRecord = 2 + mad::kMadBytes;
  Bytes rest(reinterpret_cast<const std::byte*>(data), size);
  Driver driver;
  while (rest.size() >= 2) {
    const std::size_t length = std::min(rest.size(), kRecord);
    driver.record(rest.first(length));
    rest = rest.subspan(length);
  }
  driver.finish();
  return 0;
}
