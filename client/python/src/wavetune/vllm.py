"""vLLM's experts with configurations of the table, at every number of tokens.

vLLM loads this by itself where the package is installed: `register` is an entry point of `vllm.general_plugins`, which
vLLM calls in every process. It replaces `try_get_optimal_moe_config` (vllm.model_executor.layers.fused_moe.fused_moe)
when vLLM imports that module, so that no file is written and no point lies between the points of one. It imports nothing
of vLLM itself. vLLM asks the same function for kernels of other kinds (batched, LoRA, emulated NVFP4, one product): only
what the two-product path of unquantised experts asks is answered.

    pip install wavetune-….whl      # that is all; WAVETUNE_VLLM=off turns it off

    import wavetune.vllm            # or by hand, before the engine starts
    wavetune.vllm.install(kernel="triton_fused_moe")

Where the table shows no gain over what vLLM would launch by itself, its file's or its rule's configuration, that stays.
What is not the table's business is the engine's as before: quantised and Marlin layers, kernels of other modules,
`override_config`, batch invariance, problems that the kernel was not declared for, and everything where no table is
there. Whatever goes wrong here is one warning, never an exception in the engine. docs/engines.md says what each warning
means.

Environment: WAVETUNE_VLLM ("off"), WAVETUNE_VLLM_KERNEL, WAVETUNE_VLLM_DEVICE (UUID), WAVETUNE_VLLM_EP (devices that the
experts are spread over), WAVETUNE_VLLM_ANY_TRITON ("1"), WAVETUNE_VLLM_ANY_VERSION ("1"), and what every client reads
(WAVETUNE_ENDPOINT, WAVETUNE_PIN, ...).
"""

import contextlib
import contextvars
import functools
import importlib.abc
import inspect
import logging
import os
import sys
import threading
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import wavetune
from wavetune import engine_files, experts
from wavetune.experts import ExpertTuner, Own
from wavetune.records import ExpertLayer
from wavetune.triton_arguments import difference
from wavetune.triton_decider import check_compiler, silicon_facts, uuid_text

# Below vLLM's own logger, so that it is shown as vLLM's lines are.
_log = logging.getLogger("vllm.wavetune")

_MODULE = "vllm.model_executor.layers.fused_moe.fused_moe"
_FUNCTION = "try_get_optimal_moe_config"
# Modules of vLLM that launch the table's kernel; others ask for the same name, and launch other ones.
_PLAIN = (_MODULE, "vllm.model_executor.layers.fused_moe.experts.triton_moe")
_ARGUMENTS = ("w1_shape", "w2_shape", "top_k", "dtype", "M")
_KERNEL = "triton_fused_moe"
_ANY_TRITON = "WAVETUNE_VLLM_ANY_TRITON"
_ANY_VERSION = "WAVETUNE_VLLM_ANY_VERSION"
_DIMENSIONS = ("tokens", "n", "k", "top_k")
# Decisions that are remembered; beyond, all are made again.
_MOST_REMEMBERED = 65536

_routing: "contextvars.ContextVar[Optional[Tuple[int, ...]]]" = contextvars.ContextVar("wavetune_routing", default=None)
_lock = threading.Lock()
_hook: Optional["_Hook"] = None
_warned: "set[str]" = set()

Config = Dict[str, Any]


def register() -> None:
    """The entry point: installs what the environment says. Never raises."""
    if _is_off("WAVETUNE_VLLM"):
        _log.info("WAVETUNE_VLLM turns WaveTune off")
        return
    install()


def install(
    client: Optional["wavetune.Client"] = None,
    *,
    kernel: Optional[str] = None,
    device: Optional[str] = None,
    expert_parallel: Optional[int] = None,
    any_triton: Optional[bool] = None,
    any_version: Optional[bool] = None,
) -> bool:
    """Lets the table of `kernel` decide for vLLM's experts in this process; returns whether it does, or will once vLLM
    imports the module that launches them.

    client: one that is connected; else one is connected at the first decision, with what the environment says.
    device: UUID of the GPU; else the process's current one. expert_parallel: devices that the experts are spread over
    (1: all experts are here); the tokens of the others are not counted as this one's. any_triton: also with a table that
    was measured with another version of Triton than this process has. any_version: also in a vLLM that was not tried.
    None: what the environment says, for all.

    Once is enough: a second call changes nothing. Never raises: where this vLLM has no such function, or one with other
    arguments, there is one warning and nothing is changed.
    """
    global _hook
    with _lock:
        if _hook is not None:
            _log.info("WaveTune is installed already")
            return _hook.usable
        with _warned_of_what_keeps_it_out():
            options = _options(kernel, device, expert_parallel, any_triton, any_version)
            _hook = _Hook(_Decider(client, options), options.any_version)
        return _hook is not None and _hook.usable


