#include <array>

#include "cli/commands.h"
#include "cli/library_folder.h"
#include "cli/output.h"
#include "doctor/checks.h"
#include "doctor/gather.h"

namespace softrnic::cli {
namespace {

using doctor::Outcome;
using doctor::Result;

struct DoctorOptions {
  std::string device, program;
};

constexpr Outcome kOutcomes[] = {Outcome::good, Outcome::slow, Outcome::broken, Outcome::not_checked};

std::size_t count_of(const std::vector<Result>& results, Outcome outcome) {
  std::size_t count = 0;
  for (const Result& result : results) count += result.finding.outcome == outcome ? 1 : 0;
  return count;
}

std::string title_of(const Result& result) {
  return result.device.empty() ? std::string(result.title)
                               : fmt::format("{} {}", result.device, result.title);
}

void print_result(const Result& result) {
  constexpr int kTitle = 20, kOutcome = 12;
  const doctor::Finding& finding = result.finding;
  const std::string name(doctor::name_of(finding.outcome));
  const std::string padding(kOutcome - name.size(), ' ');
  const bool bad = finding.outcome == Outcome::slow || finding.outcome == Outcome::broken;
  std::string text = finding.seen;
  if (!finding.because.empty()) text += (text.empty() ? "" : ": ") + finding.because;
  print_line("{:<{}} {}{}{}", printable(title_of(result)), kTitle, bad ? strong(name) : name, padding,
             printable(text));
  if (!finding.cure.empty()) print_line("{:<{}} cure: {}", "", kTitle + kOutcome, printable(finding.cure));
}

Json result_json(const Result& result) {
  Json row = {{"id", result.id}, {"title", result.title}};
  if (!result.device.empty()) row["device"] = result.device;
  row.update({{"outcome", doctor::name_of(result.finding.outcome)},
              {"seen", result.finding.seen},
              {"because", result.finding.because},
              {"cure", result.finding.cure}});
  return row;
}

void print_all(const std::vector<Result>& results) {
  std::string sum;
  for (const Outcome outcome : kOutcomes)
    sum +=
        fmt::format("{}{} {}", sum.empty() ? "" : ", ", count_of(results, outcome), doctor::name_of(outcome));
  for (const Result& result : results) print_result(result);
  print_line("{}", sum);
}

Json all_json(const std::vector<Result>& results) {
  Json out = {{"outcome", doctor::name_of(doctor::worst(results))}};
  for (const Outcome outcome : kOutcomes)
    out["counts"][std::string(doctor::name_of(outcome))] = count_of(results, outcome);
  out["checks"] = Json::array();
  for (const Result& result : results) out["checks"].push_back(result_json(result));
  return out;
}

int run(bool json, const DoctorOptions& options) {
  const std::vector<Result> results =
      doctor::examine(doctor::gather({library_folder(), options.program, options.device}));
  if (json) {
    print_json(all_json(results));
  } else {
    print_all(results);
  }
  return doctor::worst(results) == Outcome::broken ? kFailed : kDone;
}

std::string names_of_checks() {
  std::string out = "Checks:";
  for (const doctor::Check& check : doctor::checks()) out += fmt::format(" {}", check.id);
  out += "; of each device:";
  for (const doctor::DeviceCheck& check : doctor::device_checks()) out += fmt::format(" {}", check.id);
  return out + ".\n";
}

}  // namespace

void add_doctor(const grammar::Command& softrnic, Context& context) {
  auto options = std::make_shared<DoctorOptions>();
  const grammar::Command command =
      softrnic.command("doctor", "Look at what can stand in the way on this host, and tell the cure");
  command.option("--device", options->device, "look at this device alone");
  command.option("--program", options->program, "tell which libraries this program would load");
  command.footer(
      "Examples:\n"
      "  softrnic doctor\n"
      "  softrnic doctor --program ib_write_bw --device soft0\n"
      "  softrnic doctor --json\n"
      "One line a check: good; slow, as data takes a slower way; broken; not-checked, as it cannot be seen "
      "from "
      "here;\n"
      "with what was seen, and where it is not good, because of what and the cure. It tries what programs do "
      "(starts\n"
      "softrnicd if none runs, reads the memory of a process of its own, sends datagrams to addresses of "
      "this "
      "host),\n"
      "needs no privilege and changes nothing.\n"
      "With --json: outcome (the worst), counts (by outcome), checks: id, title, device (where it is about "
      "one), "
      "outcome,\n"
      "seen, because, cure. The ids and these names stay as they are; the sentences may change.\n" +
      names_of_checks() + "Exit codes: 0 nothing is broken, 1 something is, 2 usage.");
  command.finally(
      [&context, options] { context.chosen = [&context, options] { return run(context.json, *options); }; });
}

}  // namespace softrnic::cli
