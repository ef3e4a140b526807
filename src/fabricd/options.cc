#include "fabricd/options.h"

namespace softrnic::fabricd {

grammar::Grammar make_grammar(Options& options) {
  grammar::Grammar grammar(
      "softrnic-fabricd: the process of an emulated InfiniBand fabric. `softrnic fabric up` starts it.",
      "softrnic-fabricd");
  const grammar::Command root = grammar.root();
  root.option("--name", options.name, "name of the fabric").shows_default();
  const grammar::Option file = root.option(
      "--file", options.file, "topology in a file: a net file of ibsim, or the output of ibnetdiscover");
  root.option("--topology", options.topology, "shape of the fabric, as `softrnic fabric up --help` has them")
      .excludes(file);
  root.option("--sm", options.manager,
              "subnet manager: embedded, opensm, or none, when another program on a host manages the fabric")
      .one_of({"embedded", "opensm", "none"});
  root.option("--routing", options.routing, "routing engine of the manager");
  root.option("--partitions", options.partitions, "the manager's partitions, in the form of partitions.conf");
  root.option("--config", options.configuration, "the manager's settings, in the form of opensm.conf");
  root.option("--scale", options.scale,
              "part of the rate that width and speed of a link mean; 0: as fast as possible");
  const grammar::Option listen =
      root.option("--listen", options.listen, "address at which other fabrics may join by a cable");
  root.option("--join", options.join, "address of a fabric to join by a cable").excludes(listen);
  root.option("--port", options.port, "TCP port of these").shows_default();
  root.option("--token-fd", options.token_fd, "descriptor of a file with the token that both fabrics know");
  root.option("--report-fd", options.report_fd, "used by `softrnic fabric up`");
  return grammar;
}

}  // namespace softrnic::fabricd
