"""What the files of engines have for launches of experts: `wavetune bench` and `wavetune workload add` run this.

    python3 -m wavetune.shipped_rivals request.json

The request: "engines"; "folders" (none: those of the engines that are installed beside this package); "devices", their
names; "launches", each [experts, intermediate, is it down, tokens]. Prints what there is: by device, then by launch
("vllm E=128,N=768,down M=16"). What people should know goes to standard error.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
from pathlib import Path
from typing import Iterator, Optional, Sequence

from wavetune import engine_files, experts
from wavetune.engine_files import EngineFolder, FileKey, Shipped
from wavetune.errors import Error, InvalidArgumentError


def _say(text: str) -> None:
    print("wavetune:", text, file=sys.stderr)


def _folders(engines: Sequence[str], given: Sequence[str]) -> Iterator[EngineFolder]:
    """Returns those that are named; those of installed engines where none is. Raises InvalidArgumentError for a folder
    that has files of none of the engines."""
    for name in given:
        faults = []
        for engine in engines:
            try:
                yield EngineFolder(engine, Path(name))
            except InvalidArgumentError as error:
                faults.append(str(error))
        if len(faults) == len(engines):
            raise InvalidArgumentError("; ".join(faults))
    for engine in () if given else engines:
        try:
            folder = engine_files.installed_folder(engine)
        except InvalidArgumentError as error:
            _say(f"{error}, with --engine-configs")
            continue
        if folder is None:
            continue
        if (untried := engine_files.untried_version(engine)) is not None:
            _say(f"{engine} {untried}: it may read other files than those that are measured. Look for a newer wavetune")
        yield folder


def _triton_version() -> str:
    """Returns that of this Python, for SGLang's folders; "0", of which there is none, has SGLang's newest taken."""
    try:
        found = re.match(r"[0-9]+(\.[0-9]+)*", importlib.metadata.version("triton"))
    except importlib.metadata.PackageNotFoundError:
        found = None
    return found[0] if found else "0"


def _file_of(folder: EngineFolder, key: FileKey) -> Optional[Shipped]:
    layer = f"{key.experts} experts of width {key.intermediate}"
    try:
        shipped = folder.find(key, _triton_version())
    except InvalidArgumentError as error:
        _say(f"{error}. Until then {folder.engine}'s rule alone is measured for {layer}")
        return None
    if shipped is not None:
        _say(f"{layer}: {shipped.path} is measured as {folder.engine}'s file")
    else:
        others = folder.other_devices(key)
        _say(
            f"{layer}: {folder.folder} has {'files for ' + ', '.join(others) + ', not' if others else 'no file'} for "
            f"{key.device_name}: {folder.engine}'s rule is what it launches"
        )
    return shipped


def _launches(folder: EngineFolder, device: str, asked: Sequence[Sequence[int]]) -> dict[str, dict[str, int]]:
    result: dict[str, dict[str, int]] = {}
    files: dict[FileKey, Optional[Shipped]] = {}
    unknown = 0
    for count, width, is_down, tokens in dict.fromkeys(map(tuple, asked)):
        key = FileKey(count, width, device)
        if key not in files:
            files[key] = _file_of(folder, key)
        shipped = files[key]
        if shipped is None:
            continue
        own = shipped.at(tokens)
        launch = experts.in_words_of([*experts.PARAMETERS, experts.USE_TMA], own.down if is_down else own.gate_up)
        if launch is None:
            unknown += 1
            continue
        result[f"{folder.engine} E={count},N={width}{',down' if is_down else ''} M={tokens}"] = launch
    if unknown:
        _say(
            f"at {unknown} problems {folder.engine}'s file has what no kernel takes (SPLIT_K above 1, other parameters): "
            "it is not measured there"
        )
    return result


def main(arguments: Sequence[str]) -> int:
    request = json.loads(Path(arguments[0]).read_bytes())
    try:
        answer: dict[str, dict[str, dict[str, int]]] = {device: {} for device in request["devices"]}
        for folder in _folders(request["engines"], request["folders"]):
            for device, launches in answer.items():
                launches.update(_launches(folder, device, request["launches"]))
    except Error as error:
        _say(str(error))
        return 2
    json.dump({device: launches for device, launches in answer.items() if launches}, sys.stdout, separators=(",", ":"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
