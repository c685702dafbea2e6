"""Files of configurations that engines read for their experts: what each engine calls them, and those that it ships
(docs/engines.md)."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Optional

from wavetune.errors import InvalidArgumentError
from wavetune.experts import Own

# Folders below the package of an engine that had its files in the versions that were tried, the newest first.
_FOLDERS = {
    "vllm": ["model_executor/layers/fused_moe/configs"],
    "sglang": ["srt/layers/moe/moe_runner/triton_utils/configs", "srt/layers/moe/fused_moe_triton/configs"],
}
# Versions that were tried, and all between them. Others may launch another kernel where they ask in the same words.
_TRIED = {"vllm": ("0.11", "0.33"), "sglang": ("0.5", "0.5")}

Entries = Mapping[int, Mapping[str, Any]]

_MOST_BYTES = 255  # Of a file's name, on every common file system.


class FileKey(NamedTuple):
    """What engines make the name of a file of."""

    experts: int  # On a device.
    intermediate: int  # Of an expert, on a device.
    device_name: str  # As torch.cuda.get_device_name() says it.
    dtype: str = ""
    block_shape: tuple[int, ...] = ()
    per_channel_quant: bool = False
    down: bool = False


def vllm_file_name(key: FileKey) -> str:
    """Returns the name that vLLM looks for. Raises InvalidArgumentError for a device name that no file can have."""
    _check_device_name(key.device_name)
    return _checked(_name(key, key.intermediate, _vllm_device(key.device_name), ",") + ".json")


def older_vllm_file_names(key: FileKey) -> list[str]:
    """Returns the names that earlier versions look for, where they differ."""
    blanks = key.device_name.replace(" ", "_")
    names = [_name(key, key.intermediate, device, ",") + ".json" for device in (_with_h200_folded(blanks), blanks)]
    return [name for name in dict.fromkeys(names) if name != vllm_file_name(key)]


def sglang_file_path(key: FileKey, triton_version: str) -> str:
    """Returns the path that SGLang looks for, below its folder. Raises InvalidArgumentError for a device name that no
    file can have, or that leads out of the folder, and for a version that stops SGLang."""
    _check_device_name(key.device_name)
    _check_triton_version(triton_version)
    device = key.device_name.replace(" ", "_")
    if ".." in device.split("/"):
        raise _name_fault(key.device_name, "leads out of the folder")
    quant = ",per_channel_quant=True" if key.per_channel_quant else ""
    name = _name(key, _width(key, "sglang"), device, ", ") + quant + ("_down" if key.down else "")
    return _checked(f"configs/triton_{triton_version.replace('.', '_')}/{name}.json")


class Shipped(NamedTuple):
    """What an engine's own files have for a layer."""

    path: Path
    gate_up: Entries
    down: Optional[Entries]  # SGLang's; None: as gate_up.

    def at(self, tokens: int) -> Own:
        """Returns what the engine takes: of each file the entry whose count is nearest."""
        gate_up = _nearest(self.gate_up, tokens)
        if self.down is None:
            return Own(gate_up, gate_up)
        # One order of rows for both, which is gate_up's.
        return Own(gate_up, {**_nearest(self.down, tokens), "BLOCK_SIZE_M": gate_up["BLOCK_SIZE_M"]})


class EngineFolder:
    """The files that an engine has by itself: a folder `configs` of its package, or one like it."""

    def __init__(self, engine: str, folder: Path) -> None:
        """Raises InvalidArgumentError for a folder that has none of the engine's files."""
        self.engine = engine
        # As SGLANG_MOE_CONFIG_DIR names it, too.
        self.folder = folder / "configs" if (folder / "configs").is_dir() else folder
        if next(self.files(), None) is None:
            raise InvalidArgumentError(
                f"{folder} has no file of {engine}'s configurations of experts: name the folder "
                f"{engine}/{_FOLDERS[engine][0]} of the engine that runs"
            )

    def files(self) -> Iterator[Path]:
        """Returns all, relative to the folder."""
        pattern = "E=*.json" if self.engine == "vllm" else "triton_*/E=*.json"
        return (path.relative_to(self.folder) for path in sorted(self.folder.glob(pattern)))

    def takes_tma(self) -> Optional[bool]:
        """Returns whether this SGLang takes USE_TMA in every file, not in down's alone; None where its code is not there."""
        code = self.folder.parent / "fused_moe.py"
        return "up_moe_use_tma" in code.read_text() if code.is_file() else None

    def find(self, key: FileKey, triton_version: str) -> Optional[Shipped]:
        """Returns what the engine reads for a layer. Raises InvalidArgumentError for a file that it cannot read."""
        path = self._path(key, triton_version)
        if path is None:
            return None
        down = self._path(key._replace(down=True), triton_version) if self.engine == "sglang" else None
        return Shipped(path, _read(path), None if down is None else _read(down))

    def other_devices(self, key: FileKey) -> list[str]:
        """Returns the devices for which there are files of a layer."""
        before, after = _name(key, _width(key, self.engine), "|", ",").split("|")
        names = [path.name.replace(", ", ",") for path in self.files()]
        after += (",per_channel_quant=True" if key.per_channel_quant else "") + ".json"
        devices = [
            name[len(before) : -len(after)] for name in names if name.startswith(before) and name.endswith(after)
        ]
        return sorted({device for device in devices if "," not in device})

    def _path(self, key: FileKey, triton_version: str) -> Optional[Path]:
        if self.engine == "vllm":
            names = [vllm_file_name(key), *older_vllm_file_names(key)]
            paths = [self.folder / name for name in names]
        else:
            _, exact, name = sglang_file_path(key, triton_version).split("/", 2)
            versions = [
                path.name for path in self.folder.glob("triton_*") if re.fullmatch(r"triton(_[0-9]+)+", path.name)
            ]
            versions.sort(key=lambda version: [int(part) for part in version.split("_")[1:]], reverse=True)
            paths = [self.folder / version / name for version in (exact, *versions)]
        return next((path for path in paths if path.is_file()), None)


