"""The viewer's page in a real browser: it draws the pose that Python computes, plays, and fetches nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from musculo import Markers, Table, demo, kinematics, muscle_geometry, view
from support.browser import Page, browser, chromium

# Shades differ by lighting; bone, muscle and background differ by far more than this [of 255].
SAME_COLOUR = 12


@pytest.fixture(scope="module")
def chrome():
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def flexion_file(tmp_path_factory):
    """The demo's arm, its elbow flexing, with made-up activations."""
    model, motion = demo.arm(), demo.arm_flexion()
    activation = np.linspace(0.0, 1.0, len(motion))[:, None] * np.ones(len(model.muscles))
    file = tmp_path_factory.mktemp("viewer") / "arm.html"
    view(model, motion, activation=activation, path=file)
    return file


@pytest.fixture
def flexion(chrome, flexion_file):
    page = Page(chrome, flexion_file)
    yield page
    page.close()


def bone_point(model, q):
    """The mass centre of the forearm in ground, which lies inside the bone that is drawn."""
    return kinematics(model, q).position("forearm", model.body("forearm").mass_center)


def test_page_opens_without_a_complaint_or_a_request(flexion):
    flexion.viewer("v.drawNow();")
    assert flexion.page.title() == "arm · musculo"
    assert flexion.page.locator("canvas").count() == 1
    assert flexion.complaints == []


@pytest.mark.parametrize("fraction", [0.0, 1.0])
def test_the_bone_is_where_kinematics_says(flexion, fraction):
    """Bone colour at the forearm's mass centre, background beside it; the pose is Python's, the picture the page's."""
    model, motion = demo.arm(), demo.arm_flexion()
    q = motion.coordinates(model)[int(fraction * (len(motion) - 1))]
    bone = bone_point(model, q)
    show = """v.player.seek(x[0] * v.player.span); v.stage.ground.visible = false; v.reset("side");
              v.drawNow(); await new Promise((done) => setTimeout(done, 300)); v.drawNow();
              return v.project(x[1]);"""
    place = flexion.viewer(show, [fraction, bone.tolist()])
    back = np.array([0xEE, 0xF1, 0xF4])
    on_bone = flexion.colours(place["x"], place["y"])
    beside = flexion.colours(place["x"] - 60, place["y"] + 40)
    assert np.abs(beside - back).max() <= SAME_COLOUR
    assert np.abs(on_bone - back).min(axis=0).max() > 2 * SAME_COLOUR
    red, blue = on_bone[:, 0].mean(), on_bone[:, 2].mean()
    assert red > blue  # ivory, not the bluish background


def test_muscles_are_drawn_along_their_paths(flexion):
    """The page's points of a muscle are those of Python's path, and a muscle's colour is at its middle."""
    model, motion = demo.arm(), demo.arm_flexion()
    q = motion.coordinates(model)
    frame = 60
    expected, _ = muscle_geometry(model, q[frame]).path_points.of("brachialis")
    drawn = flexion.viewer(
        """v.player.seek(v.times[x]); const m = v.scene.muscles; const k = m.names.indexOf("brachialis");
           return [...v.rows.points.slice(3 * m.first[k], 3 * m.first[k + 1])];""",
        frame,
    )
    drawn = np.reshape(drawn, (-1, 3))
    steps = 1.0 / 65534  # of the extent of all paths, below 1 m here
    for point in expected:
        assert np.linalg.norm(drawn - point, axis=1).min() < 2 * steps


def test_play_moves_and_pause_stops(flexion):
    page = flexion.page
    # a fifth of the way the elbow turns quickly
    before = flexion.viewer("v.player.seek(0.2); return v.bodies[2].quaternion.toArray();")
    page.keyboard.press("Space")
    flexion.viewer(
        """const end = performance.now() + x;
           const waiting = () => Math.abs(v.player.at - 0.2) < 0.03 && performance.now() < end;
           while (waiting()) await new Promise(requestAnimationFrame);""",
        20_000,
    )
    page.keyboard.press("Space")
    after = flexion.viewer("return [v.player.playing, v.player.at, v.bodies[2].quaternion.toArray()];")
    assert after[0] is False
    assert not np.allclose(before, after[2], atol=1e-3)
    assert flexion.viewer("return v.player.at;") == after[1]
    assert flexion.complaints == []


def test_keys_step_frames(flexion):
    page = flexion.page
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert flexion.viewer("return v.player.place();") == {"i": 1, "share": 0}
    page.keyboard.press("End")
    assert flexion.viewer("return v.player.place().i === v.times.length - 1;")


