# For what leaves things in $TMPDIR, as tests that fail do, and the Swift compiler each time: `$(IN_OWN_DIRECTORY) command` takes
# them away when the recipe ends, however it ends. Directly in /tmp, as paths of sockets have to be short; tests have users of
# their own, who may go through.
IN_OWN_DIRECTORY = TMPDIR=$$(mktemp -d /tmp/runloop-XXXXXX) && export TMPDIR && chmod 711 "$$TMPDIR" && \
                   trap 'rm -rf "$$TMPDIR"' EXIT && trap 'exit 1' HUP INT TERM &&
