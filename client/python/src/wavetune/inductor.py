"""Decisions for torch.compile: the tiles of Inductor's Triton templates for mm, addmm and bmm come from a table.

    import wavetune.inductor

    wavetune.inductor.install("triton_gemm")
    compiled = torch.compile(model, mode="max-autotune-no-cudagraphs")

Where the table decides Inductor gets one choice, and benchmarks nothing for it. It offers its templates only with
max_autotune or max_autotune_gemm, so one of these must be on. What is decided is a part of the key of Inductor's cache:
a new table compiles anew.

Inductor's interface for this is private. It is tried with the versions in TESTED; on others install() warns and does
nothing, unless it is told to try. Whatever is amiss later is said once, as a FallbackWarning, and Inductor chooses by
itself.
"""

from __future__ import annotations

import importlib.metadata
import re
import threading
import warnings
from typing import Any, Mapping, Optional, Union

import wavetune
from wavetune.errors import Error, FallbackWarning, InvalidArgumentError
from wavetune.triton_arguments import alike, measured_type, name_of
from wavetune.triton_decider import check_table, check_triton, shared_client

__all__ = ["TESTED", "install", "uninstall"]

# Versions of torch whose private interface this was tried with.
TESTED = ("2.11", "2.14")

# Operation to the name of the template that is a plain tiled product; others (persistent, split) have other loops than
# the table's kernel.
_TEMPLATES = {"mm": "mm", "addmm": "mm", "bmm": "bmm"}
_TILE = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M", "num_warps", "num_stages")
# What a kernel that does not say it is measured with: two bytes an element.
_DTYPE = "bfloat16"


def install(
    tuned: Union[str, wavetune.Tuner] = "triton_gemm",
    *,
    client: Optional[wavetune.Client] = None,
    device: Optional[str] = None,
    keep_extern: bool = False,
    any_triton: bool = False,
    any_torch: bool = False,
) -> Optional[Any]:
    """Lets a table decide from here on; returns Inductor's handler of choices, or None where it could not be installed.

    tuned: the kernel in WaveTune whose table decides, over m, n and k, or a Tuner. Its parameters BLOCK_M, BLOCK_N,
        BLOCK_K, num_warps and num_stages are those of the templates; GROUP_M may be.
    keep_extern: Inductor benchmarks the decided template against the library's product (cuBLAS), and those two alone.
    any_triton, any_torch: also with versions other than the table's, or than those in TESTED.

    Installing again replaces what was installed. Call it before anything is compiled: what is compiled stays.
    """
    try:
        _check_torch(any_torch)
        check_triton()
        tuner = tuned if not isinstance(tuned, str) else (client or shared_client()).tuner(tuned, device=device)
        check_table(tuner, any_triton)
        _check_kernel(tuner)
        handler = _handler_class()(tuner, keep_extern)
        _put(handler)
    except Error as error:
        _say_not_installed(str(error))
        return None
    except Exception as error:  # Of torch's private parts: whatever it is, torch.compile goes on.
        _say_not_installed(f"{type(error).__name__}: {error}")
        return None
    return handler


def uninstall() -> None:
    """Lets Inductor choose by itself again, in this thread and in those that compile for the first time."""
    from torch._inductor import config
    from torch._inductor.choices import InductorChoices
    from torch._inductor.select_algorithm import get_algorithm_selector_cache
    from torch._inductor.virtualized import V

    if isinstance(config.inductor_choices_class, Factory):
        config.inductor_choices_class = None
        V.set_choices_handler(InductorChoices())
        filters = get_algorithm_selector_cache().preprocessing_fns
        filters[:] = [own for own in filters if own is not _keep_decided]


