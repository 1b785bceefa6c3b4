"""One object of any class in a small model file: what OpenSim prints of it, with what it must name filled in."""

from __future__ import annotations

import re

from lxml import etree

# What objects name in the model below, by property.
_NAMED = {
    "socket_parent_frame": "/bodyset/a",
    "socket_child_frame": "/bodyset/b",
    "socket_frame": "/bodyset/a",
    "socket_frame1": "/bodyset/a",
    "socket_frame2": "/bodyset/b",
    "socket_body": "/bodyset/a",
    "socket_body1": "/bodyset/a",
    "socket_body2": "/bodyset/b",
    "socket_body_1": "/bodyset/a",
    "socket_body_2": "/bodyset/b",
    "socket_line_body": "/bodyset/a",
    "socket_follower_body": "/bodyset/b",
    "socket_rolling_body": "/bodyset/a",
    "socket_surface_body": "/ground",
    "socket_parent": "/bodyset/a",
    "socket_coordinate": "/jointset/base/q",
    "socket_x_coordinate": "/jointset/base/q",
    "socket_y_coordinate": "/jointset/base/q",
    "socket_z_coordinate": "/jointset/base/q",
    "socket_sphere": "/contactgeometryset/ball",
    "socket_half_space": "/contactgeometryset/floor",
    "coordinate": "q",
    "independent_coordinate_names": "q",
    "dependent_coordinate_name": "w",
    "body": "a",
    "bodyA": "a",
    "bodyB": "b",
    "body1": "a",
    "body2": "b",
    "wrap_object": "drum",
    "mass": "1",
    "inertia": "1 1 1 0 0 0",
    "half_order": "2",
    "dimension": "1",
    "order": "2",
    "expression": "1",
    "filename": "shape.obj",
    "geometry": "ball floor",
    "function": "<Sine/>",
    "coupled_coordinates_function": "<LinearFunction><coefficients>1 0</coefficients></LinearFunction>",
}
# The same properties with another value that can be read.
_OTHER = {
    **{tag: "/bodyset/c" for tag in _NAMED if tag.startswith(("socket_frame", "socket_body", "socket_child"))},
    **{f"socket_{name}": "/bodyset/c" for name in ("parent_frame", "line_body", "follower_body", "parent")},
    **{f"socket_{name}coordinate": "/jointset/base/w" for name in ("", "x_", "y_", "z_")},
    "socket_sphere": "/contactgeometryset/ball2",
    "socket_half_space": "/contactgeometryset/floor2",
    "coordinate": "w",
    "independent_coordinate_names": "w",
    "dependent_coordinate_name": "q",
    **dict.fromkeys(("body", "bodyA", "bodyB", "body1", "body2"), "c"),
    "wrap_object": "drum2",
    "inertia": "2 2 2 0 0 0",
    "half_order": "1",
    "dimension": "2",
    "order": "1",
    "filename": "other.obj",
    "coordinates": "w",
    "axis": "0.5 1 0.25",
    "quadrant": "x",
    "method": "axial",
    "x": "0 1 2 5",
    "gravity": "1 2 3",
}
_FUNCTION = "<Constant><value>0.7</value></Constant>"
_POINTS = (
    '<PathPoint name="p"><socket_parent_frame>/ground</socket_parent_frame></PathPoint>'
    '<PathPoint name="r"><socket_parent_frame>/bodyset/a</socket_parent_frame><location>0.1 0.2 0</location>'
    "</PathPoint>"
)
_PATH = f'<GeometryPath name="path"><PathPointSet><objects>{_POINTS}</objects></PathPointSet></GeometryPath>'
_BODIES = "".join(
    f'<Body name="{name}"><mass>1</mass><inertia>1 1 1 0 0 0</inertia><WrapObjectSet><objects>{wraps}</objects>'
    "</WrapObjectSet></Body>"
    for name, wraps in (("a", '<WrapSphere name="drum"/><WrapSphere name="drum2"/>'), ("b", ""), ("c", ""))
)
_BASE = (
    '<UniversalJoint name="base"><socket_parent_frame>/ground</socket_parent_frame><socket_child_frame>/bodyset/a'
    '</socket_child_frame><coordinates><Coordinate name="q"/><Coordinate name="w"/></coordinates></UniversalJoint>'
)
_SHAPES = "".join(
    f'<{kind} name="{name}"><socket_frame>/bodyset/{body}</socket_frame>{rest}</{kind}>'
    for kind, name, body, rest in (
        ("ContactSphere", "ball", "a", "<radius>0.1</radius>"),
        ("ContactSphere", "ball2", "b", "<radius>0.1</radius>"),
        ("ContactHalfSpace", "floor", "b", ""),
        ("ContactHalfSpace", "floor2", "c", ""),
    )
)


