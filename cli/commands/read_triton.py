"""Writes the files of a kernel whose source is a Triton function, as JSON (name to content).

Embedded in the command line, which runs it as `PYTHON -c THIS FROM NAME OUT`, where FROM is
MODULE:FUNCTION or FILE.py:FUNCTION. Nothing but Triton needs to be installed. Exits with 2 after it
has said what is wrong.

The source has the function, and what of its module the function needs, without @triton.autotune and
@triton.heuristics: whatever else a module imports (torch), an agent need not have. Where the
manifest needs what only an author knows it has TODO, which `wavetune kernels check` names.
"""

# ruff: noqa: E402
import sys

# `python -c` looks into the working folder first: a copy.py there is not Python's own copy.
sys.path[:] = [folder for folder in sys.path if folder]

import ast
import importlib
import importlib.util
import inspect
import itertools
import json
import os
import traceback

READS = ("load",)
WRITES = ("store",)
# Of the configurations that an autotuner's Config has by name.
OPTIONS = ("num_warps", "num_stages", "maxnreg")
MISSING = "TODO"
ALLOWED = "an agent imports Triton, the standard library and the kernel's sources alone"


def refuse(text):
    print(text, file=sys.stderr)
    sys.exit(2)


def import_function(place):
    """Returns what FROM names."""
    module_name, colon, name = place.rpartition(":")
    if not colon or not module_name or not name:
        refuse(f"--from {place} names no function: give MODULE:FUNCTION, or FILE.py:FUNCTION")
    # Interpreted functions are no @triton.jit functions.
    os.environ.pop("TRITON_INTERPRET", None)
    try:
        import triton  # noqa: F401
    except ImportError as error:
        refuse(
            f"{sys.executable} cannot import Triton ({error}): {sys.executable} -m pip install triton, "
            f"or name another interpreter with --python"
        )
    try:
        if module_name.endswith(".py"):
            path = os.path.abspath(module_name)
            if not os.path.isfile(path):
                refuse(f"there is no file {path}")
            # What lies beside the file: behind the standard library, before what is installed.
            ends = (at for at, one in enumerate(sys.path) if one.endswith("-packages"))
            sys.path.insert(next(ends, len(sys.path)), os.path.dirname(path))
            module_name = os.path.basename(path)[:-3]
            taken = module_name in sys.stdlib_module_names or module_name in sys.modules
            own_name = module_name + "_kernel" * taken
            spec = importlib.util.spec_from_file_location(own_name, path)
            module = importlib.util.module_from_spec(spec)
            sys.modules[own_name] = module
            spec.loader.exec_module(module)
        else:
            sys.path.append(os.getcwd())
            module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        refuse(
            f"importing {module_name} needs the module {error.name!r}, which {sys.executable} has "
            f"not: install it there, or name an interpreter that has it with --python"
        )
    except BaseException as error:  # SystemExit, too.
        text = "".join(traceback.format_exception_only(type(error), error)).strip()
        refuse(f"importing {module_name} failed: {text}")
    if not hasattr(module, name):
        there = [key for key, value in vars(module).items() if hasattr(value, "fn")]
        refuse(
            f"{module_name} has no {name!r}; Triton functions there: {', '.join(there) or 'none'}"
        )
    return getattr(module, name)


class Function:
    """A @triton.jit function, and what is wrapped around it."""

    def __init__(self, found, place):
        self.configurations, self.keys, self.heuristics = [], [], {}
        while hasattr(found, "fn") and not hasattr(found, "params"):
            self.configurations += getattr(found, "configs", [])
            self.keys += [key for key in getattr(found, "keys", []) if key not in self.keys]
            self.heuristics.update(getattr(found, "values", {}))
            found = found.fn
        if not hasattr(found, "params"):
            refuse(f"{place} is no @triton.jit function")
        self.name = found.fn.__name__
        self.parameters = found.params
        self.path = inspect.getsourcefile(found.fn)
        if self.path is None or not os.path.isfile(self.path):
            refuse(f"the source of {place} is in no file")
        with open(self.path, encoding="utf-8") as file:
            self.text = file.read()
        self.tree = ast.parse(self.text)


