"""Outputs of a real cluster give the attempts that really were."""

import json
from collections.abc import Callable
from typing import Any

from tallystick.collectors.collected import Source
from tallystick.collectors.slurm import SlurmOptions, collect_slurm
from tallystick.core.canonical import canonical_bytes
from tallystick.evidence.codec import read_line

Collect = Callable[..., Any]
Captured = Callable[[str], bytes]
Files = dict[str, bytes]


def test_a_preempted_and_requeued_job_is_two_attempts(collect: Collect, captured: Captured) -> None:
    """Job 2 was ended by the scheduler and started again under another submit time."""
    story = collect(captured("b4_sacct_D_final.psv"), cluster="testc")

    assert story.times("allocation.started") == {
        "slurm:testc:2:1796068143": "19:49:04",
        "slurm:testc:3:1796068148": "19:49:29",
        "slurm:testc:2:1796068169": "19:49:37",
    }
    assert story.times("allocation.ended") == {
        "slurm:testc:2:1796068143": "19:49:25",
        "slurm:testc:3:1796068148": "19:49:37",
    }
    assert story.ended_by["slurm:testc:2:1796068143"] == "scheduler"
    assert story.codes == []


def test_text_and_json_of_one_job_start_the_same_attempts(
    collect: Collect, captured: Captured
) -> None:
    """The JSON of job 2 adds rows, but no start that the table does not have."""
    table, document = captured("b4_sacct_D_final.psv"), captured("b4_sacct_D_final.json")

    both = collect(table, document, cluster="testc")

    starts = len(both.bodies("allocation.started"))
    assert starts == len(collect(table, cluster="testc").bodies("allocation.started"))
    assert len(both.bodies("allocation.row")) == 5


def test_a_requeue_by_hand_is_nobodys_known_act(collect: Collect, captured: Captured) -> None:
    """REQUEUED does not say who did it; the second attempt completed."""
    story = collect(captured("b7_sacct_D_manual_requeue.psv"), cluster="testc")

    assert story.ended_by == {
        "slurm:testc:7:1796068287": "unknown",
        "slurm:testc:7:1796068296": "completed",
    }


def test_a_node_that_goes_down_ends_attempts_as_hardware(
    collect: Collect, captured: Captured
) -> None:
    """Three jobs end with the node; the one that waits again gives its row only."""
    story = collect(captured("c8_sacct_D_nodedown.psv"), cluster="testc")

    assert story.ended_by == {
        "slurm:testc:15:1796068465": "hardware",
        "slurm:testc:16:1796068465": "hardware",
        "slurm:testc:17:1796068465": "hardware",
    }
    assert story.started["slurm:testc:16:1796068465"]["nodes"] == ["n1", "n2"]
    assert len(story.bodies("allocation.row")) == 4


def test_ends_of_every_kind_keep_the_exit_that_is_stated(
    collect: Collect, captured: Captured
) -> None:
    """Killed jobs print 0:0, which states nothing; an exit of 3 and a signal of 11 are stated."""
    story = collect(captured("c_sacct_D.psv"), cluster="testc")

    exits = {
        body["attempt"].split(":")[2]: (body["ended_by"], body.get("exit_code"), body.get("signal"))
        for body in story.bodies("allocation.ended")
    }
    assert exits == {
        "9": ("user", None, None),
        "10": ("time_limit", None, None),
        "11": ("user", 3, None),
        "13": ("completed", 0, None),
        "14": ("user", 0, 11),
    }


def test_old_json_states_signals_but_no_exit_codes(collect: Collect, captured: Captured) -> None:
    """The same jobs as JSON of plugin v0.0.38: exit 3 reads SUCCESS and is not handed on."""
    story = collect(captured("c_sacct_D.json"), cluster="testc")

    exits = {
        body["attempt"].split(":")[2]: (body["ended_by"], body.get("exit_code"), body.get("signal"))
        for body in story.bodies("allocation.ended")
    }
    assert exits["11"] == ("user", None, None)
    assert exits["14"] == ("user", None, 11)
    assert exits["9"] == ("user", None, None)
    assert "12" not in exits


