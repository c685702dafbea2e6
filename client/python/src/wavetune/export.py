"""`wavetune export`: decisions as files that serving engines read, as a list for @triton.autotune, or as JSON.

    python3 -m wavetune.export triton_fused_moe --format vllm-moe --config config.json --tp 2 --out moe

docs/engines.md says what is written, and what each refusal and warning means.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import keyword
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Union

import wavetune
from wavetune import _native, engine_files, engine_kernel, experts
from wavetune.errors import (
    AlreadyExistsError,
    DeadlineExceededError,
    Error,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    UnavailableError,
)
from wavetune.experts import Choice, ExpertTuner, Own
from wavetune.records import ExpertLayer, Kernel, Table
from wavetune.triton_decider import OPTIONS

_FOLDERS = {"vllm": "VLLM_TUNED_CONFIG_FOLDER", "sglang": "SGLANG_MOE_CONFIG_DIR"}
_TITLES = {"vllm": "vLLM", "sglang": "SGLang"}
_MOST_TOKENS = 1 << 20
_MOST_PROBLEMS = 100000
# Engines look through all entries for each layer of a step without a graph.
_MANY_ENTRIES = 1024

_EXAMPLES = """examples:
  wavetune export triton_fused_moe --format vllm-moe --config config.json --tp 2 --out moe
  wavetune export triton_fused_moe --format sglang-moe --experts 128 --top-k 8 --hidden 2048 --intermediate 768 \\
      --triton-version 3.6.0 --out moe
  wavetune export kernels/triton_fused_moe --format vllm-moe --table moe.table --device-name 'NVIDIA H200' \\
      --config config.json --out moe
  wavetune export triton_gemm --format triton-autotune --out configs.py
  wavetune export gemm_bf16 --format json m=1,16,64 n=4096 k=4096
"""


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the command; returns its exit code, as those of `wavetune` are."""
    options = _parser().parse_intermixed_args(arguments)
    try:
        _run(options)
    except (Error, ValueError, OSError) as error:
        _say(str(error))
        if isinstance(error, (UnavailableError, DeadlineExceededError)):
            return 3
        return 2 if isinstance(error, ValueError) else 1
    return 0


def _run(options: argparse.Namespace) -> None:
    if options.format == "triton-autotune":
        source = _Source(options)
        _deliver(options, _triton_text(source, source.specialisations()))
    elif options.format == "json":
        _deliver(options, json.dumps(_decisions(options), indent=2, ensure_ascii=False) + "\n")
    else:
        _EngineExport(options).run()


def _say(text: str) -> None:
    print("wavetune:", text.replace("\n", "\n  "), file=sys.stderr)


class _Source:
    """The kernel and the table that are exported, each from a file or from the daemon."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.client = self._connect(options.table)
        self.folder: Optional[str] = None
        self.name: str = options.kernel
        self._kernel: Optional[Kernel] = None
        if os.path.isdir(options.kernel) or "/" in options.kernel:
            self.folder = options.kernel
            self._kernel = self.client.kernel(options.kernel)
            self.name = self._kernel.name
        self.table = self._find_table()

    def _connect(self, table: Optional[str]) -> wavetune.Client:
        if table:
            return wavetune.connect(mode="offline", cache_dir=None, table_file=table, pin="")
        # A person's question is no use.
        return wavetune.connect(self.options.endpoint, watch=False, usage_feedback=False)

    def _which(self) -> dict[str, Any]:
        options = self.options
        digest = options.digest if options.digest and len(options.digest) == 64 else None
        return dict(device=options.device, fingerprint=options.fingerprint, digest=digest, manifest=self.folder)

    def _find_table(self) -> Table:
        try:
            table = self.client.table(self.name, **self._which())
        except NotFoundError as error:
            raise NotFoundError(
                f"there is no table to export ({error}); `wavetune reprofile --kernel {self.name} --wait` makes one, "
                "--table reads one from a file"
            ) from error
        if not table.digest.startswith(self.options.digest or ""):
            raise NotFoundError(
                f"the table that serves is {table.digest}: give all 64 digits of another one's --digest"
            )
        if table.stale:
            why = table.stale_reason or "the daemon does not say why"
            _say(f"the table is stale ({why}); its decisions are exported as they are")
        return table

    def kernel(self) -> Kernel:
        """Returns the manifest: a table does not say which layers its kernel computes, and which engines launch it."""
        if self._kernel is None:
            try:
                self._kernel = self._ask_for_kernel()
            except Error as error:
                raise type(error)(
                    f"{error}. Without a daemon give the kernel's folder: its manifest says which engines launch it"
                ) from error
        return self._kernel

    def _ask_for_kernel(self) -> Kernel:
        try:
            return self.client.kernel(self.name)
        except NotFoundError:
            if not self.options.table:
                raise
            return self._connect(None).kernel(self.name)

    def tuner(self, specialisation: str) -> wavetune.Tuner:
        """Returns what decides. Raises FailedPreconditionError where the table is another one by now."""
        tuner = self.client.tuner(
            self.name, specialisation=specialisation, activation=wavetune.Activation.PINNED, **self._which()
        )
        if tuner.digest != self.table.digest:
            raise FailedPreconditionError("another table took over meanwhile: try again")
        return tuner

    def specialisations(self, wanted: str = "") -> Sequence[str]:
        """Returns the table's, or the one that is wanted. Raises NotFoundError for one that it lacks."""
        wanted = wanted or self.options.specialisation or ""
        known = self.table.specialisations
        if wanted and wanted not in known:
            raise NotFoundError(f'the table has no specialisation "{wanted}"; it has: {", ".join(known)}')
        return [wanted] if wanted else known