def uninstall() -> None:
    """Gives vLLM its own function back."""
    global _hook
    with _lock:
        if _hook is not None:
            _hook.undo()
        _hook = None
        _warned.clear()


@contextlib.contextmanager
def _warned_of_what_keeps_it_out() -> Iterator[None]:
    try:
        yield
    except _CannotInstall as reason:
        _warn_once("install", "WaveTune does not decide for vLLM's experts: %s. vLLM does as it did", reason)
    except Exception as error:  # Whatever this vLLM is like, it must start.
        _warn_once("install", "WaveTune does not decide for vLLM's experts: %r. vLLM does as it did", error)


@contextlib.contextmanager
def routing(slots: Sequence[int]) -> Iterator[None]:
    """Decides by the routing that the caller knows: `slots` has the tokens of each local expert.

    Without it slots are those of an expected routing (wavetune.ExpectedRouting). The context is that of `contextvars`: it
    counts in this thread, for layers with as many experts.
    """
    token = _routing.set(tuple(int(count) for count in slots))
    try:
        yield
    finally:
        _routing.reset(token)


class _CannotInstall(Exception):
    """Why nothing was changed."""


class _NoAnswer(Exception):
    """Why the engine decides for itself."""


def _warn_once(key: str, message: str, *arguments: Any) -> None:
    if key not in _warned:
        _warned.add(key)
        _log.warning(message, *arguments)


class _Options(NamedTuple):
    kernel: str
    device: Optional[str]
    expert_parallel: int
    any_triton: bool
    any_version: bool


def _is_off(variable: str) -> bool:
    return os.environ.get(variable, "").lower() in ("off", "0", "false", "no")


def _is_wanted(given: Optional[bool], variable: str) -> bool:
    return given if given is not None else bool(os.environ.get(variable)) and not _is_off(variable)


def _options(
    kernel: Optional[str],
    device: Optional[str],
    parallel: Optional[int],
    any_triton: Optional[bool],
    any_version: Optional[bool],
) -> _Options:
    text = os.environ.get("WAVETUNE_VLLM_EP", "")
    if parallel is None:
        try:
            parallel = int(text or 1)
        except ValueError:
            raise _CannotInstall(f'WAVETUNE_VLLM_EP is "{text}", not a number of devices') from None
    if parallel < 1:
        raise _CannotInstall(f"experts are spread over {parallel} devices: give 1 or more")
    return _Options(
        kernel=kernel or os.environ.get("WAVETUNE_VLLM_KERNEL") or _KERNEL,
        device=device or os.environ.get("WAVETUNE_VLLM_DEVICE") or None,
        expert_parallel=parallel,
        any_triton=_is_wanted(any_triton, _ANY_TRITON),
        any_version=_is_wanted(any_version, _ANY_VERSION),
    )


