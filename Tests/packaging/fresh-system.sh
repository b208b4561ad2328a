#!/bin/sh
# fresh-system.sh SUITE PACKAGE.deb...
#
# Installs the packages in a new Debian system, compiles and runs a program with them, and purges them: nothing may be left.
# mmdebstrap makes the system in a temporary directory, which goes again. Root is not needed where users may have namespaces.
set -eu
suite=$1
shift

in_it='
dpkg -i /root/*.deb >/dev/null
cd /root && cp /usr/share/doc/runloop/examples/hello.c .
gcc -std=c11 hello.c -o hello $(pkg-config --cflags --libs runloop) && ./hello
gcc -std=c11 hello.c -o hello $(pkg-config --cflags runloop) -l:librunloop.a -static && ./hello
test -e /usr/share/man/man3/RLRunLoopRun.3.gz && test -e /usr/share/doc/runloop/html/index.html
dpkg --purge $(dpkg-query -W -f "\${Package} " "librunloop*") >/dev/null
left=$(find /usr /etc /var -iname "*runloop*")
test -z "$left" || { echo "left behind: $left"; exit 1; }
. /etc/os-release && echo "$PRETTY_NAME: $(ldd --version | head -n 1)"
'
exec mmdebstrap --quiet --variant=minbase --include=gcc,libc6-dev,pkgconf \
    --dpkgopt=path-include=/usr/share/doc/runloop/* --customize-hook="copy-in $* /root" \
    --customize-hook="chroot \"\$1\" sh -euc '$in_it'" "$suite" /dev/null
