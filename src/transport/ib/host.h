// What an endpoint asks of the adapter it lives in. The transport calls it; rnic and the simulator implement
// it.
//
// Calls come from inside receive(), transmit(), expire() and flush(), under whatever lock guards the
// endpoint. An implementation must not call back into the same endpoint.
#pragma once

#include "base/expected.h"
#include "transport/ib/types.h"

namespace softrnic::ib {

class PathWindow;

class Host {
 public:
  /// Memory of the endpoint's own SGEs. `access` is 0 to read or kLocalWrite to write.
  /// The pointer is good until the call into the endpoint returns.
  virtual Expected<std::byte*, Reason> local_memory(MemoryKey lkey, std::uint64_t address,
                                                    std::uint64_t length, std::uint32_t access) = 0;
  /// Memory a peer named by rkey; checks PD, range and region access. `access` is one of the remote Access
  /// bits.
  virtual Expected<std::byte*, Reason> remote_memory(MemoryKey rkey, std::uint64_t address,
                                                     std::uint64_t length, std::uint32_t access) = 0;
  /// SEND_WITH_INV: takes the key out of use; fails when the QP may not invalidate it.
  virtual Expected<void, Reason> invalidate(MemoryKey rkey) = 0;

  /// Takes the next receive off the RQ or SRQ; nullptr when none is posted. It belongs to the endpoint until
  /// the matching complete(RecvDone).
  virtual const RecvWqe* take_receive() = 0;

  /// The window of a datagram's path; nullptr: that of Endpoint::set_window(), which serves all destinations.
  virtual PathWindow* window_to(const AddressVector& path, Qpn remote) {
    static_cast<void>(path);
    static_cast<void>(remote);
    return nullptr;
  }

  virtual void complete(const SendDone& done) = 0;
  virtual void complete(const RecvDone& done) = 0;

  /// fatal, request_error and access_error: the endpoint has put itself into the error state already.
  virtual void event(QpEvent event) = 0;
  /// `wr_id`: of the work request it is about, or nullptr. Figure 0 of drop_qp_not_ready is left to the host.
  virtual void explain(const Reason& reason, const std::uint64_t* wr_id) = 0;
  virtual void count(Counter counter, std::uint64_t by = 1) = 0;

 protected:
  ~Host() = default;
};

}  // namespace softrnic::ib
