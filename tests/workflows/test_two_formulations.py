"""`musculo id --check`: both formulations agree, and a defect in one of them would be seen."""

from __future__ import annotations

from typer.testing import CliRunner

from musculo.absolute import two_formulations
from musculo.absolute.multiplier_dynamics import loads_by_multipliers
from musculo.cli.exit_codes import GOOD, NOT_GOOD
from musculo.cli.main import app
from musculo.demo import ARM_FILE, ARM_FLEXION_FILE


def checked(folder, *more):
    words = ["id", str(ARM_FILE), str(ARM_FLEXION_FILE), "--check", "--force", "-o", str(folder), *more]
    result = CliRunner().invoke(app, words)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_both_agree(tmp_path):
    result = checked(tmp_path)
    assert result.exit_code == GOOD
    assert "both formulations agree to " in result.stdout
    assert "both formulations agree to " in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_defect_is_seen(tmp_path, monkeypatch):
    def off(*arguments, **options):
        found = loads_by_multipliers(*arguments, **options)
        found.tau[:, 0] *= 1.0 + 1e-6
        return found

    monkeypatch.setattr(two_formulations, "loads_by_multipliers", off)
    result = checked(tmp_path, "--strict")
    assert result.exit_code == NOT_GOOD
    assert "one of them is wrong" in result.stdout
