// An adapter for the tests: a device with two GIDs on a fake lane, and shorthand for making objects.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "rnic/address_handle.h"
#include "rnic/completion_channel.h"
#include "rnic/limits.h"
#include "rnic/memory_region.h"
#include "rnic/protection_domain.h"
#include "rnic/qp_states.h"
#include "rnic/shared_receive_queue.h"
#include "tests/unit/rnic/fake_lane.h"

namespace softrnic::rnic::test {

inline constexpr std::size_t kPage = 4096;
inline constexpr ibv_qp_state kQpStates[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                             IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};

/// The explanations of the running test.
std::vector<Explanation>& explanations();

inline wire::Gid ipv4(std::uint8_t last) {
  return wire::Gid::from_ipv4_be(0x0000000a | (std::uint32_t{last} << 24));
}

std::shared_ptr<device::DeviceInfo> make_device();
ibv_ah_attr address_of(const wire::Gid& gid);

/// Attributes and mask of the usual way to a state.
struct Change {
  ibv_qp_attr attributes{};
  int mask = 0;
};
Change change_to(ibv_qp_state state, ibv_qp_type type, Qpn peer = Qpn(0x070011));

class RnicTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  std::unique_ptr<CompletionQueue> make_cq(int entries = 100, CompletionChannel* channel = nullptr);
  std::unique_ptr<SharedReceiveQueue> make_srq(std::uint32_t wrs = 16);
  QueuePairInit init(ibv_qp_type type);
  std::unique_ptr<QueuePair> make_qp(ibv_qp_type type);
  std::unique_ptr<QueuePair> make_qp(QueuePairInit wanted);
  /// Takes the QP from RESET to `state` by the usual way (SQE: by a failing send).
  void bring(QueuePair& qp, ibv_qp_state state, Qpn peer = Qpn(0x070011));
  ibv_qp_state state_of(QueuePair& qp);
  std::unique_ptr<MemoryRegion> make_mr(void* address, std::size_t length,
                                        int access = IBV_ACCESS_LOCAL_WRITE);
  std::vector<ibv_wc> poll(CompletionQueue& cq);
  /// The next asynchronous event, which must be there; acknowledged.
  AsyncEvent next_event();
  bool event_waits() { return fd_ready(context.events().fd()); }
  static bool fd_ready(int fd);
  /// The reason explained last, and that it was explained exactly once since the last call.
  ReasonId only_reason();

  FakeLanes lanes;
  Context context{make_device(), lanes};
  std::unique_ptr<ProtectionDomain> pd;
  std::unique_ptr<CompletionQueue> cq;
};

/// A work request with one SGE (none when there is no region).
ibv_send_wr send_wr(ibv_wr_opcode opcode, const MemoryRegion* mr, void* address, std::uint32_t length,
                    ibv_sge& sge);
ibv_recv_wr recv_wr(std::uint64_t id, const MemoryRegion* mr, void* address, std::uint32_t length,
                    ibv_sge& sge);

inline ibv_wc wc_of(std::uint64_t id, std::uint32_t qpn = 1, ibv_wc_status status = IBV_WC_SUCCESS) {
  ibv_wc wc{};
  wc.wr_id = id;
  wc.qp_num = qpn;
  wc.status = status;
  return wc;
}

/// The errno of a refusal, 0 when there was none.
template <typename T>
int error_of(const Expected<T, Failure>& result) {
  return result ? 0 : result.error().error;
}

}  // namespace softrnic::rnic::test
