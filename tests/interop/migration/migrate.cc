// One RC queue pair with an alternate path, and rounds of traffic until it has migrated as often as was
// asked.
//
//   migrate [options]            waits for the other side
//   migrate [options] HOST       connects to it and begins the rounds
// Options: --gid-index N  --alternate-gid-index N  --migrations N  --ack-timeout N  --port N
//
// A round: the client WRITEs slots and SENDs a word; the server looks at every byte of them, fills slots of
// its own and SENDs a word back; the client READs those and looks at every byte. Says "armed" and "migrated"
// as either comes about. Exit status 0: every byte was right, and IBV_EVENT_PATH_MIG came so often on this
// side, too.
#include <fcntl.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "tests/interop/verify/channel.h"
#include "tests/interop/verify/options.h"
#include "tests/interop/verify/peer.h"
#include "tests/interop/verify/plan.h"

namespace interop {
namespace {

constexpr std::size_t kSlot = 65536;  // bytes
constexpr std::size_t kSlots = 8;     // of a round, in each direction
constexpr std::size_t kWord = 8;
constexpr std::size_t kBack = kSlots * kSlot;  // where the slots begin that the client READs
constexpr std::size_t kWordOut = 2 * kBack, kWordIn = kWordOut + kWord, kMemory = kWordIn + kWord;
constexpr std::uint64_t kLast = UINT64_MAX;  // the word that ends the rounds

struct Options {
  int gid_index = 0;
  int alternate_gid_index = 0;
  unsigned migrations = 1;
  std::uint8_t ack_timeout =
      16;  // as in ibv_qp_attr: 4.096 µs · 2^n; seven times that, a busy host is not silent
  std::uint16_t port = 18600;
  std::string host;
};

/// What a side tells the other.
struct Ends {
  Card card;
  ibv_gid alternate;
};

/// The queue pair's paths as the program sees them: what was loaded, and what became of it.
class Paths {
 public:
  Paths(ibv_context* context, ibv_qp* qp) : context_(context), qp_(qp) {
    const int flags = fcntl(context->async_fd, F_GETFL);
    require(fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK) == 0, "fcntl of the events' descriptor");
  }

  void load(const ibv_ah_attr& alternate, std::uint8_t timeout) {
    ibv_qp_attr attr{};
    attr.alt_ah_attr = alternate;
    attr.alt_port_num = 1;
    attr.alt_timeout = timeout;
    attr.path_mig_state = IBV_MIG_REARM;
    require(ibv_modify_qp(qp_, &attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE) == 0,
            "load the alternate path");
  }

  unsigned migrations() const { return migrations_; }
  bool armed() const { return armed_; }

  /// Between two rounds, when both sides use one path: a peer that has not followed yet would take what comes
  /// from a side that is in REARM for a stranger's.
  void settle() {
    if (must_rearm_) {
      ibv_qp_attr attr{};
      attr.path_mig_state = IBV_MIG_REARM;
      require(ibv_modify_qp(qp_, &attr, IBV_QP_PATH_MIG_STATE) == 0, "IBV_MIG_REARM");
      must_rearm_ = false;
    } else if (!armed_ && now().path_mig_state == IBV_MIG_ARMED) {
      armed_ = true;
      say("armed");
    }
  }

  /// Takes what events there are.
  void look() {
    ibv_async_event event;
    while (ibv_get_async_event(context_, &event) == 0) {
      if (event.event_type == IBV_EVENT_PATH_MIG) migrated();
      require(event.event_type != IBV_EVENT_PATH_MIG_ERR, "IBV_EVENT_PATH_MIG_ERR");
      ibv_ack_async_event(&event);
    }
  }

 private:
  void migrated() {
    const ibv_qp_attr attr = now();
    require(attr.path_mig_state == IBV_MIG_MIGRATED,
            "an event of migration, and the queue pair has not migrated");
    ++migrations_;
    must_rearm_ = true;
    armed_ = false;
    say("migrated");
  }

