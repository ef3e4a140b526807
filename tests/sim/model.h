// The reference model: what must hold of a queue pair's work requests, whatever the network does. It executes
// the work requests one after the other in the simplest way there is and compares.
//
//   all   completions in the order of posting, each once, with the right operation and length; buffers
//   untouched
//         beside what was asked for; a failure only for a reason this run gives; flushes only after an error
//         a bind or invalidate takes effect once, in its turn
//   RC    a message is received exactly once, in order, before its send completes; the target holds at every
//   receive
//         exactly what the sequential execution gives; reads and atomics return what that execution returns
//   UC    the messages received are a subsequence of those sent, each intact
//   UD    each datagram arrives intact, at the right place, no more often than the network copied it
#pragma once

#include <string>
#include <vector>

#include "tests/sim/node.h"

namespace softrnic::sim {

class Network;

class Model {
 public:
  Model(Ground& ground, Node& requester) : ground_(ground), node_(requester) {}
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  void post(WorkRequest&& wr);
  void send_done(const ib::SendDone& done);
  virtual void receive_done(Node& receiver, const ib::RecvDone& done, PostedReceive& receive) = 0;
  /// A bind or invalidate takes effect.
  void executed_locally(std::uint64_t id);
  /// After each call into the endpoint.
  void check_flushes(bool broken);
  void note_flush() { unexplained_flush_ = true; }
  /// The send queue is empty: what was not reported must have been unsignaled.
  void at_rest();
  /// The queue pair was killed or reset: what is outstanding will not complete.
  void abandon();
  /// The end of the run: memory as a whole.
  virtual void finish() {}
  /// UD after SQE, RC after a new connection: failures are over.
  void recover() { failed_ = false; }
  bool failed() const { return failed_; }
  std::size_t posted() const { return log_.size(); }

 protected:
  virtual void prepare(WorkRequest&) {}
  /// The work request at `index` is executed without a packet: what was posted before must have reached the
  /// peer, and nothing behind it.
  virtual void check_turn(std::size_t index) { static_cast<void>(index); }
  /// The work request at `index` has succeeded: its promises must hold now.
  virtual void succeeded(std::size_t index) = 0;
  /// Whether this failure has a cause in this run.
  bool legal_patience(const WorkRequest& wr) const;
  bool legal_failure(const WorkRequest& wr, ib::Status status) const;
  void failed(WorkRequest& wr, ib::Status status);
  void complain(const WorkRequest& wr, const std::string& what);
  /// The buffers of a finished work request: `expected` is what its region must hold.
  void check_local(const WorkRequest& wr, Bytes expected);
  void check_gaps(const WorkRequest& wr);
  /// Attributes of a receive against the message; "" when they fit.
  static std::string mismatch(const WorkRequest& wr, const ib::RecvDone& done);
  /// Whether the receive's buffer holds `payload`, `skip` bytes into it. `exact`: and nothing else was
  /// touched.
  static bool holds(Node& receiver, const PostedReceive& receive, Bytes payload, std::size_t skip,
                    bool exact);
  void receive_failed(Node& receiver, const ib::RecvDone& done, PostedReceive& receive);

  Ground& ground_;
  Node& node_;
  std::vector<WorkRequest> log_;
  std::size_t next_ = 0;  ///< the first work request that has not completed
  bool failed_ = false;
  bool unexplained_flush_ = false;
};

/// RC and UC: one direction of a pair.
class StreamModel : public Model {
 public:
  StreamModel(Ground& ground, Node& requester, Node& responder);
  void finish() override;

 protected:
  void prepare(WorkRequest& wr) override;
  Bytes actual(const WorkRequest& wr, std::size_t length) const;
  /// Whether each byte of `got` (found at `offset` of the target) is `expected` or was written by a work
  /// request in [from, to).
  bool explained(std::uint64_t offset, Bytes got, Bytes expected, std::size_t from, std::size_t to) const;
  /// The model executes up to and including `last`.
  void execute(std::size_t last);

  Node& responder_;
  Region& target_;
  std::vector<std::byte> latest_;    ///< the target after everything posted
  std::vector<std::byte> executed_;  ///< the target after the first executed_count_ work requests
  std::size_t executed_count_ = 0;
  std::size_t next_receive_ = 0;  ///< work requests before this one have had their receive
  bool doomed_ = false;           ///< a work request that cannot succeed was posted
};

class RcModel final : public StreamModel {
 public:
  using StreamModel::StreamModel;
  void receive_done(Node& receiver, const ib::RecvDone& done, PostedReceive& receive) override;

 protected:
  void check_turn(std::size_t index) override;
  void succeeded(std::size_t index) override;

 private:
  void check_read(std::size_t index);
  void check_flush(std::size_t index);
  std::size_t find_next_message() const;

  std::uint64_t flushed_ = 0;  ///< FLUSHes that were answered
};

class UcModel final : public StreamModel {
 public:
  using StreamModel::StreamModel;
  void receive_done(Node& receiver, const ib::RecvDone& done, PostedReceive& receive) override;
  void finish() override;

 protected:
  void succeeded(std::size_t index) override;

 private:
  bool lossless() const;
  bool matches(const WorkRequest& wr, Node& receiver, const ib::RecvDone& done,
               const PostedReceive& receive) const;
};

/// The victim of a peer that keeps to nothing. What it is told may be wrong; but its memory changes
/// only where its peer, or a work request of its own, had leave to change it, and no packet is
/// believed that the rules forbid.
class HostileModel final : public Model {
 public:
  /// `stingy`: its peer sends no packet that acknowledges anything.
  HostileModel(Ground& ground, Node& victim, bool stingy);
  void receive_done(Node& receiver, const ib::RecvDone& done, PostedReceive& receive) override;
  void finish() override;

 protected:
  void prepare(WorkRequest& wr) override;
  void succeeded(std::size_t index) override;

 private:
  void check_lengths(const Region& region);

  bool stingy_;
  std::vector<std::vector<std::byte>> untouched_;  ///< what its other regions held in the beginning
};

/// All UD nodes share what was sent: `all` holds the models of every UD node, by node number.
class UdModel final : public Model {
 public:
  UdModel(Ground& ground, Node& requester, const Network& network, std::vector<UdModel*>& all,
          std::vector<std::unique_ptr<Node>>& nodes);
  void receive_done(Node& receiver, const ib::RecvDone& done, PostedReceive& receive) override;

 protected:
  void succeeded(std::size_t index) override;

 private:
  static std::string check_grh(const Node& from, const Node& to, Bytes grh);

  const Network& network_;
  std::vector<UdModel*>& all_;
  std::vector<std::unique_ptr<Node>>& nodes_;
};

}  // namespace softrnic::sim
