"""Files of configurations that engines read for their experts: what each engine calls them (docs/engines.md)."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

from wavetune.errors import InvalidArgumentError

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
    # Two numbers of four bits are one element, and SGLang counts elements; vLLM counts them twice.
    width = key.intermediate // 2 if key.dtype == "int4_w4a16" else key.intermediate
    quant = ",per_channel_quant=True" if key.per_channel_quant else ""
    name = _name(key, width, device, ", ") + quant + ("_down" if key.down else "")
    return _checked(f"configs/triton_{triton_version.replace('.', '_')}/{name}.json")


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
