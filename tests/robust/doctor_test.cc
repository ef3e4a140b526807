// `softrnic doctor` in surroundings that are made for it: each lack is told, and nothing else becomes broken.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "hardship.h"
#include "workers.h"

namespace softrnic::robust {
namespace {

using Words = std::vector<std::string>;
constexpr int kNotHere = 126;
constexpr const char* kBinary = SOFTRNIC_COMMAND;

struct Report {
  int code = -1;
  nlohmann::json json;

  std::string outcome(const std::string& id) const { return field(id, "outcome"); }
  std::string field(const std::string& id, const char* name) const {
    if (json.is_object())
      for (const auto& check : json["checks"])
        if (check["id"] == id) return check[name].get<std::string>();
    return "no such check";
  }
};

/// A child's part: undergoes `hardships`, and becomes the doctor.
int become_doctor(const Words& hardships, const Words& environment, const Words& options, int out) {
  std::vector<std::string> words{"doctor_test"};
  words.insert(words.end(), hardships.begin(), hardships.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  const int count = static_cast<int>(pointers.size());
  if (undergo(count, pointers.data()) != count - 1) return kNotHere;
  for (const std::string& variable : environment) putenv(const_cast<char*>(variable.c_str()));
  dup2(out, STDOUT_FILENO);
  std::vector<char*> arguments{const_cast<char*>(kBinary), const_cast<char*>("doctor")};
  for (const std::string& option : options) arguments.push_back(const_cast<char*>(option.c_str()));
  arguments.push_back(nullptr);
  execv(kBinary, arguments.data());
  return kNotHere;
}

struct Output {
  int code = -1;
  std::string text;
};
Output output_of_doctor(const Words& hardships, const Words& environment, const Words& options) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reading(ends[0]), writing(ends[1]);
  const pid_t child =
      start_child([&] { return become_doctor(hardships, environment, options, writing.get()); });
  writing.reset();
  Output output;
  char piece[4096];
  for (ssize_t got; (got = read(reading.get(), piece, sizeof piece)) > 0;)
    output.text.append(piece, static_cast<std::size_t>(got));
  output.code = end_of(child);
  return output;
}

Report doctor(const Words& hardships, const Words& environment = {}, Words options = {}) {
  options.push_back("--json");
  const Output output = output_of_doctor(hardships, environment, options);
  return {output.code, nlohmann::json::parse(output.text, nullptr, false)};
}

class DoctorTest : public testing::Test {
 protected:
  void SetUp() override { end_daemon(); }
  void TearDown() override { end_daemon(); }
};

struct Lack {
  Words hardships;
  std::string check;
  std::string outcome;
  std::string said;  ///< in what was seen or why
};
const std::vector<Lack> kLacks = {
    {{"without-attach"}, "seccomp", "slow", "process_vm_readv, process_vm_writev"},
    {{"without-attach"}, "attach", "slow", "packets through shared memory"},
    {{"without-rseq"}, "seccomp", "slow", "rseq"},
    {{"without-rseq"}, "rseq", "slow", "not registered"},
    {{"without-memfd"}, "memfd", "slow", "UDP packets"},
    {{"without-pidfd"}, "seccomp", "slow", "pidfd_open, pidfd_getfd"},
    {{"without-proc"}, "proc", "slow", "none"},
    {{"hidden-proc", "as-nobody"}, "proc", "good", "hidepid=ptraceable"},
    {{"read-only"}, "files", "good", "root read-only, /dev/shm not writable"},
    {{"limit", "memlock", "0"}, "memlock", "good", "limit 0 bytes; not needed"},
    {{"limit", "nofile", "40"}, "descriptors", "broken", "limit 40"},
    {{"limit", "nofile", "40"}, "daemon", "broken", "file descriptor"},
    {{"limit", "file-size", "4096"}, "memfd", "slow", "EFBIG"},
    {{"limit", "address-space", "30000000"}, "address-space", "broken", "address space"},
    {{"as-nobody", "limit", "nproc", "1"}, "threads", "broken", "limit 1"}};

TEST_F(DoctorTest, TellsWhatIsLacking) {
  unsigned met = 0;
  for (const Lack& lack : kLacks) {
    end_daemon();
    const Report report = doctor(lack.hardships);
    if (report.code == kNotHere) continue;  // this system does not make such surroundings
    ++met;
    const std::string said = report.field(lack.check, "seen") + ": " + report.field(lack.check, "because");
    EXPECT_EQ(report.outcome(lack.check), lack.outcome) << lack.hardships[0] << ": " << said;
    EXPECT_NE(said.find(lack.said), std::string::npos) << lack.hardships[0] << ": " << said;
    EXPECT_EQ(report.code, report.json["counts"]["broken"] == 0 ? 0 : 1);
    EXPECT_EQ(report.code == 1, lack.outcome == "broken") << lack.hardships[0] << report.json.dump(1);
  }
  EXPECT_GE(met, 8U) << "filters and limits are made anywhere";
}

TEST_F(DoctorTest, FindsNothingBrokenWhereNothingIs) {
  const Report report = doctor({});
  EXPECT_EQ(report.code, 0) << report.json.dump(1);
  for (const char* id :
       {"libraries", "libraries-plain", "settings", "preload", "seccomp", "rseq", "memfd", "proc", "daemon",
        "namespaces", "port", "offload", "devices", "link", "mtu", "own-address"})
    EXPECT_EQ(report.outcome(id), "good") << report.field(id, "because");
  EXPECT_NE(report.field("daemon", "seen").find("started by itself"), std::string::npos);
  EXPECT_EQ(doctor({}).field("daemon", "seen").find("started by itself"), std::string::npos) << "it lives";
}

TEST_F(DoctorTest, WorksWithoutProcAsItDoesWithIt) {
  const Report report = doctor({"without-proc"});
  if (report.code == kNotHere) GTEST_SKIP() << "/proc cannot be hidden here";
  for (const char* id : {"libraries", "daemon", "devices", "own-address"})
    EXPECT_EQ(report.outcome(id), "good") << report.field(id, "because");
}

TEST_F(DoctorTest, TellsWhoHasThePort) {
  const UniqueFd holder(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(4791);
  ASSERT_EQ(bind(holder.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const Report report = doctor({});
  EXPECT_EQ(report.code, 1);
  EXPECT_EQ(report.outcome("port"), "broken");
  EXPECT_EQ(report.outcome("daemon"), "broken");
  EXPECT_NE(report.field("port", "because").find("process " + std::to_string(getpid())), std::string::npos)
      << report.field("port", "because");
}

TEST_F(DoctorTest, TellsOfOtherNamespacesThanTheDaemons) {
  for (const char* namespaces : {"in-user-namespace", "in-pid-namespace"}) {
    end_daemon();
    Worker holder({"hold"}, UniqueFd());
    ASSERT_TRUE(holder.reports(1));
    const Report report = doctor({namespaces});
    if (report.code == kNotHere) continue;
    EXPECT_EQ(report.outcome("namespaces"), "slow") << namespaces << report.json.dump(1);
  }
}

TEST_F(DoctorTest, LooksAtTheEnvironment) {
  EXPECT_EQ(doctor({}, {"SOFTRNIC_EXPLIAN=1"}).outcome("settings"), "broken");
  EXPECT_EQ(doctor({}, {"SOFTRNIC_FAULTS=drop"}).outcome("settings"), "broken");
  EXPECT_EQ(doctor({}, {"SOFTRNIC_DEVICE=soft9"}).outcome("settings"), "broken");
  EXPECT_EQ(doctor({}, {"SOFTRNIC_PATH=wire"}).outcome("settings"), "slow");
  const Report preloaded = doctor({}, {"LD_PRELOAD=libnowhere.so"});
  EXPECT_EQ(preloaded.outcome("preload"), "slow");
  EXPECT_EQ(preloaded.outcome("libraries"), "broken") << "the loader does not find it";
  const std::string folder =
      std::string(kBinary).substr(0, std::string(kBinary).rfind("/bin/")) + "/lib/softrnic";
  const Report ours = doctor({}, {"LD_LIBRARY_PATH=" + folder});
  EXPECT_EQ(ours.field("libraries-plain", "seen").find("softrnic's: libibverbs.so.1, librdmacm.so.1"), 0U);
}

TEST_F(DoctorTest, SeesThatNothingArrivesWithoutALoopback) {
  ASSERT_EQ(std::system("ip link set lo down"), 0);
  const Report report = doctor({});
  ASSERT_EQ(std::system("ip link set lo up"), 0);
  EXPECT_EQ(report.code, 1);
  EXPECT_EQ(report.outcome("link"), "broken") << report.json.dump(1);
}

TEST_F(DoctorTest, SeesTheMtuAndDatagramsThatAreLost) {
  const auto shell = [](const char* command) { return std::system(command) == 0; };
  if (!shell("ip link add v0 type veth peer name v1 && ip address add 10.9.9.1/24 dev v0 && "
             "ip link set v0 up && ip link set v1 up && ip link set lo down"))
    GTEST_SKIP() << "no pairs of netdevs here";
  const Report report = doctor({});  // without loopback a host does not reach its own addresses
  EXPECT_TRUE(shell("ip link delete v0 && ip link set lo up"));
  EXPECT_EQ(report.outcome("mtu"), "slow");
  EXPECT_EQ(report.field("mtu", "seen"), "MTU 1500 of v0: path MTU 1024");
  EXPECT_EQ(report.outcome("own-address"), "broken");
  EXPECT_NE(report.field("own-address", "seen").find("10.9.9.1 lost"), std::string::npos)
      << report.field("own-address", "seen");
  EXPECT_EQ(report.code, 1);
}

TEST_F(DoctorTest, LooksAtOneProgramAndOneDevice) {
  EXPECT_EQ(doctor({}, {}, {"--program", "sh"}).outcome("libraries"), "good");
  EXPECT_EQ(doctor({}, {}, {"--program", "/proc/self/status"}).outcome("libraries"), "not-checked");
  EXPECT_EQ(doctor({}, {}, {"--program", "/nowhere"}).outcome("libraries"), "broken");
  EXPECT_EQ(doctor({}, {}, {"--device", "soft0"}).outcome("mtu"), "good");
  const Report none = doctor({}, {}, {"--device", "soft9"});
  EXPECT_EQ(none.outcome("devices"), "broken");
  EXPECT_EQ(none.outcome("mtu"), "no such check");
  EXPECT_EQ(none.code, 1);
}

TEST_F(DoctorTest, TextOfOthersDoesNothingToATerminal) {
  const Output output = output_of_doctor({}, {"SOFTRNIC_DEVICE=a\x1b[2Jb"}, {});
  EXPECT_EQ(output.code, 1);
  EXPECT_NE(output.text.find("SOFTRNIC_DEVICE=a\\033[2Jb"), std::string::npos) << output.text;
  EXPECT_EQ(output.text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace softrnic::robust