class _Decider:
    """The configuration of a layer from its shapes and tokens. From any thread."""

    def __init__(self, client: Optional["wavetune.Client"], options: _Options) -> None:
        self._client = client
        self._options = options
        self._opening = threading.Lock()
        self._opened = False
        self._tuner: Optional[ExpertTuner] = None
        self._remembered: Dict[Tuple[Any, ...], Config] = {}
        self._compiled: Dict[Tuple[Any, ...], bool] = {}

    def decide(
        self, w1_shape: Sequence[int], w2_shape: Sequence[int], top_k: int, tokens: int, engine: Callable[[], Config]
    ) -> Config:
        """Returns a configuration of the caller's own. engine: returns what the engine launches by itself. Raises
        _NoAnswer where the engine must decide."""
        slots = _routing.get()
        if slots is not None and len(slots) != w2_shape[0]:
            _warn_once(
                "routing",
                "routing() has %d experts, a layer %d: an expected routing stands for it",
                len(slots),
                w2_shape[0],
            )
            slots = None
        key = (tuple(w1_shape), tuple(w2_shape), top_k, tokens, slots)
        known = self._remembered.get(key)
        if known is None:
            known = self._decide(w1_shape, w2_shape, top_k, tokens, slots, engine)
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = known
        return dict(known)

    def _decide(
        self,
        w1_shape: Sequence[int],
        w2_shape: Sequence[int],
        top_k: int,
        tokens: int,
        slots: Optional[Sequence[int]],
        engine: Callable[[], Config],
    ) -> Config:
        tuner = self._open()
        local, hidden, intermediate = w2_shape
        if w1_shape[2] != hidden or w1_shape[1] not in (intermediate, 2 * intermediate):
            raise _NoAnswer(f"weights of {tuple(w1_shape)} and {tuple(w2_shape)} are no two products of experts")
        layer = ExpertLayer(
            experts=local * self._options.expert_parallel,
            local_experts=local,
            top_k=top_k,
            hidden=hidden,
            intermediate=intermediate,
            gated=w1_shape[1] == 2 * intermediate,
        )
        if slots is None:
            slots = experts.expected_routing(layer.experts, top_k).slots(tokens, local)
        own = engine()
        choice = tuner.choose(layer, slots, Own(own, own))
        for decision in choice.decisions:
            if decision.source is wavetune.Source.DEFAULT:
                raise _NoAnswer(f"the table has no answer for a layer of {tuple(w2_shape)}: {decision.reason.name}")
        if choice.kept or not self._compiles(layer, tokens, choice.gate_up, own):
            return own
        return {name: int(value) for name, value in choice.gate_up.items()}

    def _compiles(self, layer: ExpertLayer, tokens: int, config: experts.Config, own: Config) -> bool:
        """Whether vLLM's kernel compiles what was decided. The launch that comes next finds it done."""
        key = (layer, *config.items())
        if key not in self._compiled:
            reason = _why_it_does_not_compile(layer, tokens, config)
            if reason is not None and _why_it_does_not_compile(layer, tokens, own) is not None:
                reason = None  # Nothing compiles here: the reason is another.
            if reason is not None:
                _warn_once(
                    str(key), "WaveTune leaves launches to vLLM, whose kernel does not compile %s: %s", dict(config), reason
                )
            self._compiled[key] = reason is None
        return self._compiled[key]

    def _open(self) -> ExpertTuner:
        # At the first decision, which is in the process and on the device that decides; once, so that ranks do not
        # change their minds at different times.
        with self._opening:
            if not self._opened:
                self._opened = True
                try:
                    self._tuner = self._find_tuner()
                    _log.info("WaveTune decides for vLLM's experts with table %s", self._tuner.tuner.digest[:16])
                except (wavetune.Error, ValueError, _CannotInstall) as reason:
                    _warn_once(
                        "table",
                        "WaveTune has no table for vLLM's experts: %s. vLLM decides for itself until it is started again",
                        reason,
                    )
        if self._tuner is None:
            raise _NoAnswer("there is no table")
        return self._tuner

    def _find_tuner(self) -> ExpertTuner:
        client = self._client or wavetune.connect()
        kernel = self._options.kernel
        gate_up, down = (
            client.tuner(
                kernel,
                device=self._options.device or _device_uuid(),
                specialisation=specialisation,
                # A table that is promoted later waits for the next start: graphs that were captured keep the old one's
                # choices, and ranks would not change at the same step.
                activation=wavetune.Activation.EXPLICIT,
            )
            for specialisation in (experts.NAMES.gate_up, experts.NAMES.down)
        )
        self._client = client  # It lives as long as its tuner's events are of interest.
        if not gate_up.digest:
            raise _CannotInstall(f'kernel "{kernel}" has no table yet: wavetune reprofile --kernel {kernel} --wait')
        _check_gpu(gate_up.silicon_key)
        if not self._options.any_triton:
            check_compiler(gate_up, f"set {_ANY_TRITON}=1")
        dimensions = tuple(dimension.name for dimension in gate_up.dimensions)
        unknown = set(dimensions) - set(_DIMENSIONS)
        if unknown or not {"tokens", "n", "k"} <= set(dimensions):
            raise _CannotInstall(f'kernel "{kernel}" has the dimensions {dimensions}, not {_DIMENSIONS}')
        if set(gate_up.parameters) != set(experts.PARAMETERS):
            raise _CannotInstall(f'kernel "{kernel}" has the parameters {gate_up.parameters}, not {experts.PARAMETERS}')
        with contextlib.suppress(wavetune.Error):  # Nobody says.
            # vLLM names no type for two-byte experts, and asks with "float32" for those.
            other = difference(gate_up.arguments, ["bfloat16"])
            if other is not None:
                raise _CannotInstall(f'kernel "{kernel}" is of other experts than vLLM\'s: {other}')
        return ExpertTuner(gate_up, down, experts.NAMES._replace(top_k="top_k" if "top_k" in dimensions else None))


