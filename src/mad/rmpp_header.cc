#include "mad/rmpp_header.h"

#include <algorithm>
#include <iterator>

namespace softrnic::mad {
namespace {

struct StatusName {
  RmppStatus status;
  std::string_view text;
};
constexpr StatusName kNames[] = {
    {RmppStatus::normal, "normal"},
    {RmppStatus::resources_exhausted, "resources exhausted"},
    {RmppStatus::total_time_too_long, "total time too long"},
    {RmppStatus::inconsistent_last_and_payload_length, "inconsistent Last and PayloadLength"},
    {RmppStatus::inconsistent_first_and_segment_number, "inconsistent First and SegmentNumber"},
    {RmppStatus::bad_type, "bad RMPPType"},
    {RmppStatus::new_window_last_too_small, "NewWindowLast too small"},
    {RmppStatus::segment_number_too_big, "SegmentNumber too big"},
    {RmppStatus::illegal_status, "illegal status"},
    {RmppStatus::unsupported_version, "unsupported version"},
    {RmppStatus::too_many_retries, "too many retries"},
    {RmppStatus::unspecified, "unspecified"},
};

}  // namespace

std::string_view name_of(RmppStatus status) {
  const auto* const found = std::ranges::find(kNames, status, &StatusName::status);
  return found == std::end(kNames) ? std::string_view{} : found->text;
}

RmppStatus reason_of(const RmppHeader& header) {
  const bool is_stop = header.status == RmppStatus::resources_exhausted;
  const bool is_abort =
      header.status >= RmppStatus::total_time_too_long && header.status <= RmppStatus::unspecified;
  return (header.type == RmppType::stop ? is_stop : is_abort) ? header.status : RmppStatus::illegal_status;
}

RmppHeader decode_rmpp(Bytes mad) { return decode<RmppHeader>(mad.subspan(kRmppOffset)); }

void encode_rmpp(const RmppHeader& header, MutableBytes mad) { encode(header, mad.subspan(kRmppOffset)); }

}  // namespace softrnic::mad
