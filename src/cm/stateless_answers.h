// Answers to MADs that need no state: they go back to where the MAD came from, whatever is known of it.
#pragma once

#include "cm/connection_table.h"
#include "cm/host.h"
#include "cm/incoming.h"

namespace softrnic::cm {

class StatelessAnswers {
 public:
  /// `host` outlives this object.
  explicit StatelessAnswers(Host& host) : host_(host) {}

  /// Get and Set: ClassPortInfo, and refusals of the rest.
  void get(const Incoming& in);
  /// A REJ of a message that has no connection here.
  void reject(const Incoming& in, RejectReason reason, About about);
  /// The DREP to a DREQ.
  void disconnected(const Incoming& in);
  /// The APR to a LAP: there are no alternate paths on RoCE.
  void refuse_path(const Incoming& in, AprStatus status);
  /// To any message but REQ and SIDR_REQ that names a connection which is not there, or not its sender's.
  void unknown_target(const Incoming& in, Message message, const ConnectionTable& table);

 private:
  Host& host_;
};

}  // namespace softrnic::cm
