// What all queue pair types have in common: the state, the attributes, and the checks a packet must pass
// before anybody looks at its sequence number (IBTA 9.6.1).
#pragma once

#include "transport/ib/endpoint.h"
#include "transport/ib/path_migration.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::ib {

/// The states of IBTA 10.3.1 as far as a transport tells them apart. RESET and INIT are both `idle`.
enum class Mode : std::uint8_t { idle, receiving, sending, draining, send_error, error };

class EndpointBase : public Endpoint {
 public:
  void update(const Attributes& attributes) override;
  void migrate() override;
  bool in_error() const override { return mode_ == Mode::error || mode_ == Mode::send_error; }

 protected:
  EndpointBase(Qpn local, Host& host, wire::Service service) : host_(host), service_(service) {
    attributes_.local = local;
  }

  /// About to have another path and window: nothing is in flight any more.
  virtual void leave_path() {}
  /// Has them.
  virtual void enter_path() {}

  /// What admit() would say, without a trace.
  bool is_for_us(const RxPacket& packet) const;
  /// Whether the packet is for this QP in its present state; otherwise it has been counted and explained.
  bool admit(const RxPacket& packet);
  /// The same for an eager send, without a trace if it is not.
  bool admits(const EagerSend& eager, const wire::Gid& source) const;
  void set_mode(Mode mode);
  bool may_send() const { return mode_ == Mode::sending || mode_ == Mode::draining; }
  /// Counts a packet on its way out.
  Transmit out(const TxPacket& packet);
  /// Counts and explains a packet that is dropped; false.
  bool refuse(Counter counter, const Reason& reason);

  Host& host_;
  Attributes attributes_;
  PathMigration migration_{attributes_};
  Mode mode_ = Mode::idle;

 private:
  bool admit_state(const RxPacket& packet);
  bool admit_pkey(std::uint16_t pkey);
  bool admit_from_elsewhere(const RxPacket& packet);
  void look_closely(const RxPacket& packet);
  void act_on(PathNews news, const RxPacket& packet);
  void settle();

  wire::Service service_;
  bool told_not_ready_ = false;
  bool established_ = false;
  bool settled_ = false;  ///< packets of its path have no other news than what they carry
};

}  // namespace softrnic::ib
