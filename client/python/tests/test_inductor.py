"""wavetune.inductor: on a stand-in for the parts of torch that it touches, and on torch itself where that is installed.

With torch, products are lowered for a pretended GPU, so that Inductor's own code runs up to the template's text.
scripts/soak.sh inductor does so with every version in TESTED.
"""

import copy
import importlib
import importlib.metadata
import inspect
import pickle
import sys
import types
from types import SimpleNamespace
from unittest import mock

import pytest

import wavetune
import wavetune.inductor

TILE = {"BLOCK_M": 64, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8, "num_warps": 8, "num_stages": 4}


class Tuner:
    """Decides the same for all products, and remembers which."""

    kernel = "triton_gemm"
    silicon_key = "backend=cuda;arch=sm_90;mp=132"
    compiler = ""
    staged = None
    parameters = (*TILE, "SPLIT_K")
    dimensions = tuple(SimpleNamespace(name=name) for name in "mnk")

    def __init__(self, digest="ab" * 32, split=1, candidate=1):
        self.digest = digest
        self.asked = []
        self._configuration = {**TILE, "SPLIT_K": split}
        self._candidate = candidate
        self._arguments = ()

    @property
    def arguments(self):
        if not self._arguments:
            raise wavetune.NotFoundError("nobody says")
        return self._arguments

    def resolve(self, **problem):
        self.asked.append(problem)
        return SimpleNamespace(candidate=self._candidate, configuration=self._configuration)

    def explain(self, **problem):
        return [
            SimpleNamespace(legal=True, configuration=self._configuration),
            SimpleNamespace(legal=False, configuration={**TILE, "SPLIT_K": 1, "num_stages": 1}),
            SimpleNamespace(legal=True, configuration={**TILE, "SPLIT_K": 1, "num_stages": 2}),
        ]


# What is decided, without torch.


def test_a_template_gets_what_the_table_decides():
    tuner = Tuner()
    assert wavetune.inductor.tile_for(tuner, 700, 5120, 2048) == TILE
    assert tuner.asked == [{"m": 700, "n": 5120, "k": 2048}]


def test_where_the_table_splits_k_the_best_that_does_not_is_taken():
    assert wavetune.inductor.tile_for(Tuner(split=4), 1, 64, 64) == {**TILE, "num_stages": 2}


def test_no_limit_of_registers_is_no_matter_to_a_template_and_a_limit_is():
    tuner = Tuner()
    tuner._configuration = {**TILE, "maxnreg": 0}
    assert wavetune.inductor.tile_for(tuner, 1, 64, 64) == TILE
    tuner._configuration = {**TILE, "maxnreg": 128}
    assert wavetune.inductor.tile_for(tuner, 1, 64, 64) == {**TILE, "num_stages": 2}


def test_what_the_table_does_not_decide_is_left_to_inductor():
    assert wavetune.inductor.tile_for(Tuner(candidate=None), 1, 64, 64) is None


# On a stand-in.


class Choice:
    def __init__(self, template, params, extra_kwargs, layout, inputs):
        self.template, self.params = template, params
        self.extra_kwargs, self.layout, self.inputs = extra_kwargs, layout, inputs
        self.annotations = {"ktc": self}


class Params:
    def __init__(self, kwargs):
        self._kwargs = kwargs

    def to_kwargs(self):
        return dict(self._kwargs)


class InductorChoices:
    """As much of torch's as is subclassed."""

    def get_ktc(self, kernel_inputs, template, op_name, kwarg_overrides=None):
        yield Choice(template, Params({"BLOCK_M": 1, "EVEN_K": None, "ACC_TYPE": "tl.float32"}), {}, None, kernel_inputs)

    def _finalize_template_configs(self, template_choices, kernel_inputs, templates, op_name, kwarg_overrides=None):
        return [choice for own in template_choices.values() for choice in own]

    def get_template_configs(self, kernel_inputs, templates, op_name, kwarg_overrides=None):
        choices = {template.uid: self.get_ktc(kernel_inputs, template, op_name) for template in templates}
        own = self._finalize_template_configs(choices, kernel_inputs, templates, op_name, kwarg_overrides or {})
        return [choice for choice in own if not getattr(choice.template, "refuses", False)]