  ibv_qp_attr now() const {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    require(ibv_query_qp(qp_, &attr, IBV_QP_AV | IBV_QP_PATH_MIG_STATE, &init) == 0, "ibv_query_qp");
    return attr;
  }

  void say(const char* what) const {
    std::printf("%s: GID index %u\n", what, static_cast<unsigned>(now().ah_attr.grh.sgid_index));
    std::fflush(stdout);
  }

  ibv_context* context_;
  ibv_qp* qp_;
  unsigned migrations_ = 0;
  bool must_rearm_ = false;
  bool armed_ = false;
};

class Side {
 public:
  Side(const Options& options, Channel& channel)
      : device_(options.gid_index),
        memory_(device_.pd(), kMemory,
                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE),
        cq_(ibv_create_cq(device_.context(), 4 * kSlots, nullptr, nullptr, 0)),
        qp_(make_qp()),
        paths_(device_.context(), qp_) {
    Ends mine{{reinterpret_cast<std::uintptr_t>(memory_.all().data()), memory_.mr()->rkey, qp_->qp_num, 7, 0,
               device_.gid()},
              {}};
    require(ibv_query_gid(device_.context(), 1, options.alternate_gid_index, &mine.alternate) == 0,
            "ibv_query_gid");
    to_init();
    post_receive();
    const Ends theirs = channel.exchange(mine);
    remote_ = theirs.card;
    to_ready(options);
    paths_.load(address_of(theirs.alternate, options.alternate_gid_index), options.ack_timeout);
    channel.barrier();
  }
  ~Side() {
    require(ibv_destroy_qp(qp_) == 0, "ibv_destroy_qp");
    require(ibv_destroy_cq(cq_) == 0, "ibv_destroy_cq");
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  /// The client's rounds.
  void lead(unsigned migrations) {
    std::uint64_t round = 0;
    while (paths_.migrations() < migrations) {
      ++round;
      for (std::size_t i = 0; i < kSlots; ++i) fill(memory_.bytes(i * kSlot, kSlot), number(round, i));
      transfer(IBV_WR_RDMA_WRITE, 0);
      send(round);
      require(receive() == round, "the answer to another round");
      transfer(IBV_WR_RDMA_READ, kBack);
      compare(kBack, round + 1);
      paths_.settle();
    }
    send(kLast);
    require(receive() == kLast, "the answer to the last word");
    std::printf("%llu rounds, %u migrations, every byte is right\n", static_cast<unsigned long long>(round),
                paths_.migrations());
  }

  /// The server's.
  void follow() {
    for (std::uint64_t round = receive(); round != kLast; round = receive()) {
      compare(0, round);
      for (std::size_t i = 0; i < kSlots; ++i)
        fill(memory_.bytes(kBack + i * kSlot, kSlot), number(round + 1, i));
      send(round);
      paths_.settle();
    }
    send(kLast);
    std::printf("%u migrations, every byte is right\n", paths_.migrations());
  }

  unsigned migrations() const { return paths_.migrations(); }

 private:
  static std::uint64_t number(std::uint64_t round, std::size_t slot) { return round * kSlots + slot; }

  ibv_qp* make_qp() {
    require(cq_ != nullptr, "ibv_create_cq");
    ibv_qp_init_attr wanted{};
    wanted.qp_type = IBV_QPT_RC;
    wanted.send_cq = wanted.recv_cq = cq_;
    wanted.cap = {kSlots, 2, 1, 1, 0};
    ibv_qp* qp = ibv_create_qp(device_.pd(), &wanted);
    require(qp != nullptr, "ibv_create_qp");
    return qp;
  }

  void to_init() {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    require(
        ibv_modify_qp(qp_, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
        "to INIT");
  }

  void to_ready(const Options& options) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = remote_.qpn;
    attr.rq_psn = remote_.psn;
    attr.max_dest_rd_atomic = 4;
    attr.min_rnr_timer = 1;
    attr.ah_attr = address_of(remote_.gid, options.gid_index);
    require(ibv_modify_qp(qp_, &attr,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
            "to RTR");
    attr = {};
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = 7;
    attr.timeout = options.ack_timeout;
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 4;
    require(ibv_modify_qp(qp_, &attr,
                          IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                              IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
            "to RTS");
  }

  void post_receive() {
    ibv_sge sge = memory_.sge(kWordIn, kWord);
    ibv_recv_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    require(ibv_post_recv(qp_, &wr, &bad) == 0, "ibv_post_recv");
  }

  void post(ibv_wr_opcode opcode, std::size_t offset, std::size_t size) {
    ibv_sge sge = memory_.sge(offset, size);
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {remote_.memory + offset, remote_.rkey};
    ibv_send_wr* bad = nullptr;
    require(ibv_post_send(qp_, &wr, &bad) == 0, "ibv_post_send");
    ++outstanding_;
  }

  /// All slots of one direction at once.
  void transfer(ibv_wr_opcode opcode, std::size_t begin) {
    for (std::size_t i = 0; i < kSlots; ++i) post(opcode, begin + i * kSlot, kSlot);
    while (outstanding_ > 0) poll();
  }

  void send(std::uint64_t word) {
    std::memcpy(memory_.bytes(kWordOut, kWord).data(), &word, kWord);
    post(IBV_WR_SEND, kWordOut, kWord);
    while (outstanding_ > 0) poll();
  }

  std::uint64_t receive() {
    while (received_ == 0) poll();
    --received_;
    std::uint64_t word = 0;
    std::memcpy(&word, memory_.bytes(kWordIn, kWord).data(), kWord);
    if (word != kLast) post_receive();
    return word;
  }

  void poll() {
    ibv_wc completions[kSlots];
    const int count = ibv_poll_cq(cq_, kSlots, completions);
    require(count >= 0, "ibv_poll_cq");
    for (int i = 0; i < count; ++i) {
      const ibv_wc& wc = completions[i];
      if (wc.status != IBV_WC_SUCCESS) std::fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
      require(wc.status == IBV_WC_SUCCESS, "a completion");
      if (wc.opcode == IBV_WC_RECV) {
        ++received_;
      } else {
        --outstanding_;
      }
    }
    paths_.look();
  }

  void compare(std::size_t begin, std::uint64_t round) {
    for (std::size_t i = 0; i < kSlots; ++i)
      require(matches(memory_.bytes(begin + i * kSlot, kSlot), number(round, i)),
              "other bytes than were sent");
  }

  Device device_;
  Region memory_;
  ibv_cq* cq_;
  ibv_qp* qp_;
  Paths paths_;
  Card remote_{};
  unsigned outstanding_ = 0, received_ = 0;
};

std::optional<Options> options_of(int argc, char** argv) {
  Options o;
  const auto set = [&o](std::string_view word, std::string_view value) {
    return word == "--gid-index"             ? parse(value, o.gid_index)
           : word == "--alternate-gid-index" ? parse(value, o.alternate_gid_index)
           : word == "--migrations"          ? parse(value, o.migrations)
           : word == "--ack-timeout"         ? parse(value, o.ack_timeout)
           : word == "--port"                ? parse(value, o.port)
                                             : false;
  };
  if (!read_options(argc, argv, o.host, set)) return std::nullopt;
  return o;
}

int run(const Options& options) {
  const bool client = !options.host.empty();
  Channel channel =
      client ? Channel::connect_to(options.host, options.port) : Channel::accept_one(options.port);
  Side side(options, channel);
  client ? side.lead(options.migrations) : side.follow();
  channel.barrier();  // nobody goes while its last word may have to be sent again
  return side.migrations() == options.migrations ? 0 : 1;
}

}  // namespace
}  // namespace interop

int main(int argc, char** argv) {
  const auto options = interop::options_of(argc, argv);
  if (!options) {
    std::fprintf(stderr, "see the head of migrate.cc for the options\n");
    return 2;
  }
  return interop::run(*options);
}
