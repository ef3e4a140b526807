#include "mad/mad.h"

#include <algorithm>

namespace softrnic::mad {
namespace {

template <typename Value>
struct Name {
  Value value;
  std::string_view text;
};

constexpr Name<ManagementClass> kClassNames[] = {
    {ManagementClass::subnet_lid_routed, "SubnLID"}, {ManagementClass::subnet_administration, "SubnAdm"},
    {ManagementClass::performance, "Perf"},          {ManagementClass::baseboard, "BM"},
    {ManagementClass::device_management, "DevMgt"},  {ManagementClass::communication, "ComMgt"},
    {ManagementClass::snmp_tunneling, "SNMP"},       {ManagementClass::subnet_directed_route, "SubnDir"},
};

constexpr Name<Method> kMethodNames[] = {
    {Method::get, "Get"},
    {Method::set, "Set"},
    {Method::send, "Send"},
    {Method::trap, "Trap"},
    {Method::report, "Report"},
    {Method::trap_repress, "TrapRepress"},
    {Method::get_response, "GetResp"},
    {Method::report_response, "ReportResp"},
};

template <typename Value, std::size_t n>
std::string_view find_name(const Name<Value> (&names)[n], Value value) {
  const auto* const found = std::find_if(std::begin(names), std::end(names),
                                         [value](const auto& name) { return name.value == value; });
  return found == std::end(names) ? std::string_view{} : found->text;
}

constexpr std::uint8_t byte_at(Bytes bytes, std::size_t at) {
  return std::to_integer<std::uint8_t>(bytes[at]);
}

}  // namespace

std::string_view name_of(ManagementClass management_class) {
  return find_name(kClassNames, management_class);
}
std::string_view name_of(Method method) { return find_name(kMethodNames, method); }

Expected<Header, ParseError> parse_header(Bytes mad) {
  if (mad.size() != kMadBytes) return Unexpected{ParseError::bad_length};
  Header header;
  header.base_version = byte_at(mad, 0);
  if (header.base_version != kBaseVersion) return Unexpected{ParseError::bad_version};
  header.management_class = static_cast<ManagementClass>(byte_at(mad, 1));
  header.class_version = byte_at(mad, 2);
  header.method = static_cast<Method>(byte_at(mad, 3));
  header.status = load_be16(&mad[4]);
  header.class_specific = load_be16(&mad[6]);
  header.transaction = load_be64(&mad[8]);
  header.attribute = load_be16(&mad[16]);
  header.reserved = load_be16(&mad[18]);
  header.modifier = load_be32(&mad[20]);
  return header;
}

void encode_header(const Header& header, MutableBytes out) {
  out[0] = static_cast<std::byte>(header.base_version);
  out[1] = static_cast<std::byte>(header.management_class);
  out[2] = static_cast<std::byte>(header.class_version);
  out[3] = static_cast<std::byte>(header.method);
  store_be16(&out[4], header.status);
  store_be16(&out[6], header.class_specific);
  store_be64(&out[8], header.transaction);
  store_be16(&out[16], header.attribute);
  store_be16(&out[18], header.reserved);
  store_be32(&out[20], header.modifier);
}

}  // namespace softrnic::mad
