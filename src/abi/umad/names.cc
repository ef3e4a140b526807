// The texts of classes, methods, attributes and status values. Programs print them, so they are those of
// libibumad to the letter, its slips included.
#include <cstdint>
#include <span>

#include "abi/export.h"

namespace {

struct Name {
  std::uint16_t value;
  const char* text;
};
struct ClassName {
  std::uint8_t first, last;
  const char* text;
};

constexpr const char* kUnknown = "<unknown>";

constexpr ClassName kClasses[] = {
    {0x01, 0x01, "Subn"},    {0x81, 0x81, "Subn"},   {0x03, 0x03, "SubnAdm"},
    {0x04, 0x04, "Perf"},    {0x05, 0x05, "BM"},     {0x06, 0x06, "DevMgt"},
    {0x07, 0x07, "ComMgt"},  {0x08, 0x08, "SNMP"},   {0x10, 0x10, "DevAdm"},
    {0x11, 0x11, "BootMgt"}, {0x12, 0x12, "BIS"},    {0x21, 0x21, "CongestionManagment"},
    {0x09, 0x0f, "Vendor"},  {0x30, 0x4f, "Vendor"}, {0x10, 0x2f, "Application"},
};

constexpr Name kMethods[] = {{0x01, "Get"},  {0x02, "Set"},    {0x81, "GetResp"},    {0x03, "Send"},
                             {0x05, "Trap"}, {0x06, "Report"}, {0x86, "ReportResp"}, {0x07, "TrapRepress"}};
constexpr Name kSaMethods[] = {{0x12, "GetTable"},     {0x92, "GetTableResp"}, {0x15, "Delete"},
                               {0x95, "DeleteResp"},   {0x14, "GetMulti"},     {0x94, "GetMultiResp"},
                               {0x13, "GetTraceTable"}};

/// Bits 2 to 4 of the status (IBTA 13.4.7).
constexpr Name kInvalidFields[] = {{1 << 2, "Bad Version"},
                                   {2 << 2, "Method not supported"},
                                   {3 << 2, "Method/Attribute combo not supported"},
                                   {7 << 2, "Invalid attribute/modifier field"}};
/// Bits 8 to 15 of the status of subnet administration (IBTA 15.2.2).
constexpr Name kSaStatus[] = {
    {0, "Success"},           {1, "No Resources"}, {2, "Request Invalid"},         {3, "No Records"},
    {4, "Too Many Records"},  {5, "Invalid GID"},  {6, "Insufficient Components"}, {7, "Request Denied"},
    {8, "Priority Suggested"}};

constexpr Name kAttributes[] = {{0x0001, "Class Port Info"}, {0x0002, "Notice"}, {0x0003, "Inform Info"}};
constexpr Name kSmAttributes[] = {{0x0010, "NodeDescription"},
                                  {0x0011, "NodeInfo"},
                                  {0x0012, "SwitchInfo"},
                                  {0x0014, "GUIDInfo"},
                                  {0x0015, "PortInfo"},
                                  {0x0016, "P_KeyTable"},
                                  {0x0017, "SLtoVLMappingTable"},
                                  {0x0018, "VLArbitrationTable"},
                                  {0x0019, "LinearForwardingTable"},
                                  {0x001a, "RandomForwardingTable"},
                                  {0x001b, "MulticastForwardingTable"},
                                  {0x0020, "SMInfo"},
                                  {0x0030, "VendorDiag"},
                                  {0x0031, "LedInfo"},
                                  {0x001c, "LinkSpeedWidthPairsTable"},
                                  {0x001d, "VendorSpecificMadsTable"},
                                  {0x001e, "HierarchyInfo"},
                                  {0x0032, "CableInfo"},
                                  {0x0033, "PortInfoExtended"}};
constexpr Name kSaAttributes[] = {{0x0011, "NodeRecord"},
                                  {0x0012, "PortInfoRecord"},
                                  {0x0013, "SLtoVLMappingTableRecord"},
                                  {0x0014, "SwitchInfoRecord"},
                                  {0x0015, "LinearForwardingTableRecord"},
                                  {0x0016, "RandomForwardingTableRecord"},
                                  {0x0017, "MulticastForwardingTableRecord"},
                                  {0x0018, "SMInfoRecord"},
                                  {0x00f3, "InformInfoRecord"},
                                  {0x0020, "LinkRecord"},
                                  {0x0030, "GuidInfoRecord"},
                                  {0x0031, "ServiceRecord"},
                                  {0x0033, "P_KeyTableRecord"},
                                  {0x0035, "PathRecord"},
                                  {0x0036, "VLArbitrationTableRecord"},
                                  {0x0038, "MCMemberRecord"},
                                  {0x0039, "TraceRecord"},
                                  {0x003a, "MultiPathRecord"},
                                  {0x003b, "ServiceAssociationRecord"},
                                  {0x0019, "LinkSpeedWidthPairsTableRecord"},
                                  {0x003c, "HierarchyInfoRecord"},
                                  {0x003d, "CableInfoRecord"},
                                  {0x003e, "PortInfoExtendedRecord"}};
constexpr Name kCmAttributes[] = {{0x0010, "ConnectRequest"},
                                  {0x0011, "MsgRcptAck"},
                                  {0x0012, "ConnectReject"},
                                  {0x0013, "ConnectReply"},
                                  {0x0014, "ReadyToUse"},
                                  {0x0015, "DisconnectRequest"},
                                  {0x0016, "DisconnectReply"},
                                  {0x0017, "ServiceIDResReq"},
                                  {0x0018, "ServiceIDResReqResp"},
                                  {0x0019, "LoadAlternatePath"},
                                  {0x001a, "AlternatePathResponse"},
                                  {0x001b, "SuggestAlternatePath"},
                                  {0x001c, "SuggestPathResponse"}};

const char* find(std::span<const Name> names, unsigned value, const char* otherwise) {
  for (const Name& name : names)
    if (name.value == value) return name.text;
  return otherwise;
}

constexpr std::uint8_t kSubnetAdministration = 0x03;

std::span<const Name> attributes_of(std::uint8_t management_class) {
  constexpr std::uint8_t kLidRouted = 0x01, kDirectRoute = 0x81, kCommunication = 0x07;
  if (management_class == kLidRouted || management_class == kDirectRoute) return kSmAttributes;
  if (management_class == kSubnetAdministration) return kSaAttributes;
  if (management_class == kCommunication) return kCmAttributes;
  return kAttributes;
}

}  // namespace

