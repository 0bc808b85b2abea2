// Draws a box on a picture, to select a region.

/** Smaller boxes, in thousandths, are ignored as accidental. */
const LEAST = 8;

export class Mark {
  constructor(stage, box, zoom, { onDrawn, onTooSmall }) {
    this.box = box;
    this.zoom = zoom;
    this.from = null;
    stage.addEventListener("pointerdown", (event) => {
      if (!this.active || event.button) return;
      event.preventDefault();
      stage.setPointerCapture(event.pointerId);
      this.from = zoom.thousandths(event.clientX, event.clientY);
      this.to = this.from;
      this.draw();
    });
    stage.addEventListener("pointermove", (event) => {
      if (!this.from) return;
      this.to = zoom.thousandths(event.clientX, event.clientY);
      this.draw();
    });
    stage.addEventListener("pointercancel", () => this.clear());
    stage.addEventListener("pointerup", (event) => {
      if (!this.from) return;
      this.to = zoom.thousandths(event.clientX, event.clientY);
      const region = this.region();
      this.from = null;
      if (region.right - region.left < LEAST || region.bottom - region.top < LEAST) {
        this.clear();
        onTooSmall();
      } else {
        onDrawn(region);
      }
    });
  }

  region() {
    const { from, to } = this;
    return {
      left: Math.min(from.x, to.x),
      top: Math.min(from.y, to.y),
      right: Math.max(from.x, to.x),
      bottom: Math.max(from.y, to.y),
    };
  }

  draw() {
    const { left, top, right, bottom } = this.region();
    const near = this.zoom.onScreen({ x: left, y: top });
    const far = this.zoom.onScreen({ x: right, y: bottom });
    Object.assign(this.box.style, {
      left: `${near.x}px`,
      top: `${near.y}px`,
      width: `${far.x - near.x}px`,
      height: `${far.y - near.y}px`,
    });
    this.box.hidden = false;
  }

  set(active) {
    this.active = active;
    this.zoom.enabled = !active;
    if (!active) this.clear();
  }

  clear() {
    this.from = null;
    this.box.hidden = true;
  }
}