class Factory:
    """Makes the handler in each thread that compiles. As a value of Inductor's configuration it is a part of its cache's
    key: it is written as what it decides with (torch 2.11 writes the factory, 2.14 the uuid() of what it makes), and in
    another process it makes Inductor's own choices.
    """

    def __init__(self, uuid: str, handler: Optional[Any] = None) -> None:
        self._uuid = uuid
        self._handler = handler

    def __call__(self) -> Any:
        from torch._inductor.choices import InductorChoices

        if self._handler is not None:
            return self._handler
        return type("ChoicesOfAnotherProcess", (InductorChoices,), {"uuid": lambda choices: self._uuid})()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Factory, (self._uuid,))

    def __deepcopy__(self, memo: Any) -> Factory:
        return self

    def __repr__(self) -> str:
        return f"wavetune.inductor.Factory({self._uuid!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Factory) and other._uuid == self._uuid

    def __hash__(self) -> int:
        return hash(self._uuid)


def _say_not_installed(why: str) -> None:
    warnings.warn(f"wavetune.inductor is not installed: {why}. Inductor chooses by itself.", FallbackWarning, stacklevel=3)


def _check_torch(any_torch: bool) -> None:
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        raise InvalidArgumentError("torch is not installed") from None
    found = re.match(r"\d+\.\d+", version)
    if not any_torch and (found is None or found[0] not in TESTED):
        raise InvalidArgumentError(
            f"torch is {version}, tried are {', '.join(TESTED)}, and this interface is private; any_torch=True tries it"
        )


def _check_kernel(tuner: wavetune.Tuner) -> None:
    dimensions = [dimension.name for dimension in tuner.dimensions]
    if sorted(dimensions) != ["k", "m", "n"]:
        raise InvalidArgumentError(f'"{tuner.kernel}" decides by {", ".join(dimensions)}, not by m, n and k')
    missing = [name for name in _TILE if name not in tuner.parameters and name != "GROUP_M"]
    if missing:
        raise InvalidArgumentError(f'"{tuner.kernel}" does not tune {", ".join(missing)}: its table is of another form')


def _put(handler: Any) -> None:
    from torch._inductor import config
    from torch._inductor.select_algorithm import get_algorithm_selector_cache
    from torch._inductor.virtualized import V

    filters = get_algorithm_selector_cache().preprocessing_fns
    if _keep_decided not in filters:
        filters.append(_keep_decided)
    config.inductor_choices_class = Factory(handler.uuid(), handler)
    V.set_choices_handler(handler)  # This thread may have one already.


def _keep_decided(choices: list[Any]) -> list[Any]:
    """Returns what is left of all choices for one product where the table decides one of them.

    torch 2.14 asks for those of addmm in three calls, so that the library's are there beside the decided one.
    """
    templates: list[Any] = [getattr(choice, "annotations", {}).get("ktc") for choice in choices]
    handler = next((own.decided_by for own in templates if hasattr(own, "decided_by")), None)
    if handler is None:
        return choices

    def stays(own: Any) -> bool:
        return hasattr(own, "decided_by") or handler.keep_extern and own is not None and own.template.uid.startswith("aten::")

    return [choice for choice, own in zip(choices, templates) if stays(own)]


def tile_for(tuner: wavetune.Tuner, m: int, n: int, k: int) -> Optional[dict[str, int]]:
    """Returns the tile that a template gets for a product, None where the table does not decide.

    Templates do not split k: where the table would, the best of its configurations that does not is taken.
    """
    decision = tuner.resolve(m=m, n=n, k=k)
    if decision.candidate is None:
        return None
    if _expressible(decision.configuration):
        return _tile(decision.configuration)
    for row in tuner.explain(m=m, n=n, k=k):
        if row.legal and _expressible(row.configuration):
            return _tile(row.configuration)
    return None


def _expressible(configuration: Mapping[str, int]) -> bool:
    """Whether all that a template has no parameter for is 1, and registers have no limit."""
    neutral = {"maxnreg": 0}
    return all(value == neutral.get(name, 1) for name, value in configuration.items() if name not in _TILE)


def _tile(configuration: Mapping[str, int]) -> dict[str, int]:
    return {name: configuration[name] for name in _TILE if name in configuration}


def _measured(tuner: wavetune.Tuner) -> Optional[str]:
    """Returns the type of data that the table was measured with; products of other types are Inductor's to choose."""
    try:
        return measured_type(tuner.arguments)
    except Error:
        return _DTYPE