def test_a_suspension_is_known_by_its_length_only(collect: Collect, captured: Captured) -> None:
    """Job 19 ran 12 s and was suspended 9 s: one attempt over 21 s, and a finding."""
    story = collect(captured("d_sacct_final.psv"), cluster="testc")

    assert story.times("allocation.started") == {"slurm:testc:19:1796068610": "19:56:50"}
    assert story.times("allocation.ended") == {"slurm:testc:19:1796068610": "19:57:11"}
    assert story.codes == ["suspended_times_unknown"]


def test_a_suspended_job_has_not_ended(collect: Collect, captured: Captured) -> None:
    """SUSPENDED keeps the GPUs."""
    story = collect(captured("d_sacct_suspended.psv"), cluster="testc")

    assert story.kinds == ["row", "started"]


def test_array_tasks_are_keyed_by_raw_id_and_shown_by_index(
    collect: Collect, captured: Captured
) -> None:
    """The last task keeps the array's own id; text and JSON agree."""
    wanted = {"21": "21_3", "22": "21_0", "23": "21_1", "26": "21_2"}

    for name in ("e_sacct_array.psv", "e_sacct_array.json", "e_scontrol_array_final.txt"):
        story = collect(captured(name), cluster="testc")
        shown = {key.split(":")[2]: body["job_id"] for key, body in story.started.items()}
        assert shown == wanted


def test_components_of_a_het_job_are_attempts_of_their_own(
    collect: Collect, captured: Captured
) -> None:
    """Each component has its nodes and GPUs."""
    for name in ("e_sacct_het.json", "e_scontrol_het.txt"):
        story = collect(captured(name), cluster="testc")
        shown = {b["job_id"]: (b["nodes"], b["gpu_count"]) for b in story.started.values()}
        assert shown == {"24+0": (["n1"], 1), "24+1": (["n2"], 2)}


def test_a_command_line_with_pipes_in_the_middle_of_a_row_makes_it_bad(
    collect: Collect, captured: Captured
) -> None:
    """The captured het rows quote a shell pipeline: their columns cannot be told apart."""
    story = collect(captured("e_sacct_het.psv"), cluster="testc")

    assert [(finding.code, finding.line) for finding in story.findings] == [
        ("bad_row", 2),
        ("bad_row", 5),
    ]
    assert story.records == []


def test_a_mig_job_has_a_count_but_no_type(collect: Collect, captured: Captured) -> None:
    """Accounting lost the profile; the type comes from the caller or not at all."""
    data = captured("k_mig_sacct.psv")

    plain = collect(data, cluster="testc")
    typed = collect(data, cluster="testc", gpu_type=((None, "h100"), ("spot", "1g.10gb")))

    assert "gpu_type" not in plain.started["slurm:testc:1:1796069123"]
    assert plain.codes == ["gpu_type_unknown"]
    assert typed.started["slurm:testc:1:1796069123"]["gpu_type"] == "1g.10gb"
    assert typed.started["slurm:testc:1:1796069123"]["gpu_count"] == 2
    assert typed.codes == []


def test_a_partial_row_of_a_job_of_no_length_stays_open(
    collect: Collect, captured: Captured
) -> None:
    """The row says COMPLETED after 0 s, and lost its name: its end is not trusted."""
    story = collect(captured("m_sacct_odd_names.json"), cluster="testc")

    assert story.kinds == ["row", "started"]
    assert story.codes == ["end_not_trusted"]
    assert story.bodies("allocation.row")[0]["raw"]["comment"]["job"] == "a|b\nline2"


def test_a_job_without_gpus_is_not_said_to_have_none(collect: Collect, captured: Captured) -> None:
    """Without a GPU resource the count is unknown, so the start is withheld."""
    story = collect(captured("o_sacct.psv"), cluster="testc")

    assert list(story.started) == ["slurm:testc:5:1796069504"]
    assert story.started["slurm:testc:5:1796069504"]["gpu_count"] == 6
    assert story.codes == ["end_not_trusted", "gpu_count_unknown"]


