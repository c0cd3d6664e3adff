// What the page does beside viser's own client: see page_script.py.  Runs again after each reconnection.
const own = (window.exoskel ??= {});
own.channel = CHANNEL;
document.title = TITLE;
own.report?.();
if (own.send) return;

const viser = () => window.__viserMutable;
let sent = 0;
own.send = (action, value = "") =>
  viser()?.sendMessage?.({
    type: "GuiUpdateMessage",
    uuid: own.channel,
    updates: { value: JSON.stringify([`${++sent} ${Math.random()}`, action, String(value)]) },
  });

const style = document.createElement("style");
style.textContent = `
#exoskel-tree { font-size: 0.82em; line-height: 1.6; margin: 0 0.75em 0.5em; max-height: 38vh; overflow: auto; }
#exoskel-tree [role=treeitem] { display: flex; align-items: baseline; gap: 0.3em; cursor: pointer; border-radius: 3px;
  white-space: nowrap; }
#exoskel-tree [role=treeitem]:hover { background: rgba(128, 128, 128, 0.14); }
#exoskel-tree [aria-selected=true] { background: rgba(59, 120, 168, 0.22); }
#exoskel-tree .exoskel-fold { width: 0.9em; flex: none; opacity: 0.6; }
#exoskel-tree .exoskel-name { overflow: hidden; text-overflow: ellipsis; min-width: 3em; }
#exoskel-tree .exoskel-name.model { font-weight: 600; }
#exoskel-tree .exoskel-joint { margin-left: auto; padding: 0 0.4em; opacity: 0.65; overflow: hidden;
  text-overflow: ellipsis; flex-shrink: 3; min-width: 2.5em; border-radius: 3px; }
#exoskel-tree .exoskel-joint:hover { text-decoration: underline; }
#exoskel-tree .exoskel-joint[data-chosen=True] { opacity: 1; font-weight: 600; }
[role=tablist]:has([role=tab]:nth-of-type(6)) [role=tab] {
  font-size: 0.8rem !important; padding: 0.7em 0.45em !important; }
@media (max-width: 640px) {
  [role=tablist] { flex-wrap: nowrap !important; overflow-x: auto; scrollbar-width: none; }
  [role=tab] { font-size: 0.75rem !important; padding: 0.6em 0.45em !important; }
}
.exoskel-buttons { display: flex; gap: 0.375em; padding: 0 0.75em 0.5em; flex-wrap: wrap; }
.exoskel-buttons button { flex: 1; font: inherit; font-size: 0.75em; padding: 0.25em 0.7em; cursor: pointer;
  white-space: nowrap; color: #3b78a8; background: none; border: 1px solid #3b78a8; border-radius: 3px; }
.exoskel-buttons button:hover { background: rgba(59, 120, 168, 0.1); }
.exoskel-buttons button.recording { color: #d64545; border-color: #d64545; }
#exoskel-gizmo { position: fixed; left: 10px; bottom: 10px; width: 84px; height: 84px; z-index: 5; pointer-events: none; }
#exoskel-gizmo circle, #exoskel-gizmo text { pointer-events: auto; cursor: pointer; }
#exoskel-gizmo text { font: 600 9px sans-serif; fill: white; text-anchor: middle; dominant-baseline: central; }
`;
document.head.append(style);

// --- clicks -------------------------------------------------------------------------------------------
// viser has one throttle for all controls (makeThrottledMessageSender in its WebsocketUtils.ts): of three changes within
// 50 ms, the second is lost, even if they are changes of different controls.  Clicks come in such bursts when the page
// was busy.  So each click waits until the throttle is ready again.
const SPACING = 60;
const THROTTLED = "button, [role=option], input[type=checkbox], input[type=radio]";
const waiting = [];
let ready = 0;
let isOwn = false;
const pass = () => {
  const target = waiting.shift();
  isOwn = true;
  try {
    target.click();
  } finally {
    isOwn = false;
  }
  ready = performance.now() + SPACING;
  if (waiting.length) setTimeout(pass, SPACING);
};
window.addEventListener(
  "click",
  (event) => {
    const control = event.target.closest?.(THROTTLED);
    if (!control || isOwn || control.closest(".exoskel-buttons")) return;
    // Space and arrows are for the motion again after a control was clicked with the pointer.
    if (event.detail > 0 && control.matches("button")) control.blur();
    const now = performance.now();
    if (!waiting.length && now >= ready) {
      ready = now + SPACING;
      return;
    }
    event.stopImmediatePropagation();
    event.preventDefault();
    waiting.push(event.target);
    // All clicks before this one have been handled by now, so viser's throttle is ready before this timer ends.
    if (waiting.length === 1) setTimeout(pass, SPACING);
  },
  true,
);
// Handling a click may take long; the throttle counts from its end.
window.addEventListener("click", (event) => {
  if (event.target.closest?.(THROTTLED)) ready = performance.now() + SPACING;
});