def _why_it_does_not_compile(layer: ExpertLayer, tokens: int, config: experts.Config) -> Optional[str]:
    """None where it compiles, or where that cannot be told."""
    from wavetune import engine_kernel  # Late: a process that launches no experts needs none of it.

    shape = engine_kernel.Layer(layer.local_experts, layer.intermediate, layer.hidden, layer.top_k, layer.gated)
    try:
        engine_kernel.compile_here(sys.modules[_MODULE], shape, engine_kernel.Launch(tokens, config, config))
    except engine_kernel.CannotTell:
        return None
    except Exception as error:  # Whatever Triton makes of it.
        return " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return None


def _gpu() -> Optional[Any]:
    """What PyTorch says of the process's current device, or None where it says nothing."""
    try:
        torch = importlib.import_module("torch")
        return torch.cuda.get_device_properties(torch.cuda.current_device())
    except Exception:  # No torch, or no device.
        return None


def _device_uuid() -> Optional[str]:
    """The UUID of the process's current device, or None where nothing says it (then the table must be the only one)."""
    return uuid_text(_gpu())


def _check_gpu(silicon_key: str) -> None:
    """Raises _CannotInstall for a table of another GPU: it came from a file or a cache, where no daemon has looked."""
    gpu = _gpu()
    silicon = silicon_facts(silicon_key)
    if gpu is None or silicon.get("backend") != "cuda":
        return
    try:
        there = {"arch": f"sm_{gpu.major}{gpu.minor}", "mp": str(gpu.multi_processor_count)}
    except AttributeError:
        return
    if any(silicon.get(name, value) != value for name, value in there.items()):
        raise _CannotInstall(
            f"the table is of another GPU ({silicon_key}) than this process has ({there['arch']}, "
            f"{there['mp']} multiprocessors): profile the kernel here"
        )


class _Hook(importlib.abc.MetaPathFinder):
    """The engine's function, replaced in the modules that launch the table's kernel: now, or once they are imported."""

    def __init__(self, decider: _Decider, any_version: bool) -> None:
        if not any_version:
            _check_version()  # Now, as the module may have another name there and never come.
        self.usable = True
        self._decider = decider
        self._original: Optional[Callable[..., Config]] = None
        self._replacement: Optional[Callable[..., Config]] = None
        if _MODULE in sys.modules:
            self._arrive(sys.modules[_MODULE])
        else:
            sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != _MODULE:
            return None
        others = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None:
            with _warned_of_what_keeps_it_out():
                self._follow(spec.loader)
        return spec

    def _follow(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            if module.__name__ == _MODULE:  # A loader may be that of others, too.
                self._arrive(module)

        loader.exec_module = exec_module

    def _arrive(self, module: Any) -> None:
        self.usable = False
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)
        with _warned_of_what_keeps_it_out():
            self._replace(module)
            self.usable = True

    def _replace(self, module: Any) -> None:
        original = getattr(module, _FUNCTION, None)
        if not callable(original):
            raise _CannotInstall(f"this version of vLLM has no {_FUNCTION} in {_MODULE}")
        if getattr(original, "wavetune_decider", None) is not None:
            raise _CannotInstall("another copy of this module is installed already")
        _check_arguments(original)
        _say_if_late(module)
        self._original = original
        self._replacement = _replacement(original, self._decider, module)
        # The one that defines it is one of them: who imports it later gets ours, which looks who asks.
        for holder in _modules_of_vllm():
            if holder.__name__ in _PLAIN and getattr(holder, _FUNCTION, None) is original:
                setattr(holder, _FUNCTION, self._replacement)

    def undo(self) -> None:
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)
        for holder in _modules_of_vllm():
            if self._replacement is not None and getattr(holder, _FUNCTION, None) is self._replacement:
                setattr(holder, _FUNCTION, self._original)