class Inputs:
    def __init__(self, m, n, k, dtype="torch.bfloat16", other="", batch=1):
        self._mnk, self._types, self._batch = (m, n, k), (dtype, other or dtype), batch

    def mat1mat2(self):
        return tuple(SimpleNamespace(get_dtype=lambda own=own: own) for own in self._types)

    def mnk_hinted(self):
        return self._mnk

    mnk_symbolic = mnk_hinted

    def batch_hinted(self):
        return self._batch


ATEN = SimpleNamespace(uid="aten::mm")
MM = SimpleNamespace(uid="triton::mm")
BMM = SimpleNamespace(uid="triton::bmm")
PERSISTENT = SimpleNamespace(uid="triton::mm_persistent_tma")


@pytest.fixture
def torch_stand_in(monkeypatch):
    """Returns Inductor's configuration; V.handler is what was set for the thread."""
    config = types.ModuleType("torch._inductor.config")
    config.inductor_choices_class = None
    v = SimpleNamespace(handler=None)
    selector = SimpleNamespace(preprocessing_fns=[])
    v.set_choices_handler = lambda handler: setattr(v, "handler", handler)
    parts = {
        "torch": {},
        "torch._inductor": {"config": config},
        "torch._inductor.choices": {"InductorChoices": InductorChoices},
        "torch._inductor.kernel_template_choice": {"KernelTemplateChoice": Choice, "DictKernelTemplateParams": Params},
        "torch._inductor.select_algorithm": {"get_algorithm_selector_cache": lambda: selector},
        "torch._inductor.virtualized": {"V": v},
    }
    for name, members in parts.items():
        module = types.ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "torch._inductor.config", config)
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "2.11.0+cu130" if name == "torch" else real(name))
    monkeypatch.setattr(wavetune.inductor, "check_triton", lambda: None)
    monkeypatch.setattr(wavetune.inductor, "check_table", lambda tuner, any_triton: None)
    return SimpleNamespace(config=config, v=v, filters=selector.preprocessing_fns)


def test_installing_puts_the_handler_into_this_thread_and_into_those_to_come(torch_stand_in):
    handler = wavetune.inductor.install(Tuner())
    assert torch_stand_in.v.handler is handler
    assert torch_stand_in.config.inductor_choices_class() is handler
    wavetune.inductor.install(Tuner())
    assert len(torch_stand_in.filters) == 1
    wavetune.inductor.uninstall()
    assert torch_stand_in.config.inductor_choices_class is None
    assert type(torch_stand_in.v.handler) is InductorChoices
    assert not torch_stand_in.filters


@pytest.mark.parametrize("operation, template", [("mm", MM), ("addmm", MM), ("bmm", BMM)])
def test_a_product_has_one_choice_with_the_decided_tile(torch_stand_in, operation, template):
    tuner = Tuner()
    handler = wavetune.inductor.install(tuner)
    inputs = Inputs(100, 512, 96, batch=4)
    (choice,) = handler.get_template_configs(inputs, [ATEN, PERSISTENT, template], operation)
    assert choice.template is template
    # 96 is no multiple of the tile's 64; what the tile does not say stays as Inductor has it.
    assert choice.params.to_kwargs() == {**TILE, "EVEN_K": False, "ACC_TYPE": "tl.float32"}
    assert tuner.asked == [{"m": 400 if operation == "bmm" else 100, "n": 512, "k": 96}]
    assert handler.decided == 1


def test_the_librarys_product_may_stay_for_comparison(torch_stand_in):
    handler = wavetune.inductor.install(Tuner(), keep_extern=True)
    own = handler.get_template_configs(Inputs(64, 64, 64), [ATEN, MM, PERSISTENT], "mm")
    assert [choice.template for choice in own] == [MM, ATEN]


