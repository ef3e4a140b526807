// What a datagram rsocket has of verbs at one of its local addresses: a UD queue pair with its completion
// queue, and registered buffers.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rsocket/datagram_messages.h"
#include "rsocket/endpoint.h"
#include "rsocket/gather.h"

namespace softrnic::rsocket {

using AddressHandlePtr = std::unique_ptr<ibv_ah, DestroyWith<ibv_destroy_ah>>;

/// As many requests as the buffers hold, and buffers of that size: a datagram takes kDatagramRoom of them.
Sizes datagram_sizes(Sizes wanted, int most_requests);

class DatagramEndpoint {
 public:
  /// `local`: with the port of the UDP socket, of `family`. ENODEV: no device has that address; else as the
  /// verbs.
  static Result<std::unique_ptr<DatagramEndpoint>> make(const InetAddress& local, int family,
                                                        const Sizes& wanted);
  ~DatagramEndpoint();
  DatagramEndpoint(const DatagramEndpoint&) = delete;
  DatagramEndpoint& operator=(const DatagramEndpoint&) = delete;

  const InetAddress& local() const { return local_; }
  std::uint32_t qpn() const { return id_->qp->qp_num; }
  const Sizes& sizes() const { return sizes_; }
  std::size_t header_size() const { return header_.size(); }

  /// How to reach the peer of `path`. As ibv_create_ah(3).
  Result<AddressHandlePtr> address_handle(const ibv_sa_path_rec& path) const;

  // ---- sending
  bool can_send() const { return !free_.empty(); }
  bool all_sent() const { return free_.size() == sizes_.send_queue; }
  /// What `from` holds, behind our header: at most kDatagramRoom with it. Only when can_send().
  Result<void> send(ibv_ah* to, std::uint32_t qpn, Gather& from);

  // ---- receiving
  /// A datagram that has come: it stays in the slot until the slot is given back.
  struct Arrival {
    std::uint32_t slot = 0;
    std::uint32_t size = 0;  ///< of the packet's payload
    InetAddress sender;
    Bytes payload;
    bool good = false;  ///< it has a header, and comes from where that says
  };
  /// Takes all completions. Those of receives are added to `arrivals`. False: there was none.
  bool take_completions(std::vector<Arrival>& arrivals);
  void give_back(std::uint32_t slot);

  // ---- for sleepers
  ArmedQueue& completions() { return queue_; }
  const ArmedQueue& completions() const { return queue_; }

 private:
  DatagramEndpoint(const InetAddress& local, int family)
      : local_(local), header_(datagram_header(local, family)) {}
  Result<void> bind();
  Result<void> make_queues(const Sizes& wanted);
  Result<void> make_memory();
  Arrival arrival(const ibv_wc& completion) const;
  void take(const ibv_wc& completion, std::vector<Arrival>& arrivals);

  const InetAddress local_;
  const HeaderBytes header_;
  Sizes sizes_;
  IdPtr id_;
  ArmedQueue queue_;
  bool queue_pair_made_ = false;
  Pages send_, receive_;
  std::vector<std::uint16_t> free_;  ///< slots for sending
};

}  // namespace softrnic::rsocket