# ---- Experts ----------------------------------------------------------------


def _layers(options: argparse.Namespace) -> Sequence[ExpertLayer]:
    numbers = {name: getattr(options, name) for name in ("experts", "top_k", "hidden", "intermediate")}
    devices = dict(tensor_parallel=options.tp, expert_parallel=options.ep)
    if not options.config:
        return _native.expert_layers(**numbers, **devices)
    if any(numbers.values()):
        raise InvalidArgumentError(
            "give --config, or the numbers of a layer (--experts, --hidden, --intermediate, --top-k), not both"
        )
    path = _config_file(Path(options.config))
    try:
        layers = _native.expert_layers(path.read_bytes(), **devices)
    except Error as error:
        raise type(error)(f"{path}: {error}") from error
    if not layers:
        raise InvalidArgumentError(
            f"{options.config} is of a model without experts: engines have no file for its layers"
        )
    # Of those that are alike but for their types the plain ones, which this table is of.
    plain_last = sorted(layers, key=lambda layer: not layer.type)
    return list({layer._replace(type=""): layer for layer in plain_last}.values())


def _config_file(given: Path) -> Path:
    """Returns the config.json where a folder is given that holds the model, or a model's of a Hugging Face cache."""
    if not given.is_dir():
        return given
    commit = given / "refs" / "main"
    return (given / "snapshots" / commit.read_text().strip() if commit.is_file() else given) / "config.json"


def _faults(kernel: Kernel, table: Table, tuner: Optional[wavetune.Tuner]) -> list[str]:
    """Returns why the table decides for no expert layer of this kernel."""
    faults = []
    if tuner is not None and (tuner.parameters != kernel.parameters or tuner.dimensions != kernel.dimensions):
        faults.append(
            "the table is of another version of the kernel, with other parameters or dimensions: profile it again, or "
            "give the folder of that version"
        )
    if kernel.experts is None:
        faults.append(
            "its manifest does not say which dimensions and specialisations are an expert layer's (serves { moe { ... } })"
        )
    else:
        for name in dict.fromkeys((kernel.experts.gate_up, kernel.experts.down)):
            if name not in table.specialisations:
                faults.append(f'the table has nothing for specialisation "{name}": profile the kernel again')
    return faults


def _engine_faults(kernel: Kernel, engine: str) -> list[str]:
    """Returns why an engine does not launch this kernel, or takes other parameters."""
    faults = []
    if kernel.experts is not None and engine not in kernel.experts.engines:
        faults.append(
            f'its manifest does not say that {engine} launches it (serves {{ moe {{ engines: "{engine}" }} }})'
        )
    missing = [name for name in experts.PARAMETERS if name not in kernel.parameters]
    known = (*experts.PARAMETERS, experts.USE_TMA) if engine == "sglang" else experts.PARAMETERS
    more = [name for name in kernel.parameters if name not in known]
    if missing:
        faults.append(f"it has no parameter {', '.join(missing)}, which {engine}'s files must have")
    if more:
        faults.append(f"it has the parameter {', '.join(more)}, which {engine}'s kernel does not take")
    return faults


