#include "mad/class_port_info.h"

#include "mad/field.h"

namespace softrnic::mad {
namespace {

using Info = ClassPortInfo;
constexpr std::array kFields = {
    field<Info, &Info::base_version>("base_version", 0, 0, 8),
    field<Info, &Info::class_version>("class_version", 1, 0, 8),
    field<Info, &Info::capability_mask>("capability_mask", 2, 0, 16),
    field<Info, &Info::capability_mask2>("capability_mask2", 4, 0, 27),
    field<Info, &Info::response_time>("response_time", 7, 3, 5),
    field<Info, &Info::redirect_gid>("redirect_gid", 8, 0, 128),
    field<Info, &Info::redirect_traffic_class>("redirect_traffic_class", 24, 0, 8),
    field<Info, &Info::redirect_sl>("redirect_sl", 25, 0, 4),
    field<Info, &Info::redirect_flow_label>("redirect_flow_label", 25, 4, 20),
    field<Info, &Info::redirect_lid>("redirect_lid", 28, 0, 16),
    field<Info, &Info::redirect_pkey>("redirect_pkey", 30, 0, 16),
    field<Info, &Info::reserved>("reserved", 32, 0, 8),
    field<Info, &Info::redirect_qpn>("redirect_qpn", 33, 0, 24),
    field<Info, &Info::redirect_qkey>("redirect_qkey", 36, 0, 32),
    field<Info, &Info::trap_gid>("trap_gid", 40, 0, 128),
    field<Info, &Info::trap_traffic_class>("trap_traffic_class", 56, 0, 8),
    field<Info, &Info::trap_sl>("trap_sl", 57, 0, 4),
    field<Info, &Info::trap_flow_label>("trap_flow_label", 57, 4, 20),
    field<Info, &Info::trap_lid>("trap_lid", 60, 0, 16),
    field<Info, &Info::trap_pkey>("trap_pkey", 62, 0, 16),
    field<Info, &Info::trap_hop_limit>("trap_hop_limit", 64, 0, 8),
    field<Info, &Info::trap_qpn>("trap_qpn", 65, 0, 24),
    field<Info, &Info::trap_qkey>("trap_qkey", 68, 0, 32),
};
static_assert(covers(kFields, kClassPortInfoBytes));

}  // namespace

ClassPortInfo decode_class_port_info(Bytes bytes) { return decode_fields(kFields, bytes); }
void encode_class_port_info(const ClassPortInfo& info, MutableBytes bytes) {
  encode_fields(kFields, info, bytes);
}
std::string to_string(const ClassPortInfo& info) { return print_fields(kFields, info); }

}  // namespace softrnic::mad