def _handler_class() -> type[Any]:
    """Returns the subclass of Inductor's choices: made late, as torch is imported late."""
    from torch._inductor.choices import InductorChoices
    from torch._inductor.kernel_template_choice import DictKernelTemplateParams, KernelTemplateChoice

    class WaveTuneChoices(InductorChoices):
        """Inductor's choices, with a table's for products."""

        def __init__(self, tuner: wavetune.Tuner, keep_extern: bool) -> None:
            super().__init__()
            self.tuner = tuner
            self.keep_extern = keep_extern
            self._measured = _measured(tuner)
            self.decided = 0  # How often the table decided.
            self.reason: Optional[str] = None
            self._lock = threading.Lock()
            self._thread = threading.local()

        def uuid(self) -> str:
            """What a cache's key has to tell apart."""
            return f"wavetune {wavetune.__version__} {self.tuner.digest} keep_extern={self.keep_extern}"

        def get_template_configs(self, *args: Any, **kwargs: Any) -> Any:
            found = super().get_template_configs(*args, **kwargs)
            if found:
                return found
            # A template may refuse a tile when it is written out: then Inductor chooses.
            self._thread.undecided = True
            try:
                return super().get_template_configs(*args, **kwargs)
            finally:
                self._thread.undecided = False

        def _finalize_template_configs(
            self,
            template_choices: Any,
            kernel_inputs: Any,
            templates: Any,
            op_name: str,
            kwarg_overrides: Any = None,
        ) -> Any:
            try:
                decided = self._decide(kernel_inputs, templates, op_name, kwarg_overrides or {})
            except Exception as error:  # Of torch's private parts, or the table's: Inductor goes on.
                decided = None
                self._say(f"{type(error).__name__}: {error}")
            if decided is None:
                return super()._finalize_template_configs(
                    template_choices, kernel_inputs, templates, op_name, kwarg_overrides
                )
            with self._lock:
                self.decided += 1
            if not self.keep_extern:
                return [decided]
            externs = [template.uid for template in templates if template.uid.startswith("aten::")]
            return [decided, *(choice for uid in externs for choice in template_choices[uid])]

        def _decide(self, kernel_inputs: Any, templates: Any, op_name: str, overrides: Any) -> Any:
            wanted = _TEMPLATES.get(op_name)
            template = next((own for own in templates if own.uid == f"triton::{wanted}"), None)
            if getattr(self._thread, "undecided", False):
                return None
            if template is None:
                return None
            types = [name_of(matrix.get_dtype()) for matrix in kernel_inputs.mat1mat2()]
            if any(self._measured is None or not alike(self._measured, own) for own in types):
                return None
            m, n, k = (int(extent) for extent in kernel_inputs.mnk_hinted())
            # A batch's tiles are those of one product that is as many times as high.
            batch = int(kernel_inputs.batch_hinted()) if op_name == "bmm" else 1
            tile = tile_for(self.tuner, m * batch, n, k)
            if tile is None:
                return None
            base = next(iter(self.get_ktc(kernel_inputs, template, op_name, overrides.get(template.uid, {}))), None)
            if base is None:
                return None
            parameters = {**base.params.to_kwargs(), **tile}
            parameters["EVEN_K"] = _divides(kernel_inputs.mnk_symbolic()[2], tile["BLOCK_K"])
            choice = KernelTemplateChoice(
                template=base.template,
                params=DictKernelTemplateParams(parameters),
                extra_kwargs=base.extra_kwargs,
                layout=base.layout,
                inputs=base.inputs,
            )
            choice.decided_by = self
            return choice

        def _say(self, what: str) -> None:
            if self.reason is None:
                self.reason = what
                warnings.warn(
                    f"wavetune.inductor does not decide: {what}. Inductor chooses by itself.", FallbackWarning, stacklevel=3
                )

    return WaveTuneChoices


def _divides(extent: Any, block: int) -> bool:
    """Whether the block's length divides an extent whatever its symbols are."""
    from torch._inductor.virtualized import V

    if isinstance(extent, int):
        return extent % block == 0
    import sympy

    return bool(V.graph.sizevars.statically_known_true(sympy.Eq(extent % block, 0)))
