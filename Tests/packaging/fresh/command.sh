# The command runloop: a trace of two processes with arrows between them, counts, explanations, and a stuck callback.
set -eu
mkdir command
cd command
cc -std=c11 -D_GNU_SOURCE /usr/share/doc/runloop/docs/debugging/faults.c -o faults -pthread $(pkg-config --cflags --libs runloop)
mkdir -m 700 ports
export RUNLOOP_PORT_DIR="$PWD/ports"

fail() {
    echo "runloop $*"
    tail -n 20 ./*.txt
    exit 1
}

# Repeats a command until its output matches the pattern. Fails once the running program has ended.
until_said() {
    pattern=$1
    shift
    until "$@" >said.txt 2>&1 && grep -E "$pattern" said.txt >/dev/null; do
        kill -0 $program 2>/dev/null || fail "${2-}: not said of a program: $pattern"
    done
}

# A client and the server that it starts, in one trace: arrows connect requests and replies of the two.
runloop trace -o calculator.pftrace ../examples/calculator >calculator.txt 2>calculator.err.txt
diff /srv/expected/calculator.txt calculator.txt
python3 - <<END
import pathlib, sys
sys.path.insert(0, "/srv")
import pftrace
trace = pftrace.read(pathlib.Path("calculator.pftrace"))
between = [(begin, end) for begin, end in trace.arrows() if begin.track.process != end.track.process]
assert any(begin.name == "request" and end.name == "handle" for begin, end in between), [(a.name, b.name) for a, b in between]
assert any(end.name.startswith("reply") for begin, end in between), [(a.name, b.name) for a, b in between]
END

runloop stat ./faults awake 2>stat.txt
grep -E '^ +callbacks +[0-9]+: timer [0-9]+$' stat.txt >/dev/null || fail stat
runloop stat ./faults endless 2>stat.txt &
program=$!
until_said 'callbacks +[1-9]' sh -c "runloop stat \$(cat /proc/$program/task/$program/children)"
until_said '^faults ' runloop top -b
wait $program

# What runloop explain says of three loops: one that does not end, one that burns a CPU, one that is stuck.
explains() {
    runloop run ./faults $1 &
    program=$!
    until_said "$2" sh -c "runloop explain $program | tr '\n' ' '"
    wait $program
}
explains endless 'does not end by itself, because the mode has 1 timer\..*woken .* to call the timer callback refresh'
explains spin 'hardly slept .*forget_to_read .*stays ready: 1 byte is waiting to be read, and the callback reads none'
explains stuck 'has been in the posted function save_file for [0-9]+ ms, in the system call clock_nanosleep'

companion=$(pkg-config --variable=libdir runloop-trace)/runloop/librunloop-trace.so
# A sleep() of a second in a callback is named before half of it is over; also with only the environment variables set.
for way in 'runloop run -s 0.25' "env RUNLOOP_STALL=0.25 LD_PRELOAD=$companion"; do
    $way ./faults stuck 2>stall.txt
    grep -E 'has been in the posted function save_file for [234][0-9][0-9] ms' stall.txt >/dev/null || fail run: a stall
done
status=0
env RUNLOOP_STALL=0.25,abort LD_PRELOAD=$companion ./faults stuck 2>stall.txt || status=$?
grep 'in the posted function save_file' stall.txt >/dev/null && test $status = 134 || fail "a stall aborts: status $status"

# Where no file can be created, one line says so, and the program runs as usual.
mkdir -m 500 runloop-trace-closed
RUNLOOP_TRACE="$PWD/runloop-trace-closed" LD_PRELOAD=$companion ../examples/hello >hello.txt 2>closed.txt
diff /srv/expected/hello.txt hello.txt
test "$(wc -l <closed.txt)" = 1 && grep '^runloop: not recorded: .*: Permission denied$' closed.txt >/dev/null || fail trace: a closed directory
echo "runloop trace, stat, top, explain, run"
