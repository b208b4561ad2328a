#!/bin/sh
# fresh-system.sh SUITE PACKAGE.deb...
#
# Installs the packages in a new Debian system and uses them there as a newcomer does (fresh/): projects with
# pkg-config, CMake and Meson, a manual page, every example with the other libraries that it demonstrates, and the
# command runloop. Then it purges the packages: nothing may be left. mmdebstrap creates the system in a temporary
# directory, which is removed afterwards. Root is not needed where users may have namespaces. For a suite that is not
# Debian's, set MIRROR to its line in apt's list of sources.
set -eu
suite=$1
shift
here=$(dirname "$0")

tools=gcc,clang,libc6-dev,pkgconf,cmake,meson,man-db,passwd
libraries=libglib2.0-dev,libuv1-dev,libsystemd-dev,libevent-dev,libev-dev,libcurl4-openssl-dev,libdbus-1-dev,libssl-dev,libblocksruntime-dev
exec mmdebstrap --quiet --variant=minbase --include=$tools,$libraries \
    --customize-hook="copy-in $* $here/fresh $here/../../examples/expected $here/../trace/pftrace.py /srv" \
    --customize-hook='chroot "$1" sh /srv/fresh/system.sh' "$suite" /dev/null ${MIRROR:+"$MIRROR"}