def installed_folder(engine: str) -> Optional[EngineFolder]:
    """Returns that of the engine beside this package, which is not imported; None where there is none. Raises
    InvalidArgumentError where that version has its files elsewhere."""
    package = importlib.util.find_spec(engine)
    if package is None or not package.submodule_search_locations:
        return None
    roots = [Path(root) for root in package.submodule_search_locations]
    folders = [root / below for root in roots for below in _FOLDERS[engine]]
    return EngineFolder(engine, next((folder for folder in folders if folder.is_dir()), folders[0]))


def untried_version(engine: str) -> Optional[str]:
    """Returns the version of an engine that is installed and was not tried, and which were; None: nothing to say."""
    try:
        version = importlib.metadata.version(engine)
    except importlib.metadata.PackageNotFoundError:  # None, or one that stands where it was built.
        return None
    oldest, newest = _TRIED[engine]
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or _numbers(oldest) <= _numbers(numbers[0]) <= _numbers(newest):
        return None
    return f"{version} was not tried ({oldest} to {newest} were)"


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _read(path: Path) -> Entries:
    try:
        read = json.loads(path.read_bytes())
        if not isinstance(read, dict):
            raise ValueError("no object")
        read.pop("triton_version", None)
        entries = {int(count): dict(entry) for count, entry in read.items()}
        if not entries or any(type(entry["BLOCK_SIZE_M"]) is not int for entry in entries.values()):
            raise ValueError("no entries, or one without a row tile")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InvalidArgumentError(
            f"{path} is no file of configurations ({error!r}): install the engine anew, or name another --engine-configs"
        ) from error
    return entries


def _nearest(entries: Entries, tokens: int) -> Mapping[str, Any]:
    return entries[min(entries, key=lambda count: abs(count - tokens))]


def _width(key: FileKey, engine: str) -> int:
    # Two numbers of four bits are one element, and SGLang counts elements; vLLM counts them twice.
    return key.intermediate // 2 if engine == "sglang" and key.dtype == "int4_w4a16" else key.intermediate


def is_same_device_name(a: str, b: str) -> bool:
    """Whether vLLM takes two names for one device."""
    return _vllm_device(a) == _vllm_device(b)


def memory_of_name(name: str) -> Optional[int]:
    """Returns "80GB" of "NVIDIA H100 80GB HBM3" in MiB; None where the name says nothing."""
    found = re.search(r"(?<!\S)(\d{1,6})GB(?!\S)", name)
    return int(found[1]) * 1024 if found else None


def _name(key: FileKey, width: int, device: str, separator: str) -> str:
    name = f"E={key.experts},N={width},device_name={device}"
    if key.dtype:
        name += f",dtype={key.dtype}"
    if key.block_shape:
        name += f",block_shape=[{separator.join(map(str, key.block_shape))}]"
    return name


def _vllm_device(name: str) -> str:
    return _with_h200_folded(re.sub(r"[\s/]+", "_", name))


def _with_h200_folded(name: str) -> str:
    # Every board of the H200 family has one file; a GH200 is none.
    return "NVIDIA_H200" if "H200" in name.split("_") else name


def _name_fault(name: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f'device name "{name}" {why}; give the name that the engine\'s process sees (torch.cuda.get_device_name()) with '
        "--device-name"
    )


def _check_device_name(name: str) -> None:
    if not name:
        raise _name_fault(name, "is empty")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise _name_fault(ascii(name)[1:-1], "is not UTF-8") from None
    if any((character < " " or character == "\x7f") and not character.isspace() for character in name):
        raise _name_fault(name, "has control characters")


def _check_triton_version(version: str) -> None:
    if not re.fullmatch(r"[0-9]{1,8}(\.[0-9]{1,8})*", version):
        raise InvalidArgumentError(
            f'"{version}" is no version of Triton as SGLang takes it: numbers with dots, as `python -c \'import triton; '
            "print(triton.__version__)'` prints. SGLang sorts the folders of versions as numbers, so that a suffix "
            "(3.6.0+git) in one of them would stop it"
        )


def _checked(path: str) -> str:
    longest = max(len(part.encode()) for part in path.split("/"))
    if longest > _MOST_BYTES:
        raise InvalidArgumentError(
            f"the engine would look for a file whose name has {longest} bytes, and file systems allow {_MOST_BYTES}: the "
            "device name is too long"
        )
    return path