def test_a_failed_prolog_ends_at_its_start(collect: Collect, captured: Captured) -> None:
    """REQUEUED at zero length is an ordinary end; the held successor gives its row."""
    story = collect(captured("g4_sacct_D.psv"), cluster="testc")

    assert story.times("allocation.ended") == {"slurm:testc:31:1796068833": "20:00:34"}
    assert story.kinds == ["row", "started", "ended", "row"]


def test_hooks_find_the_rows_of_a_requeued_job(
    collect: Collect, captured: Captured, captured_files: Files
) -> None:
    """Each life of job 2 has a prolog, and each is joined to its own row."""
    dumps = [
        data for name, data in captured_files.items() if ".job2." in name and "/1796068" in name
    ]

    story = collect(*dumps, captured("b4_sacct_D_final.psv"), cluster="testc")

    assert story.same == {
        "slurm:testc:2@n1:1796068144": "slurm:testc:2:1796068143",
        "slurm:testc:2@n1:1796068177": "slurm:testc:2:1796068169",
    }
    assert story.started["slurm:testc:2@n1:1796068144"]["gpu_count"] == 4
    assert story.started["slurm:testc:2@n1:1796068144"]["gpu_type"] == "h100"
    assert story.times("allocation.ended")["slurm:testc:2@n1:1796068144"] == "19:49:29"
    assert story.codes == []


def test_a_dead_node_gives_no_epilog_and_the_next_life_is_not_mixed_up(
    collect: Collect, captured: Captured, captured_files: Files
) -> None:
    """Job 15 lost its node: its first life has no epilog, the second has its own."""
    dumps = [data for name, data in captured_files.items() if ".job15." in name]

    story = collect(*dumps, captured("c9_sacct_D_after_return.psv"), cluster="testc")

    assert story.same == {
        "slurm:testc:15@n2:1796068466": "slurm:testc:15:1796068465",
        "slurm:testc:15@n2:1796068513": "slurm:testc:15:1796068495",
    }
    assert "slurm:testc:15@n2:1796068466" not in story.ended_by
    assert story.ended_by["slurm:testc:15@n2:1796068513"] == "unknown"


def test_hooks_of_two_nodes_are_two_attempts_until_rows_join_them(
    collect: Collect, captured_files: Files
) -> None:
    """Each node says what it gave away; controller and task hooks say nothing."""
    dumps = [data for name, data in captured_files.items() if name.startswith("hooks_two_nodes/")]

    story = collect(*dumps, cluster="testc", gpu_type=((None, "h100"),))

    assert {key: body["nodes"] for key, body in story.started.items()} == {
        "slurm:testc:2@n1:1796069493": ["n1"],
        "slurm:testc:2@n2:1796069493": ["n2"],
    }
    assert story.times("allocation.ended").keys() == story.started.keys()
    assert story.codes == []


def test_the_controller_is_not_believed_about_a_job_that_waits(
    collect: Collect, captured: Captured
) -> None:
    """It prints a start and an end that are only planned, and resources that are only asked."""
    for name in ("b3_scontrol_spot_requeued.txt", "b2_scontrol_od_grace.txt", "g4_scontrol.txt"):
        story = collect(captured(name), cluster="testc")
        assert story.kinds == ["row"]


def test_the_controller_gives_the_same_key_as_accounting(
    collect: Collect, captured: Captured
) -> None:
    """Job 6 was pre-empted for good: start, end and cause as in its accounting row."""
    story = collect(captured("b6_scontrol_norequeue.txt"), cluster="testc")

    assert story.ended_by == {"slurm:testc:6:1796068287": "scheduler"}
    assert story.times("allocation.started") == {"slurm:testc:6:1796068287": "19:51:27"}
    assert story.times("allocation.ended") == {"slurm:testc:6:1796068287": "19:51:47"}
    assert story.started["slurm:testc:6:1796068287"]["gpu_count"] == 4