def _served(source: _Source, engine: Optional[str]) -> ExpertTuner:
    """Returns what decides for layers of experts. Raises FailedPreconditionError with all that is missing."""
    kernel = source.kernel()
    faults = _faults(kernel, source.table, source.tuner(source.table.specialisations[0]))
    faults += _engine_faults(kernel, engine) if engine else []
    if faults or kernel.experts is None:
        what = f"cannot be exported to {engine}" if engine else "decides for no expert layer"
        instead = (
            "--format json and triton-autotune take every kernel"
            if engine
            else "name problems instead, such as m=1,16,64 n=4096 k=4096"
        )
        lines = "\n  ".join(faults)
        raise FailedPreconditionError(f'kernel "{kernel.name}" {what}:\n  {lines}\n{instead}')
    names = kernel.experts
    return ExpertTuner(source.tuner(names.gate_up), source.tuner(names.down), names)


class _LayerChoices:
    """What is decided for a layer at 1, 2, ... tokens. own: what an engine launches there by itself."""

    def __init__(
        self,
        tuner: ExpertTuner,
        layer: ExpertLayer,
        options: argparse.Namespace,
        own: Callable[[int], Optional[Own]] = lambda tokens: None,
    ) -> None:
        self.layer = layer
        routing = experts.expected_routing(layer.experts, layer.top_k, _popularity(options.routing))
        self.at = [
            tuner.choose(layer, routing.slots(tokens, layer.local_experts), own(tokens), options.down_file)
            for tokens in range(1, options.max_tokens + 1)
        ]

    def keep_own(self, place: int, own: Own) -> None:
        """Lets the engine's own stand instead of what was decided at place + 1 tokens."""
        self.at[place] = Choice(own.gate_up, own.down, self.at[place].decisions, True)

    def pairs(self) -> list[tuple[experts.Config, experts.Config]]:
        return [(choice.gate_up, choice.down) for choice in self.at]

    def warn_of_gaps(self, instead: str) -> None:
        """Says where there is no answer, or one beyond what was measured. Raises FailedPreconditionError where there is
        none at all."""
        layer, most = self.layer, len(self.at)
        what = f"{layer.local_experts} experts, hidden {layer.hidden}, intermediate {layer.intermediate}"
        reasons = [choice.decisions[0].reason for choice in self.at if _is(choice, wavetune.Source.DEFAULT)]
        beyond = sum(_is(choice, wavetune.Source.EXTRAPOLATED) for choice in self.at)
        if len(reasons) == most:
            raise FailedPreconditionError(
                f"the table has no answer for this layer ({what}): {reasons[0].name}. `wavetune explain` shows a problem "
                "of it"
            )
        if reasons:
            _say(
                f"{what}: no answer at {len(reasons)} of {most} token counts ({reasons[0].name}); {instead} stands there"
            )
        unknown = sum(not choice.decisions for choice in self.at)
        if unknown:
            _say(
                f"{what}: at {unknown} of {most} token counts the table has no prediction of what the engine launches by "
                "itself, which stays there; a new profile of the kernel measures the engines' rules, too"
            )
        if beyond:
            _say(
                f"{what}: {beyond} of {most} token counts are beyond what was measured. Profiles measure the layers of "
                "declared models (`wavetune workload list`); one that measured them and does not serve is among "
                "`wavetune tables rejected`"
            )


def _is(choice: Choice, source: wavetune.Source) -> bool:
    return any(decision.source is source for decision in choice.decisions)


@functools.lru_cache(maxsize=1)
def _popularity(routing: str) -> Union[str, tuple[int, ...]]:
    """Returns --routing as ExpectedRouting takes it."""
    if routing in ("drawn", "even"):
        return routing
    try:
        return tuple(_native.expert_histogram(Path(routing).read_bytes()))
    except FileNotFoundError:
        raise InvalidArgumentError(f'--routing "{routing}" is no file, and neither drawn nor even') from None
    except Error as error:
        raise type(error)(f"{routing}: {error}") from error


# ---- Engines' files ---------------------------------------------------------


class _File(NamedTuple):
    path: Path
    text: str
    entries: int
    configurations: int
    kept: int  # Token counts at which it has what the engine launches by itself.


