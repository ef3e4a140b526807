// Makes the work requests of a run and hands them to the endpoint as rnic would.
#pragma once

#include "tests/sim/model.h"
#include "tests/sim/node.h"

namespace softrnic::sim {

class Workload {
 public:
  Workload(Ground& ground, Rng rng, std::vector<std::unique_ptr<Node>>& nodes)
      : ground_(ground), rng_(rng), nodes_(nodes) {}

  /// Posts one work request; false when the send queue is full.
  bool post(Node& node);

 private:
  WorkRequest draw(Node& node);
  void draw_window(Node& node, WorkRequest& wr);
  void draw_target(Node& node, WorkRequest& wr);
  void draw_buffers(Node& node, WorkRequest& wr);
  void draw_datagram(Node& node, WorkRequest& wr);
  void misbehave(Node& node, WorkRequest& wr);
  void misuse_memory(Node& node, WorkRequest& wr, bool due);
  std::uint32_t draw_length(const Node& node);
  bool commit(Node& node, WorkRequest& wr);

  Ground& ground_;
  Rng rng_;
  std::vector<std::unique_ptr<Node>>& nodes_;
  std::uint64_t next_id_ = 1;
};

}  // namespace softrnic::sim
