// A communication id: struct rdma_cm_id with what the library keeps behind it.
#pragma once

#include <rdma/rdma_cma.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "abi/rdmacm/address_info_request.h"
#include "abi/rdmacm/channel.h"
#include "abi/rdmacm/session.h"
#include "base/reason_words.h"
#include "control/cm_messages.h"

namespace softrnic::rdmacm {

/// Events that were handed to the program, and how many of them it has acknowledged. Thread-safe.
class EventAccount {
 public:
  void hand_out();
  void acknowledge();
  std::uint32_t handed_out();
  /// Until `events` are acknowledged; explains why it waits when that takes long.
  void wait(std::uint32_t events, ObjectKind object);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint32_t handed_out_ = 0;
  std::uint32_t acknowledged_ = 0;
};

/// Of an id in a multicast group.
struct Membership {
  Id* id = nullptr;
  void* context = nullptr;
  std::uint64_t cookie = 0;
  control::CmNumber number = 0;
  std::uint32_t flags = 0;  ///< enum rdma_cm_mc_join_flags
  sockaddr_storage address{};
  ibv_gid group{};
  std::uint16_t lid = 0;
  bool attached = false;
  EventAccount account;
};

struct Id : rdma_cm_id {
  /// Of `channel`; nullptr: synchronous, with a channel of its own. `number` 0: asks the daemon for an id.
  static Expected<std::unique_ptr<Id>, Failure> create(std::shared_ptr<Session> session,
                                                       rdma_event_channel* channel, void* context,
                                                       rdma_port_space ps, ibv_qp_type qp_type,
                                                       control::CmNumber number = 0);
  explicit Id(std::shared_ptr<Session> owner);
  ~Id();
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;

  static Id* of(rdma_cm_id* id) { return static_cast<Id*>(id); }

  bool synchronous() const { return own_channel != nullptr; }
  bool datagrams() const { return qp_type == IBV_QPT_UD; }
  std::uint32_t qpn() const { return qp == nullptr ? 0 : qp->qp_num; }

  /// Takes over what the daemon knows: addresses, the device (EINVAL, ENODEV), the path.
  Expected<void, Failure> adopt(const control::CmIdRecord& record);
  /// EINVAL when the id has no device yet.
  Expected<void, Failure> require_device() const;

  const std::shared_ptr<Session> session;
  const std::uint64_t cookie;
  control::CmNumber number = 0;
  std::unique_ptr<Channel> own_channel;
  std::shared_ptr<EventSource> events;  ///< of `channel`, which may be destroyed before the id
  Device* device = nullptr;
  ibv_sa_path_rec path{};
  EventAccount account;
  /// Shared with the thread that looks up a name, which may outlive the id.
  const std::shared_ptr<AddressInfoRequest> address_info;

  std::uint8_t initiator_depth = 0;
  std::uint8_t responder_resources = 0;
  control::CmEce local_ece, remote_ece;
  std::uint32_t stream_qpn = 0;  ///< of a QP that the library has not made: whose the stream is
  std::atomic<std::uint64_t> stream_token = 0;  ///< of the stream that its queue pair was given
  std::atomic<bool> disconnected = false;       ///< by rdma_disconnect, perhaps before there was a stream
  bool connect_failed = false;                  ///< events of its end are not for the program
  std::vector<std::uint8_t> connect_data;       ///< of rdma_getaddrinfo, goes before the private data
  std::optional<ibv_qp_init_attr> passive;      ///< rdma_create_ep: of the QPs of rdma_get_request

  std::mutex memberships_mutex;
  std::list<Membership> memberships;
};

/// Ends the id at the daemon, waits for acknowledgements and deletes it.
Expected<void, Failure> destroy(Id* id);

/// To `channel`, or (nullptr) to a channel of its own.
Expected<void, Failure> migrate(Id& id, rdma_event_channel* channel);

}  // namespace softrnic::rdmacm
