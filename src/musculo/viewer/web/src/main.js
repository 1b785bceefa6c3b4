// Starts the viewer on the scene that the page brings along.
import { element } from "./element.js";
import { NoWebGL } from "./stage.js";
import { Viewer } from "./viewer.js";

const root = document.getElementById("musculo-viewer");

window.musculoViewer = (async () => {
  try {
    const scene = JSON.parse(document.getElementById("musculo-scene").textContent);
    document.title = scene.title ? `${scene.title} · musculo` : "musculo";
    return await Viewer.mount(root, scene);
  } catch (error) {
    const say = (words) => root.replaceChildren(element("p", { class: "mv-failed", role: "alert" }, words));
    if (error instanceof NoWebGL) {
      say(`${error.message}, so this scene cannot be drawn. Turn on graphics acceleration in the browser's settings, or open this page in another browser.`);
      return null;
    }
    say(`This scene cannot be drawn: ${error.message}. A browser of 2023 or newer with WebGL is needed.`);
    throw error;
  }
})();