def sample(kind: str, printed: str) -> etree._Element:
    """An object of a class with every property stated, from what OpenSim prints of its default."""
    plain = re.sub(r"(</?\w+)::(?=\w)", r"\1-colons-", printed)
    element = etree.fromstring(plain, etree.XMLParser(remove_comments=True, remove_blank_text=True))
    element.set("name", "sample")
    for tag, words in _NAMED.items():
        found = element.find(tag)
        if found is not None and not (tag == "coordinate" and kind == "TransformAxis"):
            found.clear()
            for inner in etree.fromstring(f"<_>{words}</_>") if words.startswith("<") else ():
                found.append(inner)
            found.text = None if words.startswith("<") else words
    _fill(kind, element)
    return element


def _fill(kind: str, element: etree._Element) -> None:
    """Lists that OpenSim prints empty."""
    for tag, words in (("x", "0 1 2 3"), ("y", "0 1 4 2")):
        found = element.find(tag)
        if found is not None:
            found.text = words
    path = element.find("GeometryPath")
    if path is not None:
        element.replace(path, etree.fromstring(_PATH))
    coefficients = element.find("coefficients")
    if coefficients is not None:
        coefficients.text = "1 2 3"
    if kind == "TransformAxis":
        element.find("coordinates").text = "q"
        for function in element.xpath("*[@name='function']"):
            element.remove(function)
        element.append(etree.fromstring(f"<function>{_FUNCTION}</function>"))
    for tag in [child.tag for child in element]:
        found = element.find(tag)
        optional_function = tag.endswith(("_function", "_location")) and not len(found) and not found.text
        if optional_function:
            found.append(etree.fromstring(_FUNCTION))
    for found in element:
        if found.tag.endswith("ContactParametersSet"):
            one = found.tag.removesuffix("Set")
            found.find("objects").append(etree.fromstring(f"<{one}><geometry>ball floor</geometry></{one}>"))
    for found in element.findall("FunctionSet"):
        found.find("objects").extend(etree.fromstring(f"<_>{_FUNCTION * 3}</_>")[:])
    for found in element:
        if "radii" in found.tag:
            found.text = "0.1 0.2 0.3"
        elif found.tag == "radius" and found.text == "0":
            found.text = "0.1"
    for found in element.iter():
        if found.text in ("NaN", "nan"):  # what a file must state
            found.text = "0.5"


def other_value(leaf: etree._Element) -> str:
    """Another value of a property that can be read, too."""
    if leaf.tag in _OTHER:
        return _OTHER[leaf.tag]
    words = (leaf.text or "").split()
    if words in (["true"], ["false"]):
        return "false" if words == ["true"] else "true"
    try:
        values = [float(word) for word in words]
    except ValueError:
        return "w"
    if leaf.tag == "range" and len(values) == 2:
        return f"{values[0] + 1} {values[1] + 1}"
    return " ".join("0.75" if abs(v) == float("inf") else repr(0.9 * v + 0.03) for v in values)


