#include "copy/client.h"

#include "copy/handshake.h"
#include "copy/receiver.h"
#include "copy/sender.h"

namespace softrnic::copy {
namespace {

constexpr auto kStartPatience = std::chrono::seconds(10);

/// The ring of a side that receives files, or of one that receives answers.
Result<OwnRing> ring_for(Connection& connection, bool receives_files) {
  return receives_files ? make_ring(connection, kMaxSlots, kDataSlot)
                        : make_ring(connection, kReplySlots, kReplySlot);
}

Result<StreamPtr> connect(const CopyOptions& options) {
  const Deadline deadline = Clock::now() + kStartPatience;
  auto connection = Connection::dial(options.host, options.port, options.stop_fd, deadline);
  if (!connection) return Unexpected{connection.error()};
  auto own = ring_for(**connection, !options.upload);
  if (!own) return Unexpected{own.error()};
  const Role role = options.upload ? Role::upload : Role::download;
  const auto peer =
      greet_server(**connection, options.token, {role, own->ring, options.queue_pairs}, deadline);
  if (!peer) return Unexpected{peer.error()};
  return Stream::make(std::move(*connection), std::move(*own), *peer,
                      options.upload ? kDataSlot : kReplySlot);
}

Result<void> put_job(Stream& stream, const CopyOptions& options) {
  Job job = options.job;
  if (options.upload) job.destination = options.destination;
  if ((stream.capabilities() & kDirectChoice) == 0) job.flags &= ~kDirectFlags;
  Result<void> put = stream.put(job);
  for (const Filter& filter : options.filters.all())
    if (put) put = stream.put(filter);
  for (const std::string& source : options.sources)
    if (put && !options.upload) put = stream.put(Source{source});
  if (put) put = stream.put(Begin{});
  return put ? stream.flush() : put;
}

/// A server that has refused the destination says so before it takes anything.
Result<void> wait_until_ready(Stream& stream) {
  const auto frame = stream.next();
  if (!frame) return Unexpected{frame.error()};
  RecordView record;
  Aborted aborted;
  const bool any = Records(*frame).next(record);
  const Bytes body = record.body;
  const bool refused = any && record.type == RecordType::aborted && decode(aborted, body);
  stream.release();
  if (refused) return fail(Trouble::refused, aborted.text, static_cast<int>(aborted.error));
  return any && record.type == RecordType::ready
             ? Result<void>{}
             : fail(Trouble::protocol, "the server is not ready, and does not say why");
}

Result<Finished> upload(Stream& stream, const CopyOptions& options, Budget& memory, Observer& observer) {
  if (const auto put = put_job(stream, options); !put) return Unexpected{put.error()};
  if (const auto ready = wait_until_ready(stream); !ready) return Unexpected{ready.error()};
  return Sender(stream, Origin(), options.job, options.filters, memory, observer).run(options.sources);
}

/// The destination as this process sees files.
Result<Destination> destination_here(const CopyOptions& options) {
  Destination out;
  if (options.destination == "-") {
    out.pipe_fd = STDOUT_FILENO;
    return out;
  }
  std::string path = options.destination;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    auto tree = Tree::open(path);
    if (!tree) return Unexpected{tree.error()};
    out.tree = std::move(*tree);
    return out;
  }
  const auto [folder, name] = split_path(path);
  const auto tree = Tree::open(folder.empty() ? (path.starts_with('/') ? "/" : ".") : folder);
  if (!tree) return Unexpected{tree.error()};
  std::string clean;
  if (!clean_path(name, clean) || clean.empty()) return fail(Trouble::usage, path + " is no name for a file");
  return choose_destination(*tree, clean, options.job.flags);
}

Result<Finished> download(Stream& stream, const CopyOptions& options, Budget& memory, Observer& observer) {
  auto destination = destination_here(options);
  if (!destination) return Unexpected{destination.error()};
  if (const auto put = put_job(stream, options); !put) return Unexpected{put.error()};
  const Intake intake{options.job.flags, options.filters, options.sources, options.outside_links, memory};
  return Receiver(stream, std::move(*destination), intake, observer).run();
}

}  // namespace

Result<Finished> copy_files(const CopyOptions& options, Observer& observer) {
  const auto stream = connect(options);
  if (!stream) return Unexpected{stream.error()};
  Budget memory(options.memory, "--memory");
  auto done = options.upload ? upload(**stream, options, memory, observer)
                             : download(**stream, options, memory, observer);
  (*stream)->connection().disconnect();
  return done;
}

}  // namespace softrnic::copy
