// Two sides on plain libibverbs that make every mistake on purpose, and what the user has to be told about
// each.
//
// A case provokes its mistake and prints, for every answer that is due, one line "EXPECT {…}" with
// the object and the words. reasons.py compares these lines with what SOFTRNIC_EXPLAIN printed and
// with `softrnic explain`.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

namespace reasons {

inline constexpr std::uint64_t kSendId = 7;
inline constexpr std::uint64_t kReceiveId = 9;
inline constexpr std::uint32_t kPsn = 100;
inline constexpr std::uint32_t kQkey = 0x1234;
inline constexpr int kAllAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
inline constexpr std::size_t kBytes = 8192;

/// What the user has to be told. `qpn` 0: about no QP of ours.
void expect(std::uint32_t qpn, const std::string& words);
void expect(std::uint32_t qpn, std::uint64_t wr_id, const std::string& words);
/// The case cannot go on: says why and ends the program.
[[noreturn]] void give_up(const char* what);
/// Ends the program when a verb does not answer as it has to.
void must(bool good, const char* what);
std::string hex(std::uint64_t value);
std::string number(std::uint64_t value);

/// How one side sets up its QP. Mistakes are made by changing a field.
struct Setup {
  ibv_mtu mtu = IBV_MTU_1024;
  std::uint32_t dest_qpn = 0;  ///< 0: that of the other side
  std::uint32_t rq_psn = kPsn;
  std::uint32_t sq_psn = kPsn;
  std::uint32_t qkey = kQkey;
  int access = kAllAccess;
  std::uint8_t max_rd_atomic = 4;
  std::uint8_t max_dest_rd_atomic = 4;
  std::uint8_t timeout = 8;  ///< 1 ms
  std::uint8_t retries = 1;
  std::uint8_t rnr_retries = 1;
  const char* peer_address = nullptr;  ///< instead of the own address: IPv4
};

/// An opened device with one of everything.
struct Side {
  explicit Side(ibv_qp_type type, bool with_channel = false, int entries = 64);
  ~Side();
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  int to_init(const Setup& setup = {}) const;
  int to_rtr(std::uint32_t peer, const Setup& setup = {}) const;
  int to_rts(const Setup& setup = {}) const;
  ibv_ah_attr address(const Setup& setup = {}) const;
  ibv_mr* other_mr(ibv_pd* domain, int access, std::size_t bytes = kBytes);

  int receive(std::uint64_t wr_id, std::uint32_t bytes) const;
  int receive(ibv_sge sge) const;
  /// SEND or whatever `request` says, signaled, from the start of the memory.
  int send(std::uint32_t bytes, ibv_send_wr request = {}) const;
  int send_from(ibv_sge sge, ibv_send_wr request = {}) const;
  /// The next completion, which has to come; whoever waits drives the adapter.
  ibv_wc completion() const;
  /// Drives the adapter for a moment, for what brings no completion: longer than a lane keeps a packet of UC
  /// or UD that waits for its receive.
  void settle() const;

  std::uint32_t qpn() const { return qp->qp_num; }
  ibv_sge sge(std::uint32_t bytes) const;

  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_qp* qp = nullptr;
  ibv_mr* mr = nullptr;
  ibv_gid gid{};  ///< the first that is an IPv4 address
  std::uint8_t gid_index = 0;
  alignas(4096) std::array<char, kBytes> memory{};
};

/// Two sides, connected.
struct Scene {
  explicit Scene(ibv_qp_type type, const Setup& of_a = {}, const Setup& of_b = {});
  Side a;
  Side b;
};

ibv_send_wr write_to(std::uint64_t address, std::uint32_t rkey);
ibv_send_wr with_opcode(ibv_wr_opcode opcode);

struct Case {
  const char* name;
  void (*run)();
  const char* environment = "";  ///< one more VARIABLE=VALUE
};

// NULL-terminated tables of the files
extern const Case kConnectionCases[];
extern const Case kMemoryCases[];
extern const Case kQueueCases[];
extern const Case kVerbCases[];

}  // namespace reasons
