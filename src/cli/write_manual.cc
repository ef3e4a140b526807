// Writes manual pages and completions below a folder, as they are to stand in share/: softrnic-manual FOLDER.
// Run by the build; it is not installed.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

#include "cli/commands.h"
#include "cli/man_page.h"
#include "cli/shell_completion.h"
#include "daemon/daemon_options.h"
#include "fabricd/options.h"

namespace softrnic::cli {
namespace {

bool write(const std::filesystem::path& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  std::ofstream file(path);
  file << text << std::flush;
  if (!file) std::cerr << "softrnic-manual: cannot write " << path << '\n';
  return static_cast<bool>(file);
}

bool write_all(const std::filesystem::path& share) {
  Context context;
  const grammar::CommandTable softrnic = grammar::table_of(make_grammar(context).root());
  daemon::Options options;
  const grammar::CommandTable softrnicd = grammar::table_of(daemon::make_grammar(options).root());
  fabricd::Options of_fabric;
  const grammar::CommandTable fabricd = grammar::table_of(fabricd::make_grammar(of_fabric).root());
  bool good = write(share / "man/man1/softrnic.1", man_page(softrnic, "softrnic", 1)) &&
              write(share / "man/man7/softrnic.7", man_page_of_settings()) &&
              write(share / "man/man8/softrnicd.8", man_page(softrnicd, "softrnicd", 8)) &&
              write(share / "man/man8/softrnic-fabricd.8", man_page(fabricd, "softrnic-fabricd", 8)) &&
              write(share / "bash-completion/completions/softrnic", bash_completion(softrnic)) &&
              write(share / "zsh/vendor-completions/_softrnic", zsh_completion(softrnic)) &&
              write(share / "fish/vendor_completions.d/softrnic.fish", fish_completion(softrnic));
  for (const grammar::CommandTable& command : softrnic.commands) {
    const std::string& name = command.name;
    good = good &&
           write(share / "man/man1" / ("softrnic-" + name + ".1"), man_page(command, "softrnic " + name, 1));
  }
  return good;
}

}  // namespace
}  // namespace softrnic::cli

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: softrnic-manual FOLDER\n";
    return 2;
  }
  return softrnic::cli::write_all(argv[1]) ? 0 : 1;
}
