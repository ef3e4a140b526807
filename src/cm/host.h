// What the connection manager asks of the adapter it lives in.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/reason.h"
#include "cm/event.h"
#include "mad/address.h"

namespace softrnic::cm {

class Host {
 public:
  /// Sends a MAD of 256 bytes; may be lost. Must not call back.
  virtual void send(const mad::Address& to, Bytes mad) = 0;
  /// May call back, see cm/manager.h.
  virtual void event(const Event& event) = 0;
  /// 32 random bits: communication IDs, transaction IDs. Must not call back.
  virtual std::uint32_t random_number() = 0;
  /// A MAD was dropped, refused or rejected without the host's doing. Must not call back.
  virtual void explain(const Reason& reason, const mad::Address& peer) = 0;

 protected:
  ~Host() = default;
};

}  // namespace softrnic::cm