class _EngineExport:
    """Makes the files of one engine."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.engine = options.format[: -len("-moe")]
        self._check_options()

    def run(self) -> None:
        options = self.options
        source = _Source(options)
        tuner = _served(source, self.engine)
        layers = _layers(options)
        key = engine_files.FileKey(
            experts=0,
            intermediate=0,
            device_name=self._device_name(source.table),
            dtype=options.dtype or "",
            block_shape=_block_shape(options.block_shape),
            per_channel_quant=options.per_channel_quant,
        )
        self._warn_of_triton(source.table)
        self._warn_of_type(source.kernel())
        folder = self._shipped_folder()
        files = [file for layer in layers for file in self._files(tuner, layer, key, folder)]
        for file in files:
            _check_absent(file.path, options.force)
        for file in files:
            _write(file.path, file.text)
        if self.engine == "sglang" and folder is not None:
            self._copy_beside(folder)
        self._print(source.table, files)

    def _shipped_folder(self) -> Optional[engine_files.EngineFolder]:
        """Returns the engine's own files, as far as they are known here."""
        title = _TITLES[self.engine]
        if self.options.engine_configs:
            return engine_files.EngineFolder(self.engine, Path(self.options.engine_configs))
        try:
            folder = engine_files.installed_folder(self.engine)
        except InvalidArgumentError as error:
            _say(f"{error}, with --engine-configs. Until then its rule is what decisions are compared with")
            return None
        if folder is None:
            hidden = " and SGLANG_MOE_CONFIG_DIR hides them" if self.engine == "sglang" else ""
            _say(
                f"{title} is not installed beside this package: files that it ships are not looked at{hidden}. Name its "
                "folder with --engine-configs, or export with the engine's Python"
            )
        elif (untried := engine_files.untried_version(self.engine)) is not None:
            _say(
                f"{self.engine} {untried}: it may read other files, or launch other configurations by itself, than those that "
                "decisions are compared with. Look for a newer wavetune"
            )
        return folder

    def _own(
        self, layer: ExpertLayer, key: engine_files.FileKey, folder: Optional[engine_files.EngineFolder]
    ) -> tuple[Callable[[int], Optional[Own]], bool]:
        """Returns what the engine launches by itself at a number of tokens, and whether it has a file for `down`."""
        if folder is not None:
            try:
                shipped = folder.find(key, self.options.triton_version or "")
            except InvalidArgumentError as error:
                _say(f"{error}. Until then the engine's rule is what decisions are compared with")
                shipped = None
            else:
                self._say_of_shipped(folder, key, shipped)
            if shipped is not None:
                return shipped.at, shipped.down is not None
        if key.dtype:  # Rules are known for bf16 and fp16.
            _say(f"no rule of {self.engine} for {key.dtype} is known here: nothing is compared with what it would launch")
            return lambda tokens: None, False

        def rule(tokens: int) -> Own:
            config = wavetune.engine_rule(self.engine, tokens, layer.local_experts)
            return Own(config, config, sglangs_rule=self.engine == "sglang")

        return rule, False

    def _say_of_shipped(
        self, folder: engine_files.EngineFolder, key: engine_files.FileKey, shipped: Optional[engine_files.Shipped]
    ) -> None:
        if shipped is not None:
            _say(f"{shipped.path} is what the engine has by itself: its entries stay where no gain over them is sure")
        elif others := folder.other_devices(key):
            _say(
                f"{folder.folder} has this layer for {', '.join(others)}, not for this device: the engine's rule is what "
                "decisions are compared with"
            )

    def _copy_beside(self, folder: engine_files.EngineFolder) -> None:
        """Copies what SGLang ships: with SGLANG_MOE_CONFIG_DIR it would see none of that any more."""
        out = Path(self.options.out) / "configs"
        missing = [path for path in folder.files() if not (out / path).exists()]
        for path in missing:
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder.folder / path, out / path)
        _say(
            f"SGLANG_MOE_CONFIG_DIR hides the files that SGLang ships: {len(missing)} of them were copied to {out}, none "
            "over what is there"
        )

    def _check_options(self) -> None:
        options = self.options
        if not options.out:
            raise InvalidArgumentError(f"--out is missing: the folder that {_FOLDERS[self.engine]} names")
        if self.engine == "sglang" and not options.triton_version:
            raise InvalidArgumentError("--triton-version is missing: SGLang has a folder for each, such as 3.6.0")
        if self.engine == "vllm" and (options.down_file or options.per_channel_quant):
            raise InvalidArgumentError(
                "--down-file and --per-channel-quant are SGLang's: vLLM launches both products with one configuration, "
                "and has one file for them"
            )

    def _device_name(self, table: Table) -> str:
        """Returns --device-name, or the label of the device that was profiled. Raises FailedPreconditionError for a table
        of another device, by label or, where it has none, by memory."""
        name: str = self.options.device_name or table.device
        if not name:
            raise InvalidArgumentError(
                "--device-name is missing: the file's name has the device's, as torch.cuda.get_device_name() says it "
                "where the engine runs, and a table in a file does not know it"
            )
        if self.options.other_device:
            return name
        if table.device and not engine_files.is_same_device_name(table.device, name):
            raise FailedPreconditionError(
                f'the table was measured on "{table.device}", not on "{name}": profile the kernel there, choose another '
                "table with --device or --digest, or say --other-device to export it all the same"
            )
        # A file of a table has no label; but its key says how much memory there was, and many names do.
        named = engine_files.memory_of_name(name)
        measured = re.search(r"(?:^|;)memory_mib=([0-9]{1,9})(?:;|$)", table.silicon_key)
        # Decimal and binary gigabytes differ by 7 %.
        if named and measured and not named * 4 < int(measured[1]) * 5 < named * 6:
            raise FailedPreconditionError(
                f'the table was measured on another device than "{name}": its silicon is {table.silicon_key}. Choose '
                "another table, or say --other-device to export it all the same"
            )
        return name

    def _warn_of_triton(self, table: Table) -> None:
        # Which configuration is best moves little between versions of Triton, but whether one compiles may.
        version = self.options.triton_version
        if self.engine == "sglang" and table.compiler and not table.compiler.startswith(f"Triton {version},"):
            _say(
                f"the table was measured with {table.compiler}, not with Triton {version}: profile with the engine's "
                "Python (wavetune-agent --python), or look whether all configurations compile there"
            )

    def _warn_of_type(self, kernel: Kernel) -> None:
        # An engine launches the same function for other types, but other code.
        if self.options.dtype and any(a.role == "input" and a.type == "bfloat16" for a in kernel.arguments):
            _say(
                f"kernel {kernel.name} was measured with bfloat16, and the engine reads these files for "
                f"{self.options.dtype}: leave --dtype out, or profile a kernel that computes with it"
            )

    def _files(
        self,
        tuner: ExpertTuner,
        layer: ExpertLayer,
        key: engine_files.FileKey,
        folder: Optional[engine_files.EngineFolder],
    ) -> list[_File]:
        key = key._replace(experts=layer.local_experts, intermediate=layer.intermediate)
        if layer.type and not key.dtype:
            _say(
                f"the model's experts are of {layer.type}: engines launch other code for them, and look for other files "
                "than those of bf16 and fp16"
            )
        own, has_down = self._own(layer, key, folder)
        choices = _LayerChoices(tuner, layer, self.options, own)
        choices.warn_of_gaps("the kernel's default" if own(1) is None else "the engine's own")
        if not key.dtype:  # The kernel is asked for two bytes an element.
            self._leave_what_does_not_compile(choices, own, folder, tuner.tuner.silicon_key)
        if self.engine == "vllm":
            for name in engine_files.older_vllm_file_names(key):
                _say(f"older versions of vLLM call this device's file {name}; copy it there for them")
        # Both files have the same counts, so that the entries of one come from one source.
        counts = experts.key_tokens(choices.pairs())
        files = [self._file(key, choices, counts)]
        # A version that reads gate_up's file for down, too, need not take this of it.
        with_tma = any(not choice.kept and experts.USE_TMA in choice.gate_up for choice in choices.at)
        if with_tma:
            self._check_tma(folder)
        if self.options.down_file or has_down or with_tma:
            files.append(self._file(key._replace(down=True), choices, counts))
        return files

    def _check_tma(self, folder: Optional[engine_files.EngineFolder]) -> None:
        """Raises FailedPreconditionError where SGLang takes USE_TMA in no file but down's: it ends at others."""
        if folder is None or (takes := folder.takes_tma()) is None:
            _say("files have USE_TMA: versions of SGLang before 0.5.23 may not take it in gate_up's")
        elif not takes:
            raise FailedPreconditionError(
                f"{folder.folder} is of a version of SGLang that ends at USE_TMA in gate_up's file: export a kernel without that "
                "parameter (triton_fused_moe), or update SGLang"
            )

    def _leave_what_does_not_compile(
        self,
        choices: _LayerChoices,
        own: Callable[[int], Optional[Own]],
        folder: Optional[engine_files.EngineFolder],
        silicon_key: str,
    ) -> None:
        """Leaves the token counts to the engine at which its kernel does not compile what the table's kernel did."""
        root = engine_kernel.root_of(self.engine, None if folder is None else folder.folder)
        architecture = re.search(r"(?:^|;)arch=sm_([0-9]+)", silicon_key)
        places: dict[str, list[int]] = {}
        for place, choice in enumerate(choices.at):
            if not choice.kept:
                places.setdefault(json.dumps([dict(choice.gate_up), dict(choice.down)]), []).append(place)
        if root is None or architecture is None or not places:
            return
        title, layer = _TITLES[self.engine], choices.layer
        launches = [
            engine_kernel.Launch(own_places[0] + 1, choices.at[own_places[0]].gate_up, choices.at[own_places[0]].down)
            for own_places in places.values()
        ]
        control = own(launches[0].tokens)
        assert control is not None  # The engine's rule, at least.
        shape = engine_kernel.Layer(layer.local_experts, layer.intermediate, layer.hidden, layer.top_k, layer.gated)
        try:
            failing = engine_kernel.uncompiled(
                self.engine,
                shape,
                launches,
                engine_kernel.Launch(launches[0].tokens, control.gate_up, control.down),
                int(architecture[1]),
                root,
            )
        except engine_kernel.CannotTell as error:
            _say(f"whether {title}'s kernel compiles what is exported was not found out: {error}")
            return
        left = [place for number in failing for place in list(places.values())[number]]
        for place in left:
            instead = own(place + 1)
            assert instead is not None
            choices.keep_own(place, instead)
        if failing:
            _say(
                f"{title}'s kernel does not compile {len(failing)} of {len(places)} configurations of the table "
                f"({next(iter(failing.values()))}): the engine's own stands at {len(left)} token counts"
            )

    def _file(self, key: engine_files.FileKey, choices: _LayerChoices, counts: Sequence[int]) -> _File:
        name = (
            engine_files.vllm_file_name(key)
            if self.engine == "vllm"
            else engine_files.sglang_file_path(key, self.options.triton_version)
        )
        at = {count: choices.at[count - 1] for count in counts}
        entries = {str(count): dict(choice.down if key.down else choice.gate_up) for count, choice in at.items()}
        different = {json.dumps(entry, sort_keys=True) for entry in entries.values()}
        text = json.dumps(entries, indent=4) + "\n"
        kept = sum(choice.kept for choice in choices.at)
        return _File(Path(self.options.out) / name, text, len(entries), len(different), kept)

    def _print(self, table: Table, files: Sequence[_File]) -> None:
        for file in files:
            if file.entries > _MANY_ENTRIES:
                _say(
                    f"{file.path} has {file.entries} entries, through all of which the engine looks for each layer: "
                    "fewer --max-tokens make fewer"
                )
            if not self.options.json:
                print(
                    f"{file.path}: {file.entries} entries, {file.configurations} configurations, the engine's own at "
                    f"{file.kept} of {self.options.max_tokens} token counts"
                )
        if self.options.json:
            listed = [
                {
                    "path": str(file.path),
                    "entries": file.entries,
                    "configurations": file.configurations,
                    "kept": file.kept,
                }
                for file in files
            ]
            print(json.dumps({"kernel": table.kernel, "digest": table.digest, "files": listed}, indent=2))