def _check_version() -> None:
    untried = engine_files.untried_version("vllm")
    if untried is not None:
        raise _CannotInstall(
            f"vLLM {untried}: look for a newer wavetune, use files (wavetune export), or set {_ANY_VERSION}=1 to let the "
            "table decide all the same"
        )


def _modules_of_vllm() -> List[Any]:
    return [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "vllm" and module is not None]


def _check_arguments(function: Callable[..., Any]) -> None:
    names = tuple(inspect.signature(function).parameters)
    if names[: len(_ARGUMENTS)] != _ARGUMENTS:
        raise _CannotInstall(f"{_FUNCTION} of this version of vLLM takes {names}, not {_ARGUMENTS}")


def _say_if_late(module: Any) -> None:
    """Warns where the engine has read files already: what it made of them stays."""
    try:
        read = module.get_moe_configs.cache_info().currsize
    except AttributeError:  # It remembers in another way, or not at all.
        return
    if read:
        _warn_once(
            "late",
            "WaveTune comes after vLLM looked for %d of its MoE configuration files: layers that were prepared or "
            "captured until now keep those. Let vLLM load the plugin itself, or call install() before the engine starts",
            read,
        )


def _replacement(original: Callable[..., Config], decider: _Decider, module: Any) -> Callable[..., Config]:
    def try_get_optimal_moe_config(
        w1_shape: Any, w2_shape: Any, top_k: Any, dtype: Any, M: Any, *more: Any, **named: Any
    ) -> Config:
        try:
            # Whatever else is said (Marlin, block shapes, ...) is of another kernel than the table's.
            plain = dtype is None and not any(more) and not any(named.values())
            if plain and _launches_plainly(sys._getframe(1).f_globals) and not _engine_insists(module):
                own = functools.partial(original, w1_shape, w2_shape, top_k, dtype, M, *more, **named)
                return decider.decide(w1_shape, w2_shape, int(top_k), int(M), own)
        except _NoAnswer as reason:
            _warn_once(str(reason), "WaveTune leaves a layer to vLLM: %s", reason)
        except Exception as error:  # A launch must not fail for want of advice.
            _warn_once(f"decide {type(error)}", "WaveTune leaves a layer to vLLM: %r", error)
        return original(w1_shape, w2_shape, top_k, dtype, M, *more, **named)

    try_get_optimal_moe_config.wavetune_decider = decider  # type: ignore[attr-defined]
    try_get_optimal_moe_config.__wrapped__ = original  # type: ignore[attr-defined]
    return try_get_optimal_moe_config


def _launches_plainly(caller: Dict[str, Any]) -> bool:
    """Whether who asks, a module's globals, launches the table's kernel: not where another module of vLLM does."""
    name = str(caller.get("__name__", ""))
    return name in _PLAIN or name.split(".")[0] != "vllm"


def _engine_insists(module: Any) -> bool:
    """Whether the engine was told to use a configuration of its own: override_config, or batch invariance."""
    package = sys.modules[_MODULE.rpartition(".")[0]]
    overridden = getattr(package, "get_config", None)
    if overridden is not None and overridden():
        return True
    invariant = getattr(module, "vllm_is_batch_invariant", None)
    if invariant is not None:
        return bool(invariant())
    envs = sys.modules.get("vllm.envs")
    said = getattr(envs, "VLLM_BATCH_INVARIANT", None)
    return bool(said) if said is not None else os.environ.get("VLLM_BATCH_INVARIANT", "0") not in ("", "0")
