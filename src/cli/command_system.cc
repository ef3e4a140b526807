// system: softrnic for all programs of this system, or for those alone that `softrnic run` starts.
#include <unistd.h>

#include "cli/commands.h"
#include "cli/library_folder.h"
#include "cli/output.h"
#include "cli/system_libraries.h"

namespace softrnic::cli {
namespace {

int report_text(const std::string& text) {
  complain(text);
  return kFailed;
}

Json json_of(const LoadedLibrary& library) {
  Json row = {{"name", library.name}, {"softrnic", library.ours}};
  row["path"] = library.path.empty() ? Json() : Json(library.path);
  row["decided_by"] = library.decider.empty() ? Json() : Json(library.decider);
  return row;
}

void print(const LoadedLibrary& library) {
  if (library.path.empty()) {
    print_line("{}: none", strong(library.name));
    return;
  }
  const std::string decider = library.decider.empty() ? "a folder that the loader always looks in"
                                                      : "named in " + printable(library.decider);
  print_line("{}: {} ({}, {})", strong(library.name), printable(library.path),
             library.ours ? "softrnic" : "not softrnic", decider);
}

/// kDone when all programs get softrnic, else kFailed, for scripts.
int show_loader(const LoaderPlace& place, bool json) {
  const auto libraries = loaded_libraries(place);
  if (!libraries) return report_text(libraries.error());
  bool all = !libraries->empty();
  for (const LoadedLibrary& each : *libraries) all = all && each.ours;
  if (json) {
    Json rows = Json::array();
    for (const LoadedLibrary& each : *libraries) rows.push_back(json_of(each));
    print_json({{"enabled", all}, {"libraries", rows}});
  } else {
    print_line("softrnic for all programs: {}", all ? "enabled" : "disabled");
    for (const LoadedLibrary& each : *libraries) print(each);
  }
  return all ? kDone : kFailed;
}

int change(const LoaderPlace& place, bool json,
           Expected<void, std::string> (*change_for_all)(const LoaderPlace&)) {
  if (geteuid() != 0) return report_text("this changes what all programs load: only root can do it");
  const auto done = change_for_all(place);
  if (!done) return report_text(done.error());
  show_loader(place, json);
  return kDone;
}

template <typename Act>
int with_libraries(Act act) {
  const std::string folder = require_library_folder();
  return folder.empty() ? static_cast<int>(kFailed) : act(LoaderPlace{.libraries = folder});
}

}  // namespace

void add_system(const grammar::Command& softrnic, Context& context) {
  const grammar::Command command =
      softrnic.command("system", "Let all programs see softrnic, not only those of softrnic run");
  command.takes_commands(1, 1);
  command.footer(
      "Examples:\n  softrnic system status\n  sudo softrnic system enable\n  sudo softrnic system disable\n"
      "It writes a file into /etc/ld.so.conf.d and runs ldconfig. Programs that run already keep what they "
      "have, and LD_LIBRARY_PATH comes before it. While it is enabled, programs do not see the machine's own "
      "adapters.");
  const auto add = [&](const char* name, const char* help, auto act) {
    command.command(name, help).finally([&context, act] {
      context.chosen = [&context, act] {
        return with_libraries([&](const LoaderPlace& place) { return act(place, context.json); });
      };
    });
  };
  add("enable", "All programs load softrnic's libraries (root)",
      [](const LoaderPlace& place, bool json) { return change(place, json, enable_for_all); });
  add("disable", "All programs load what they did before (root)",
      [](const LoaderPlace& place, bool json) { return change(place, json, disable_for_all); });
  add("status",
      "Which libraries a program loads, and which file decides that; exit code 1 when not softrnic's",
      show_loader);
}

}  // namespace softrnic::cli
