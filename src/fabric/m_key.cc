#include "fabric/m_key.h"

#include <array>

namespace softrnic::fabric {
namespace {

/// What M_KeyProtectBits ask of those who do not have the key (IBTA 14.2.4.1).
struct Protection {
  bool reads;      ///< they may Get
  bool reads_key;  ///< and see the key in PortInfo
};
constexpr std::array<Protection, 4> kProtections = {{
    {.reads = true, .reads_key = true},
    {.reads = true, .reads_key = false},
    {.reads = false, .reads_key = false},
    {.reads = false, .reads_key = false},
}};

const Protection& protection_of(const ManagedPort& endport) {
  return kProtections[endport.info.m_key_protect_bits & 3];
}

bool is_checked(mad::Method method) {
  return method == mad::Method::get || method == mad::Method::set || method == mad::Method::trap_repress;
}

bool has_key(const ManagedPort& endport, const mad::Smp& smp) {
  return endport.info.m_key == 0 || endport.info.m_key == smp.m_key;
}

// After it nobody is locked out by a manager that is gone.
void end_lease(ManagedPort& endport, TimePoint now) {
  if (now < endport.m_key_lease_end) return;
  endport.m_key_lease_end = kNever;
  endport.info.m_key_protect_bits = 0;
}

void count_violation(ManagedPort& endport, TimePoint now) {
  mad::PortInfo& info = endport.info;
  if (info.m_key_violations != 0xffff) ++info.m_key_violations;
  if (endport.m_key_lease_end == kNever && info.m_key_lease_period != 0) {
    endport.m_key_lease_end = now + std::chrono::seconds(info.m_key_lease_period);
  }
}

}  // namespace

bool admit_by_m_key(ManagedPort& endport, const mad::Smp& smp, TimePoint now) {
  end_lease(endport, now);
  if (!is_checked(smp.method)) return true;
  if (has_key(endport, smp)) {
    endport.m_key_lease_end = kNever;
    return true;
  }
  if (smp.method == mad::Method::get && protection_of(endport).reads) return true;
  count_violation(endport, now);
  return false;
}

bool shows_m_key(const ManagedPort& endport, const mad::Smp& smp) {
  return has_key(endport, smp) || protection_of(endport).reads_key;
}

}  // namespace softrnic::fabric
