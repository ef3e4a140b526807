// An address handle: a checked and resolved destination of datagrams.
#pragma once

#include <infiniband/verbs.h>

#include <memory>

#include "base/expected.h"
#include "base/reason.h"
#include "transport/ib/types.h"

namespace softrnic::rnic {

class Context;
class ProtectionDomain;

/// It is a struct ibv_ah, because work requests name it by a pointer to one; the layer above fills the base
/// in (context, pd, handle).
class AddressHandle : public ibv_ah {
 public:
  /// EINVAL: port, GID index, no GRH (RoCE needs one), destination GID.
  static Expected<std::unique_ptr<AddressHandle>, Failure> create(ProtectionDomain& domain,
                                                                  const ibv_ah_attr& attributes);
  void destroy();

  /// source_port is 0 unless there is a flow label: it then depends on the QPs.
  const ib::AddressVector& vector() const { return vector_; }

 private:
  explicit AddressHandle(ProtectionDomain& domain) : ibv_ah{}, domain_(domain) {}
  ProtectionDomain& domain_;
  ib::AddressVector vector_;
};

/// Checks `attributes` and resolves them. The same refusals as AddressHandle::create(), not explained yet.
Expected<ib::AddressVector, Failure> resolve_address(const Context& context, const ibv_ah_attr& attributes);

/// The UDP source port of packets from `local` to `remote`: of the flow label when there is one,
/// else one of 16 of the local lane (0xc000 | lane | 4 bits of hash), so that processes of a host do
/// not need the same ports.
std::uint16_t source_port(std::uint32_t flow_label, Qpn local, Qpn remote);

}  // namespace softrnic::rnic
