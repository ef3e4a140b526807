// Events as the program gets them, and the waiting of synchronous ids.
#pragma once

#include <rdma/rdma_cma.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

#include "abi/rdmacm/id.h"
#include "control/cm_messages.h"

namespace softrnic::rdmacm {

/// enum rdma_cm_event_type, or one that the headers here do not have: no value to load as that enumeration.
inline std::uint32_t type_of(const rdma_cm_event& event) {
  std::uint32_t type = 0;
  static_assert(sizeof type == sizeof event.event);
  std::memcpy(&type, &event.event, sizeof type);
  return type;
}

/// Lives until it is acknowledged.
struct Event : rdma_cm_event {
  Event() : rdma_cm_event{} {}
  static Event* of(rdma_cm_event* event) { return static_cast<Event*>(event); }

  /// Also a type that the enumeration of the headers here has no room for.
  void set_type(std::uint32_t type) {
    static_assert(sizeof event == sizeof type);
    std::memcpy(&event, &type, sizeof event);
  }

  Id* credited = nullptr;  ///< whose destruction waits for the acknowledgement
  Membership* membership = nullptr;
  std::array<std::uint8_t, control::kCmPrivateData> private_data{};
  UniqueFd socket;  ///< of the stream that came with it, until handle() has seen to it
};

/// What the library does about an event before the program sees it: moves QPs, makes the id of a request, and
/// so on. May change type and status. False: the event is not for the program.
bool handle(Event& event, const control::CmEventReply& message);

/// The next event of the channel for the program; see Channel::next().
Expected<std::unique_ptr<Event>, Failure> next_event(Channel& channel);

void acknowledge(rdma_cm_event* event);

/// Acknowledges the event that a synchronous id shows.
void drop_event(Id& id);

/// Of a synchronous id: waits for the event that ends the operation under way, shows it as id.event and
/// returns its status (ECONNREFUSED when the peer rejected). Nothing for other ids.
Expected<void, Failure> complete(Id& id);

/// Makes a request whose outcome is an event, for which a synchronous id waits. Another id is not touched
/// after a request that was taken: its event may have come already, and another thread may have destroyed it.
template <typename Request>
Expected<void, Failure> start(Id& id, Request request) {
  const std::shared_ptr<Session> session = id.session;
  const bool synchronous = id.synchronous();
  auto started = session->heard(request(session->daemon));
  return started && synchronous ? complete(id) : started;
}

}  // namespace softrnic::rdmacm
