# A program is compiled by hand, with CMake and with Meson; a manual page is opened, and the site exists.
set -eu
mkdir projects
cd projects
cp /usr/share/doc/runloop/examples/hello.c .
gcc -std=c11 hello.c -o hello $(pkg-config --cflags --libs runloop)
./hello
gcc -std=c11 hello.c -o hello $(pkg-config --cflags runloop) -l:librunloop.a -static
./hello

mkdir with-cmake with-meson
cat >with-cmake/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.13)
project(hello C)
find_package(RunLoop 0.1 REQUIRED)
add_executable(hello ../hello.c)
target_link_libraries(hello RunLoop::runloop)
END
cmake -G Ninja -S with-cmake -B with-cmake/build >/dev/null
cmake --build with-cmake/build >/dev/null
with-cmake/build/hello

cp hello.c with-meson
cat >with-meson/meson.build <<END
project('hello', 'c')
executable('hello', 'hello.c', dependencies: dependency('runloop'))
END
meson setup with-meson/build with-meson >/dev/null
ninja -C with-meson/build >/dev/null
with-meson/build/hello

man RLRunLoopAddTimer | grep RLRunLoopRemoveTimer >/dev/null
test -e /usr/share/doc/runloop/html/index.html