def test_click_on_a_muscle_shows_its_curve_with_a_moving_cursor(chrome, flexion_file):
    flexion = Page(chrome, flexion_file, width=1000)  # the muscle is beside the cards, not under them
    page = flexion.page
    assert page.locator(".mv-plot").is_hidden()
    place = flexion.viewer(
        """v.player.seek(0.3); v.drawNow(); await new Promise((done) => setTimeout(done, 300)); v.drawNow();
           const k = v.scene.muscles.names.indexOf("biceps_long");
           return v.project([...v.tubes.middle.slice(3 * k, 3 * k + 3)]);"""
    )
    page.mouse.click(place["x"], place["y"])
    chosen = page.locator(".mv-plot strong").text_content()
    assert chosen in demo.arm().muscle_names  # another muscle may lie in front
    assert page.locator("[data-plot] path").get_attribute("d").count("L") == len(demo.arm_flexion()) - 1
    cursor = page.locator("[data-plot] .mv-cursor")
    before = float(cursor.get_attribute("x1"))
    page.keyboard.press("End")
    assert float(cursor.get_attribute("x1")) > before
    # activations rise to one, as they were given
    assert page.locator(".mv-value").text_content() == "1"
    page.keyboard.press("Escape")
    assert page.locator(".mv-plot").is_hidden()
    flexion.close()


def test_search_and_choose_a_coordinate(chrome, flexion_file):
    page = Page(chrome, flexion_file, width=1000)
    page.page.locator("input[type=search]").fill("elb flex")
    names = page.page.locator(".mv-names button:visible")
    assert names.all_text_contents() == ["elbow_flexion"]
    names.first.click()
    assert page.page.locator(".mv-plot strong").text_content() == "elbow_flexion"
    page.viewer("v.player.seek(v.player.span);")
    assert page.page.locator(".mv-value").text_content() == "90 °"
    page.close()


def test_activation_colours_muscles(flexion):
    """From blue to amber: with activation, red grows and blue does not."""
    low, high = (
        flexion.viewer("v.player.seek(x * v.player.span); return [...v.tubes.colour.slice(0, 3)];", share)
        for share in (0.0, 1.0)
    )
    assert high[0] > low[0] + 0.3
    assert low[2] > low[0]
    assert high[2] < high[0]


def test_names_from_files_are_text(chrome, tmp_path):
    """Markup in names is shown as it stands, and does not run."""
    evil = "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"
    model = demo.arm()
    forces = tuple(replace(f, name=evil) if f.name == "brachialis" else f for f in model.forces)
    model = model.replace(name="</script><script>window.ran = 1</script>", forces=forces)
    file = tmp_path / "evil.html"
    view(model, path=file)
    page = Page(chrome, file, width=1000)
    page.viewer("v.choose(v.list.find('muscle', x)); v.drawNow();", evil)
    assert page.page.evaluate("window.ran") is None
    assert page.page.locator(".mv-plot strong").text_content() == evil
    assert page.page.locator("h1").text_content() == model.name
    assert page.page.locator("img").count() == 0
    assert page.complaints == []
    page.close()


def test_dark_and_light(chrome, flexion_file):
    """The page follows the reader's setting; a key changes it."""
    page = Page(chrome, flexion_file, color_scheme="dark")
    corner = (600, 240)
    page.viewer("v.drawNow();")
    assert page.colours(*corner).mean() < 60
    page.page.keyboard.press("d")
    page.viewer("v.drawNow();")
    assert page.colours(*corner).mean() > 200
    page.close()


def test_one_pose_and_a_model_without_muscles(chrome, tmp_path):
    model = demo.arm().replace(forces=())
    file = tmp_path / "bare.html"
    view(model, path=file)
    page = Page(chrome, file)
    page.viewer("v.drawNow();")
    assert page.page.locator(".mv-player").is_hidden()
    assert page.complaints == []
    page.close()


def test_a_scene_inside_another_page(chrome, tmp_path):
    """As the report and notebooks show it: in a frame of its own, without rights over the page around it."""
    file = tmp_path / "report.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><body>{view(demo.arm()).iframe(300)}</body>", encoding="utf-8")
    page = Page(chrome, file)
    inner = page.page.frame_locator("iframe")
    inner.locator("canvas").wait_for()
    assert inner.locator("h1").text_content() == "arm"
    assert page.complaints == []
    page.close()


