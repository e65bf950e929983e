#!/bin/sh
# Installs the packages in a clean Debian 12 and uses them there: packaging/try_in_clean_debian.sh
# FOLDER [SUITE]
#
# FOLDER holds the .deb files (./dev package). A root is made by debootstrap from this machine's own
# package source; in it the packages are installed with what they need, the service is started as
# its user, asked, reloaded and stopped, a program is built with the library, and all is purged. With
# WEIR_BOOT=1 the root is booted by systemd-nspawn, and systemd starts the service from its unit.
#
# Needs root, debootstrap and some 600 MB in $TMPDIR for the time it runs.
set -eu

packages=$(cd "${1:?usage: try_in_clean_debian.sh FOLDER [SUITE]}" && pwd)
suite=${2:-bookworm}
root=$(mktemp -d "${TMPDIR:-/tmp}/weir-debian.XXXXXX")
# No capture of what others use these ports for: the root has this machine's network.
port=$((20000 + $$ % 10000))

say() { printf '== %s\n' "$*"; }
inside() { chroot "$root" env LC_ALL=C DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

service=
end() {
  [ -n "$service" ] && kill "$service" 2>/dev/null
  umount "$root/proc" 2>/dev/null || true
  umount "$root/dev" 2>/dev/null || true
  rm -rf --one-file-system "$root"
}
trap end EXIT

# Waits until something accepts, or the service has ended.
wait_for_port() {
  until curl -s -o /dev/null "http://127.0.0.1:$1/"; do
    kill -0 "$service" 2> /dev/null || { cat "$root/packages/serve"; exit 1; }
    sleep 0.1
  done
}

say "a clean $suite"
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $suite" | head -n 1)
debootstrap --variant=minbase "$suite" "$root" "$mirror" > "$root.log" 2>&1 ||
  { tail -n 20 "$root.log"; exit 1; }
rm -f "$root.log"
chmod 755 "$root"  # apt's own user goes through it
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
rm -f "$root/etc/apt/sources.list"
cp -rL /etc/apt/sources.list* /etc/apt/apt.conf.d "$root/etc/apt/" 2>/dev/null || true
rm -f "$root"/etc/apt/apt.conf.d/docker-* "$root"/etc/apt/sources.list.d/*disabled*
cp -r /usr/local/share/ca-certificates "$root/usr/local/share/" 2>/dev/null || true
inside apt-get update -qq

say "install: $(cd "$packages" && ls ./*.deb | tr '\n' ' ')"
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages/"
inside sh -c 'apt-get install -y -qq --no-install-recommends /packages/weir_*.deb > /packages/log 2>&1' ||
  { tail -n 30 "$root/packages/log"; exit 1; }
inside weir --version
inside getent passwd weir
inside stat -c '%A %U:%G %n' /etc/weir /etc/weir/weir.yaml
inside sh -c '! su -s /bin/sh nobody -c "cat /etc/weir/weir.yaml" 2> /dev/null'
inside test -e /etc/systemd/system/multi-user.target.wants/weir.service -o \
  -L /etc/systemd/system/multi-user.target.wants/weir.service
inside weir validate /etc/weir/weir.yaml

say "start as its user, and ask"
sed -i "s/:8081/:$port/; s/:9090/:$((port + 1))/" "$root/etc/weir/weir.yaml"
# WHY not su: it would stand between us and the program, and be stopped in its stead.
chroot --userspec=weir "$root" /usr/bin/weir serve -c /etc/weir/weir.yaml > "$root/packages/serve" 2>&1 &
service=$!
wait_for_port "$port"
curl -sf -d '{"attributes":{"ip":"203.0.113.7"}}' "http://127.0.0.1:$port/v1/check"
echo
curl -sf "http://127.0.0.1:$((port + 1))/readyz"
echo

say "a changed policy takes effect, and is kept by an upgrade"
sed -i 's/burst: 20/burst: 7/' "$root/etc/weir/weir.yaml"
until curl -sf -d '{"attributes":{"ip":"203.0.113.8"}}' "http://127.0.0.1:$port/v1/check" |
  grep '"quota":7'; do
  kill -0 "$service" 2> /dev/null || { cat "$root/packages/serve"; exit 1; }
  sleep 0.1
done
inside sh -c 'dpkg --install --force-confdef --force-confold /packages/weir_*.deb > /packages/log 2>&1' ||
  { cat "$root/packages/log"; exit 1; }
grep -q 'burst: 7' "$root/etc/weir/weir.yaml"
inside stat -c '%A %U:%G %n' /etc/weir/weir.yaml
kill "$service"
wait "$service" || true
service=

say "a program with the library"
inside sh -c 'apt-get install -y -qq --no-install-recommends /packages/libweir*.deb g++ pkg-config \
  > /packages/log 2>&1' || { tail -n 30 "$root/packages/log"; exit 1; }
cat > "$root/packages/app.cc" <<'TEXT'
#include <weir/limiter.h>
int main() {
  auto limiter = weir::Limiter::make(weir::TokenBucket{{.count = 10}, 2});
  return limiter->allow() && limiter->allow() && !limiter->allow() ? 0 : 1;
}
TEXT
inside sh -c 'cd /packages && c++ -std=c++20 app.cc $(pkg-config --cflags --libs weir) -o shared &&
  ./shared && c++ -std=c++20 app.cc $(pkg-config --cflags --static --libs weir | sed s/-lweir/-l:libweir.a/) \
  -o static && ./static && ldd shared | grep libweir && ! ldd static | grep libweir'

if [ -n "${WEIR_BOOT:-}" ]; then
  say "booted: systemd starts it"
  inside sh -c 'apt-get install -y -qq --no-install-recommends systemd systemd-sysv curl > /packages/log 2>&1'
  # With an access log, for which the sandbox must let it write.
  cat >> "$root/etc/weir/weir.yaml" <<TEXT
gateway:
  listen: 127.0.0.1:$((port + 2))
  upstream: http://127.0.0.1:$port
  access_log: { file: /var/log/weir/access.log }
TEXT
  cat > "$root/packages/booted.sh" <<TEXT
set -eux
ready() { curl -sf http://127.0.0.1:$((port + 1))/readyz; }
systemctl status --no-pager weir.service
ready
systemctl reload weir
systemctl restart weir
ready
curl -s http://127.0.0.1:$((port + 2))/
timeout 20 sh -c 'until grep "GET / " /var/log/weir/access.log; do sleep 0.1; done'
stat -c '%A %U:%G %n' /var/lib/weir /var/log/weir /run/weir
echo all is well
TEXT
  cat > "$root/etc/systemd/system/try.service" <<TEXT
[Unit]
After=weir.service multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh /packages/booted.sh
ExecStopPost=/bin/sh -c 'journalctl -u weir --no-pager; systemctl poweroff'
StandardOutput=append:/packages/booted
StandardError=append:/packages/booted
[Install]
WantedBy=multi-user.target
TEXT
  inside systemctl enable -q try.service
  umount "$root/proc" "$root/dev"
  alone=
  [ -d /run/systemd/system ] || alone="--register=no --keep-unit"  # no systemd here that would know of it
  # shellcheck disable=SC2086
  timeout 300 systemd-nspawn --quiet --boot $alone --directory="$root" > "$root/packages/console" 2>&1 ||
    { tail -n 20 "$root/packages/console"; exit 1; }
  cat "$root/packages/booted"
  grep -qx 'all is well' "$root/packages/booted"
  mount -t proc proc "$root/proc"
fi

say "purge"
inside sh -c 'apt-get purge -y -qq weir libweir-dev "libweir0*" > /packages/log 2>&1' ||
  { tail -n 30 "$root/packages/log"; exit 1; }
inside test ! -e /etc/weir -a ! -e /usr/bin/weir -a ! -e /var/lib/weir -a ! -e /var/log/weir
[ -z "$(inside dpkg-statoverride --list '/etc/weir*' || true)" ]
say "all is as it should be"
