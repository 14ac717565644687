"""The audit: runs a script and its converted form, as one process and as several, and judges.

Importing this package imports no framework; the processes that run the scripts do.
"""

from transpile.verify.auditor import Auditor, audit
from transpile.verify.expectation import Expectation
from transpile.verify.launcher import LaunchError
from transpile.verify.report import AuditReport, Check, RunReport, Status
from transpile.verify.table import format_report

__all__ = [
    "AuditReport",
    "Auditor",
    "Check",
    "Expectation",
    "LaunchError",
    "RunReport",
    "Status",
    "audit",
    "format_report",
]
