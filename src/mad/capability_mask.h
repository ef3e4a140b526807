// What a port can do: the bits of CapabilityMask and CapabilityMask2 of PortInfo (IBTA 14.2.5.6, tables of
// both).
#pragma once

#include <cstdint>

namespace softrnic::mad {

namespace port_capability {
inline constexpr std::uint32_t kIsSm = 1U << 1;
inline constexpr std::uint32_t kNotice = 1U << 2;
inline constexpr std::uint32_t kTrap = 1U << 3;
inline constexpr std::uint32_t kOptionalIpd = 1U << 4;
inline constexpr std::uint32_t kAutomaticMigration = 1U << 5;
inline constexpr std::uint32_t kSlMapping = 1U << 6;
inline constexpr std::uint32_t kMKeyNvram = 1U << 7;
inline constexpr std::uint32_t kPKeyNvram = 1U << 8;
inline constexpr std::uint32_t kLedInfo = 1U << 9;
inline constexpr std::uint32_t kSmDisabled = 1U << 10;
inline constexpr std::uint32_t kSystemImageGuid = 1U << 11;
inline constexpr std::uint32_t kPKeySwitchExternalPortTrap = 1U << 12;
inline constexpr std::uint32_t kCableInfo = 1U << 13;
inline constexpr std::uint32_t kExtendedSpeeds = 1U << 14;
inline constexpr std::uint32_t kCapabilityMask2 = 1U << 15;
inline constexpr std::uint32_t kCommunicationManagement = 1U << 16;
inline constexpr std::uint32_t kSnmpTunneling = 1U << 17;
inline constexpr std::uint32_t kReinit = 1U << 18;
inline constexpr std::uint32_t kDeviceManagement = 1U << 19;
inline constexpr std::uint32_t kVendorClass = 1U << 20;
inline constexpr std::uint32_t kDrNotice = 1U << 21;
inline constexpr std::uint32_t kCapabilityMaskNotice = 1U << 22;
inline constexpr std::uint32_t kBootManagement = 1U << 23;
inline constexpr std::uint32_t kLinkRoundTripLatency = 1U << 24;
inline constexpr std::uint32_t kClientReregistration = 1U << 25;
inline constexpr std::uint32_t kOtherLocalChangesNotice = 1U << 26;
inline constexpr std::uint32_t kLinkSpeedWidthPairsTable = 1U << 27;
inline constexpr std::uint32_t kVendorSpecificMadsTable = 1U << 28;
inline constexpr std::uint32_t kMulticastPKeyTrapSuppression = 1U << 29;
inline constexpr std::uint32_t kMulticastFdbTop = 1U << 30;
inline constexpr std::uint32_t kHierarchyInfo = 1U << 31;
}  // namespace port_capability

namespace port_capability2 {
inline constexpr std::uint16_t kSetNodeDescription = 1U << 0;
inline constexpr std::uint16_t kPortInfoExtended = 1U << 1;
inline constexpr std::uint16_t kVirtualization = 1U << 2;
inline constexpr std::uint16_t kSwitchPortStateTable = 1U << 3;
inline constexpr std::uint16_t kLinkWidth2x = 1U << 4;
inline constexpr std::uint16_t kLinkSpeedHdr = 1U << 5;
inline constexpr std::uint16_t kMKeyProtectBitsExt = 1U << 6;
inline constexpr std::uint16_t kEnhancedTrap128 = 1U << 7;
inline constexpr std::uint16_t kPartitionTop = 1U << 8;
inline constexpr std::uint16_t kEnhancedQosArbiter = 1U << 9;
inline constexpr std::uint16_t kLinkSpeedNdr = 1U << 10;
}  // namespace port_capability2

}  // namespace softrnic::mad
