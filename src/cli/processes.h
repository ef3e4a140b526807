// What the processes that use softrnic show of themselves, those that died lately included.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/client.h"
#include "control/page_reader.h"

namespace softrnic::cli {

struct Process {
  std::int32_t pid = 0;
  std::string comm;            ///< printable, whatever the process calls itself
  std::uint64_t ended_ns = 0;  ///< CLOCK_REALTIME, 0: it lives
  std::vector<control::LaneView> lanes;
  std::vector<control::QpView> qps;
  std::vector<Explanation> explanations;  ///< oldest first

  bool alive() const { return ended_ns == 0; }
};

struct Processes {
  std::vector<Process> processes;
  std::map<std::uint32_t, std::string> device_names;  ///< by index
};

/// Asks the daemon; empty when none runs. False after a complaint.
bool read_processes(Processes& out);

std::string qp_type_name(unsigned type);         ///< "RC"
std::string_view qp_state_name(unsigned state);  ///< "RTS"

/// A control::PathChoice in words.
struct PathText {
  control::PathChoice choice;
  const char* name;  ///< "direct"
  const char* why;   ///< and nothing shorter
};
/// In the order of the enumeration.
std::span<const PathText> path_texts();
/// Of a queue pair's row, whose numbers may be another version's.
const PathText& path_text(const control::PageQpBody& qp);
/// XRC where others go direct, which it never does.
const PathText& xrc_path_text();

/// Of every QP the latest reasons, from the rows of live QPs or else from the ring, which remembers
/// destroyed ones: errors before notes, and in each the order of time. The QP to which something
/// happened last comes last.
std::vector<ExplanationHistory::Entry> reasons_by_qp(const Process& process);

}  // namespace softrnic::cli