@pytest.mark.parametrize("keep_extern", [False, True])
def test_what_a_version_offers_in_other_calls_for_the_same_product_does_not_compete(torch_stand_in, keep_extern):
    handler = wavetune.inductor.install(Tuner(), keep_extern=keep_extern)
    (only,) = torch_stand_in.filters
    subgraph = SimpleNamespace(uid="subgraph::addmm")
    # As torch 2.14 lowers addmm.
    calls = [[ATEN], [subgraph], [MM, PERSISTENT]]
    offered = [own for call in calls for own in handler.get_template_configs(Inputs(64, 64, 64), call, "addmm")]
    offered.append(SimpleNamespace())  # Of a library that has no template.
    assert [own.template for own in only(offered)] == ([ATEN, MM] if keep_extern else [MM])
    undecided = handler.get_template_configs(Inputs(64, 64, 64, dtype="torch.float32"), [ATEN, MM], "addmm")
    assert only(undecided) == undecided


@pytest.mark.parametrize(
    "inputs, templates, operation",
    [
        (Inputs(64, 64, 64, dtype="torch.float32"), [ATEN, MM], "mm"),
        (Inputs(64, 64, 64, other="torch.float8_e4m3fn"), [ATEN, MM], "mm"),
        (Inputs(64, 64, 64), [ATEN, MM], "int_mm"),
        (Inputs(64, 64, 64), [ATEN, PERSISTENT], "mm"),
        (Inputs(64, 64, 64), [ATEN], "addmm"),
    ],
)
def test_everything_else_is_left_to_inductor(torch_stand_in, inputs, templates, operation):
    handler = wavetune.inductor.install(Tuner())
    own = handler.get_template_configs(inputs, templates, operation)
    assert [choice.template for choice in own] == templates
    assert handler.decided == 0 and handler.reason is None


@pytest.mark.parametrize("says", [True, False])
def test_products_of_the_type_that_was_measured_are_decided(torch_stand_in, says):
    tuner = Tuner()
    if says:
        tuner._arguments = (wavetune.Argument("a", "input", "float32"), wavetune.Argument("c", "output", "bfloat16"))
    handler = wavetune.inductor.install(tuner)
    handler.get_template_configs(Inputs(64, 64, 64, dtype="torch.float32"), [ATEN, MM], "mm")
    assert handler.decided == says
    handler.get_template_configs(Inputs(64, 64, 64, dtype="torch.float16"), [ATEN, MM], "mm")
    assert handler.decided == 1


def test_a_tile_that_the_template_refuses_leaves_the_choice_to_inductor(torch_stand_in):
    handler = wavetune.inductor.install(Tuner())
    refusing = SimpleNamespace(uid="triton::mm", refuses=True)
    own = handler.get_template_configs(Inputs(64, 64, 64), [ATEN, refusing], "mm")
    assert [choice.template for choice in own] == [ATEN]


def test_an_interface_that_changed_is_said_once_and_inductor_goes_on(torch_stand_in):
    handler = wavetune.inductor.install(Tuner())
    changed = SimpleNamespace(mat1mat2=lambda: (SimpleNamespace(get_dtype=lambda: "torch.bfloat16"),))
    with pytest.warns(wavetune.FallbackWarning, match="does not decide: AttributeError.*mnk_hinted") as said:
        for _ in range(2):
            own = handler.get_template_configs(changed, [ATEN, MM], "mm")
            assert [choice.template for choice in own] == [ATEN, MM]
    assert len(said) == 1


def test_what_is_installed_is_written_into_a_caches_key_as_the_tables_digest(torch_stand_in):
    keys = {}
    for digest in ("ab" * 32, "cd" * 32):
        handler = wavetune.inductor.install(Tuner(digest))
        assert digest in handler.uuid()
        factory = torch_stand_in.config.inductor_choices_class
        assert copy.deepcopy(factory) is factory
        keys[digest] = pickle.dumps(factory)
        assert digest.encode() in keys[digest]
        elsewhere = pickle.loads(keys[digest])
        assert elsewhere == factory
        # torch 2.14 asks for the uuid wherever there is a factory.
        assert elsewhere().uuid() == handler.uuid() and not hasattr(elsewhere(), "tuner")
    assert keys["ab" * 32] != keys["cd" * 32]


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda patch: patch.setattr(importlib.metadata, "version", lambda name: "2.99.0"), "torch is 2.99.0, tried are"),
        (lambda patch: patch.delattr(sys.modules["torch._inductor.choices"], "InductorChoices"), "ImportError"),
        (lambda patch: patch.setattr(Tuner, "parameters", ("BLOCK_M",)), "does not tune BLOCK_N, BLOCK_K"),
        (lambda patch: patch.setattr(Tuner, "dimensions", (SimpleNamespace(name="rows"),)), "decides by rows, not by m"),
    ],
)
def test_what_cannot_be_installed_is_said_and_nothing_changes(torch_stand_in, monkeypatch, change, match):
    change(monkeypatch)
    with pytest.warns(wavetune.FallbackWarning, match=match):
        assert wavetune.inductor.install(Tuner()) is None
    assert torch_stand_in.config.inductor_choices_class is None


