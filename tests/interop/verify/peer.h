// One side of the verifier: device, memory and a connected queue pair, through plain libibverbs.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <span>
#include <vector>

#include "tests/interop/verify/channel.h"
#include "tests/interop/verify/plan.h"

namespace interop {

inline constexpr std::size_t kGrhBytes = 40;  ///< before each datagram received

/// What a side tells the other. Trivially copyable: it travels as bytes.
struct Card {
  std::uint64_t memory;
  std::uint32_t rkey;
  std::uint32_t qpn;
  std::uint32_t psn;
  std::uint32_t qkey;
  ibv_gid gid;
};

/// Registered memory.
class Region {
 public:
  Region(ibv_pd* pd, std::size_t size, int access);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  std::span<std::byte> bytes(std::size_t offset, std::size_t size) { return {memory_.data() + offset, size}; }
  std::span<std::byte> all() { return memory_; }
  ibv_sge sge(std::size_t offset, std::size_t size) const;
  const ibv_mr* mr() const { return mr_; }

 private:
  std::vector<std::byte> memory_;
  ibv_mr* mr_;
};

/// An opened device.
class Device {
 public:
  explicit Device(int gid_index);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  ibv_context* context() const { return context_; }
  ibv_pd* pd() const { return pd_; }
  int gid_index() const { return gid_index_; }
  ibv_gid gid() const;
  std::uint32_t active_mtu() const;  ///< bytes

 private:
  ibv_context* context_;
  ibv_pd* pd_;
  int gid_index_;
};

/// The way to `gid` from the port's GID of this index.
ibv_ah_attr address_of(const ibv_gid& gid, int gid_index);

/// A queue pair in RTS, connected to the other side's (UD: with an address handle for it), and its memory.
class Peer {
 public:
  Peer(const Device& device, ibv_qp_type type, const Settings& settings, Channel& channel);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  Region& slots() { return slots_; }
  Region& receives() { return receives_; }
  const Card& remote() const { return remote_; }
  ibv_qp* qp() const { return qp_; }
  ibv_ah* address_handle() const { return ah_; }
  bool lossy() const { return type_ != IBV_QPT_RC; }
  bool datagrams() const { return type_ == IBV_QPT_UD; }

  /// Up to 16 completions, without waiting. A completion that is no success ends the program.
  std::span<const ibv_wc> poll();

 private:
  void to_init(const Settings& settings);
  void to_ready_to_receive(const Settings& settings);
  void to_ready_to_send(const Settings& settings);

  const Device& device_;
  ibv_qp_type type_;
  Region slots_;
  Region receives_;
  ibv_cq* cq_;
  ibv_qp* qp_;
  ibv_ah* ah_ = nullptr;
  Card local_{};
  Card remote_{};
  ibv_wc completions_[16];
};

/// Where receive number `index` (0 … kBatch − 1) stands in receives(), and how long it may be.
std::size_t receive_room(const Settings& settings);

}  // namespace interop
