"""Compiles one Triton kernel for the process that started this one.

Embedded in wavetune-agent, which runs it as `PYTHON -c THIS SCRATCH`: no file of ours needs to be
found, and nothing but Triton needs to be installed. Frames on standard input and output are a
4-byte little-endian length and that many bytes of JSON (profiler_agent/worker/frame.h);
profiler_agent/cuda/triton/triton_process.h is the other end. Requests are

    {"load": {"sources": {NAME: BASE64}, "first": NAME, "entry": NAME, "arguments": [NAME],
              "maps": COUNT, "parameters": [NAME], "options": [NAME], "defines": {NAME: TEXT}}}
        -> {"version": "3.6.0", "arguments": [{"name", "specialise", "align", "annotated"}]}
    {"compile": {"capability": 90, "constants": {NAME: INTEGER}, "options": {NAME: INTEGER},
                 "maps": ["tensordesc<bf16[128,64]>" or null],
                 "arguments": [{"name", "type": "*bf16", "form": "16", "1" or ""}]}}
        -> {"cubin": BASE64, "entry", "threads", "shared_bytes", ...}: see answer_of

or the answer is {"error": TEXT}, and the process goes on. What the kernel's Python does (prints,
threads, another working directory, exits) must not get between the frames: they have descriptors
of their own, and all paths are absolute. What it leaves running ends with the process. The
environment is what the other end gives (triton_process.cc).
"""

import base64
import contextlib
import ctypes
import importlib
import importlib.abc
import importlib.util
import io
import json
import os
import re
import resource
import shutil
import signal
import struct
import sys
import sysconfig
import time
import traceback

SCRATCH = sys.argv[1]
SOURCES = os.path.join(SCRATCH, "sources")
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
# How long what a source left running is ended for: somebody waits.
ENDING_S = 1.0
MAX_ERROR_BYTES = 3000
# Columns of tensor memory (compute capability 10.x): Triton checks them where it launches, only.
MAX_TENSOR_MEMORY = 512


class Refused(Exception):
    """What a person must put right; its text is all there is to say."""


class Pipe:
    """The frames, on descriptors that nobody else knows."""

    def __init__(self) -> None:
        self._input = os.fdopen(os.dup(0), "rb")
        self._output = os.fdopen(os.dup(1), "wb")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)

    def read(self):
        """Returns the next request, or None where the other end is gone."""
        size = self._input.read(4)
        if len(size) < 4:
            return None
        body = self._input.read(struct.unpack("<I", size)[0])
        return json.loads(body) if body else None

    def write(self, answer: dict) -> None:
        body = json.dumps(answer).encode()
        self._output.write(struct.pack("<I", len(body)) + body)
        self._output.flush()


class Ended(BaseException):
    """Whoever started this process is gone, or wants no more of it."""


def set_process(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value)


