#include "sysfs/facts.h"

#include <algorithm>

#include "control/client.h"

namespace softrnic::sysfs {
namespace {

DeviceFacts* find(Facts& facts, std::uint32_t index) {
  const auto it =
      std::find_if(facts.begin(), facts.end(), [index](const auto& d) { return d.info.index == index; });
  return it == facts.end() ? nullptr : &*it;
}

void add(control::CounterValues& sum, const control::CounterValues& values) {
  for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
}

/// Figures of a page are written at different moments, so the part can be ahead of the whole.
void subtract(control::CounterValues& from, const control::CounterValues& values) {
  for (std::size_t i = 0; i < values.size(); ++i) from[i] -= std::min(from[i], values[i]);
}

}  // namespace

void share_out(std::span<const ProcessCounters> processes, Facts& facts) {
  if (facts.empty()) return;
  for (const ProcessCounters& process : processes) {
    control::CounterValues rest = process.counted;
    for (const control::QpView& qp : process.qps) {
      DeviceFacts* const device = find(facts, qp.body.device);
      if (device == &facts.front()) continue;
      subtract(rest, qp.counters);
      if (device != nullptr) add(device->counters, qp.counters);
    }
    add(facts.front().counters, rest);
  }
}

std::optional<Facts> gather(control::Client& client, Wanted wanted, const std::string& device) {
  const auto devices = client.devices();
  if (!devices) return std::nullopt;
  Facts facts;
  for (const device::DeviceInfo& info : *devices) facts.push_back({info, {}});
  if (wanted == Wanted::state_and_counters) {
    const auto pages = client.pages();
    if (!pages) return std::nullopt;
    std::vector<ProcessCounters> processes;
    for (const control::PageFd& page : *pages) {
      const auto reader = control::PageReader::open(page.fd.get());
      // the rows of queue pairs are many, and with one device nobody needs them
      if (reader)
        processes.push_back(
            {reader->counted(), facts.size() > 1 ? reader->qps() : decltype(reader->qps()){}});
    }
    share_out(processes, facts);
  }
  if (!device.empty())
    facts.erase(std::remove_if(facts.begin(), facts.end(),
                               [&device](const auto& d) { return d.info.name != device; }),
                facts.end());
  return facts;
}

}  // namespace softrnic::sysfs
