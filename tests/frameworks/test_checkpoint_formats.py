"""Checkpoints that the real libraries wrote: whole ones are valid, and what is torn is told.

Where a library itself refuses what we call torn, that is shown beside it; where it loads damaged
bytes without a word, that is shown, too. Run by ``make test-frameworks``.
"""

import json
import os
import random
import shutil
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tallystick.emit.checkpoint.judge import Checkpoint, judge, see
from tallystick.emit.checkpoint.survey import survey

torch = pytest.importorskip("torch")
dcp = pytest.importorskip("torch.distributed.checkpoint")
safetensors_torch = pytest.importorskip("safetensors.torch")

pytestmark = pytest.mark.filterwarnings("ignore")


def judged(path: Path) -> Checkpoint:
    """Read every byte of a checkpoint, as the command does."""
    from tallystick.app.checkpoints import unzstd  # noqa: PLC0415 (the SDK needs no pyarrow)

    return judge(see(path, unzstd), lambda _: None)


def tensors() -> dict[str, Any]:
    """Make a state with several tensors, one of which shares its storage with another."""
    a = torch.arange(1000.0)
    return {"a": a, "b": {"w": torch.ones(50, 50), "n": 3}, "view": a[10:20]}


def loads(load: Callable[[], Any]) -> bool:
    """Tell whether a library takes a checkpoint."""
    try:
        load()
    except BaseException:  # noqa: BLE001 (DCP raises one that is no Exception)
        return False
    return True


def flip(path: Path, at: int) -> None:
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


class TestTorch:
    """``torch.save``."""

    def write(self, path: Path) -> Path:
        """Save a state."""
        torch.save(tensors(), path)
        return path

    def test_what_it_saves_is_complete(self, tmp_path: Path) -> None:
        """States, modules, scripted modules and nothing much."""
        module = torch.nn.Linear(4, 4)
        self.write(tmp_path / "state.pt")
        torch.save(module, tmp_path / "module.pt")
        torch.save({"x": 1}, tmp_path / "small.pt")
        torch.jit.save(torch.jit.script(module), tmp_path / "jit.pt")
        torch.save([torch.zeros(3, dtype=each) for each in DTYPES], tmp_path / "dtypes.pt")

        found = [judged(path) for path in sorted(tmp_path.glob("*.pt"))]

        assert {(each.state, each.kind) for each in found} == {("complete", "torch")}

    def test_every_cut_is_torn_and_does_not_load(self, tmp_path: Path) -> None:
        """At 200 places, the last byte among them."""
        path = self.write(tmp_path / "a.pt")
        data = path.read_bytes()
        places = [len(data) - 1, *random.Random(1).sample(range(len(data)), 200)]  # noqa: S311

        for end in places:
            path.write_bytes(data[:end])

            assert judged(path).state == "torn"
            assert not loads(lambda: torch.load(path, weights_only=False))

    def test_a_changed_weight_is_torn_though_torch_loads_it(self, tmp_path: Path) -> None:
        """Torch does not compare the checksums that it writes."""
        path = self.write(tmp_path / "a.pt")
        flip(path, path.read_bytes().index(torch.ones(50, 50).numpy().tobytes()) + 100)

        found = judged(path)

        assert found.state == "torn"
        assert loads(lambda: torch.load(path, weights_only=False))
        assert not torch.equal(torch.load(path)["b"]["w"], torch.ones(50, 50))

    def test_without_checksums_that_is_said(self, tmp_path: Path) -> None:
        """``set_crc32_options`` leaves them out."""
        torch.serialization.set_crc32_options(False)
        try:
            path = self.write(tmp_path / "a.pt")
        finally:
            torch.serialization.set_crc32_options(True)

        found = judged(path)

        assert found.state == "complete"
        assert found.unchecked == ("records of torch archives that were saved without checksums",)

    def test_the_format_of_old_is_not_told(self, tmp_path: Path) -> None:
        """It has no end that could be looked for."""
        torch.save(tensors(), tmp_path / "a.pt", _use_new_zipfile_serialization=False)

        assert judged(tmp_path / "a.pt").state == "unknown"

    def test_a_record_that_was_taken_out_is_torn(self, tmp_path: Path) -> None:
        """The archive is whole then, and the checkpoint is not."""
        path = self.write(tmp_path / "a.pt")
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "b.pt", "w") as new:
            for name in old.namelist():
                if name != "a/data/1":
                    new.writestr(name, old.read(name))

        found = judged(tmp_path / "b.pt")

        assert found.state == "torn"
        assert "storage '1'" in found.reason
        assert not loads(lambda: torch.load(tmp_path / "b.pt", weights_only=False))


DTYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.uint16,
    torch.bool,
    torch.complex64,
    torch.complex128,
    torch.float8_e4m3fn,
]


class TestDistributed:
    """``torch.distributed.checkpoint``."""

    def write(self, path: Path) -> Path:
        """Save a state."""
        dcp.save(tensors(), checkpoint_id=path)
        return path

    def load(self, path: Path) -> Any:
        """Load it into a state of zeros."""
        state = {"a": torch.zeros(1000), "b": {"w": torch.zeros(50, 50), "n": 0}}
        state["view"] = torch.zeros(10)
        dcp.load(state, checkpoint_id=path)
        return state

    def test_what_it_saves_is_complete(self, tmp_path: Path) -> None:
        """With one file or several."""
        self.write(tmp_path / "one")
        writer = dcp.FileSystemWriter(tmp_path / "many", single_file_per_rank=False)
        dcp.save(tensors(), storage_writer=writer)

        found = [judged(tmp_path / name) for name in ("one", "many")]

        assert [(each.state, each.kind) for each in found] == [("complete", "dcp")] * 2
        assert found[1].files > found[0].files

    @pytest.mark.parametrize("name", [".metadata", "__0_0.distcp"])
    def test_every_cut_is_torn_and_does_not_load(self, tmp_path: Path, name: str) -> None:
        """Of the metadata and of what it names."""
        path = self.write(tmp_path / "c") / name
        data = path.read_bytes()

        for end in (0, 1, len(data) // 2, len(data) - 1):
            path.write_bytes(data[:end])

            assert judged(tmp_path / "c").state == "torn"
            assert not loads(lambda: self.load(tmp_path / "c"))

    @pytest.mark.parametrize("name", [".metadata", "__0_0.distcp"])
    def test_a_file_that_is_gone_is_told_and_does_not_load(self, tmp_path: Path, name: str) -> None:
        """Without the metadata the save never ended."""
        (self.write(tmp_path / "c") / name).unlink()

        found = judged(tmp_path / "c")

        assert (found.state, found.file) == (
            "unfinished" if name == ".metadata" else "torn",
            name,
        )
        assert not loads(lambda: self.load(tmp_path / "c"))

    def test_metadata_that_was_not_renamed_is_unfinished(self, tmp_path: Path) -> None:
        """As it lies there between the write and the rename."""
        folder = self.write(tmp_path / "c")
        (folder / ".metadata").rename(folder / ".metadata.tmp")

        assert judged(folder).state == "unfinished"
        assert not loads(lambda: self.load(folder))

    def test_a_changed_weight_is_torn_though_torch_loads_it(self, tmp_path: Path) -> None:
        """The pieces have checksums that nobody else compares."""
        folder = self.write(tmp_path / "c")
        path = folder / "__0_0.distcp"
        flip(path, path.read_bytes().index(torch.ones(50, 50).numpy().tobytes()) + 100)

        found = judged(folder)

        assert (found.state, found.file) == ("torn", "__0_0.distcp")
        assert loads(lambda: self.load(folder))

    def test_a_save_over_an_old_one_that_broke_is_torn(self, tmp_path: Path) -> None:
        """The old metadata is still there and names pieces that are being replaced."""
        folder = self.write(tmp_path / "c")
        path = folder / "__0_0.distcp"
        path.write_bytes(path.read_bytes()[:3000] + bytes(path.stat().st_size - 3000))

        assert judged(folder).state == "torn"
        assert not loads(lambda: self.load(folder))

    def test_an_asynchronous_save_is_unfinished_until_it_is_over(self, tmp_path: Path) -> None:
        """The folder is there before the metadata is."""
        dist = torch.distributed
        dist.init_process_group(
            "gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1
        )
        try:
            pending = dcp.async_save(tensors(), checkpoint_id=tmp_path / "c")
            pending.result()
        finally:
            dist.destroy_process_group()
        (tmp_path / "other").mkdir()
        shutil.copy(tmp_path / "c" / "__0_0.distcp", tmp_path / "other")

        assert judged(tmp_path / "c").state == "complete"
        assert judged(tmp_path / "other").state == "unfinished"

    def test_metadata_by_rank_leaves_the_number_of_ranks_open(self, tmp_path: Path) -> None:
        """Saved without collectives, each rank has metadata of its own."""
        dist = torch.distributed
        dist.init_process_group(
            "gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1
        )
        try:
            dcp.save(tensors(), checkpoint_id=tmp_path / "c", use_collectives=False)
        finally:
            dist.destroy_process_group()

        found = judged(tmp_path / "c")

        assert (found.state, found.file) == ("unknown", "__0.metadata")
        assert "how many" in found.reason


class TestSafetensors:
    """``safetensors``."""

    def test_cuts_and_additions_are_torn_and_do_not_load(self, tmp_path: Path) -> None:
        """The length is exact, for them as for us."""
        path = tmp_path / "a.safetensors"
        state = {"a": torch.arange(100.0), "none": torch.zeros(0), "h": torch.ones(3).half()}
        safetensors_torch.save_file(state, path, metadata={"format": "pt"})
        data = path.read_bytes()
        whole = judged(path).state

        for torn in (*(data[:end] for end in range(0, len(data), 7)), data + b"x"):
            path.write_bytes(torn)

            assert judged(path).state == "torn"
            assert not loads(lambda: safetensors_torch.load_file(path))
        assert whole == "complete"


class TestTrainers:
    """The trainer of transformers, and that of Lightning."""

    def test_the_trainers_folders(self, tmp_path: Path) -> None:
        """What it writes is complete; it resumes from the newest folder whatever that holds."""
        transformers = pytest.importorskip("transformers")
        trainer_utils = pytest.importorskip("transformers.trainer_utils")

        sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
        config = transformers.BertConfig(**sizes, intermediate_size=16, vocab_size=20)
        model = transformers.BertForSequenceClassification(config)
        arguments = transformers.TrainingArguments(
            str(tmp_path / "out"), max_steps=4, save_steps=2, report_to=[], disable_tqdm=True,
            use_cpu=True,
        )  # fmt: skip
        rows = [{"input_ids": [1, 2, 3], "labels": 0}] * 16
        transformers.Trainer(model, arguments, train_dataset=rows).train()
        before = survey(tmp_path / "out")
        torn = tmp_path / "out" / "checkpoint-6"
        shutil.copytree(tmp_path / "out" / "checkpoint-4", torn)
        (torn / "trainer_state.json").unlink()
        (torn / "checkpoint-is-incomplete.txt").write_text("in progress", encoding="utf-8")

        after = survey(tmp_path / "out")

        assert before.last is not None
        assert before.last.step == (4, "trainer_state.json")
        assert [each.state for each in before.checkpoints] == ["complete", "complete"]
        assert after.last is not None
        assert after.last.name == "checkpoint-4"
        assert after.newer[0].state == "unfinished"
        assert trainer_utils.get_last_checkpoint(str(tmp_path / "out")) == str(torn)

    def test_sharded_weights_without_a_shard(self, tmp_path: Path) -> None:
        """The index names every shard, and the library refuses as we do."""
        transformers = pytest.importorskip("transformers")
        sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
        config = transformers.BertConfig(**sizes, intermediate_size=16, vocab_size=20)
        model = transformers.BertModel(config)
        model.save_pretrained(tmp_path / "m", max_shard_size="4KB")
        whole = judged(tmp_path / "m").state
        shard = sorted((tmp_path / "m").glob("model-*.safetensors"))[1]
        shard.unlink()

        found = judged(tmp_path / "m")

        assert whole == "complete"
        assert (found.state, found.file) == ("torn", shard.name)
        assert not loads(lambda: transformers.BertModel.from_pretrained(tmp_path / "m"))

    def test_lightnings_files(self, tmp_path: Path) -> None:
        """The step is read without loading, and the link to the last is a pointer."""
        lightning = pytest.importorskip("lightning")
        callbacks = pytest.importorskip("lightning.pytorch.callbacks")
        demos = pytest.importorskip("lightning.pytorch.demos.boring_classes")

        keeper = callbacks.ModelCheckpoint(
            tmp_path / "c", every_n_train_steps=2, save_top_k=-1, save_last="link"
        )
        lightning.Trainer(
            max_steps=4, default_root_dir=tmp_path, callbacks=[keeper], logger=False,
            enable_progress_bar=False, enable_model_summary=False, accelerator="cpu",
            limit_val_batches=0,
        ).fit(demos.BoringModel())  # fmt: skip

        found = survey(tmp_path / "c")

        assert [(each.kind, each.state) for each in found.checkpoints] == [
            ("lightning", "complete"),
            ("lightning", "complete"),
        ]
        assert found.last is not None
        assert found.last.step == (4, "global_step")
        assert [(each.name, each.problem) for each in found.pointers] == [("last.ckpt", None)]


class TestOrbax:
    """``orbax.checkpoint``."""

    @pytest.fixture(autouse=True)
    def cpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have JAX look for no accelerator."""
        monkeypatch.setenv("JAX_PLATFORMS", "cpu")
        pytest.importorskip("orbax.checkpoint")

    def write(self, path: Path, *, ocdbt: bool = True) -> Path:
        """Save a tree."""
        np = pytest.importorskip("numpy")
        ocp = pytest.importorskip("orbax.checkpoint")

        tree = {"a": np.arange(3000.0), "b": {"w": np.ones((50, 50)), "n": 3}, "x/y": np.ones(3)}
        with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(use_ocdbt=ocdbt)) as checkpointer:
            checkpointer.save(path, tree)
        return path

    def load(self, path: Path) -> Any:
        """Restore it."""
        ocp = pytest.importorskip("orbax.checkpoint")

        with ocp.PyTreeCheckpointer() as checkpointer:
            return checkpointer.restore(path)

    @pytest.mark.parametrize("ocdbt", [True, False])
    def test_what_it_saves_is_complete(self, tmp_path: Path, *, ocdbt: bool) -> None:
        """Every stretch and chunk that it names is there."""
        found = judged(self.write(tmp_path / "10", ocdbt=ocdbt))

        assert (found.state, found.kind, found.step) == ("complete", "orbax", (10, "name"))
        assert len(found.unchecked) == 1

    def test_a_manager_and_its_items(self, tmp_path: Path) -> None:
        """Each step is a checkpoint, each item a part of it."""
        np = pytest.importorskip("numpy")
        ocp = pytest.importorskip("orbax.checkpoint")

        with ocp.CheckpointManager(
            tmp_path / "m", item_names=("state", "meta", "unused")
        ) as keeper:
            for step in (1, 2):
                state = ocp.args.StandardSave({"a": np.arange(10.0)})
                meta = ocp.args.JsonSave({"step": step})
                keeper.save(step, args=ocp.args.Composite(state=state, meta=meta))
            keeper.wait_until_finished()
        before = survey(tmp_path / "m")
        shutil.rmtree(tmp_path / "m" / "2" / "state")

        after = survey(tmp_path / "m")

        assert [each.state for each in before.checkpoints] == ["complete", "complete"]
        assert [each.state for each in after.checkpoints] == ["torn", "complete"]

    @pytest.mark.parametrize("ocdbt", [True, False])
    def test_every_data_file_that_is_cut_or_gone_is_torn_and_is_not_restored(
        self, tmp_path: Path, *, ocdbt: bool
    ) -> None:
        """Only files that the newest version needs."""
        whole = self.write(tmp_path / "10", ocdbt=ocdbt)
        needed = []

        for path in sorted(path for path in whole.rglob("*") if path.is_file()):
            if path.name in {"_CHECKPOINT_METADATA", "commit_success.txt", "_sharding"}:
                continue
            for left in (None, path.stat().st_size // 2):
                copy = tmp_path / "copy" / "10"
                shutil.rmtree(copy.parent, ignore_errors=True)
                shutil.copytree(whole, copy)
                place = copy / path.relative_to(whole)
                if left is None:
                    place.unlink()
                else:
                    os.truncate(place, left)
                if not loads(partial(self.load, copy)):
                    needed.append((path.name, left))

                    assert judged(copy).state == "torn", (path, left)
        assert len(needed) >= 4

    def test_a_save_that_was_not_finalized_is_unfinished(self, tmp_path: Path) -> None:
        """By its name, and by the note that has no time of commit."""
        whole = self.write(tmp_path / "10")
        shutil.copytree(whole, tmp_path / "20.orbax-checkpoint-tmp-1700000000")
        notes = json.loads((whole / "_CHECKPOINT_METADATA").read_bytes())
        shutil.copytree(whole, tmp_path / "30")
        notes["commit_timestamp_nsecs"] = None
        (tmp_path / "30" / "_CHECKPOINT_METADATA").write_text(json.dumps(notes), encoding="utf-8")

        found = survey(tmp_path)

        assert [(each.step and each.step.number, each.state) for each in found.checkpoints] == [
            (30, "unfinished"),
            (20, "unfinished"),
            (10, "complete"),
        ]
