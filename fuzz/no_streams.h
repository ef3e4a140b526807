// The TCP of a host whose devices have no streams.
#pragma once

#include <cerrno>

#include "base/reason_id.h"
#include "fuzz/check.h"
#include "iwcm/host.h"

namespace softrnic::fuzz {

/// Nobody asks it for anything: connections by streams are the subject of fuzz_iwcm.cc.
class NoStreams final : public iwcm::Streams {
 public:
  Expected<void, Failure> listen(iwcm::ListenerId, const iwcm::Listening&) override { return none(); }
  void unlisten(iwcm::ListenerId) override { FUZZ_CHECK(false); }
  Expected<void, Failure> open(iwcm::Id, const iwcm::Endpoint&, const iwcm::Endpoint&,
                               std::uint8_t) override {
    return none();
  }
  bool write(iwcm::Id, Bytes) override { return false; }
  void hand_over(iwcm::Id) override { FUZZ_CHECK(false); }
  void close(iwcm::Id) override { FUZZ_CHECK(false); }

 private:
  static Unexpected<Failure> none() {
    FUZZ_CHECK(false);
    return Unexpected{refuse(ENETDOWN, ReasonId::no_such_device)};
  }
};

}  // namespace softrnic::fuzz
