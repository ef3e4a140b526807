#include "fabricd/opensm.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/argument_pointers.h"
#include "control/spawn.h"
#include "fabric/topology_shapes.h"
#include "fabric/torus_2qos_writer.h"
#include "fabricd/manager_setup.h"
#include "subnet/conf_text.h"

namespace softrnic::fabricd {
namespace {

constexpr const char* kOwnFolder = "/.opensm";  ///< no host has this name
constexpr const char* kLog = "/log";
constexpr const char* kTorusFile = "/torus-2QoS.conf";

/// Where the program is, as a shell would find it; PATHs of ordinary users often lack the last two.
std::string find_opensm() {
  const char* const path = std::getenv("PATH");
  std::string folders = std::string(path != nullptr ? path : "") + ":/usr/sbin:/usr/local/sbin";
  for (std::size_t at = 0; at != std::string::npos;) {
    const std::size_t end = folders.find(':', at);
    const std::string file = folders.substr(at, end == std::string::npos ? end : end - at) + "/opensm";
    if (file.front() == '/' && access(file.c_str(), X_OK) == 0) return file;
    at = end == std::string::npos ? end : end + 1;
  }
  return {};
}

/// `softrnic` is where this program is.
std::string find_softrnic() {
  const std::string own = control::own_program();
  return own.substr(0, own.rfind('/') + 1) + "softrnic";
}

bool asks_for_torus(const Options& options) {
  return options.routing.find("torus-2QoS") != std::string::npos;
}

/// Whether the settings name a torus-2QoS.conf; then it is the user's.
bool names_torus_file(std::string_view settings) {
  while (!settings.empty()) {
    std::string_view line = subnet::trim(subnet::cut(settings, "\n"));
    if (subnet::cut(line, subnet::kConfSpace) == "torus_config") return true;
  }
  return false;
}

/// Where the engine torus-2QoS reads what the fabric looks like; empty: nobody has to tell it, or the user
/// does.
Expected<std::string, std::string> write_torus_file(const Options& options, const fabric::Topology& topology,
                                                    const std::string& folder) {
  std::string settings;
  if (!options.configuration.empty()) {
    auto text = read_text(options.configuration);
    if (!text) return Unexpected{text.error()};
    settings = std::move(*text);
  }
  if (names_torus_file(settings)) return std::string();
  const auto grid = options.file.empty() ? fabric::grid_of(options.topology) : std::nullopt;
  const auto text = grid ? fabric::write_torus_2qos(*grid, topology) : std::nullopt;
  if (!text && asks_for_torus(options))
    return Unexpected{std::string(
        "torus-2QoS needs the shape torus or mesh with up to three dimensions; for another fabric write its "
        "torus-2QoS.conf, and name that as torus_config in a file for --config")};
  if (!text) return std::string();
  std::string path = folder + kTorusFile;
  if (!(std::ofstream(path) << *text).flush()) return Unexpected{path + " cannot be written"};
  return path;
}

std::vector<std::string> command_line(const Options& options, const std::string& opensm,
                                      const std::string& host, const std::string& folder,
                                      const std::string& torus_file) {
  std::vector<std::string> words = {find_softrnic(), "run", "--no-sysfs", "--host", host, "--",
                                    opensm,          "-f",  folder + kLog};
  const auto add = [&words](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("-R", options.routing);
  add("-P", options.partitions);
  add("-F", options.configuration);
  add("--torus_config", torus_file);
  if (asks_for_torus(options)) words.push_back("-Q");  // without its SL-to-VL tables it can deadlock
  return words;
}

Expected<void, std::string> make_folder(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);  // of a fabric that was killed
  if (mkdir(path.c_str(), 0700) != 0) return Unexpected{path + ": " + std::strerror(errno)};
  return {};
}

[[noreturn]] void become(const std::vector<std::string>& words, const std::string& folder) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  setenv("OSM_TMP_DIR", folder.c_str(), 1);
  setenv("OSM_CACHE_DIR", folder.c_str(), 1);
  const int null = open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, standard);
  const std::vector<char*> arguments = argument_pointers(words);
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

std::string opensm_log(const std::string& folder) { return folder + kOwnFolder + kLog; }

Expected<void, std::string> OpenSm::start(const Options& options, const fabric::Topology& topology,
                                          const std::string& folder) {
  const auto host = topology.first_adapter();
  if (!host) return Unexpected{std::string("opensm needs a host, and there is none")};
  const std::string opensm = find_opensm();
  if (opensm.empty()) return Unexpected{std::string("opensm is not installed (Debian package opensm)")};
  folder_ = folder + kOwnFolder;
  if (auto made = make_folder(folder_); !made) return made;
  const auto torus_file = write_torus_file(options, topology, folder_);
  if (!torus_file) return Unexpected{torus_file.error()};
  const std::string name = options.name + "/" + topology.node(*host).name;
  const std::vector<std::string> words = command_line(options, opensm, name, folder_, *torus_file);
  process_ = fork();
  if (process_ == 0) become(words, folder_);
  if (process_ < 0) return Unexpected{std::string("opensm: ") + std::strerror(errno)};
  return {};
}

OpenSm::~OpenSm() {
  if (process_ > 0) {
    kill(process_, SIGKILL);  // what it would put in order ends with the fabric
    waitpid(process_, nullptr, 0);
  }
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

}  // namespace softrnic::fabricd