def bound_names(statement):
    """Returns the names that a statement at a module's top level gives a meaning."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):  # Of an if, or a try.
            names.add(node.name)
    return names


def is_jit(decorator):
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return getattr(called, "attr", getattr(called, "id", "")) == "jit"


def needed_statements(function):
    """Returns the module's statements that the function needs, in their order."""
    binders = {}
    for one in function.tree.body:
        for name in bound_names(one):
            binders.setdefault(name, []).append(one)
    if function.name not in binders:
        refuse(f"{function.path} defines no {function.name!r} at its top level")
    # "*": what a module gives without a name.
    needed, open_ends = [], [*binders[function.name], *binders.get("*", [])]
    while open_ends:
        statement = open_ends.pop()
        if statement in needed:
            continue
        needed.append(statement)
        if isinstance(statement, ast.FunctionDef):
            statement.decorator_list = [one for one in statement.decorator_list if is_jit(one)]
        names = [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
        open_ends += [one for name in names for one in binders.get(name, [])]
    return [one for one in function.tree.body if one in needed]


def text_of(function, statement):
    if not hasattr(statement, "decorator_list"):  # May share its line with others.
        return ast.get_source_segment(function.text, statement)
    lines = function.text.splitlines()
    parts = [(one.lineno, one.end_lineno) for one in statement.decorator_list]
    parts.append((statement.lineno, statement.end_lineno))
    return "\n".join(line for begin, end in parts for line in lines[begin - 1 : end])


def source_of(function, statements):
    """Returns their text in their order: a constant may be made by a function above it."""
    text, after_block = "", True
    for one in statements:
        block = hasattr(one, "decorator_list")
        text += ("\n\n\n" if block or after_block else "\n") * bool(text) + text_of(function, one)
        after_block = block
    return text + "\n"


def imported_modules(node):
    """Returns what is imported where a module is; functions may import when they are called."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return ["." * node.level + (node.module or "")]
    if isinstance(node, ast.FunctionDef):
        return []
    return [module for one in ast.iter_child_nodes(node) for module in imported_modules(one)]


def imported_files(source, function, statements):
    """Returns the modules beside the function's that it needs, name to text; and what is imported
    else, "FILE imports MODULE", which no agent can."""
    files, foreign = {}, []
    open_ends = [(source, statements)]
    while open_ends:
        importer, statements = open_ends.pop()
        for module in (module for one in statements for module in imported_modules(one)):
            name = module + ".py"
            path = os.path.join(os.path.dirname(function.path), name)
            if module.partition(".")[0] in (*sys.stdlib_module_names, "triton") or name in files:
                continue
            if os.path.isfile(path):
                with open(path, encoding="utf-8") as file:
                    files[name] = file.read()
                open_ends.append((name, ast.parse(files[name]).body))
            else:
                foreign.append(f"{importer} imports {module}")
    return files, list(dict.fromkeys(foreign))


class Accesses(ast.NodeVisitor):
    """Which arguments are pointers, by what is loaded and stored."""

    def __init__(self, arguments):
        self.base = {name: name for name in arguments}
        self.read, self.written = set(), set()

    def base_of(self, node):
        if isinstance(node, ast.Name):
            return self.base.get(node.id)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            return self.base_of(node.left) or self.base_of(node.right)
        if isinstance(node, ast.Call):
            given = [*node.args, *(one.value for one in node.keywords if one.arg == "base")]
            if (
                getattr(node.func, "attr", "")
                in ("make_block_ptr", "make_tensor_descriptor", "advance", "multiple_of")
                and given
            ):
                return self.base_of(given[0])
        return None

    def visit_Assign(self, node):
        self.generic_visit(node)
        base = self.base_of(node.value)
        for target in node.targets:
            if base is not None and isinstance(target, ast.Name):
                self.base[target.id] = base

    def visit_Call(self, node):
        self.generic_visit(node)
        called = getattr(node.func, "attr", "")
        # tl.load(at), and descriptor.load([…]).
        by_name = isinstance(node.func, ast.Attribute) and self.base_of(node.func.value)
        base = by_name or (self.base_of(node.args[0]) if node.args else None)
        if base is None:
            return
        if called in READS or called.startswith("atomic_"):
            self.read.add(base)
        if called in WRITES or called.startswith("atomic_"):
            self.written.add(base)


def pointers_of(function, statements):
    """Returns the roles of arguments that are pointers, by name."""
    takes = [one.name for one in function.parameters if not one.is_constexpr]
    accesses = Accesses(takes)
    for statement in statements:
        if isinstance(statement, ast.FunctionDef) and statement.name == function.name:
            accesses.visit(statement)
    roles = {}
    for name in takes:
        if name in accesses.written:
            roles[name] = "inout" if name in accesses.read else "out"
        elif name in accesses.read or "ptr" in name.lower():
            roles[name] = "in"
    return roles


def number(value):
    """Returns a constant's whole number, or None where it is none."""
    value = getattr(value, "value", value)
    return int(value) if isinstance(value, int) else None


def rows_of(function):
    """Returns the parameters' names, and a row of values for each configuration."""
    rows = []
    for one in function.configurations:
        row = {name: number(value) for name, value in one.kwargs.items()}
        row.update({name: getattr(one, name, None) for name in OPTIONS})
        rows.append(row)
    names = list(dict.fromkeys(name for row in rows for name in row))
    # What is a number in each: texts and types are for the author.
    names = [name for name in names if all(row.get(name) is not None for row in rows)]
    unique = list(dict.fromkeys(tuple(row[name] for name in names) for row in rows))
    return names, unique


def listed(values):
    return ", ".join(map(str, values))


def parameter_lines(function):
    names, rows = rows_of(function)
    lines, values = [], []
    for index, name in enumerate(names):
        values.append(sorted({row[index] for row in rows}))
        lines.append(f'parameters: "{name} in {{{listed(values[-1])}}} default {rows[0][index]}"')
    if not rows:
        lines.append(
            'parameters: "num_warps in {4, 8} default 4, num_stages in {2, 3, 4} default 3"'
        )
    unset = []
    for one in function.parameters:
        computed = one.name in function.heuristics
        if not one.is_constexpr or one.name in names or (one.has_default and not computed):
            continue
        why = "@triton.heuristics computed it" if computed else "no configuration has a number"
        lines.append(f"# {one.name}: {why}. Tune it, or make it a constant of specialisations.")
        lines.append(f'parameters: "{one.name} in {{{MISSING}}} default {MISSING}"')
        unset.append(f"{one.name} = {MISSING}")
    if rows and set(itertools.product(*values)) != set(rows):
        lines.append("# The rows of @triton.autotune; without them the space is all combinations.")
        for row in rows:
            texts = [*(f"{name} = {value}" for name, value in zip(names, row)), *unset]
            lines.append(f'configurations: "{listed(texts)}"')
    return lines


def dimension_names(function, pointers):
    scalars = [
        one.name for one in function.parameters if not one.is_constexpr and one.name not in pointers
    ]
    keys = [name for name in function.keys if name in scalars]
    return keys or [name for name in scalars if "stride" not in name.lower()]


def argument_lines(function, pointers, dimensions):
    lines = []
    for one in function.parameters:
        name = one.name
        if one.is_constexpr:
            continue
        if name in pointers:
            text = f"{pointers[name]} {name}[{MISSING}] {MISSING}"
        elif name in dimensions:
            text = f"{name} int32" + ("" if name == name.lower() else f" = {name.lower()}")
        elif "stride" in name.lower():
            text = f"{name} int32 = {MISSING}"
        else:
            text = f"{name} {MISSING} = {MISSING}"
        lines.append(f'arguments: "{text}"')
    return lines


def manifest_of(name, function, pointers, sources, foreign):
    dimensions = dimension_names(function, pointers)
    low = [one.lower() for one in dimensions] or [MISSING]
    lines = [
        f"# {name}: {function.name} of {os.path.basename(function.path)}.",
        f"# Put something in the place of each {MISSING}; docs/manifest.md says what the fields mean.",
        f'name: "{name}"',
        f'description: "{function.name}, through Triton"',
        "",
        "# Extents of a problem.",
        f'dimensions: "{", ".join(f"{one} <= 1048576" for one in low)}"',
        "",
        *parameter_lines(function),
        "",
        "# Blocks of the grid, and how often the main loop of one runs, as",
        "# ceil_div(m, BLOCK_M) * ceil_div(n, BLOCK_N) and ceil_div(k, BLOCK_K).",
        "# A kernel without a loop has no iterations_per_tile.",
        "mapping {",
        f'  tiles: "{MISSING}"',
        f'  iterations_per_tile: "{MISSING}"',
        "}",
        "",
        *(f"# {MISSING}: {one}; {ALLOWED}." for one in foreign),
        "implementations {",
        '  backend: "triton"',
        *(f'  sources: "{source}"' for source in sources),
        f'  entry: "{function.name}"',
        "}",
        "",
        "# Buffers: in, out or inout, as read from loads and stores; their extents, of which the last",
        "# is contiguous; the type of an element.",
        *argument_lines(function, pointers, dimensions),
        "",
        "correctness {",
        '  source: "reference.cu"',
        f'  entry: "{name}_reference"',
        f'  work_items: "{MISSING}"',
        "  relative_tolerance: 4e-3",
        "}",
        "",
        "# Problems like those that callers ask for.",
        f'representative_problems: "{", ".join(f"{one} in {{{MISSING}}}" for one in low)}"',
        "limits { max_elements: 134217728 }",
    ]
    return "\n".join(lines) + "\n", low


def reference_of(name, function, pointers):
    taken = [one.name for one in function.parameters if not one.is_constexpr]
    arguments = ", ".join(
        f"{'const ' if pointers[one] == 'in' else ''}float* {one}"
        if one in pointers
        else f"int {one}"
        for one in taken
    )
    return f"""// Reference for {name}: what its results are compared with. The arguments are the
// manifest's, in its order. Obvious rather than fast: one thread per element.
#error "{MISSING}: compute the results, with the types of the manifest"
extern "C" __global__ void {name}_reference({arguments}) {{
  const size_t element =
      static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}}
"""


def main():
    place, name, out = sys.argv[1:]
    function = Function(import_function(place), place)
    statements = needed_statements(function)
    source = name + ".py"
    files, foreign = imported_files(source, function, statements)
    if source in files:
        refuse(f"the function's module imports a file {source}, too: give the kernel another name")
    for one in foreign:
        print(f"{one}; {ALLOWED}", file=sys.stderr)
    pointers = pointers_of(function, statements)
    manifest, dimensions = manifest_of(name, function, pointers, [source, *files], foreign)
    files[source] = source_of(function, statements)
    files["manifest.textproto"] = manifest
    files["reference.cu"] = reference_of(name, function, pointers)
    files["shapes.csv"] = ",".join(["layer", *dimensions]) + "\n"
    files["README.md"] = (
        f"# {name}\n\nWritten by `wavetune kernels new {name} --from {place}`.\n"
        f"`wavetune kernels check {name}` names each {MISSING} of the manifest.\n"
        f"Then write `reference.cu`, and problems to judge it on into `shapes.csv`.\n\n"
    )
    with open(out, "w", encoding="utf-8") as file:
        json.dump(files, file)


if __name__ == "__main__":
    main()