const pageActions = { picture: () => takePicture(), record: () => toggleRecording(), plot: () => savePlot() };
document.addEventListener("click", (event) => {
  const found = event.target.closest?.("[data-exoskel]");
  if (!found) return;
  const { exoskel: action, value } = found.dataset;
  if (pageActions[action]) pageActions[action]();
  else own.send(action, value);
});

// --- keys ---------------------------------------------------------------------------------------------
// A focused control keeps its own keys; viser's camera does not move with the arrows, which step the motion.
const CONTROLS = "button, a, summary, input, textarea, select, [role=slider], [role=tab], [role=option]";
const isMotionKey = (event) => event.code === "Space" || event.code.startsWith("Arrow");
document.body.addEventListener("keydown", (event) => {
  if (isMotionKey(event) && event.target.closest?.(CONTROLS)) event.stopPropagation();
  const row = event.target.closest?.("[role=treeitem]");
  if (row && event.code === "Enter") row.click();
});
document.documentElement.addEventListener("keydown", (event) => {
  if (event.code.startsWith("Arrow")) event.stopPropagation();
});
// A tab that was clicked, not chosen with the keyboard, does not keep the keys.
window.addEventListener("click", (event) => event.detail && event.target.closest?.("[role=tab]")?.blur(), true);

// --- panels -------------------------------------------------------------------------------------------
// The server updates plots only while a page shows them.
let shownPanels = null;
own.report = () => {
  const found = [...document.querySelectorAll("[data-exoskel-panel]")].filter((one) => one.offsetParent);
  const shown = document.hidden ? "" : found.map((one) => one.dataset.exoskelPanel).join(" ");
  if (shown !== shownPanels) own.send("panels", (shownPanels = shown));
};
setInterval(own.report, 300);
let lastSelected = "";
new MutationObserver(() => {
  const tree = document.getElementById("exoskel-tree");
  if (!tree || tree.dataset.selected === lastSelected) return;
  lastSelected = tree.dataset.selected;
  const row = tree.querySelector("[aria-selected=true]");
  if (!row) return;
  const [inside, outside] = [row.getBoundingClientRect(), tree.getBoundingClientRect()];
  if (inside.top < outside.top || inside.bottom > outside.bottom) tree.scrollTop += inside.top - outside.top - 40;
}).observe(document.body, { childList: true, subtree: true });

// --- orientation and following ------------------------------------------------------------------------
const SVG = "http://www.w3.org/2000/svg";
const AXES = { x: [1, 0, 0, "#d64545"], y: [0, 1, 0, "#4c9a4c"], z: [0, 0, 1, "#3b78a8"] };
const gizmo = document.createElementNS(SVG, "svg");
gizmo.id = "exoskel-gizmo";
gizmo.setAttribute("viewBox", "-42 -42 84 84");
const arms = Object.entries(AXES).flatMap(([name, [x, y, z, color]]) =>
  [1, -1].map((sign) => {
    const group = document.createElementNS(SVG, "g");
    const axis = `${sign > 0 ? "+" : "-"}${name}`;
    group.dataset.exoskel = "axis";
    group.dataset.value = axis;
    group.innerHTML =
      (sign > 0 ? `<line stroke="${color}" stroke-width="2.5"/>` : "") +
      `<circle r="${sign > 0 ? 8 : 5}" fill="${color}" fill-opacity="${sign > 0 ? 1 : 0.35}"><title>look from ${axis}` +
      `</title></circle>` + (sign > 0 ? `<text>${name}</text>` : "");
    gizmo.append(group);
    return { group, direction: [sign * x, sign * y, sign * z] };
  }),
);
document.body.append(gizmo);

let drawn = "";
function drawGizmo(camera, root) {
  const turn = camera.quaternion.clone().invert().multiply(root.getWorldQuaternion(camera.quaternion.clone()));
  const state = turn.toArray().map((one) => one.toFixed(3)).join();
  if (state === drawn) return;
  drawn = state;
  for (const arm of arms) arm.at = camera.position.clone().set(...arm.direction).applyQuaternion(turn);
  for (const { group, at } of [...arms].sort((a, b) => a.at.z - b.at.z)) {
    const [x, y] = [30 * at.x, -30 * at.y];
    for (const part of group.children) {
      const names = { line: ["x2", "y2"], circle: ["cx", "cy"], text: ["x", "y"] }[part.tagName];
      part.setAttribute(names[0], x);
      part.setAttribute(names[1], y);
    }
    gizmo.append(group);
  }
}