def test_without_a_daemon_nothing_is_installed(torch_stand_in, tmp_path):
    nobody = wavetune.connect(f"unix:{tmp_path}/no.sock", cache_dir=None, timeout_s=0.5)
    with pytest.warns(wavetune.FallbackWarning, match="is not installed"):
        assert wavetune.inductor.install("triton_gemm", client=nobody) is None


def test_a_version_that_was_not_tried_can_be_tried(torch_stand_in, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "2.99.0")
    assert wavetune.inductor.install(Tuner(), any_torch=True) is not None


# On torch itself.


def version_of_torch():
    """Returns torch's version, where it is installed and tried."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    version = ".".join(torch.__version__.split(".")[:2])
    if version not in wavetune.inductor.TESTED:
        pytest.skip(f"torch is {version}, not {', '.join(wavetune.inductor.TESTED)}")
    return version


# What is private of torch and used, with the arguments that are given to it. All versions need these.
USED = {
    "choices.InductorChoices": [],
    "choices.InductorChoices.get_template_configs": ["kernel_inputs", "templates", "op_name", "kwarg_overrides"],
    "choices.InductorChoices._finalize_template_configs": [
        "template_choices", "kernel_inputs", "templates", "op_name", "kwarg_overrides",
    ],
    "choices.InductorChoices.get_ktc": ["kernel_inputs", "template", "op_name", "kwarg_overrides"],
    "kernel_inputs.MMKernelInputs.mat1mat2": [],
    "kernel_inputs.MMKernelInputs.mnk_hinted": [],
    "kernel_inputs.MMKernelInputs.mnk_symbolic": [],
    "kernel_inputs.MMKernelInputs.batch_hinted": [],
    "kernel_template_choice.KernelTemplateChoice": ["template", "params", "extra_kwargs", "layout", "inputs"],
    "kernel_template_choice.DictKernelTemplateParams": ["kwargs"],
    "select_algorithm.get_algorithm_selector_cache": [],
    "sizevars.SizeVarAllocator.statically_known_true": ["expr"],
    "virtualized.V.set_choices_handler": [],
}  # fmt: skip
# What differs: where a version asks for the templates of addmm, and what it writes into its cache's key.
CALLS_OF_ADDMM = {"2.11": 1, "2.14": 3}
KEY_IS = {"2.11": "the factory", "2.14": "its uuid"}


def test_it_is_said_what_each_version_needs():
    assert set(wavetune.inductor.TESTED) == set(CALLS_OF_ADDMM) == set(KEY_IS)


@pytest.mark.parametrize("name", USED)
def test_this_version_of_torch_has(name):
    version_of_torch()
    module, *path = name.split(".")
    found = importlib.import_module(f"torch._inductor.{module}")
    for step in path:
        found = getattr(found, step)
    if USED[name]:
        assert set(USED[name]) <= set(inspect.signature(found).parameters)


def test_this_version_of_torch_writes_into_its_caches_key(torch_config):
    wavetune.inductor.install(Tuner())
    key = torch_config.save_config_portable()["inductor_choices_class"]
    own = torch_config.inductor_choices_class
    assert key == {"the factory": own, "its uuid": own().uuid()}[KEY_IS[version_of_torch()]]


@pytest.fixture
def torch_config(monkeypatch):
    version_of_torch()
    from torch._inductor import config

    monkeypatch.setattr(wavetune.inductor, "check_triton", lambda: None)
    monkeypatch.setattr(wavetune.inductor, "check_table", lambda tuner, any_triton: None)
    yield config
    wavetune.inductor.uninstall()


@pytest.fixture
def pretended_gpu():
    """Lowers products with torch's own Inductor for a GPU that is not there; returns the function that does."""
    version_of_torch()
    import torch
    import triton_stub
    from torch._inductor import config
    from torch._inductor.graph import GraphLowering
    from torch._inductor.runtime.hints import DeviceProperties
    from torch._inductor.virtualized import V
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    from triton.runtime import driver

    driver.set_active(triton_stub.StubDriver())
    properties = DeviceProperties(
        type="cuda", index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536,
        max_threads_per_multi_processor=2048, warp_size=32,
    )  # fmt: skip
    of_torch = SimpleNamespace(multi_processor_count=132, major=9, minor=0, gcnArchName="", name="H100")
    patches = [
        mock.patch("torch.cuda.get_device_properties", lambda device=None: of_torch),
        mock.patch("torch._subclasses.fake_tensor.init_gpu_context", lambda device: None),
        mock.patch("torch._inductor.utils.is_big_gpu", lambda index=0: True),
        mock.patch("torch.cuda.get_device_capability", lambda device=None: (9, 0)),
        mock.patch("torch.cuda.is_available", lambda: True),
        mock.patch("torch.cuda.current_device", lambda: 0),
        mock.patch.object(DeviceProperties, "create", staticmethod(lambda device: properties)),
    ]

    def lower(function, *shapes):
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        with mode:
            arguments = [torch.empty(shape, dtype=torch.bfloat16, device="cuda") for shape in shapes]
            module = make_fx(function, tracing_mode="real")(*arguments)
        graph = GraphLowering(module)
        options = {"max_autotune_gemm": True, "max_autotune_gemm_backends": "ATEN,TRITON"}
        with V.set_graph_handler(graph), V.set_fake_mode(mode), config.patch(**options):
            graph.run(*arguments)
        return graph.buffers

    for patch in patches:
        patch.start()
    yield SimpleNamespace(torch=torch, lower=lower)
    for patch in patches:
        patch.stop()
    wavetune.inductor.uninstall()


