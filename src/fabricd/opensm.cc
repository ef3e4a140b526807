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
#include <system_error>

#include "base/argument_pointers.h"
#include "control/spawn.h"

namespace softrnic::fabricd {
namespace {

constexpr const char* kOwnFolder = "/.opensm";  ///< no host has this name
constexpr const char* kLog = "/log";

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

std::vector<std::string> command_line(const Options& options, const std::string& opensm,
                                      const std::string& host, const std::string& folder) {
  std::vector<std::string> words = {find_softrnic(), "run", "--no-sysfs", "--host", host, "--",
                                    opensm,          "-f",  folder + kLog};
  const auto add = [&words](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("-R", options.routing);
  add("-P", options.partitions);
  add("-F", options.configuration);
  return words;
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

Expected<void, std::string> OpenSm::start(const Options& options, const std::string& host,
                                          const std::string& folder) {
  const std::string opensm = find_opensm();
  if (opensm.empty()) return Unexpected{std::string("opensm is not installed (Debian package opensm)")};
  folder_ = folder + kOwnFolder;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);  // of a fabric that was killed
  if (mkdir(folder_.c_str(), 0700) != 0) return Unexpected{folder_ + ": " + std::strerror(errno)};
  const std::vector<std::string> words = command_line(options, opensm, host, folder_);
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
