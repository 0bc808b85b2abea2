// Times in the local time zone, and relative times that update while the page is open.

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });
const weekday = new Intl.DateTimeFormat("en", { weekday: "short" });
const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });
const dayOfYear = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });

export function clocks(within) {
  for (const time of within.querySelectorAll("time[data-clock]")) {
    const at = new Date(time.dateTime);
    time.textContent = clock.format(at);
    time.title = whole.format(at);
  }
}

/** A date that may be in another year. */
export function date(at) {
  return dayOfYear.format(at);
}

/** The time since then: minutes, hours, a day of the week or a date. */
export function age(at) {
  const minutes = Math.floor((Date.now() - at) / 60000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h`;
  return minutes < 6 * 1440 ? weekday.format(at) : day.format(at);
}

export function ages(within = document) {
  for (const time of within.querySelectorAll("time[data-ago]")) time.textContent = age(new Date(time.dateTime));
}

export function start() {
  ages();
  setInterval(ages, 30000);
}