def test_live_json_of_a_running_job_has_no_end(collect: Collect, captured: Captured) -> None:
    """Its end_time is the time limit."""
    story = collect(captured("a_squeue_json_running.json"), cluster="testc")

    assert story.kinds == ["row", "started"]


def test_live_json_reads_wait_statuses(collect: Collect, captured: Captured) -> None:
    """The controller's JSON has exit codes as the kernel gives them: 9 is a signal."""
    story = collect(captured("f_rest_slurm_jobs.json"), cluster="testc")

    ends = {body["attempt"]: body for body in story.bodies("allocation.ended")}
    assert ends["slurm:testc:10:1796068368"]["signal"] == 9
    assert "exit_code" not in ends["slurm:testc:10:1796068368"]
    assert ends["slurm:testc:18:1796068551"]["exit_code"] == 0


def test_a_database_that_is_down_is_not_an_empty_cluster(
    collect: Collect, captured: Captured
) -> None:
    """HTTP 200, errors filled, no jobs: a finding says what the source said."""
    story = collect(captured("h_rest_slurmdb_down.json"), cluster="testc")

    assert story.records == []
    assert story.codes == ["source_error", "trailing_text"]
    assert "Unable to connect to database" in story.findings[1].message


def test_a_refused_query_is_a_finding(collect: Collect, captured: Captured) -> None:
    """The answer has errors and no jobs at all."""
    story = collect(captured("f_rest_slurmdb_jobs_bad_time_error.json"), cluster="testc")

    assert story.codes == ["source_error"]


def test_answers_about_other_things_are_told_so(collect: Collect, captured: Captured) -> None:
    """One finding for each input that holds no jobs, whatever it is."""
    for name in (
        "f_rest_slurmdb_tres.json",
        "g1_scontrol_node.txt",
        "h_sacct_dbd_down.psv",
        "h_sacct_dbd_down.psv.err",
        "k_rest_jwt_noauth.txt",
        "i_inside_hooks_preempt.txt",
    ):
        story = collect(captured(name), cluster="testc")
        assert (story.codes, story.records) == (["unrecognised_input"], [])


def test_tables_without_identity_give_one_finding(collect: Collect, captured: Captured) -> None:
    """Without JobIDRaw and Submit no attempt can be named."""
    for name in (
        "a_sacct_running.psv",
        "a_sstat_running.psv",
        "j_sacct_unknown_job.psv",
        "j_sacct_utc.psv",
        "m2_sacct_odd_names.psv",
        "m_sacct_odd_names_delim.txt",
    ):
        story = collect(captured(name), cluster="testc")
        assert (story.codes, story.records) == (["missing_column"], [])


def test_every_captured_output_is_read_alone_and_its_records_are_admissible(
    captured_files: Files,
) -> None:
    """No file crashes, each gives records or findings, and every record is evidence."""
    options = SlurmOptions(cluster="testc", timezone="Europe/Berlin", observed_us=0)
    admitted = 0

    for name, data in captured_files.items():
        collected = collect_slurm([Source(name, data)], options)
        assert collected.records or collected.findings, name
        for record in collected.records:
            admitted += read_line(canonical_bytes(record)).kind == record["kind"]

    assert admitted > 150


def test_all_captured_outputs_in_one_call_agree_with_each_other(captured_files: Files) -> None:
    """Records of one producer and id are one, and a JSON line holds each of them."""
    options = SlurmOptions(cluster="testc", timezone="UTC", observed_us=0)
    sources = [Source(name, data) for name, data in captured_files.items()]

    collected = collect_slurm(sources, options)

    identities = [(record["producer"]["name"], record["id"]) for record in collected.records]
    assert len(identities) == len(set(identities)) > 100
    assert json.loads(canonical_bytes(collected.records)) == collected.records
    assert not {"ambiguous_join", "record_conflict"} & {each.code for each in collected.findings}
