# For what leaves things in $TMPDIR, as tests that fail do, and the Swift compiler each time: `$(IN_OWN_DIRECTORY) command` takes
# them away when the recipe ends, however it ends. Directly in /tmp, as paths of sockets have to be short; tests have users of
# their own, who may go through.
IN_OWN_DIRECTORY = TMPDIR=$$(mktemp -d /tmp/runloop-XXXXXX) && export TMPDIR && chmod 711 "$$TMPDIR" && \
                   trap 'rm -rf "$$TMPDIR"' EXIT && trap 'exit 1' HUP INT TERM &&

# `$(POISON_FREED) program`: free() overwrites what it gets, so that reading freed memory goes wrong, in system calls too, which
# AddressSanitizer does not check.
POISON_FREED = GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=165
