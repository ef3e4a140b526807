// A host for a connection manager in tests: keeps what was sent and told, and gives the
// random numbers it is given.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "cm/manager.h"
#include "cm/messages.h"
#include "mad/mad.h"

namespace softrnic::testing {

/// An event whose spans stay good.
struct CmEvent : cm::Event {
  explicit CmEvent(const cm::Event& event)
      : cm::Event(event), info_(copy(event.additional_info)), data_(copy(event.private_data)) {
    point();
  }
  CmEvent(const CmEvent& other) : cm::Event(other), info_(other.info_), data_(other.data_) { point(); }
  CmEvent& operator=(const CmEvent&) = delete;

 private:
  static std::vector<std::byte> copy(Bytes bytes) { return {bytes.begin(), bytes.end()}; }
  void point() {
    additional_info = info_;
    private_data = data_;
  }
  std::vector<std::byte> info_, data_;
};

class CmHost final : public cm::Host {
 public:
  struct Sent {
    mad::Address to;
    mad::Mad mad;
    cm::Message message() const { return static_cast<cm::Message>(load_be16(&mad[16])); }
  };

  void send(const mad::Address& to, Bytes mad) override {
    Sent entry{to, {}};
    std::copy(mad.begin(), mad.end(), entry.mad.begin());
    sent.push_back(entry);
    if (on_send) on_send(sent.back());
  }
  void event(const cm::Event& event) override {
    events.emplace_back(event);
    if (on_event) on_event(CmEvent(event));
  }
  std::uint32_t random_number() override {
    if (numbers.empty()) return next_number += 0x9e3779b9;
    const std::uint32_t number = numbers.front();
    numbers.pop_front();
    return number;
  }
  void explain(const Reason& reason, const mad::Address&) override { reasons.push_back(reason); }

  /// Forgets and returns what was sent.
  std::vector<Sent> take_sent() { return std::exchange(sent, {}); }
  std::vector<CmEvent> take_events() { return std::exchange(events, {}); }

  std::vector<Sent> sent;
  std::vector<CmEvent> events;
  std::vector<Reason> reasons;
  std::deque<std::uint32_t> numbers;  ///< given first
  std::uint32_t next_number = 0x1234567;
  std::function<void(const Sent&)> on_send;
  std::function<void(const CmEvent&)> on_event;
};

/// The address that the other end of `address` sees.
inline mad::Address turned_round(mad::Address address) {
  std::swap(address.local, address.remote);
  std::swap(address.local_lid, address.remote_lid);
  return address;
}

}  // namespace softrnic::testing