def model_with(kind: str, bases: list[str], element: etree._Element) -> str:
    """A model file that holds the object where objects of its class stand."""
    own = etree.tostring(element, encoding="unicode").replace("-colons-", "::")
    parts = dict.fromkeys(("bodies", "joints", "forces", "constraints", "shapes", "probes", "controllers", "rest"), "")
    parts |= {"bodies": _BODIES, "joints": _BASE, "shapes": _SHAPES, "markers": ""}
    if kind == "Model":
        own = own.replace("</Model>", "")
        start = own.index(">") + 1
        inner = re.sub(
            r"<(BodySet|JointSet|ContactGeometrySet)\b.*?</\1>|<\w+Set><objects/><groups/></\w+Set>", "", own[start:]
        )
        return _document({**parts, "rest": inner}, own[:start])
    if kind == "Ground":
        parts["rest"] = own.replace('name="sample"', 'name="ground"')
    elif kind == "Body":
        parts["bodies"] += own
    elif kind == "Marker":
        parts["markers"] = own
    elif "Joint" in bases:
        parts["joints"] += re.sub(r'name="_coord_(\d)"', r'name="own\1"', own)
    elif kind == "Coordinate":
        parts["joints"] += (
            '<PinJoint name="next"><socket_parent_frame>/bodyset/a</socket_parent_frame><socket_child_frame>/bodyset/b'
            f"</socket_child_frame><coordinates>{own}</coordinates></PinJoint>"
        )
    elif kind in ("SpatialTransform", "TransformAxis"):
        inner = (
            own
            if kind == "SpatialTransform"
            else ("<SpatialTransform>" + own.replace('name="sample"', 'name="rotation1"') + "</SpatialTransform>")
        )
        parts["joints"] += (
            '<CustomJoint name="next"><socket_parent_frame>/bodyset/a</socket_parent_frame><socket_child_frame>'
            '/bodyset/b</socket_child_frame><coordinates><Coordinate name="k"/></coordinates>'
            f"{inner.replace('>q<', '>k<')}</CustomJoint>"
        )
    elif "Constraint" in bases:
        parts["constraints"] = own
    elif "Force" in bases:
        parts["forces"] = own
    elif "ContactGeometry" in bases:
        parts["shapes"] += own
    elif "WrapObject" in bases:
        parts["bodies"] = parts["bodies"].replace("<WrapSphere", own + "<WrapSphere", 1)
    elif "AbstractPathPoint" in bases:
        parts["forces"] = _spring(_PATH.replace("</objects>", own + "</objects>"))
    elif kind == "PathWrap":
        parts["forces"] = _spring(
            _PATH.replace("</GeometryPath>", f"<PathWrapSet><objects>{own}</objects></PathWrapSet></GeometryPath>")
        )
    elif "AbstractGeometryPath" in bases:
        parts["forces"] = _spring(own.replace('name="sample"', 'name="path"'))
    elif kind.endswith("Curve") and "Function" in bases:
        parts["forces"] = f'<Millard2012EquilibriumMuscle name="m">{_PATH}{own}</Millard2012EquilibriumMuscle>'
    elif "Function" in bases:
        parts["joints"] = parts["joints"].replace(
            '<Coordinate name="q"/>',
            f'<Coordinate name="q"><prescribed_function>{own}</prescribed_function></Coordinate>',
        )
    elif kind.endswith("::ContactParameters"):
        force = kind.split("::")[0]
        parts["forces"] = f'<{force} name="f"><{kind}Set><objects>{own}</objects></{kind}Set></{force}>'
    elif kind.endswith("::ContactParametersSet"):
        force = kind.split("::")[0]
        parts["forces"] = f'<{force} name="f">{own}</{force}>'
    elif "Probe" in bases:
        parts["probes"] = own
    elif "Controller" in bases:
        parts["controllers"] = own
    elif kind == "PathPointSet":
        parts["forces"] = _spring(
            f'<GeometryPath name="path">{own}</GeometryPath>'.replace("<objects/>", f"<objects>{_POINTS}</objects>")
        )
    elif kind == "PathWrapSet":
        parts["forces"] = _spring(_PATH.replace("</GeometryPath>", f"{own}</GeometryPath>"))
    elif kind == "FunctionSet":
        parts["forces"] = (
            '<PrescribedForce name="f"><socket_frame>/bodyset/a</socket_frame>'
            + own.replace('name="sample"', 'name="forceFunctions"')
            + "</PrescribedForce>"
        )
    elif kind == "WrapObjectSet":
        parts["bodies"] = parts["bodies"].replace("<WrapObjectSet><objects></objects></WrapObjectSet>", own, 1)
    elif kind.endswith("Set"):
        return _set_of_the_model(kind, own, parts)
    else:
        parts["rest"] = f"<components>{own}</components>"
    return _document(parts)


def _spring(path: str) -> str:
    numbers = "<resting_length>1</resting_length><stiffness>1</stiffness><dissipation>0</dissipation>"
    return f'<PathSpring name="f">{path}{numbers}</PathSpring>'


_SETS = {
    "BodySet": "bodies",
    "JointSet": "joints",
    "ConstraintSet": "constraints",
    "ForceSet": "forces",
    "MarkerSet": "markers",
    "ContactGeometrySet": "shapes",
    "ProbeSet": "probes",
    "ControllerSet": "controllers",
}


def _set_of_the_model(kind: str, own: str, parts: dict[str, str]) -> str:
    members = parts.get(_SETS.get(kind, ""), "")
    extra = own[own.index(">") + 1 : own.rindex("</")].replace("<objects/>", "")
    whole = _document(parts)
    empty = f"<{kind}><objects>{members}</objects></{kind}>"
    if empty in whole:
        return whole.replace(empty, f"<{kind}><objects>{members}</objects>{extra}</{kind}>")
    return whole.replace("</Model>", f"<{kind}><objects/>{extra}</{kind}></Model>")


def _document(parts: dict[str, str], start: str = '<Model name="m">') -> str:
    sets = "".join(f"<{kind}><objects>{parts[part]}</objects></{kind}>" for kind, part in _SETS.items())
    return f'<OpenSimDocument Version="40600">{start}{sets}{parts["rest"]}</Model></OpenSimDocument>'