SOFTRNIC_EXPORT const char* umad_class_str(std::uint8_t mgmt_class) {
  for (const ClassName& name : kClasses)
    if (name.first <= mgmt_class && mgmt_class <= name.last) return name.text;
  return kUnknown;
}

SOFTRNIC_EXPORT const char* umad_method_str(std::uint8_t mgmt_class, std::uint8_t method) {
  const char* const common = find(kMethods, method, "<unknown");  // without its bracket
  return mgmt_class == kSubnetAdministration ? find(kSaMethods, method, common) : common;
}

SOFTRNIC_EXPORT const char* umad_common_mad_status_str(std::uint16_t status_be) {
  constexpr unsigned kBusy = 1, kRedirect = 2, kInvalidField = 0x1c;
  const unsigned status = __builtin_bswap16(status_be);
  if ((status & kBusy) != 0) return "Busy";
  if ((status & kRedirect) != 0) return "Redirection required";
  return find(kInvalidFields, status & kInvalidField, "Success");
}

SOFTRNIC_EXPORT const char* umad_sa_mad_status_str(std::uint16_t status_be) {
  return find(kSaStatus, __builtin_bswap16(status_be) >> 8, "Undefined Error");
}

SOFTRNIC_EXPORT const char* umad_attribute_str(std::uint8_t mgmt_class, std::uint16_t attr_id_be) {
  const unsigned attribute = __builtin_bswap16(attr_id_be);
  return find(attributes_of(mgmt_class), attribute, find(kAttributes, attribute, kUnknown));
}
