#!/bin/sh
# fresh-system.sh SUITE PACKAGE.deb...
#
# Installs the packages in a new Debian system, compiles and runs a program with pkg-config, CMake and Meson, opens a manual page, and
# purges the packages: nothing may be left.
# mmdebstrap makes the system in a temporary directory, which goes again. Root is not needed where users may have namespaces.
set -eu
suite=$1
shift

in_it='
cd /mnt
dpkg -i ./*.deb >/dev/null
cp /usr/share/doc/runloop/examples/hello.c .
gcc -std=c11 hello.c -o hello $(pkg-config --cflags --libs runloop)
./hello
gcc -std=c11 hello.c -o hello $(pkg-config --cflags runloop) -l:librunloop.a -static
./hello
mkdir with-cmake with-meson
echo "cmake_minimum_required(VERSION 3.13)
project(hello C)
find_package(RunLoop 0.1 REQUIRED)
add_executable(hello ../hello.c)
target_link_libraries(hello RunLoop::runloop)" > with-cmake/CMakeLists.txt
cmake -G Ninja -S with-cmake -B with-cmake/build >/dev/null
cmake --build with-cmake/build >/dev/null
with-cmake/build/hello
cp hello.c with-meson
echo "project(\"hello\", \"c\")
executable(\"hello\", \"hello.c\", dependencies: dependency(\"runloop\"))" | tr \" "\047" > with-meson/meson.build
meson setup with-meson/build with-meson >/dev/null
ninja -C with-meson/build >/dev/null
with-meson/build/hello
man RLRunLoopAddTimer | grep RLRunLoopRemoveTimer >/dev/null
test -e /usr/share/doc/runloop/html/index.html
runloop trace -o trace with-cmake/build/hello
test -s trace
dpkg --purge $(dpkg-query -W -f "\${Package} " "librunloop*" "runloop-tools*") >/dev/null
left=$(find /usr /etc /var -path /var/cache/man -prune -o -iname "*runloop*" -print)
test -z "$left" || { echo "left behind: $left"; exit 1; }
. /etc/os-release
echo "$PRETTY_NAME: $(ldd --version | head -n 1)"
'
exec mmdebstrap --quiet --variant=minbase --include=gcc,libc6-dev,pkgconf,cmake,meson,man-db \
    --customize-hook="copy-in $* /mnt" \
    --customize-hook="chroot \"\$1\" sh -euc '$in_it'" "$suite" /dev/null
