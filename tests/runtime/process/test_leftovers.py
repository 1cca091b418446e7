"""Nothing outlives the job, whatever the ranks did; output is never lost or in the way."""

import json
import os
import signal

from muster_core.contract import VERDICT_LIMIT, VERDICT_MARKER


def test_daemons_of_ranks_are_reaped_and_killed(nodes, running):
    (main,) = nodes.start_all(1, "fork_zombie.py")
    assert main.code() == 0
    pids = [int(line.split()[1]) for line in main.lines() if line.startswith("daemon")]
    assert len(pids) == 2
    assert not any(map(running, pids))


def test_children_of_a_failed_rank_are_gone(nodes, running, eventually):
    main, child = nodes.start_all(2, "hang.py")
    for agent in (main, child):
        agent.says("pids ")
    pids = [
        [int(pid) for line in agent.lines() if line.startswith("pids") for pid in line.split()[1:]]
        for agent in (main, child)
    ]
    os.kill(pids[1][0], signal.SIGKILL)
    assert (main.code(), child.code()) == (137, 137)
    assert not any(map(running, pids[0] + pids[1]))


def test_endless_output_goes_through_whole(nodes):
    main, child = nodes.start_all(2, "endless_line.py", "--nproc-per-node", "2")
    assert (main.code(), child.code()) == (0, 0)
    data = main.log.read_bytes()
    assert data.count(b"x") >= 2 * 64 * 65536
    assert data.count(b"\xff\xfe") == 2 * 10_000
    last = data.splitlines()[-1]
    assert last.startswith(VERDICT_MARKER.encode())
    assert len(last) < VERDICT_LIMIT


def test_a_failure_after_endless_output_keeps_the_verdict_small(nodes, tmp_path):
    program = tmp_path / "noisy.py"
    program.write_text(
        "import os\nfor _ in range(99): print('\\u20ac' * 5000)\nraise ValueError('\\u20ac' * 5000)\n"
    )
    (main,) = nodes.start_all(1, str(program), PYTHONIOENCODING="utf-8")
    assert main.code() == 1
    line = main.log.read_bytes().splitlines(keepends=True)[-1]
    assert len(line) <= VERDICT_LIMIT
    record = json.loads(line[len(VERDICT_MARKER) :])
    assert record["first_failure"]["lines"][-1].startswith("ValueError: \u20ac")


def test_a_reader_that_goes_away_does_not_stop_the_job(nodes):
    main = nodes.start(0, 1, "endless_line.py", pipe=True)
    main.process.stdout.read(10)
    main.process.stdout.close()
    assert main.code() == 0


def test_a_reader_that_is_slow_does_not_stop_the_heartbeat(nodes, eventually):
    flags = ("--peer-timeout", "1")
    main = nodes.start(0, 2, "endless_line.py", *flags, pipe=True)
    child = nodes.start(1, 2, "print_env.py", *flags)
    child.says("exited with code 0")
    assert not child.process.poll()
    for _ in range(3):
        eventually(lambda: main.process.poll() is None)
    output = main.process.stdout.read()
    assert (main.code(), child.code()) == (0, 0)
    assert output.count(b"x") >= 64 * 65536


def test_a_closed_standard_output_is_survived(nodes):
    (main,) = nodes.start_all(1, "print_env.py")
    assert main.code() == 0
    shell = 'exec "$0" "$@" >&- 2>&- <&-'
    argv = [nodes.python, "-m", "muster_runtime", "run", "--", str(main.process.args[-1])]
    pid = os.posix_spawn("/bin/sh", ["/bin/sh", "-c", shell, *argv], nodes.environ(0, 1))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
