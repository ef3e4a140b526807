// What is read of the kernel and the loader, and what is found on the host that the tests run on.
#include "doctor/gather.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "doctor/child.h"
#include "doctor/elf_file.h"

namespace softrnic::doctor {
namespace {

TEST(LoaderList, TellsWhereEachLibraryWasFound) {
  const LoadFacts load = parse_loader_list(
      "ERROR: ld.so: object 'libibumad.so.3' from LD_PRELOAD cannot be preloaded (x): ignored.\n"
      "ERROR: ld.so: object 'libvma.so' from LD_PRELOAD cannot be preloaded (x): ignored.\n"
      "\tlinux-vdso.so.1 (0x00007f00)\n"
      "\tlibibverbs.so.1 => /usr/lib/libibverbs.so.1 (0x00007f01)\n"
      "\tlibfoo.so.2 => not found\n"
      "\t/lib64/ld-linux-x86-64.so.2 (0x00007f02)\n",
      "");
  EXPECT_TRUE(load.asked);
  ASSERT_EQ(load.libraries.size(), std::size(kLibraries));
  EXPECT_EQ(load.libraries[0].path, "/usr/lib/libibverbs.so.1");
  EXPECT_EQ(load.libraries[2].path, "");
  EXPECT_EQ(load.missing, (std::vector<std::string>{"libvma.so", "libfoo.so.2"}));
  EXPECT_FALSE(parse_loader_list("", "").asked);
}

TEST(Hidepid, IsThatOfTheLastMountAtProc) {
  const std::string first = "22 1 0:21 / /proc rw,nosuid shared:5 - proc proc rw,hidepid=invisible,gid=4\n";
  EXPECT_EQ(parse_hidepid(first), "invisible");
  EXPECT_EQ(parse_hidepid(first + "30 1 0:30 / /proc rw - proc proc rw\n"), "");
  EXPECT_EQ(parse_hidepid("22 1 0:21 / /proc rw - proc proc rw,hidepid=off\n"), "");
  EXPECT_EQ(parse_hidepid("22 1 0:21 / /other rw - proc proc rw,hidepid=2\n"), "");
}

TEST(CpuMax, IsAShareOfProcessors) {
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 1.5);
  EXPECT_EQ(parse_cpu_max("max 100000\n"), 0);
  EXPECT_EQ(parse_cpu_max(""), 0);
}

TEST(ElfFileTest, KindsOfPrograms) {
  EXPECT_EQ(look_at("/proc/self/exe").kind, ProgramKind::dynamic);
  EXPECT_NE(look_at("/proc/self/exe").interpreter, "");
  EXPECT_EQ(look_at("/nowhere").kind, ProgramKind::not_found);
  EXPECT_EQ(look_at("/proc/self/status").kind, ProgramKind::not_elf);
}

TEST(ChildTest, FindsOutOrEnds) {
  EXPECT_EQ(in_child([] { return 7; }), 7);
  EXPECT_EQ(in_child([] {
              _exit(0);
              return 7;
            }),
            std::nullopt);
  EXPECT_EQ(output_of({"/bin/sh", "-c", "echo out; echo $WORD >&2"}, {"WORD=err"}), "out\nerr\n");
  EXPECT_EQ(output_of({"/nowhere"}, {}), "");
}

TEST(Gather, TriesWhatProgramsDo) {
  const HostFacts host = gather_host();
  EXPECT_GT(host.kernel_major, 3U);
  EXPECT_GE(host.libc_minor, 34U);
  EXPECT_GT(host.clock_ns, 0U);
  EXPECT_GE(host.processors, 1U);
  EXPECT_EQ(host.threads_error, 0);
  const SameHostFacts here = gather_same_host();
  EXPECT_TRUE(here.attach_tried);
  EXPECT_EQ(here.memfd_error, 0);
  EXPECT_GE(here.calls.size(), 6U);
  NetworkFacts network;
  gather_sockets(network);
  EXPECT_GT(network.send_buffer, 0U);
}

}  // namespace
}  // namespace softrnic::doctor
