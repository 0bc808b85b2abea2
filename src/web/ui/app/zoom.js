// Zoom and pan of one picture, by wheel, touch and keys.

const MOST = 12;

export class Zoom {
  constructor(stage, image) {
    this.stage = stage;
    this.image = image;
    this.pointers = new Map();
    this.enabled = true;
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    stage.addEventListener("pointerdown", (event) => this.down(event));
    stage.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) stage.addEventListener(name, (event) => this.up(event));
    stage.addEventListener("dblclick", (event) => this.enabled && this.toggle(event));
    new ResizeObserver(() => this.fit()).observe(stage);
  }

  /** Fits the whole picture between the buttons. */
  fit() {
    const { naturalWidth: width, naturalHeight: height } = this.image;
    if (!width) return;
    const { clientWidth, clientHeight } = this.stage;
    const margin = clientWidth > 700 ? [72, 60] : [0, 52];
    this.least = Math.min((clientWidth - 2 * margin[0]) / width, (clientHeight - 2 * margin[1]) / height, 2.5);
    this.scale = this.least;
    this.x = (clientWidth - width * this.scale) / 2;
    this.y = (clientHeight - height * this.scale) / 2;
    this.draw();
  }

  get zoomed() {
    return this.scale > this.least * 1.01;
  }

  at(factor, x = this.stage.clientWidth / 2, y = this.stage.clientHeight / 2) {
    const scale = Math.min(Math.max(this.scale * factor, this.least), Math.max(this.least * MOST, 2));
    const by = scale / this.scale;
    this.x = x - (x - this.x) * by;
    this.y = y - (y - this.y) * by;
    this.scale = scale;
    if (!this.zoomed) return this.fit();
    this.draw();
  }

  toggle({ clientX, clientY }) {
    if (this.zoomed) this.fit();
    else this.at(Math.max(2.5, 1 / this.scale), clientX, clientY);
  }

  draw() {
    const { naturalWidth, naturalHeight } = this.image;
    const room = (offset, size, whole) =>
      size <= whole ? Math.min(Math.max(offset, 0), whole - size) : Math.min(Math.max(offset, whole - size), 0);
    this.x = room(this.x, naturalWidth * this.scale, this.stage.clientWidth);
    this.y = room(this.y, naturalHeight * this.scale, this.stage.clientHeight);
    this.image.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
    this.onDraw?.();
  }

  wheel(event) {
    event.preventDefault();
    this.at(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.002)), event.clientX, event.clientY);
  }

  down(event) {
    if (!this.enabled || event.button) return;
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.stage.setPointerCapture(event.pointerId);
    this.swipe = { x: event.clientX, y: event.clientY, far: false };
  }

  move(event) {
    const was = this.pointers.get(event.pointerId);
    if (!was) return;
    const is = { x: event.clientX, y: event.clientY };
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
    if (others.length) {
      const [other] = others;
      const apart = (point) => Math.hypot(point.x - other.x, point.y - other.y) || 1;
      this.at(apart(is) / apart(was), (is.x + other.x) / 2, (is.y + other.y) / 2);
      this.swipe = null;
    } else if (this.zoomed) {
      this.x += is.x - was.x;
      this.y += is.y - was.y;
      this.draw();
    }
    this.pointers.set(event.pointerId, is);
  }

  up(event) {
    this.pointers.delete(event.pointerId);
    if (!this.swipe || this.zoomed || event.type === "pointercancel") return;
    const [x, y] = [event.clientX - this.swipe.x, event.clientY - this.swipe.y];
    this.swipe = null;
    if (Math.abs(x) > 60 && Math.abs(x) > 2 * Math.abs(y)) this.onSwipe?.(x < 0 ? 1 : -1);
  }

  /** Screen point → picture coordinates, 0 to 1000 each way. */
  thousandths(clientX, clientY) {
    const { naturalWidth, naturalHeight } = this.image;
    const part = (offset, size) => Math.round(Math.min(Math.max((offset / size) * 1000, 0), 1000));
    return {
      x: part(clientX - this.x, naturalWidth * this.scale),
      y: part(clientY - this.y, naturalHeight * this.scale),
    };
  }

  /** Picture coordinates → screen point. */
  onScreen({ x, y }) {
    const { naturalWidth, naturalHeight } = this.image;
    return {
      x: this.x + (x / 1000) * naturalWidth * this.scale,
      y: this.y + (y / 1000) * naturalHeight * this.scale,
    };
  }
}