def children() -> list:
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def end_children() -> None:
    """Kills what is left. What a child leaves behind becomes this process's child."""
    until = time.monotonic() + ENDING_S
    while time.monotonic() < until:
        for child in children():
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def end_as(status: int) -> None:
    """Ends this process as another one ended."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)


def keep() -> None:
    """Returns in a child, which compiles. This process ends with it, or with who started both, and
    then ends all that the kernel's Python left running, in whatever session."""

    def end(*_) -> None:
        raise Ended

    set_process(PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGTERM, end)
    status = 1 << 8
    try:
        set_process(PR_SET_PDEATHSIG, signal.SIGTERM)
        compiler = os.fork()
        if compiler == 0:
            set_process(PR_SET_CHILD_SUBREAPER, 0)
            set_process(PR_SET_PDEATHSIG, signal.SIGKILL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            return
        os.close(0)
        os.close(1)  # Or nobody would see that the compiler is gone.
        ended = 0
        while ended != compiler:
            ended, status = os.wait()
    except Ended:
        pass
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end_children()
    shutil.rmtree(SCRATCH, ignore_errors=True)
    end_as(status)


def isolate() -> None:
    os.environ["TRITON_CACHE_DIR"] = os.path.join(SCRATCH, "cache")
    os.environ["TRITON_DUMP_PTXAS_LOG"] = "1"
    os.environ["TMPDIR"] = os.path.join(SCRATCH, "tmp")
    for folder in (SOURCES, os.environ["TMPDIR"]):
        os.makedirs(folder, exist_ok=True)
    os.chdir(SOURCES)
    sys.dont_write_bytecode = True
    sys.path[:] = [path for path in sys.path if path]


def standard_library() -> list:
    """Returns the parts of sys.path that come with Python."""
    own = {os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}

    def comes_with_python(path: str) -> bool:
        real = os.path.realpath(path)
        if os.path.basename(real) in ("site-packages", "dist-packages"):
            return False
        return real.endswith(".zip") or any(
            real == folder or real.startswith(folder + os.sep) for folder in own
        )

    return [path for path in sys.path if comes_with_python(path)]


class OnlyTheseSources(importlib.abc.MetaPathFinder):
    """Says what may be imported, where nothing else was found."""

    def find_spec(self, fullname, path=None, target=None):
        if path is None:
            raise ModuleNotFoundError(
                f"No module named '{fullname}' here: a Triton source imports triton, the standard "
                f"library and what the manifest lists in `sources`: all it calls is then part of "
                f"the kernel's fingerprint",
                name=fullname,
            )
        return None


def import_triton():
    """Returns Triton; from then on nothing but it, Python's own and the sources can be imported."""
    try:
        import triton
        import triton.compiler
        import triton.language.extra.cuda  # Imported where it compiles, otherwise.
    except ImportError as error:
        raise Refused(
            f"{sys.executable} cannot import Triton ({error}): "
            f"{sys.executable} -m pip install triton"
        ) from error
    kept = standard_library()
    for name in list(sys.modules):
        root = name.partition(".")[0]
        if (
            root not in sys.stdlib_module_names
            and root not in ("triton", "__main__")
            and not root.startswith("_")
        ):
            del sys.modules[name]
    sys.path[:] = [SOURCES, *kept]
    sys.meta_path.append(OnlyTheseSources())
    importlib.invalidate_caches()
    return triton


def write_sources(sources: dict) -> None:
    for name, content in sources.items():
        path = os.path.join(SOURCES, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(content))


def module_name(source: str) -> str:
    return source.removesuffix(".py").replace("/", ".")


def import_module(source: str):
    """Imports the first source, and leaves this process as it was, whatever that did."""
    environment = dict(os.environ)
    name = module_name(source)
    try:
        if name in sys.stdlib_module_names:  # copy.py is not Python's own copy.
            spec = importlib.util.spec_from_file_location(f"{name}_kernel", f"{SOURCES}/{source}")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(name)
    except (
        BaseException
    ) as error:  # SystemExit, too: the kernel's author is told, and the process goes on.
        raise Refused(f"importing {source} failed: {describe(error)}") from error
    finally:
        os.chdir(SOURCES)
        os.environ.clear()
        os.environ.update(environment)
    return module


def describe(error: BaseException) -> str:
    """Returns what went wrong, where in the sources, without the frames of others."""
    place = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.startswith(SOURCES):
            place = f"{os.path.relpath(frame.filename, SOURCES)}:{frame.lineno}: "
    text = (
        "".join(traceback.format_exception_only(type(error), error))
        .strip()
        .replace(SOURCES + os.sep, "")
    )
    cause = error.__cause__
    if cause is not None and str(cause) not in text:
        text += "\n" + "".join(traceback.format_exception_only(type(cause), cause)).strip()
    return place + shortened(text)


def listed(names) -> str:
    return ", ".join(names) or "none"


def shortened(text: str) -> str:
    return text if len(text) <= MAX_ERROR_BYTES else "... " + text[-MAX_ERROR_BYTES:]


def find_function(triton, module, source: str, entry: str):
    """Returns the @triton.jit function."""
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    found = getattr(module, entry, None)
    while isinstance(found, Autotuner):  # We tune in its place.
        found = found.fn
    if isinstance(found, Heuristics):
        raise Refused(
            f"{source}: '{entry}' is wrapped by @triton.heuristics, which computes constants at "
            f"each launch; declare these as parameters or defines, and take the wrapper off"
        )
    if not isinstance(found, JITFunction):
        there = [name for name, value in vars(module).items() if isinstance(value, JITFunction)]
        raise Refused(
            f"{source} has no @triton.jit function '{entry}' (it has: {listed(there)}); correct "
            f"the manifest's entry"
        )
    if found.is_gluon():
        raise Refused(f"{source}: '{entry}' is a Gluon function; write it with @triton.jit")
    return found


class Kernel:
    """A function that was loaded, and what the manifest says of its arguments."""

    def __init__(self, triton, request: dict) -> None:
        self.triton = triton
        write_sources(request["sources"])
        source = request["first"]
        self.function = find_function(triton, import_module(source), source, request["entry"])
        self.source = source
        self.defines = {name: literal(text) for name, text in request["defines"].items()}
        self._check(request)

    def _check(self, request: dict) -> None:
        """Refuses a function that takes other arguments and constants than the manifest has."""
        parameters = self.function.params
        self.maps = [p.name for p in parameters if not p.is_constexpr][: request["maps"]]
        takes = [p.name for p in parameters if not p.is_constexpr]
        constants = {p.name: p for p in parameters if p.is_constexpr}
        tuned = [*request["parameters"], *request["options"]]
        undeclared = [name for name in request["parameters"] if name not in constants]
        unset = [
            name
            for name, p in constants.items()
            if name not in tuned and name not in self.defines and not p.has_default
        ]
        wrong = []
        if takes != self.maps + request["arguments"]:
            wrong.append("its arguments are others")
        if undeclared:
            wrong.append(f"it declares no tl.constexpr named {listed(undeclared)}")
        if unset:
            wrong.append(f"the manifest has no parameter, constant or define {listed(unset)}")
        if not wrong:
            return
        maps = f"tensor maps: {request['maps']}, then " if request["maps"] else ""
        raise Refused(
            f"{self.source}: '{self.function.__name__}' does not match the manifest: "
            f"{'; '.join(wrong)}. The function takes ({listed(takes)}), constants "
            f"({listed(constants)}); the manifest passes {maps}"
            f"({listed(request['arguments'])}), parameters ({listed(tuned)}), defines ({listed(self.defines)})"
        )

    def describe(self) -> dict:
        return {
            "version": self.triton.__version__,
            "arguments": [
                {
                    "name": p.name,
                    "specialise": not p.do_not_specialize,
                    "align": not p.do_not_specialize_on_alignment,
                    "annotated": p.annotation_type,
                }
                for p in self.function.params
                if not p.is_constexpr and p.name not in self.maps
            ],
        }

    def compile(self, request: dict) -> dict:
        from triton.backends.compiler import GPUTarget

        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                compiled = self.triton.compile(
                    self._source(request),
                    target=GPUTarget("cuda", request["capability"], 32),
                    options=request["options"],
                )
            return answer_of(compiled, printed.getvalue())
        finally:
            shutil.rmtree(os.environ["TRITON_CACHE_DIR"], ignore_errors=True)

    def _source(self, request: dict):
        from triton.compiler import ASTSource

        arguments = {argument["name"]: argument for argument in request["arguments"]}
        maps = dict(zip(self.maps, request["maps"]))
        signature, constants, attributes = {}, {}, {}
        for index, parameter in enumerate(self.function.params):
            name = parameter.name
            if parameter.is_constexpr:
                signature[name] = "constexpr"
                constants[(index,)] = self._constant(parameter, request["constants"])
            elif maps.get(name) is not None:
                signature[name] = maps[name]
            elif name in maps:
                signature[name] = "constexpr"
                constants[(index,)] = None
            elif arguments[name]["form"] == "1":
                signature[name] = "constexpr"
                constants[(index,)] = 1
            else:
                signature[name] = arguments[name]["type"]
                if arguments[name]["form"] == "16":
                    attributes[(index,)] = [["tt.divisibility", 16]]
        return ASTSource(self.function, signature, constants, attributes)

    def _constant(self, parameter, configuration: dict):
        if parameter.name in configuration:
            return configuration[parameter.name]
        return self.defines.get(parameter.name, parameter.default)


def literal(text: str):
    """Returns a define's text as Python has it: an integer, a float, a bool or, else, the text."""
    if text in ("True", "true"):
        return True
    if text in ("False", "false"):
        return False
    for number in (lambda: int(text, 0), lambda: float(text)):
        with contextlib.suppress(ValueError):
            return number()
    return text


def spilled_bytes(log: str) -> int:
    """Returns the bytes that a thread stores and loads, of the function that spills most."""
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", log)
    return max((int(stores) + int(loads) for stores, loads in spills), default=0)


def serialised_wgmma(log: str) -> str:
    """Returns what ptxas says where it runs wgmma one after the other (C7510 and its like)."""
    for line in log.splitlines():
        if "wgmma" in line and "serialized" in line:
            return shortened(line.strip())
    return ""


def answer_of(compiled, log: str) -> dict:
    metadata = compiled.metadata
    return {
        "cubin": base64.b64encode(compiled.asm["cubin"]).decode(),
        "entry": metadata.name,
        "threads": 32 * metadata.num_warps,
        "shared_bytes": metadata.shared,
        "tensor_memory_excess": max(
            0, (getattr(metadata, "tmem_size", 0) or 0) - MAX_TENSOR_MEMORY
        ),
        "scratch_bytes": metadata.global_scratch_size or 0,
        "maps": [
            {"box": map["block_size"][::-1], "swizzle": map["swizzle"]}
            for map in getattr(metadata, "tensordesc_meta", None) or ()
        ],
        "spilled_bytes": spilled_bytes(log),
        "serialised": serialised_wgmma(log),
    }


def answer(kernel, request: dict):
    """Returns the kernel from now on, and the answer."""
    if "load" in request:
        kernel = Kernel(import_triton(), request["load"])
        return kernel, kernel.describe()
    return kernel, kernel.compile(request["compile"])


def main() -> None:
    keep()
    pipe = Pipe()
    isolate()
    kernel = None
    while (request := pipe.read()) is not None:
        try:
            kernel, said = answer(kernel, request)
        except Refused as refused:
            said = {"error": str(refused)}
        except BaseException as error:
            said = {"error": describe(error)}
        pipe.write(said)
    os._exit(0)  # Threads of the kernel's Python are not waited for.


main()
