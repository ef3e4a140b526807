// Between the values of the connection manager and the records that carry them to processes.
#pragma once

#include <optional>

#include "cma/types.h"
#include "control/cm_messages.h"

namespace softrnic::daemon {

control::CmIdRecord to_record(const cma::IdView& view);
control::CmAddressVector to_record(const cma::AddressVector& vector);
control::CmQpAttributesReply to_reply(const cma::QpAttributes& attributes, std::uint32_t serial);
control::CmEventReply to_reply(const cma::Event& event, std::uint32_t serial);

/// Nothing when `record` holds none (valid is 0).
control::StreamGrant to_record(const cma::Handover& handover);
std::optional<cma::ConnectionParameters> from_record(const control::CmConnectionParameters& record);
cm::Ece from_record(const control::CmEce& record);

}  // namespace softrnic::daemon
