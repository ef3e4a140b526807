// The manual and the completions hold every command and option that the grammar has.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/settings.h"
#include "cli/commands.h"
#include "cli/man_page.h"
#include "cli/shell_completion.h"
#include "grammar/table.h"

namespace softrnic::cli {
namespace {

using std::filesystem::path;

class Manual : public testing::Test {
 protected:
  const grammar::CommandTable& command(const std::string& name) const {
    return *std::find_if(softrnic.commands.begin(), softrnic.commands.end(),
                         [&](const grammar::CommandTable& each) { return each.name == name; });
  }
  Context context;
  grammar::CommandTable softrnic = grammar::table_of(make_grammar(context).root());
};

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string in_roff(std::string name) {
  std::string out;
  for (const char c : name) out += c == '-' ? std::string("\\-") : std::string(1, c);
  return out;
}

TEST_F(Manual, OptionsHaveNamesValuesChoicesAndLimits) {
  const auto rows = command("cp").options;
  const auto row_of = [&](const std::string& name) {
    return *std::find_if(rows.begin(), rows.end(),
                         [&](const grammar::OptionRow& row) { return row.names.back() == name; });
  };
  EXPECT_EQ(row_of("--recursive").names, (std::vector<std::string>{"-r", "--recursive"}));
  EXPECT_EQ(row_of("--recursive").value, "");
  EXPECT_EQ(row_of("--direct-io").choices, (std::vector<std::string>{"auto", "always", "never"}));
  EXPECT_EQ(row_of("--queue-pairs").limits, "1 - 8");
  EXPECT_EQ(row_of("--queue-pairs").value, "UINT");
  EXPECT_EQ(command("cp").positionals.front().names.front(), "paths");
}

TEST_F(Manual, APageHasAllOptionsAndExamples) {
  for (const grammar::CommandTable& each : softrnic.commands) {
    const std::string page = man_page(each, "softrnic " + each.name, 1);
    for (const grammar::OptionRow& row : each.options)
      for (const std::string& name : row.names)
        EXPECT_TRUE(holds(page, "\\fB" + in_roff(name) + "\\fR")) << page;
    EXPECT_TRUE(page.starts_with(".TH \"SOFTRNIC\\-")) << page;
  }
  const std::string cp = man_page(command("cp"), "softrnic cp", 1);
  EXPECT_TRUE(holds(cp, ".SH EXAMPLES\n.nf\nsoftrnic cp disk.img")) << cp;
  EXPECT_TRUE(holds(cp, "\nExit codes: 0 all copied")) << cp;
  const std::string run = man_page(command("run"), "softrnic run", 1);
  EXPECT_TRUE(holds(run, "\\fIPROGRAM\\fR")) << run;
}

TEST_F(Manual, TextIsNeverARequestOfRoff) {
  grammar::Grammar odd("", "");
  bool is_odd = false;
  odd.root().flag("--odd", is_odd, "'.' is here,\n.and 'there', and \\ too");
  const std::string page = man_page(grammar::table_of(odd.root()), "odd", 1);
  EXPECT_TRUE(holds(page, "\n\\&'.' is here,\n\\&.and 'there', and \\e too\n")) << page;
}

TEST_F(Manual, ThePageOfVariablesHasEachOfThem) {
  const std::string page = man_page_of_settings();
  for (const SettingInfo& row : setting_table()) EXPECT_TRUE(holds(page, std::string(row.name))) << page;
}

void for_each_command(const grammar::CommandTable& command, auto&& act) {
  act(command);
  for (const grammar::CommandTable& below : command.commands) for_each_command(below, act);
}

TEST_F(Manual, EachShellHasAllCommandsAndOptions) {
  const std::string bash = bash_completion(softrnic), zsh = zsh_completion(softrnic),
                    fish = fish_completion(softrnic);
  for_each_command(softrnic, [&](const grammar::CommandTable& each) {
    for (const grammar::OptionRow& row : each.options) {
      const std::string& name = row.names.back();
      EXPECT_TRUE(holds(bash, " " + name)) << name;
      EXPECT_TRUE(holds(zsh, name + "[") || holds(zsh, name + "}")) << name;
      EXPECT_TRUE(holds(fish, " -l " + name.substr(2))) << name;
    }
  });
}

/// A folder with the completions of a shell.
class Completions {
 public:
  explicit Completions(const std::string& script)
      : folder_(std::filesystem::temp_directory_path() /
                ("softrnic-completion-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    write("script", script);
  }
  ~Completions() { std::filesystem::remove_all(folder_); }
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  /// Of a program of the shell, which runs in the folder: the first line that it writes into "out".
  std::string run(const std::string& shell, const std::string& program) const {
    write("try", program);
    const std::string folder = folder_.string();
    if (std::system(("cd " + folder + " && HOME=" + folder + " " + shell + " try").c_str()) != 0)
      return shell + " failed";
    std::string out;
    std::getline(std::ifstream(folder_ / "out"), out);
    return out;
  }

 private:
  void write(const char* name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  path folder_;
};

/// What bash offers for a command line, the last word of which is being written.
std::string completed(const std::string& script, const std::string& words) {
  return Completions(script).run("bash", "source ./script\nCOMP_WORDS=(" + words +
                                             ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_softrnic\n"
                                             "printf '%s ' \"${COMPREPLY[@]}\" >out\n");
}

TEST_F(Manual, BashCompletesWithIt) {
  const std::string script = bash_completion(softrnic);
  EXPECT_EQ(completed(script, "softrnic st"), "stat ");
  EXPECT_EQ(completed(script, "softrnic --json res"), "resource ");
  EXPECT_EQ(completed(script, "softrnic cp --rec"), "--recursive ");
  EXPECT_EQ(completed(script, "softrnic cp --direct-io a"), "auto always ");
  EXPECT_EQ(completed(script, "softrnic cp --queue-pairs ''"), " ");
  EXPECT_EQ(completed(script, "softrnic run --exp"), "--explain ");
  EXPECT_EQ(completed(script, "softrnic fabric tr"), "trace ");
  EXPECT_EQ(completed(script, "softrnic fabric up --sm e"), "embedded ");
  EXPECT_EQ(completed(script, "softrnic fabric link li"), " ");
  EXPECT_EQ(completed(script, "softrnic fabric list --js"), "--json ");
  EXPECT_TRUE(completed(script, "softrnic run -- mkfif").starts_with("mkfifo "));
}

TEST_F(Manual, FishCompletesWithIt) {
  if (std::system("command -v fish >/dev/null") != 0) GTEST_SKIP() << "fish is not installed";
  const Completions fish(fish_completion(softrnic));
  const auto completed = [&](const std::string& line) {
    return fish.run("fish", "source script\ncomplete -C '" + line +
                                "' | string split -f 1 \\t | string join ' ' >out; true");
  };
  EXPECT_EQ(completed("softrnic st"), "stat");
  EXPECT_EQ(completed("softrnic --json res"), "resource");
  EXPECT_EQ(completed("softrnic cp --direct-io a"), "always auto");
  EXPECT_EQ(completed("softrnic run mkfif"), "mkfifo");
  EXPECT_EQ(completed("softrnic run --faults drop=1 -- mkfif"), "mkfifo");
  EXPECT_EQ(completed("softrnic fabric tr"), "trace");
  EXPECT_EQ(completed("softrnic fabric up --sm e"), "embedded");
  EXPECT_EQ(completed("softrnic fabric link li"), "");
  EXPECT_EQ(completed("softrnic fabric list --js"), "--json");
}

}  // namespace
}  // namespace softrnic::cli
