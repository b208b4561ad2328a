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

runloop run ./faults endless &
program=$!
until_said 'woken .*for the function' sh -c "runloop explain $program | tr '\n' ' '"
wait $program

# A sleep() of a second in a callback is named before half of it is over; also with only the environment variables set.
for way in 'runloop run -s 0.25' "env RUNLOOP_STALL=0.25 LD_PRELOAD=$(pkg-config --variable=libdir runloop-trace)/runloop/librunloop-trace.so"; do
    $way ./faults stuck 2>stall.txt
    grep -E 'has been in the posted function save_file for [234][0-9][0-9] ms' stall.txt >/dev/null || fail run: a stall
done
echo "runloop trace, stat, top, explain, run"