def _block_shape(text: Optional[str]) -> tuple[int, ...]:
    if not text:
        return ()
    if re.fullmatch(r"[1-9][0-9]{0,9},[1-9][0-9]{0,9}", text):
        return tuple(int(extent) for extent in text.split(","))
    raise InvalidArgumentError(f'--block-shape "{text}" is not two extents, such as 128,128')


# ---- JSON and Triton --------------------------------------------------------


def _decisions(options: argparse.Namespace) -> dict[str, Any]:
    of_layer = any((options.config, options.experts, options.top_k, options.hidden, options.intermediate))
    if of_layer == bool(options.problem):
        raise InvalidArgumentError(
            "name the problems (m=1,16,64 n=4096 k=4096, every combination), or an expert layer (--config, or --experts "
            "and the like)"
        )
    source = _Source(options)
    result = _table_json(source)
    if of_layer:
        result["layers"] = _layers_json(source)
    else:
        result["decisions"] = _grid_json(source)
    return result


def _table_json(source: _Source) -> dict[str, Any]:
    table = source.table
    tuner = source.tuner(table.specialisations[0])
    return {
        "format": "wavetune-decisions-1",
        "kernel": table.kernel,
        "digest": table.digest,
        "fingerprint": table.fingerprint,
        "silicon": table.silicon_key,
        "environment": table.environment_key,
        "device": table.device,
        "stale": table.stale,
        "dimensions": [dimension._asdict() for dimension in tuner.dimensions],
        "parameters": list(tuner.parameters),
        "default": dict(tuner.default_configuration),
    }


