# make            the library into build/ (Embedded Swift: needs libc only at run time)
# make demo       sets up, builds and runs the main job
# make check      sets up, builds and runs every test
# make help       the rest
VERSION   := 0.1.0
SOVERSION := 0
BUILD     ?= build
SWIFTC    ?= swiftc
CLANG     ?= clang
AR        ?= ar
# `STRIP=:` leaves the debug information in the libraries, for tools that move it elsewhere, such as Debian's dh_strip.
STRIP     ?= strip
OBJCOPY   ?= objcopy
NM        ?= nm
READELF   ?= readelf
# From Debian's libbsd-dev. Only one of its objects is linked in, so the libraries need nothing but libc at run time.
LIBBSD    ?= $(shell $(CLANG) -print-file-name=libbsd.a 2>/dev/null || echo libbsd.a)

LIB      := $(BUILD)/lib
OBJ      := $(BUILD)/obj
SHARED   := librunloop.so.$(SOVERSION)
SWIFT    := $(shell find Sources/RunLoopCore -name '*.swift' | sort)
HEADERS  := $(wildcard include/RunLoop/*.h include/CoreFoundation/*.h)
CMODULES := $(wildcard Sources/CLinux/include/* Sources/CRunLoop/include/*.modulemap) $(HEADERS)

NEEDS_SWIFT := command -v $(SWIFTC) >/dev/null || { echo "librunloop needs the Swift toolchain, 6.3 or later, from \
               swift.org: $(SWIFTC) is not on the PATH." >&2; exit 1; }

IMPORTS    := -I Sources/CLinux/include -I Sources/CRunLoop/include
# -Osize: 20 kB smaller than -O. On eight rows of the bench it executes as many instructions, or 1 or 2 % more
# (posts: 4 %); the others were not compared. What must be inlined on the hot paths is inlined by attribute. One trap instruction
# per function instead of one per check. No stack guards, which would take 2 kB in each library: the arrays on the stack
# are structs that the kernel fills up to a given size, and texts and lists that count what is put into them. -g: for
# librunloop.so.debug; DWARF 4, because the Valgrind of Debian 12 rejects a library with debug information of version 5.
# No breadcrumbs: they contain the path of the compiler's cache, so no two builds would be identical.
SWIFTFLAGS := -parse-as-library -swift-version 6 -module-name RunLoopCore -wmo -Osize \
              -enable-experimental-feature Embedded -enable-experimental-feature Extern \
              -Xfrontend -function-sections -Xfrontend -mergeable-traps -Xfrontend -disable-stack-protector -Xcc -fPIC \
              -g -dwarf-version=4 -Xfrontend -no-clang-module-breadcrumbs -file-prefix-map $(CURDIR)=. -file-compilation-dir .
C_FLAGS    := -std=c11 -Oz -g -gdwarf-4 -Wall -Wextra -fPIC -fvisibility=hidden -ffunction-sections -ffile-prefix-map=$(CURDIR)=.
# Stack guards, and libc functions that check the size of what they fill. They apply to the C files that are compiled here,
# not to the C functions in headers that are inlined into Swift (SECURITY.md), nor to Races.c, which is part of both libraries
# and whose only array has six words and constant indices.
HARDENED   := -fstack-protector-strong $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,-D_FORTIFY_SOURCE=2)
# CPPFLAGS, CFLAGS and LDFLAGS belong to the user, or to the distribution. They are appended to the flags that the libraries
# need, and so override them.
COMPILE    = $(CLANG) $(C_FLAGS) $(HARDENED) $(CPPFLAGS) $(CFLAGS)

include Tests/own-directory.mk Makefile.check Makefile.install

.DEFAULT_GOAL := all
.PHONY: all libraries bench format clean help

all: libraries man  ## builds the libraries and the manual pages into build/
libraries: $(addprefix $(LIB)/,librunloop.so librunloop.a librunloop-cf.so pkgconfig/runloop.pc pkgconfig/runloop-cf.pc)

# The compiler aligns strings of sixteen bytes and more for vector instructions. This library reads strings byte by byte
# (Tests/abi), so they may be adjacent, and a string that is the end of another one needs no space: 2 KB. The index of
# names (.debug_names) of Swift's compiler is removed, because Debian 12's gdb rejects it, and then finds no lines of
# Swift.
$(OBJ)/core.o: $(SWIFT) $(CMODULES) Sources/unwind.awk Makefile
	@$(NEEDS_SWIFT)
	@mkdir -p $(@D)
	$(IN_OWN_DIRECTORY) $(SWIFTC) $(SWIFTFLAGS) $(IMPORTS) -emit-assembly $(SWIFT) -o $(OBJ)/core.s
	awk -f Sources/unwind.awk $(OBJ)/core.s > $(OBJ)/unwind.s
	$(CLANG) -ffile-prefix-map=$(CURDIR)=. -c $(OBJ)/unwind.s -o $@
	$(OBJCOPY) --set-section-alignment .rodata.str1.16=1 --remove-section=.debug_names $@

$(OBJ)/Races.o: HARDENED =
$(OBJ)/%.o: Sources/CLinux/%.c $(CMODULES)
	@mkdir -p $(@D)
	$(COMPILE) -ISources/CLinux/include -c $< -o $@

$(OBJ)/%.o: Sources/CRunLoop/%.c $(CMODULES)
	@mkdir -p $(@D)
	$(COMPILE) -Iinclude -c $< -o $@

# A name without a folder means that the compiler has not found the file.
libbsd.a:
	@echo "librunloop needs libbsd.a at build time: install Debian's libbsd-dev, or set LIBBSD to its path." >&2; exit 1

$(OBJ)/flopen.o: $(LIBBSD)
	@mkdir -p $(@D)
	$(AR) p $< flopen.o > $@.new
	mv $@.new $@

OBJECTS := $(addprefix $(OBJ)/,core.o CLinux.o Closing.o Races.o Unwind.o Constants.o Format.o flopen.o)

# nodelete: threads that exit after a dlclose() would call into unmapped memory. No start files: there are no
# constructors. Code and read-only data are one segment, which is less work for the loader. The order of the functions
# is not prescribed: one derived from a profile makes a pass with nothing to poll 5 % faster, but posts and timers no
# faster than a random order does.
$(OBJ)/$(SHARED): $(OBJECTS) Sources/exports.map
	$(CLANG) -fuse-ld=lld -shared -nostartfiles -Wl,-soname,$(SHARED) -Wl,--version-script=Sources/exports.map -Wl,--gc-sections \
	    -Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now -Wl,-z,defs -Wl,-O2 -Wl,-Bsymbolic-functions -Wl,--no-rosegment -Wl,--build-id $(LDFLAGS) -o $@ $(OBJECTS)

# The debug information, which debuggers find by the build id of the library: functions, lines, variables.
$(LIB)/librunloop.so.debug: $(OBJ)/$(SHARED)
	@mkdir -p $(@D)
	$(OBJCOPY) --only-keep-debug --compress-debug-sections $< $@

# $(call STRIPPED,library,debug file): makes $@, a stripped copy of the library that refers to its debug file.
define STRIPPED
cp $(1) $@.new
$(STRIP) --strip-unneeded --remove-section=.comment $@.new
$(if $(filter :,$(STRIP)),,$(OBJCOPY) --add-gnu-debuglink=$(2) $@.new)
mv $@.new $@
endef

# Without the debug file, a backtrace still names the exports and the functions that call clients' callbacks:
# exports.map.
$(LIB)/$(SHARED): $(OBJ)/$(SHARED) $(LIB)/librunloop.so.debug
	$(call STRIPPED,$<,$(LIB)/librunloop.so.debug)

$(LIB)/librunloop.so: $(LIB)/$(SHARED)
	ln -sf $(SHARED) $@

# One object in which only librunloop's names are global, so a Swift program that links it statically keeps its own
# runtime. It contains only what these use: other parts of Embedded Swift need arc4random_buf, which glibc has since 2.36.
define MAKE_ARCHIVE
	@mkdir -p $(@D)
	$(NM) -g --defined-only $^ | sed -n 's/.* \(k*RL.*\)/-u \1/p' > $(OBJ)/$(@F).roots
	$(LD) -r --gc-sections @$(OBJ)/$(@F).roots -o $(OBJ)/$(@F:.a=.o) $^
	$(OBJCOPY) --strip-debug --wildcard --keep-global-symbol='RL*' --keep-global-symbol='kRL*' \
	    $(addprefix --strip-unneeded-symbol=,arc4random_buf posix_memalign memset) $(OBJ)/$(@F:.a=.o)
	rm -f $@
	$(AR) rcs $@ $(OBJ)/$(@F:.a=.o)
endef

$(LIB)/librunloop.a: $(OBJECTS)
	$(MAKE_ARCHIVE)

# --- CF's names as symbols, for callers without headers ---

SHARED_CF := librunloop-cf.so.$(SOVERSION)

# All headers, so that a new one is included automatically.
$(OBJ)/cf-names.inc: Sources/RunLoopCF/names.awk $(wildcard include/CoreFoundation/*.h) $(LIB)/$(SHARED)
	$(NM) -D --defined-only $(LIB)/$(SHARED) | sed 's/.* //; s/@.*//' > $(OBJ)/exported.txt
	for header in include/CoreFoundation/*.h; do echo "#include <$${header#include/}>"; done | \
	    $(CLANG) -E -P -xc -Iinclude - | awk -v exported=$(OBJ)/exported.txt -f Sources/RunLoopCF/names.awk > $@

$(OBJ)/RunLoopCF.o: Sources/RunLoopCF/RunLoopCF.c $(OBJ)/cf-names.inc
	$(COMPILE) -fno-constant-cfstrings -Iinclude -I$(OBJ) -c $< -o $@

# librunloop.so is in the same directory, wherever that is. Callers without headers often load this library by its path.
BESIDE ?= -Wl,-rpath,'$$ORIGIN'
$(LIB)/$(SHARED_CF): $(OBJ)/RunLoopCF.o Sources/RunLoopCF/exports.map $(LIB)/librunloop.so
	$(CLANG) -fuse-ld=lld -shared -Wl,-soname,$(SHARED_CF) $(BESIDE) -Wl,--version-script=Sources/RunLoopCF/exports.map \
	    -Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now -Wl,-z,defs -Wl,--build-id $(LDFLAGS) -o $@.new $< -L$(LIB) -lrunloop
	$(STRIP) --strip-unneeded $@.new
	mv $@.new $@

$(LIB)/librunloop-cf.so: $(LIB)/$(SHARED_CF)
	ln -sf $(SHARED_CF) $@

include Makefile.kit Makefile.trace

bench: all  ## benchmarks librunloop against its peers, in one table (QUICK=1: a minute)
	$(MAKE) -C Tests/bench run

format:  ## runs swift format and clang-format in place
	swift format -i -r --configuration .swift-format Sources Tests Package.swift
	clang-format -i $(shell git ls-files '*.c' '*.h' ':!Tests/bench')

clean:  ## removes everything that was built
	rm -rf $(BUILD) .build

help:  ## prints this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1	/p' Makefile Makefile.install Makefile.check | expand -t 14
