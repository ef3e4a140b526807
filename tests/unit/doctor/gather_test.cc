// What is read of the kernel and the loader, and what is found on the host that the tests run on.
#include "doctor/gather.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

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

/// A program of this machine, made of segments alone, as linkers write them.
class Program {
 public:
  Program& add(ElfW(Word) type, std::string bytes, ElfW(Word) flags = PF_R) {
    ElfW(Phdr) segment{};
    segment.p_type = type;
    segment.p_flags = flags;
    segment.p_align = 4;
    segment.p_filesz = bytes.size();
    segments_.emplace_back(segment, std::move(bytes));
    return *this;
  }
  static std::string note(const std::string& owner, const std::string& text) {
    ElfW(Nhdr) header{};
    header.n_namesz = static_cast<ElfW(Word)>(owner.size() + 1);
    header.n_descsz = static_cast<ElfW(Word)>(text.size());
    std::string out(reinterpret_cast<const char*>(&header), sizeof header);
    for (const std::string& part : {owner + '\0', text})
      out += part + std::string((4 - part.size() % 4) % 4, '\0');
    return out;
  }
  ElfFile look() const {
    ElfW(Ehdr) header{};
    std::ifstream("/proc/self/exe").read(reinterpret_cast<char*>(&header), sizeof header);
    header.e_phoff = sizeof header;
    header.e_phnum = static_cast<ElfW(Half)>(segments_.size());
    std::string head, content;
    for (auto [segment, bytes] : segments_) {
      segment.p_offset = sizeof header + segments_.size() * sizeof segment + content.size();
      head.append(reinterpret_cast<const char*>(&segment), sizeof segment);
      content += bytes;
    }
    const std::string path = testing::TempDir() + "elf_file_test." + std::to_string(getpid());
    std::ofstream(path).write(reinterpret_cast<const char*>(&header), sizeof header) << head << content;
    const ElfFile seen = look_at(path);
    unlink(path.c_str());
    return seen;
  }

 private:
  std::vector<std::pair<ElfW(Phdr), std::string>> segments_;
};

// The C linker (cgo) puts notes of its own before Go's, and -buildid= leaves that out.
TEST(ElfFileTest, TellsGoFromC) {
  const std::string loader = "/lib64/ld-linux-x86-64.so.2", c = Program::note("GNU", std::string(20, 'x')),
                    go = Program::note(std::string("Go\0", 3), "build");
  const std::string info = std::string(32, ' ') + "\xff Go buildinf:";
  const auto dynamic = [&] { return Program().add(PT_INTERP, loader + '\0'); };
  EXPECT_EQ(dynamic().look().interpreter, loader);
  EXPECT_FALSE(dynamic().look().is_go);
  EXPECT_FALSE(dynamic().add(PT_NOTE, c + Program::note("Gob", "build")).look().is_go);
  EXPECT_TRUE(dynamic().add(PT_NOTE, go).look().is_go);
  EXPECT_TRUE(dynamic().add(PT_NOTE, Program::note("Go", "build")).look().is_go);
  EXPECT_TRUE(dynamic().add(PT_NOTE, c + Program::note("GNU", "abc") + go).look().is_go);
  EXPECT_TRUE(dynamic().add(PT_NOTE, c).add(PT_NOTE, go).look().is_go);
  EXPECT_TRUE(dynamic().add(PT_LOAD, "text", PF_R | PF_X).add(PT_LOAD, info, PF_R | PF_W).look().is_go);
  EXPECT_FALSE(dynamic().add(PT_LOAD, info).look().is_go) << "a text that mentions it";
  EXPECT_EQ(Program().add(PT_NOTE, go).look().kind, ProgramKind::without_loader);
}

// Whatever a file says of itself.
TEST(ElfFileTest, NotesThatReachBeyondTheirSegmentAreNone) {
  for (const ElfW(Word) size : {0U, 1U, 0x7fffffffU, 0xffffffffU}) {
    ElfW(Nhdr) header{.n_namesz = size, .n_descsz = size, .n_type = 0};
    const std::string note(reinterpret_cast<const char*>(&header), sizeof header);
    EXPECT_FALSE(Program().add(PT_NOTE, note).look().is_go) << size;
    EXPECT_FALSE(Program().add(PT_NOTE, note + "Go").look().is_go) << size;
  }
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
