# Sourced, after lib.sh, by scripts that work in roots of Debian releases: folders with a small Debian, which become the root.
roots=${XDG_CACHE_HOME:-$HOME/.cache}/softrnic/roots

cannot() { say "skipped: $*"; exit 77; }

need_roots() {
  [ "$(id -u)" -eq 0 ] || cannot "roots of other releases need root"
  command -v debootstrap >/dev/null || cannot "debootstrap is not installed (scripts/deps)"
  unshare --mount --pid --fork true 2>/dev/null || cannot "this system allows no mount namespaces"
}

# The archive that apt of this machine asks; nothing: debootstrap knows one.
archive() {
  apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Label: Debian' 2>/dev/null | head -n 1
}

# make_root RELEASE FOLDER [PACKAGE…]: in one piece, or not at all. The roots of a release begin as copies of its bare one,
# which has no further packages. Package lists of two releases differ: what one does not have is left out.
# ${apt_options[@]} go to the installation.
make_root() {
  local release=$1 folder=$2 bare=$roots/$1-base name present=()
  local -x DPKG_FORCE=unsafe-io DEBIAN_FRONTEND=noninteractive  # dpkg need not wait for the disk after each file
  shift 2
  rm -rf -- "$folder.new"
  if [ "$folder" = "$bare" ]; then
    # shellcheck disable=SC2046  # an archive, or no argument
    debootstrap --variant=minbase "$release" "$folder.new" $(archive) || return
  else
    cp -a -- "$bare" "$folder.new" || return
    # Packages that its lists name are no more in the archive after a while.
    [ -z "$(find "$bare.made-for" -mmin +720)" ] || chroot "$folder.new" apt-get update || return
  fi
  for name in "$@"; do
    if chroot "$folder.new" apt-cache show "$name" >/dev/null 2>&1; then present+=("$name"); fi
  done
  [ ${#present[@]} -eq 0 ] || chroot "$folder.new" \
    apt-get -q -y "${apt_options[@]}" install --no-install-recommends "${present[@]}" || return
  chroot "$folder.new" apt-get clean
  rm -rf -- "$folder"
  mv -- "$folder.new" "$folder"
}

# have_root RELEASE FOLDER [PACKAGE…]: makes it when it is not there yet, was made for other packages, or $fresh is true.
# Who wants one that somebody else makes waits for it.
have_root() {
  local log lock made_for=$2.made-for
  mkdir -p -- "$(dirname -- "$2")"
  exec {lock}>"$2.lock"
  flock "$lock"
  if ${fresh:-false} || [ ! -d "$2" ] || [ "$(cat -- "$made_for" 2>/dev/null)" != "$*" ]; then
    [ "$2" = "$roots/$1-base" ] || have_root "$1" "$roots/$1-base"
    log=$(mktemp)
    say "making a root of Debian $1 (once)"
    make_root "$@" >"$log" 2>&1 || { tail -n 20 -- "$log"; rm -f -- "$log"; cannot "no root of $1"; }
    rm -f -- "$log"
    printf '%s' "$*" >"$made_for"
  fi
  exec {lock}>&-
}

# Not by chroot: the kernel gives programs below one no user namespaces. Runs within namespaces of its own, so all mounts and processes go with it. What is written into the root lies in memory
# and goes too: the root stays as it was made.
# shellcheck disable=SC2016  # $1 and the like are the inner shell's
inside_namespaces='
  set -e
  root=$1 scratch=$2; shift 2
  mount -t tmpfs none "$scratch"
  mkdir "$scratch/changes" "$scratch/work" "$scratch/root"
  mount -t overlay none -o "lowerdir=$root,upperdir=$scratch/changes,workdir=$scratch/work" "$scratch/root"
  root=$scratch/root
  mount -t proc none "$root/proc"
  mount --rbind /dev "$root/dev"
  mount --rbind /sys "$root/sys"
  mount -t tmpfs none "$root/tmp"
  mount -t tmpfs none "$root/dev/shm"
  chmod 1777 "$root/tmp" "$root/dev/shm"
  while [ "$1" != -- ]; do
    mkdir -p "$root$3"
    mount --bind -o "$1" "$2" "$root$3"
    shift 3
  done
  shift
  if [ -n "${SOFTRNIC_PRIVATE_NETWORK:-}" ]; then ip link set lo up; fi
  cd "$root"
  mkdir -p old-root
  pivot_root . old-root
  exec chroot . /bin/sh -ec '"'"'umount -l /old-root; rmdir /old-root; exec "$@"'"'"' sh /usr/bin/env -u SOFTRNIC_PRIVATE_NETWORK PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"
'

# in_root [--private-network] [--bind ro|rw FROM TO]… FOLDER COMMAND…: what it changes in the root is forgotten.
in_root() {
  local namespaces=(--mount --propagation private --pid --fork --kill-child) binds=() private='' folder scratch status=0
  while true; do
    case $1 in
      --private-network) namespaces+=(--net); private=1; shift ;;
      --bind) binds+=("$2" "$3" "$4"); shift 4 ;;
      *) break ;;
    esac
  done
  folder=$1
  shift
  scratch=$(mktemp -d)
  SOFTRNIC_PRIVATE_NETWORK=$private unshare "${namespaces[@]}" \
    sh -c "$inside_namespaces" sh "$folder" "$scratch" "${binds[@]}" -- "$@" || status=$?
  rmdir -- "$scratch"
  return $status
}