let followed = null;
function follow(controls, node) {
  if (!node) {
    followed = null;
    return;
  }
  const now = node.getWorldPosition(node.position.clone());
  const position = controls.getPosition(now.clone());
  const target = controls.getTarget(now.clone());
  const move = now.clone().sub(followed ?? target);
  followed = now;
  if (move.lengthSq() < 1e-16) return;
  position.add(move);
  target.add(move);
  controls.setLookAt(...position.toArray(), ...target.toArray(), false);
  viser().requestRender?.();
}

requestAnimationFrame(function frame() {
  requestAnimationFrame(frame);
  const { camera, cameraControl, nodeRefFromName } = viser() ?? {};
  const root = nodeRefFromName?.[""];
  if (!camera || !root) return;
  drawGizmo(camera, root);
  if (cameraControl) follow(cameraControl, nodeRefFromName["/exoskel/follow"]);
});

// --- pictures and videos ------------------------------------------------------------------------------
const isDark = () => document.documentElement.dataset.mantineColorScheme === "dark";

function drawPage(target) {
  const source = viser().canvas;
  if (target.width !== source.width || target.height !== source.height)
    [target.width, target.height] = [source.width & ~1, source.height & ~1];
  const painter = target.getContext("2d");
  painter.fillStyle = isDark() ? "#1a1b1e" : "#ffffff";
  painter.fillRect(0, 0, target.width, target.height);
  painter.drawImage(source, 0, 0);
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  own.saved = { name, size: blob.size, type: blob.type };
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

const stamp = () => new Date().toISOString().slice(0, 19).replaceAll(":", "-");

function takePicture() {
  const canvas = document.createElement("canvas");
  drawPage(canvas);
  canvas.toBlob((blob) => blob && save(blob, `exoskel-${stamp()}.png`));
}

function savePlot() {
  const title = document.getElementById("exoskel-plot");
  const chart = [...document.querySelectorAll(".uplot canvas")].find((one) => one.offsetParent);
  if (!chart) return;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [chart.width, chart.height + 24];
  const painter = canvas.getContext("2d");
  painter.fillStyle = isDark() ? "#1a1b1e" : "#ffffff";
  painter.fillRect(0, 0, canvas.width, canvas.height);
  painter.fillStyle = isDark() ? "#ffffff" : "#000000";
  painter.font = "13px sans-serif";
  painter.fillText(title.innerText, 8, 17);
  painter.drawImage(chart, 0, 24);
  canvas.toBlob((blob) => blob && save(blob, `exoskel-plot-${stamp()}.png`));
}

const VIDEOS = ["video/mp4;codecs=avc1.42E01E", "video/webm;codecs=vp9", "video/webm"];
let recording = null;
function toggleRecording() {
  if (recording) {
    recording.finish();
    return;
  }
  const canvas = document.createElement("canvas");
  drawPage(canvas);
  const parts = [];
  const mimeType = VIDEOS.find((one) => MediaRecorder.isTypeSupported(one));
  recording = new MediaRecorder(canvas.captureStream(30), { mimeType, videoBitsPerSecond: 8e6 });
  const began = performance.now();
  // A slow machine has encoded nothing yet if it is stopped at once: the video ends with its first picture then.
  let isFinished = false;
  recording.finish = () => {
    isFinished = true;
    if (parts.length && recording.state === "recording") recording.stop();
  };
  recording.ondataavailable = (event) => {
    if (event.data.size) parts.push(event.data);
    if (isFinished) recording?.finish();
  };
  recording.onstop = () => {
    recording = null;
    showRecording();
    save(new Blob(parts, { type: mimeType }), `exoskel-${stamp()}.${mimeType.includes("mp4") ? "mp4" : "webm"}`);
  };
  recording.start(200);
  (function draw() {
    if (!recording) return;
    drawPage(canvas);
    showRecording((performance.now() - began) / 1000);
    requestAnimationFrame(draw);
  })();
}

function showRecording(seconds) {
  for (const button of document.querySelectorAll("[data-exoskel=record]")) {
    const text = seconds === undefined ? "Record video" : `Stop (${seconds.toFixed(0)} s)`;
    if (button.textContent !== text) button.textContent = text;
    button.classList.toggle("recording", seconds !== undefined);
  }
}
