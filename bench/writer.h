// What the bench programs that WRITE from one process to another have in common: their options, the verbs
// objects of one side, and connecting both. Plain verbs; every failure ends the program.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/interop/verify/channel.h"

namespace bench {

struct Options {
  std::size_t qps = 1;
  std::size_t size = 65536;
  std::size_t memory = 0;           ///< bytes of the region; 0: one message for each queue pair
  std::size_t count = 0;            ///< messages; 0: as many as the seconds allow
  std::optional<std::size_t> then;  ///< bytes of a second message behind each
  std::size_t offset = 0;           ///< bytes from the beginning of a page to that of the target's region
  bool shared = false;              ///< the region lies in a shared mapping of a memfd
  int gid_index = 1;
  std::uint16_t port = 18530;
  double seconds = 1;
  std::string host;  ///< empty: the target

  bool initiator() const { return !host.empty(); }
};

Options parse(int argc, char** argv);

struct Address {
  std::uint64_t address;
  std::uint32_t rkey;
  ibv_gid gid;
};

/// Memory for a region: pages of the process alone, or of a memfd that others may map.
class Memory {
 public:
  Memory(std::size_t size, std::size_t offset, bool shared);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::byte* data() const { return pages_ + offset_; }
  std::size_t size() const { return size_ - offset_; }

 private:
  std::byte* pages_;
  std::size_t size_, offset_;
  int fd_;  ///< -1: of no file
};

/// The device, one region, one CQ and the queue pairs of one side, which start() connects to those of the
/// other.
class Side {
 public:
  static constexpr unsigned kDepth = 128;  ///< as ib_write_bw

  explicit Side(const Options& options);
  ~Side();
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  /// Exchanges addresses and connects all queue pairs; returns the peer's region.
  Address start(interop::Channel& channel);
  /// Posts a signalled WRITE of `size` bytes at `offset` of both regions.
  void post(std::size_t qp_index, const Address& peer, std::size_t offset, std::size_t size);
  /// Takes completions, at most `room`; all must be good. Returns their number.
  std::size_t poll(ibv_wc* done, std::size_t room);

  std::byte* data() const { return memory_.data(); }

 private:
  void connect(ibv_qp* qp, std::uint32_t peer_qpn, const ibv_gid& peer);

  int gid_index_;
  Memory memory_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  std::vector<ibv_qp*> qps_;
};

}  // namespace bench
