"""The task of `musculo scale`, from its flags."""

from __future__ import annotations

import math
from dataclasses import fields, replace

from musculo.cli.commands.step_flags import ScaleFlags
from musculo.cli.exit_codes import WrongUsage
from musculo.cli.flag_tasks import preparation
from musculo.cli.flag_values import numbers_of, pairs_of, span_of
from musculo.errors import InvalidInput
from musculo.io.setup import ManualScale, ScaleSetup, read_setup, read_tasks
from musculo.io.setup.scale_setup import GenericModel, MarkerPlacer
from musculo.opensim_tools.tasks import ScaleTask


def scale_task(flags: ScaleFlags) -> ScaleTask:
    """A subject's model: measurements and order of a set-up file, factors by hand, markers of a static trial."""
    setup, static, mass, markers = flags.setup, flags.static, flags.mass, flags.markers
    factors = flags.factors or ()
    prepare = preparation(flags.fill_gaps, up=flags.up, zeros_as_gaps=flags.zeros_as_gaps, renames=flags.rename or ())
    if setup is None and static is None and mass is None and markers is None and not factors:
        raise WrongUsage(
            "nothing says how to scale; give --factors BODY=X,Y,Z, --setup with measurements, --static with a trial "
            "that places the markers, or --mass"
        )
    if mass is not None and not (math.isfinite(mass) and mass > 0.0):
        raise WrongUsage(f"--mass {mass:g}: give the mass of the whole subject, above zero [kg]")
    known = read_setup(setup) if setup is not None else ScaleSetup(flags.output.stem, placer=MarkerPlacer(apply=False))
    if not isinstance(known, ScaleSetup):
        raise InvalidInput(f"{setup} is not a set-up of the ScaleTool; give one, or --factors")
    manual = tuple(_manual(name, text) for name, text in pairs_of("--factors", factors))
    span = span_of(flags.time)
    scaler, placer = known.scaler, known.placer
    if manual:
        order = tuple(dict.fromkeys((*scaler.scaling_order, "manualScale")))
        kept = tuple(s for s in scaler.manual_scales if s.segment not in {m.segment for m in manual})
        scaler = replace(scaler, manual_scales=(*kept, *manual), scaling_order=order)
    if static is not None:
        # a range that no set-up states, and no flag, is the whole trial
        stated = [
            part.time_range if part.time_range[1] >= 0.0 and not flags.time else span for part in (scaler, placer)
        ]
        scaler = replace(scaler, marker_file=static, time_range=stated[0])
        placer = replace(placer, apply=True, marker_file=static, time_range=stated[1])
    if flags.tasks is not None:
        placer = replace(placer, tasks=read_tasks(flags.tasks))
    if flags.keep_mass:
        scaler = replace(scaler, preserve_mass_distribution=True)
    placer = replace(placer, output_model_file=flags.output if placer.apply else None)
    generic = known.generic_model
    own = {field.name: getattr(known, field.name) for field in fields(known)}
    return replace(
        ScaleTask(**own, preparation=prepare),
        mass=known.mass if mass is None else mass,
        generic_model=GenericModel(flags.model, markers or generic.marker_set_file),
        scaler=replace(scaler, output_model_file=None if placer.apply else flags.output),
        placer=placer,
        source=f"scale_{flags.output.stem}",
    )


def _manual(body: str, text: str) -> ManualScale:
    x, y, z = numbers_of(f"--factors {body}=", text, 3)
    if min(x, y, z) <= 0.0:
        raise WrongUsage(f"--factors {body}={text}: give numbers above zero")
    return ManualScale(body, (x, y, z))
