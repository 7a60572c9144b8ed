"""What has passed where, noted in build/compat/results for clients_table.py: a file for each client and scenario."""

import contextlib

import suite


def path(scenario, client):
    return suite.build_directory("results") / f"{scenario}.{client}"


@contextlib.contextmanager
def noted(scenario, client):
    """Around a run: it is noted as passed unless it ends by an exception, of which the exit with 0 is none."""
    file = path(scenario, client)
    file.unlink(missing_ok=True)
    try:
        yield
    except SystemExit as end:
        if end.code == 0:
            file.write_text("passed\n")
        raise
    file.write_text("passed\n")