def test_inductor_writes_its_templates_with_the_decided_tile_and_benchmarks_nothing(pretended_gpu):
    torch = pretended_gpu.torch
    tuner = Tuner()
    handler = wavetune.inductor.install(tuner)
    products = [
        (lambda a, b: torch.mm(a, b), [(700, 2048), (2048, 5120)]),
        (lambda c, a, b: torch.addmm(c, a, b), [(512,), (100, 250), (250, 512)]),
        (lambda a, b: torch.bmm(a, b), [(4, 128, 64), (4, 64, 256)]),
    ]
    asked = mock.Mock(wraps=handler.get_template_configs)
    handler.get_template_configs = asked
    for number, (product, shapes) in enumerate(products):
        asked.reset_mock()
        (buffer,) = pretended_gpu.lower(product, *shapes)
        assert asked.call_count == (CALLS_OF_ADDMM[version_of_torch()] if number == 1 else 1)
        assert type(buffer).__name__ == "TritonTemplateBuffer"
        own = buffer.annotations["ktc"].params.to_kwargs()
        assert {name: own[name] for name in TILE} == TILE
        assert own["EVEN_K"] == (number != 1)
    assert handler.decided == 3 and handler.reason is None
    assert tuner.asked == [
        {"m": 700, "n": 5120, "k": 2048}, {"m": 100, "n": 512, "k": 250}, {"m": 512, "n": 256, "k": 64},
    ]  # fmt: skip


def test_inductors_cache_tells_tables_apart(pretended_gpu):
    from torch._inductor.codecache import compiled_fx_graph_hash

    torch = pretended_gpu.torch
    module = torch.fx.symbolic_trace(lambda x, y: x @ y)

    def key():
        return compiled_fx_graph_hash(module, [torch.ones(2, 2), torch.ones(2, 2)], {}, [])[0]

    with mock.patch("torch.cuda.is_available", lambda: False):
        without = key()
        keys = []
        for digest in ("ab", "cd", "ab"):
            wavetune.inductor.install(Tuner(digest * 32))
            keys.append(key())
    assert keys[0] == keys[2] and len({without, *keys}) == 3