def _decision_json(decision: wavetune.Decision) -> dict[str, Any]:
    result = {"configuration": dict(decision.configuration), "source": decision.source.name}
    if decision.source is wavetune.Source.DEFAULT:
        return {**result, "reason": decision.reason.name}
    return {**result, "latency_us": decision.latency_us, "relative_bound": decision.relative_bound}


def _layers_json(source: _Source) -> list[dict[str, Any]]:
    tuner = _served(source, None)
    result = []
    for layer in _layers(source.options):
        choices = _LayerChoices(tuner, layer, source.options)
        choices.warn_of_gaps("the kernel's default")
        entries = []
        for tokens in experts.key_tokens(choices.pairs()):
            gate_up, down = map(_decision_json, choices.at[tokens - 1].decisions)
            entries.append({"tokens": tokens, "gate_up": gate_up, "down": down})
        numbers = layer._asdict()
        del numbers["gated"], numbers["type"]
        result.append({**numbers, "decisions": entries})
    return result


def _grid_json(source: _Source) -> list[dict[str, Any]]:
    given = _given(source.options.problem)
    specialisations = source.specialisations(given.pop("specialisation", ""))
    result = []
    for name in specialisations:
        tuner = source.tuner(name)
        grid = _grid(tuner, given)
        if len(grid) * len(specialisations) > _MOST_PROBLEMS:
            raise FailedPreconditionError(f"more than {_MOST_PROBLEMS} problems: name fewer extents")
        for extents in grid:
            problem = {**extents, "specialisation": name} if name else extents
            result.append({"problem": problem, **_decision_json(tuner.resolve(**extents))})
    return result


