#include "cli/processes.h"

#include <algorithm>
#include <iterator>

#include "cli/output.h"

namespace softrnic::cli {

bool read_processes(Processes& out) {
  bool failed = false;
  const auto client = connect_daemon(false, failed);
  if (!client) return !failed;
  const auto devices = client->devices();
  const auto pages = client->pages();
  if (!devices || !pages) {
    report(devices ? pages.error() : devices.error());
    return false;
  }
  for (const auto& device : *devices) out.device_names[device.index] = device.name;
  for (const control::PageFd& page : *pages) {
    const auto reader = control::PageReader::open(page.fd.get());
    if (!reader) continue;  // of another version
    out.processes.push_back(
        {page.pid, page.comm, page.ended_ns, reader->lanes(), reader->qps(), reader->explanations()});
  }
  return true;
}

namespace {

template <std::size_t n>
const char* name_in(const char* const (&names)[n], unsigned index) {
  return index < n && names[index] != nullptr ? names[index] : "?";
}

}  // namespace

const char* qp_type_name(unsigned type) {
  constexpr const char* names[] = {nullptr, nullptr, "RC", "UC", "UD"};  // enum ibv_qp_type
  return name_in(names, type);
}

const char* qp_state_name(unsigned state) {
  constexpr const char* names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};  // enum ibv_qp_state
  return name_in(names, state);
}

const char* path_name(std::uint8_t path) {
  switch (static_cast<control::PathChoice>(path)) {
    case control::PathChoice::direct:
      return "direct";
    case control::PathChoice::wire_only:
      return "wire-by-setting";
    case control::PathChoice::not_shared:
      return "wire-by-peer";
    case control::PathChoice::forbidden:
      return "ring-by-kernel";
    default:
      return "wire";
  }
}

std::vector<Explanation> latest_by_qp(const Process& process) {
  std::map<std::uint32_t, Explanation> latest;
  const auto take = [&latest](const Explanation& e) {
    Explanation& held = latest[e.qpn];
    if (e.time_ns >= held.time_ns) held = e;
  };
  for (const Explanation& e : process.explanations) take(e);
  for (const control::QpView& qp : process.qps)
    if (qp.last) take(*qp.last);
  std::vector<Explanation> out;
  for (const auto& [qpn, explanation] : latest) out.push_back(explanation);
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  return out;
}

}  // namespace softrnic::cli
