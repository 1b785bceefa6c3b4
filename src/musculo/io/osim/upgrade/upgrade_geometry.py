"""What old documents draw, brought to the 40600 layout, so that nothing is lost when it is written again."""

from __future__ import annotations

from lxml import etree

from musculo.io.osim.xml import Element, drop, ensure, exact_all, objects, put, text, vector, whole

_ONES = (1.0, 1.0, 1.0)


def upgrade_geometry(model: Element) -> None:
    """`VisibleObject` of bodies becomes meshes attached to them; elsewhere it draws nothing and is dropped."""
    ground = model.find("Ground")
    frames = [*([] if ground is None else [ground]), *objects(model, "BodySet")]
    for frame in frames:
        visible = frame.find("VisibleObject")
        if visible is not None:
            _attach_meshes(frame, visible)
    for wrap_set in list(model.iter("WrapObjectSet")):
        for wrap in wrap_set.iterfind("objects/*"):
            _upgrade_wrap_look(wrap)
    for visible in list(model.iter("VisibleObject")):
        drop(visible)


def _attach_meshes(frame: Element, visible: Element) -> None:
    body = frame.get("name", "ground")
    scale = vector(visible, "scale_factors", 3, _ONES)
    for index, file in enumerate(text(visible, "geometry_files").split()):
        _add_mesh(ensure(frame, "attached_geometry"), f"{body}_geom_{index}", file, scale)
    for count, shape in enumerate(visible.iterfind("GeometrySet/objects/DisplayGeometry"), start=1):
        own = vector(shape, "scale_factors", 3, _ONES)
        transform = vector(shape, "transform", 6, (0.0,) * 6)
        holder = frame
        if any(transform):
            holder = etree.SubElement(
                ensure(frame, "components"), "PhysicalOffsetFrame", name=f"{body}_geom_frame_{count}"
            )
            put(holder, "socket_parent", "..")
            put(holder, "translation", exact_all(transform[3:]))
            put(holder, "orientation", exact_all(transform[:3]))
        mesh = _add_mesh(
            ensure(holder, "attached_geometry"),
            f"{body}_geom_{count}",
            text(shape, "geometry_file"),
            tuple(a * b for a, b in zip(scale, own, strict=True)),
        )
        look = etree.SubElement(mesh, "Appearance")
        for tag in ("opacity", "color"):
            if text(shape, tag):
                put(look, tag, text(shape, tag))
        if whole(shape, "display_preference", 4) == 0:
            put(look, "visible", "false")


def _add_mesh(holder: Element, name: str, file: str, scale: tuple[float, ...]) -> Element:
    mesh = etree.SubElement(holder, "Mesh", name=name)
    put(mesh, "socket_frame", "..")
    put(mesh, "scale_factors", exact_all(scale))
    put(mesh, "mesh_file", file)
    return mesh


def _upgrade_wrap_look(wrap: Element) -> None:
    """`display_preference` and `color` of old wrap objects are one Appearance now."""
    old = {tag: wrap.find(tag) for tag in ("display_preference", "color")}
    if all(element is None for element in old.values()):
        return
    if wrap.find("Appearance") is None:
        look = etree.SubElement(wrap, "Appearance")
        if whole(wrap, "display_preference", 4) == 0:
            put(look, "visible", "false")
        put(look, "opacity", "0.5")
        if text(wrap, "color"):
            put(look, "color", text(wrap, "color"))
    for element in old.values():
        drop(element)