LOWEST = """let low = Infinity; const at = new v.bones[0].position.constructor();
    for (const t of v.times) {
      v.player.seek(t); v.stage.scene.updateMatrixWorld(true);
      for (const bone of v.bones) {
        const p = bone.geometry.getAttribute("position");
        for (let k = 0; k < p.count; k++) {
          low = Math.min(low, at.fromBufferAttribute(p, k).applyMatrix4(bone.matrixWorld).y);
        }
      }
    }
    return [v.floor, v.stage.ground.position.y, low];"""


def test_the_floor_is_below_every_bone_in_every_frame(flexion):
    """The arm hangs from the origin: its hand is far below its joints and the points of its muscles."""
    floor, drawn, low = flexion.viewer(LOWEST)
    assert floor == drawn
    assert low - 0.1 < floor < low


def test_who_stands_on_the_ground_stands_on_zero(chrome, tmp_path):
    """Raised so that the lowest bone of all frames is a little below zero, as feet on a soft sole are."""
    model, motion = demo.arm().replace(forces=()), demo.arm_flexion()  # its muscles hang from a fixed shoulder blade
    file = tmp_path / "low.html"
    view(model, motion, path=file)
    page = Page(chrome, file)
    _, _, low = page.viewer(LOWEST)
    page.close()
    x, y, z = model.joints[0].parent.translation
    raised = {"ground": (x, y - low - 0.005, z)}
    joints = tuple(
        replace(j, parent=replace(j.parent, translation=raised.get(j.parent.body, j.parent.translation)))
        for j in model.joints
    )
    view(model.replace(joints=joints), motion, path=file)
    page = Page(chrome, file)
    floor, _, lifted = page.viewer(LOWEST)
    assert abs(lifted + 0.005) < 1e-4
    assert floor == 0
    page.close()


def test_without_webgl_the_page_says_so(chrome, flexion_file):
    started = chrome.browser_type.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-3d-apis"])
    page = Page(started, flexion_file)
    assert page.page.locator("[role=alert]").text_content().startswith("WebGL is off in this browser")
    assert page.complaints == []
    started.close()


def test_opens_where_activations_begin_and_explains_grey(chrome, flexion_file, tmp_path):
    model, motion = demo.arm(), demo.arm_flexion()
    begin = 20
    rows = slice(begin, None)
    values = np.full((len(motion) - begin, len(model.muscles)), 0.5)
    file = tmp_path / "late.html"
    view(model, motion, activation=Table(motion.time[rows], model.muscle_names, values), path=file)
    page = Page(chrome, file)
    assert page.viewer("return v.player.place();") == {"i": begin, "share": 0}
    assert "grey: no data" in page.page.locator(".mv-legend").text_content()
    page.close()
    whole = Page(chrome, flexion_file)
    assert whole.viewer("return v.player.at;") == 0
    assert "grey" not in whole.page.locator(".mv-legend").text_content()
    whole.close()


def test_the_legend_names_only_what_is_drawn(chrome, tmp_path):
    model, motion = demo.arm(), demo.arm_flexion()
    file = tmp_path / "markers.html"
    position = np.zeros((len(motion), 1, 3))
    for name, time, expected in (
        (model.marker_names[0], motion.time, ("measured", "model marker", "distance")),
        ("C7", motion.time, ("measured", "model marker")),
        (model.marker_names[0], motion.time + 100.0, ()),
    ):
        view(model, motion, markers=Markers(time, (name,), position), path=file)
        page = Page(chrome, file)
        words = page.page.locator(".mv-legend").text_content()
        assert tuple(word for word in ("measured", "model marker", "distance") if word in words) == expected
        page.close()


def test_help_by_key(flexion):
    help_card = flexion.page.locator(".mv-help")
    assert help_card.is_hidden()
    flexion.page.keyboard.press("?")
    assert help_card.is_visible()
    flexion.page.keyboard.press("Escape")
    assert help_card.is_hidden()


def test_the_curve_of_one_frame_has_no_time_and_ticks_that_differ(chrome, tmp_path):
    model = demo.arm()
    file = tmp_path / "one.html"
    view(model, Table([3.0], model.coordinate_names, np.full((1, len(model.coordinates)), 0.2283)), path=file)
    page = Page(chrome, file)
    page.viewer("v.choose(v.list.find('coordinate', 'elbow_flexion'));")
    ticks = page.page.locator("[data-plot] .mv-tick").all_text_contents()
    assert len(ticks) == len(set(ticks)) > 1
    assert not any("s" in tick for tick in ticks)
    assert page.page.locator(".mv-value").text_content() == "13.08 °"
    page.close()