def _given(arguments: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for argument in arguments:
        name, equals, text = argument.partition("=")
        if not equals or not name or not text:
            raise InvalidArgumentError(f'"{argument}" is no dimension=extent, such as m=16')
        if name in given:
            raise InvalidArgumentError(f'"{name}" is given twice')
        given[name] = text
    return given


def _grid(tuner: wavetune.Tuner, given: Mapping[str, str]) -> list[dict[str, Any]]:
    """Returns every combination of the extents, the last dimension changing first. A repeated dimension's list is one."""
    repeated = {dimension.name for dimension in tuner.dimensions if dimension.repeated}
    names = [dimension.name for dimension in tuner.dimensions if dimension.name in given]
    names += [name for name in given if name not in names]  # Which resolve() refuses.
    values: list[list[Any]] = []
    count = 1
    for name in names:
        extents = [_extent(name, text) for text in re.split(r"[,; ]", given[name])]
        values.append([extents] if name in repeated else extents)
        count *= len(values[-1])
    if count > _MOST_PROBLEMS:
        raise FailedPreconditionError(f"more than {_MOST_PROBLEMS} problems: name fewer extents")
    return [dict(zip(names, each)) for each in itertools.product(*values)]


def _extent(name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,19}", text):
        raise InvalidArgumentError(f'{name}: "{text}" is no extent')
    return int(text)


def _triton_text(source: _Source, specialisations: Sequence[str]) -> str:
    """Returns a Python module with the default and every configuration that the table can choose, each once."""
    tuners = [source.tuner(name) for name in specialisations]
    table, parameters = source.table, tuners[0].parameters
    for name in parameters:
        if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
            raise FailedPreconditionError(
                f'parameter "{name}" of kernel "{table.kernel}" is no name in Python; --format json takes it'
            )
    if "num_warps" not in parameters and "num_stages" not in parameters:
        raise FailedPreconditionError(
            f'kernel "{table.kernel}" tunes neither num_warps nor num_stages, so it is no Triton kernel; its parameters '
            f"are {', '.join(parameters)}. --format json takes every kernel"
        )
    default = _config_text(tuners[0].default_configuration)
    texts = [_config_text(each) for tuner in tuners for each in tuner.configurations]
    others = [text for text in dict.fromkeys(texts) if text != default]
    measured = _one_line(table.device or table.silicon_key) + (" (stale)" if table.stale else "")
    lines = [
        "# Configurations that the table of a kernel can choose, for @triton.autotune(CONFIGS, key=[...]).",
        f"# Written by `wavetune export`; measured on {measured}.",
        "import triton",
        "",
        f"KERNEL = {json.dumps(table.kernel)}",
        f"DIGEST = {json.dumps(table.digest)}",
        "",
        f"DEFAULT = {default}",
        "",
        "CONFIGS = [",
        "    DEFAULT,",
        *[f"    {text}," for text in others],
        "]",
    ]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _config_text(configuration: Mapping[str, int]) -> str:
    # In manifests 0 registers a thread are no limit; Triton's own value is None.
    values = {name: value for name, value in configuration.items() if (name, value) != ("maxnreg", 0)}
    arguments = ", ".join(f'"{name}": {value}' for name, value in values.items() if name not in OPTIONS)
    options = "".join(f", {name}={value}" for name, value in values.items() if name in OPTIONS)
    return f"triton.Config({{{arguments}}}{options})"


# ---- Files ------------------------------------------------------------------


def _deliver(options: argparse.Namespace, text: str) -> None:
    if not options.out:
        sys.stdout.write(text)
        return
    _check_absent(Path(options.out), options.force)
    _write(Path(options.out), text)


def _check_absent(path: Path, force: bool) -> None:
    if path.exists() and not force:
        raise AlreadyExistsError(f"{path} is there already; --force replaces it")


def _write(path: Path, text: str) -> None:
    """Writes a file as a whole, and makes the folder that it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as staged:
        try:
            staged.write(text.encode("utf-8", "replace"))
            staged.flush()
            os.fsync(staged.fileno())
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(staged.name, 0o666 & ~mask)
            os.replace(staged.name, path)
        except BaseException:
            os.unlink(staged.name)
            raise


# ---- Options ----------------------------------------------------------------


def _tokens(text: str) -> int:
    number = int(text)
    if not 1 <= number <= _MOST_TOKENS:
        raise argparse.ArgumentTypeError(f"{number} is not in [1, {_MOST_TOKENS}]")
    return number


def _whole_number(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 2**32:
        raise argparse.ArgumentTypeError(f"{number} is not in [1, {2**32}]")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wavetune export",
        description="Writes decisions as files that serving engines read (vllm-moe, sglang-moe), as a list for "
        "@triton.autotune, or as JSON (docs/engines.md).",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("kernel", metavar="KERNEL", help="kernel folder, or the name of one that the daemon has")
    add("problem", metavar="PROBLEM", nargs="*",
        help="of json: dimension=extent,extent ..., every combination; a repeated dimension's list is one")  # fmt: skip
    add("--format", required=True, choices=["vllm-moe", "sglang-moe", "triton-autotune", "json"], help="what to write")
    add(
        "--out", help="of vllm-moe and sglang-moe: the folder that the engine's variable names; else a file, or printed"
    )
    add("--force", action="store_true", help="replace what is there")
    add("--json", action="store_true", help="print what was written as JSON")
    add("--endpoint", help="reader socket of the daemon, unix:/path/reader.sock, or host:port")

    add = parser.add_argument_group("which table").add_argument
    add("--table", help="file with a table's payload; default: the table that serves")
    add("--digest", help="digest (or the first digits of the serving one's) of the table")
    add("--device", help="device UUID, where several classes have tables")
    add("--fingerprint", help="fingerprint or prefix, where several versions serve")
    add("--specialisation", help="of triton-autotune and json: only this one")

    add = parser.add_argument_group("which layers").add_argument
    add("--config", help="the model's config.json (Hugging Face), or the folder that holds it")
    add("--experts", type=_whole_number, default=0, help="instead of --config: routed experts of a layer")
    add("--top-k", type=_whole_number, default=0, help="experts of a token")
    add("--hidden", type=_whole_number, default=0, help="width of the model")
    add("--intermediate", type=_whole_number, default=0, help="width of an expert")
    add("--tp", type=_whole_number, default=1, help="devices that share an expert")
    add("--ep", type=_whole_number, default=1, help="devices that the experts are spread over")
    add("--routing", default="drawn", help="how tokens are spread over experts: drawn (from a log-normal popularity; the "
        "default), even, or a file of recorded counts")  # fmt: skip
    add("--max-tokens", type=_tokens, default=16384, help="most tokens that enter a layer; default: 16384")

    add = parser.add_argument_group("of engines' files").add_argument
    add("--device-name", help="the device's name where the engine runs, as torch.cuda.get_device_name() says it; default: "
        "the label of the device that was profiled")  # fmt: skip
    add("--other-device", action="store_true", help="export although the table is of another device")
    add("--engine-configs", help="folder of the files that the engine ships; default: that of the engine which is installed "
        "beside this package")  # fmt: skip
    add("--dtype", choices=["fp8_w8a8", "int8_w8a8", "int8_w8a16", "int4_w4a16", "float32"],
        help="what the kernel computes with where that is not bf16 or fp16")  # fmt: skip
    add("--block-shape", help="of block-quantised weights: n,k")
    add("--per-channel-quant", action="store_true", help="SGLang: of weights quantised by channel")
    add("--triton-version", help="SGLang: the version of Triton that the engine runs")
    add("--down-file", action="store_true", help="SGLang: decide the second product for itself, with the first one's "
        "BLOCK_SIZE_M, and write its _down file")  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
