// One communication ID: what both sides said, where it stands, and the message that a
// duplicate is answered with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/strong.h"
#include "base/time.h"
#include "cm/messages.h"
#include "cm/state.h"
#include "cm/types.h"
#include "mad/address.h"
#include "mad/mad.h"

namespace softrnic::cm {

/// Where the peer names a queue pair or an ID of its own, its address and its CA GUID say whose. The GUID
/// alone would not do: anybody can write another's.
struct RemoteKey {
  wire::Gid gid;
  std::uint64_t ca_guid = 0;
  std::uint32_t number = 0;
  auto operator<=>(const RemoteKey&) const = default;
};

/// SIDR has no CA GUID; the address stands for the peer.
struct SidrKey {
  wire::Gid gid;
  std::uint32_t request_id = 0;
  auto operator<=>(const SidrKey&) const = default;
};

/// What a stranger makes this side remember, and what is therefore bounded.
enum class Burden : std::uint8_t {
  none,
  half_open,  ///< waits for the host, or for the peer's confirmation; the peer has proved nothing
  held,       ///< is kept from the host, and its sender has not been asked for a sign of life yet
  asked,      ///< the same, and it has been asked
  refused,    ///< waits for repetitions of a request that this side refused
};
inline constexpr std::size_t kBurdens = 5;

struct Connection {
  Id id;
  State state = State::idle;
  bool active = false;  ///< this side sent the REQ or SIDR_REQ
  bool sidr = false;
  bool hidden = false;   ///< the host destroyed it, or has not heard of it: no events
  bool refused = false;  ///< by this side
  /// The peer has named this side's ID, which it can know from our messages alone: it receives what goes to
  /// its address.
  bool proven = false;
  Service service = Service::rc;
  ServiceId service_id;
  mad::Address peer;
  std::uint32_t remote_id = 0;  ///< 0: not known yet
  std::uint64_t remote_ca_guid = 0;
  Qpn remote_qpn;
  Qpn local_qpn;
  std::uint64_t transaction = 0;

  mad::Mad sent{};          ///< the last message
  std::uint32_t sends = 0;  ///< how often it was sent
  /// Passive: datagrams of the peer and to it, counted until it is proven, see Transmission.
  std::uint32_t datagrams_in = 0, datagrams_out = 0;
  std::unique_ptr<mad::Mad> held;  ///< the REQ, while it is kept from the host (HeldRequests)
  bool asked = false;              ///< its sender was asked for a sign of life
  std::uint8_t max_retries = 0;
  TimePoint first_sent{};
  Duration interval{};       ///< between repetitions, while `due` is set in a state that repeats
  Duration answer_within{};  ///< what the peer may take to answer
  Duration peer_interval{};  ///< passive: between repetitions of the peer's REQ
  Duration life_time{};      ///< a packet's, on the path
  Duration ack_delay{};      ///< the responder's, see Endpoint
  TimePoint due = kNever;    ///< the table's, see ConnectionTable::set_due()

  bool in_requests = false;  ///< the table's: which indices it is in
  bool in_queue_pairs = false;
  bool in_sidr = false;
  Burden burden = Burden::none;
  std::uint64_t burden_order = 0;  ///< later ones have higher numbers

  /// Milliseconds since the message that is repeated was first sent.
  std::int64_t waited_ms(TimePoint now) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - first_sent).count();
  }
  Message last_message() const { return static_cast<Message>(load_be16(&sent[16])); }
};

}  // namespace softrnic::cm