@pytest.mark.parametrize("focus", [".mv-toggles button", ".mv-names button", ".mv-play", "canvas", ".mv-player input"])
def test_space_plays_wherever_the_focus_is(chrome, flexion_file, focus):
    page = Page(chrome, flexion_file, 1200, 800)
    button = page.page.locator(focus).first
    button.focus()
    pressed = button.get_attribute("aria-pressed")
    page.page.keyboard.press(" ")
    assert page.viewer("return v.player.playing;")
    page.page.keyboard.press(" ")
    assert not page.viewer("return v.player.playing;")
    assert button.get_attribute("aria-pressed") == pressed
    page.close()


def test_the_force_of_a_muscle_is_a_curve(chrome, tmp_path):
    model, motion = demo.arm(), demo.arm_flexion()
    force = np.linspace(0.0, 300.0, len(motion))[:, None] * np.ones(len(model.muscles))
    view(model, motion, forces=Table(motion.time, model.muscle_names, force), path=tmp_path / "a.html")
    page = Page(chrome, tmp_path / "a.html", 1200, 800)
    shown = page.viewer(
        """v.choose(v.list.find("muscle", "brachialis"));
           const one = v.selected.series.find((s) => s.quantity === "force");
           return [one.unit, one.values.values[0], one.values.values[one.values.values.length - 1]];"""
    )
    assert shown[0] == "N"
    np.testing.assert_allclose(shown[1:], [0.0, 300.0], atol=300.0 / 65534)
    page.page.get_by_role("button", name="force").click()
    assert "force over time" in page.page.locator(".mv-plot svg").get_attribute("aria-label")
    page.close()


def test_a_picture_is_saved_in_twice_the_pixels(chrome, flexion_file):
    page = Page(chrome, flexion_file, 640, 480)
    page.viewer("v.showList(false); v.drawNow();")
    with page.page.expect_download() as saved:
        page.page.keyboard.press("p")
    assert saved.value.suggested_filename == "arm.png"
    content = saved.value.path().read_bytes()
    size = [int.from_bytes(content[at : at + 4], "big") for at in (16, 20)]
    assert size == [2 * n for n in page.viewer("return [v.area.clientWidth, v.area.clientHeight];")]
    assert page.complaints == []
    page.close()


def test_a_video_is_saved(chrome, flexion_file):
    page = Page(chrome, flexion_file, 320, 240)
    page.viewer("v.player.speed = 2;")
    with page.page.expect_download() as saved:
        page.page.keyboard.press("v")
    assert saved.value.suggested_filename == "arm.webm"
    assert saved.value.path().read_bytes()[:4] == b"\x1a\x45\xdf\xa3"
    assert not page.viewer("return v.player.playing;")
    assert page.complaints == []
    page.close()


def test_a_browser_without_recording_says_so(chrome, flexion_file):
    page = Page(chrome, flexion_file, 640, 480)
    page.page.evaluate("() => { delete window.MediaRecorder; }")
    page.page.keyboard.press("v")
    assert "cannot record a video" in page.page.locator(".mv-help").inner_text()
    page.close()


def test_nothing_covers_the_buttons_of_a_phone(chrome, flexion_file):
    """Neither the head, nor the list of names, nor the help: each button is what a finger meets at its middle."""
    page = Page(chrome, flexion_file, 390, 800)
    tab = page.page
    tab.wait_for_selector("canvas")
    covered = """() => [...document.querySelectorAll('.mv-tools button')].filter((button) => {
        const box = button.getBoundingClientRect();
        const corners = [[box.left + 2, box.top + 6], [box.right - 2, box.bottom - 6]];
        return corners.some(([x, y]) => document.elementFromPoint(x, y)?.closest('button') !== button);
    }).length"""
    overlaps = """() => document.querySelector('.mv-head').getBoundingClientRect().right
        - document.querySelector('.mv-tools').getBoundingClientRect().left"""
    page.viewer("v.showList(false);")
    assert tab.evaluate(overlaps) <= 0
    assert tab.evaluate(covered) == 0
    page.viewer("v.showList(true);")
    assert tab.evaluate(covered) == 0
    tab.keyboard.press("?")
    assert tab.evaluate(covered) == 0
    page.close()
