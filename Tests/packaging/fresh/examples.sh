# Compiles every installed example as its README says, runs it, and compares its output, including stderr, with
# examples/expected. The includes of a program determine what it is compiled with: a package of librunloop, or the
# library of an adapter.
#
# gtk.c is not run: GTK is larger than the rest of this system, and needs a display. `make gtk` runs it.
set -eu
examples=/usr/share/doc/runloop/examples
mkdir examples
cd examples

# The arguments of `cc` for these sources.
flags() {
    packages=runloop standard=c11 more=
    for header in $(sed -n 's/^#include <\(RunLoop.*\)>.*/\1/p' "$@"); do
        case $header in
        RunLoopKit/adapters/openssl.h) packages="$packages openssl" ;;
        RunLoopKit/*) packages="$packages runloop-kit" ;;
        RunLoopTrace/*) packages="$packages runloop-trace" ;;
        RunLoop/adapters/ev.h) standard=gnu11 more='-lev -fno-strict-aliasing' ;; # it has no pkg-config file
        RunLoop/adapters/glib.h) standard=gnu11 packages="$packages glib-2.0" ;;
        RunLoop/adapters/uv.h) standard=gnu11 packages="$packages libuv" ;;
        RunLoop/adapters/sd-event.h) standard=gnu11 packages="$packages libsystemd" ;;
        RunLoop/adapters/event.h) standard=gnu11 packages="$packages libevent_core" ;;
        RunLoop/adapters/curl.h) standard=gnu11 packages="$packages libcurl" ;;
        RunLoop/adapters/dbus.h) standard=gnu11 packages="$packages dbus-1" ;;
        esac
    done
    echo "-std=$standard -pthread -O1 -Wall -Wextra -Werror $(pkg-config --cflags --libs $packages) $more"
}

# The name of the example, and the command that runs it. Two examples make mistakes on purpose, which are reported on
# stderr.
check() {
    name=$1
    shift
    status=0
    RUNLOOP_MISUSE=abort
    test "$name" != errors || RUNLOOP_MISUSE=
    export RUNLOOP_MISUSE
    timeout 60 "$@" >"$name.out" 2>"$name.err" </dev/null || status=$?
    diff "/srv/expected/$name.txt" "$name.out" && test $status = 0 || { echo "$name: status $status"; cat "$name.err"; exit 1; }
    case $name in
    errors | values) ;;
    *) test ! -s "$name.err" || { echo "$name:"; cat "$name.err"; exit 1; } ;;
    esac
    run=$((run + 1))
}

run=0
for path in "$examples"/*.c "$examples"/*/; do
    name=$(basename "$path" .c)
    sources=$path
    test -f "$path" || sources=$(ls "$path"*.c)
    test "$name" != gtk || continue
    compiler=cc others=
    test "$name" != blocks || compiler='clang -fblocks' others=-lBlocksRuntime
    $compiler $sources -o "$name" $(flags $sources) $others
    test "$name" = demo || check "$name" "./$name"
done
test $run = $(($(ls /srv/expected | wc -l) - 1)) # all of which is known what they print, but gtk

seq 1 300000 >numbers
./demo --workers 4 numbers 2>/dev/null | awk -v wanted="$(wc -lwc <numbers)" '
    $1 == "total" { split(wanted, w); found = $(NF - 2) == w[1] && $(NF - 1) == w[2] && $NF == w[3] } END { exit !found }'
python3 "$examples"/guest_asyncio.py | tail -n 1 | grep -x stopped >/dev/null
echo "$run examples, the demo, and the guest of asyncio"
