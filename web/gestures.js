// Hands on the drawing: drag, wheel, pinch, click, and keys.

export function listen(drawing) {
  const canvas = drawing.canvas, pointers = new Map();
  let travelled = 0, apart = null, sliding = false;
  const place = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const slide = (x) => drawing.jump(drawing.view.centred((x - 30) / drawing.view.span));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    if (sideways) drawing.jump(drawing.view.bounded({ scale: drawing.view.scale, x: drawing.view.x - (event.deltaX || event.deltaY) }));
    else drawing.zoom(2 ** (-event.deltaY / 300), place(event)[0]);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    const at = place(event);
    sliding = at[1] < 16 && drawing.view.scale > 1.02;
    if (sliding) slide(at[0]);
    pointers.set(event.pointerId, at);
    travelled = sliding ? 99 : 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = place(event), before = pointers.get(event.pointerId);
    if (!before) {
      const over = drawing.pick(...now);
      if (over !== drawing.hovered) { drawing.hovered = over; canvas.classList.toggle("over", over !== null); drawing.draw(); }
      drawing.tell.hover(over, now);
      return;
    }
    pointers.set(event.pointerId, now);
    if (sliding) { slide(now[0]); return; }
    if (pointers.size === 2) {
      const [a, b] = [...pointers.values()], far = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (apart) drawing.zoom(far / apart, (a[0] + b[0]) / 2);
      apart = far;
      travelled = 99;
      return;
    }
    travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (travelled > 4) {
      canvas.classList.add("moving");
      drawing.jump(drawing.view.bounded({ scale: drawing.view.scale, x: drawing.view.x + now[0] - before[0] }));
    }
  });
  const up = (event) => {
    const clicked = pointers.delete(event.pointerId) && travelled <= 4 && event.type === "pointerup";
    const id = clicked ? drawing.pick(...place(event)) : null;
    if (id !== null) drawing.tell.choose(id);
    apart = null;
    sliding = false;
    canvas.classList.remove("moving");
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => { drawing.hovered = null; drawing.tell.hover(null); drawing.draw(); });
  canvas.addEventListener("dblclick", (event) => drawing.travel(drawing.view.zoomed(3, place(event)[0])));
  canvas.addEventListener("keydown", (event) => pressed(drawing, event));
}

function pressed(drawing, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const id = drawing.selected, { folding } = drawing;
  const moves = {
    ArrowUp: () => (id > 0 ? folding.above(id) : null),
    ArrowDown: () => folding.below(id, drawing.view.level),
    ArrowLeft: () => folding.beside(id, -1),
    ArrowRight: () => folding.beside(id, 1),
    Home: () => 0,
  };
  const acts = {
    "+": () => drawing.travel(drawing.view.zoomed(1.6)), "=": () => drawing.travel(drawing.view.zoomed(1.6)),
    "-": () => drawing.travel(drawing.view.zoomed(1 / 1.6)), 0: () => drawing.fit(), Enter: () => drawing.show(id, true),
  };
  if (event.key in moves) { const next = moves[event.key](); if (next !== null) drawing.tell.choose(next); }
  else if (event.key in acts) acts[event.key]();
  else return;
  event.preventDefault();
}
