#include "mad/mad.h"

#include <algorithm>

namespace softrnic::mad {
namespace {

template <typename Value>
struct Name {
  Value value;
  std::string_view text;
};

/// The first that a class is in counts.
struct ClassName {
  std::uint8_t first, last;
  std::string_view text;
};
constexpr ClassName kClassNames[] = {
    {0x01, 0x01, "Subn"},
    {0x81, 0x81, "Subn"},
    {0x03, 0x03, "SubnAdm"},
    {0x04, 0x04, "Perf"},
    {0x05, 0x05, "BM"},
    {0x06, 0x06, "DevMgt"},
    {0x07, 0x07, "ComMgt"},
    {0x08, 0x08, "SNMP"},
    {0x09, 0x0f, "Vendor"},
    {0x10, 0x10, "DevAdm"},
    {0x11, 0x11, "BootMgt"},
    {0x12, 0x12, "BIS"},
    {0x21, 0x21, "CongestionManagment"},  // as libibumad writes it
    {0x10, 0x2f, "Application"},
    {0x30, 0x4f, "Vendor"},
};

constexpr Name<Method> kMethodNames[] = {
    {Method::get, "Get"},
    {Method::set, "Set"},
    {Method::send, "Send"},
    {Method::trap, "Trap"},
    {Method::report, "Report"},
    {Method::trap_repress, "TrapRepress"},
    {Method::get_table, "GetTable"},
    {Method::get_trace_table, "GetTraceTable"},
    {Method::get_multi, "GetMulti"},
    {Method::delete_record, "Delete"},
    {Method::get_response, "GetResp"},
    {Method::report_response, "ReportResp"},
    {Method::get_table_response, "GetTableResp"},
    {Method::get_trace_table_response, "GetTraceTableResp"},
    {Method::get_multi_response, "GetMultiResp"},
    {Method::delete_response, "DeleteResp"},
};

constexpr Name<Status> kStatusNames[] = {
    {Status::ok, "Success"},
    {Status::busy, "Busy"},
    {Status::redirect, "Redirection required"},
    {Status::bad_version, "Bad Version"},
    {Status::bad_method, "Method not supported"},
    {Status::bad_method_attribute, "Method/Attribute combo not supported"},
    {Status::bad_attribute_value, "Invalid attribute/modifier field"},
};

constexpr Name<SaStatus> kSaStatusNames[] = {
    {SaStatus::ok, "Success"},
    {SaStatus::no_resources, "No Resources"},
    {SaStatus::invalid_request, "Request Invalid"},
    {SaStatus::no_records, "No Records"},
    {SaStatus::too_many_records, "Too Many Records"},
    {SaStatus::invalid_gid, "Invalid GID"},
    {SaStatus::insufficient_components, "Insufficient Components"},
    {SaStatus::denied, "Request Denied"},
    {SaStatus::priority_suggested, "Priority Suggested"},
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
  const auto number = static_cast<std::uint8_t>(management_class);
  for (const ClassName& name : kClassNames)
    if (name.first <= number && number <= name.last) return name.text;
  return {};
}
std::string_view name_of(Method method) { return find_name(kMethodNames, method); }
std::string_view name_of(Status status) { return find_name(kStatusNames, status); }
std::string_view name_of(SaStatus status) { return find_name(kSaStatusNames, status); }

Status common_status(std::uint16_t status) {
  for (const Status bit : {Status::busy, Status::redirect})
    if ((status & static_cast<std::uint16_t>(bit)) != 0) return bit;
  return static_cast<Status>(status & kStatusCode);
}

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
