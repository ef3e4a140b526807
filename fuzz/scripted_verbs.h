// Verbs and rdma_cm for one thread and one connection, without an adapter: what arrives is what a fuzzer's
// input says. The functions of the C API that softrnic::copy calls are defined here, in the place of those of
// the libraries. Every operation is done at once; when the input is used up the connection breaks, so that
// everything that waits comes to its end.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "base/unique_fd.h"
#include "copy/greeting.h"
#include "copy/verbs.h"
#include "fuzz/check.h"

namespace softrnic::fuzz {

class ScriptedVerbs {
 public:
  /// The script is what is left of `input` whenever something may arrive. `within_host`: the peer seems to
  /// have this host's address.
  ScriptedVerbs(Input& input, bool within_host);
  ScriptedVerbs(const ScriptedVerbs&) = delete;
  ScriptedVerbs& operator=(const ScriptedVerbs&) = delete;
  ~ScriptedVerbs();

  /// Hears every SEND of this side and may answer it, until it returns false: from then on the script speaks.
  /// Without one the script speaks at once.
  using Greeter = std::function<bool(ScriptedVerbs&, Bytes sent)>;
  void greet_with(Greeter greeter) { greeter_ = std::move(greeter); }

  /// A message of the peer.
  void deliver(Bytes message);
  /// Where this side takes frames, and how it hears of them.
  void ring_is(const copy::Ring& ring, bool boards) { ring_ = ring, boards_ = boards; }

  // what the C API is made of
  ibv_context* context() { return &context_; }
  rdma_cm_id* make_id();
  ibv_qp* make_queue_pair();
  void forget(ibv_qp* queue_pair);
  ibv_mr* make_region(void* address, std::size_t length);
  rdma_cm_event_type next_event() const { return asked_; }
  void ask(rdma_cm_event_type event) { asked_ = event; }
  int wake_fd() const { return wake_.get(); }

 private:
  struct QueuePair {
    ibv_qp qp{};
    std::deque<ibv_recv_wr> receives;
    std::deque<ibv_sge> places;
  };

  static int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad);
  static int post_receive(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);
  static int poll(ibv_cq* queue, int most, ibv_wc* out);

  void sent(ibv_qp* qp, const ibv_send_wr& wr);
  QueuePair* find(const ibv_qp* qp);
  std::optional<ibv_wc> receive(std::size_t queue_pair, Bytes message);
  void next_arrival();
  int flush(ibv_wc& out);
  void frame();
  void told_frame(std::uint32_t queue_pair, std::uint32_t slot, std::uint32_t length);
  void write(std::uint64_t offset, Bytes bytes);

  Input& input_;
  Greeter greeter_;
  UniqueFd wake_;
  ibv_device device_{};
  ibv_context context_{};
  sockaddr_in here_{}, there_{};
  std::vector<std::unique_ptr<QueuePair>> queue_pairs_;
  std::deque<ibv_wc> completions_;
  rdma_cm_event_type asked_ = RDMA_CM_EVENT_ESTABLISHED;
  std::uint32_t made_ = 0;
  copy::Ring ring_;
  bool boards_ = false;
  std::uint64_t frames_ = 0, taken_ = 0;  ///< frames of the peer, and those that this side has put
};

}  // namespace softrnic::fuzz
