"""Reads the compiled core: which function calls which, and how many locked instructions each one contains."""

import collections
import dataclasses
import functools
import re

from library import core_object, output

LABEL = re.compile(r"^[0-9a-f]+ <(.+)>:$")
INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\t(.*)$")
RELOCATION = re.compile(r"^\s+[0-9a-f]+: (R_\S+)\s+(\S+?)(?:[-+]0x[0-9a-f]+)?$")
JUMP = re.compile(r"^(?:notrack |bnd )?(?:call|jmp|j\w+)\s+[0-9a-f]+ <(.+?)(?:\+0x[0-9a-f]+)?>")
#: The xchg instruction with a memory operand is always locked.
LOCKED = re.compile(r"^lock\b|^xchg\s.*\(")
INDIRECT = re.compile(r"^(?:notrack )?call\s+\*")


@dataclasses.dataclass
class Function:
    symbol: str
    name: str  # demangled
    calls: set = dataclasses.field(default_factory=set)  # symbols; includes tail calls
    locked: int = 0
    indirect: int = 0
    instructions: int = 0

    @property
    def is_ours(self):
        """Whether it is a function of this module or an export, and not a part of the standard library that was compiled in."""
        return "RunLoopCore" in self.name or re.match(r"k?RL[A-Z]|RUNLOOP_", self.symbol) is not None


def demangled(symbols):
    return output("swift", "demangle", input="\n".join(symbols)).splitlines()


@functools.lru_cache(maxsize=None)
def functions():
    """Returns all functions of the core, by symbol."""
    found = collections.OrderedDict()
    function = None
    pending = None  # the target that objdump guesses; a following relocation is more precise

    def settle(target):
        nonlocal pending
        if target is not None and function is not None and target != function.symbol and not target.startswith("."):
            function.calls.add(target)
        pending = None

    for line in output("objdump", "-dr", "-w", "--no-show-raw-insn", core_object()).splitlines():
        if match := LABEL.match(line):
            settle(pending)
            function = found.setdefault(match[1], Function(match[1], match[1]))
        elif match := INSTRUCTION.match(line):
            settle(pending)
            text, _, relocated = match[1].partition("\t")
            function.instructions += 1
            function.locked += bool(LOCKED.match(text))
            function.indirect += bool(INDIRECT.match(text))
            jump = JUMP.match(text)
            pending = jump[1] if jump else None
            if jump and (target := re.match(r".*R_\S+\s+(\S+?)(?:[-+]0x[0-9a-f]+)?$", relocated)):
                pending = target[1]
        elif (match := RELOCATION.match(line)) and pending is not None:
            pending = match[2]
    settle(pending)
    for symbol, name in zip(found, demangled(found)):
        found[symbol].name = name
    return found


def named(readable):
    """Returns the functions with this demangled name, of any type, with all their specializations. An export is
    found under its C name and under its Swift name, which has the body."""
    word = re.compile(rf"(?:[.(]|^){readable}(?=[(<]| in _|$)")
    return [function for function in functions().values() if function.is_ours and word.search(function.name)
            and not re.search(r"closure #|\$defer", function.name)]
