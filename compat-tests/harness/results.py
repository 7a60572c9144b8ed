"""What has passed where, noted in build/compat/results for clients_table.py: a file for each client and scenario."""

import contextlib

import suite


def path(scenario, client):
    return suite.build_directory("results") / f"{scenario}.{client}"


@contextlib.contextmanager
def noted(scenario, client):
    """Around a run: it is noted as passed unless it ends by an exception."""
    file = path(scenario, client)
    file.unlink(missing_ok=True)
    yield
    file.write_text("passed\n")
