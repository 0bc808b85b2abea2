// Every sentence the scripts say.

export const words = {
  away: "Can’t reach Photothread right now. What you wrote is still here: try again in a moment.",
  odd: "That did not work. Please try again.",
  working: "working on it…",
  waiting: "waiting for its turn…",
  stop: "Stop",
  stopped: "Stopped.",
  sending: (part) => `Sending, ${Math.round(part * 100)} percent`,
  answered: (text) => `Photothread: ${text || "a picture"}`,
  replyingTo: "Replying to",
  thisPicture: "this picture",
  photoOf: (at, count) => `photo ${at} of ${count}`,
  dontReply: "Don’t reply",
  leaveOut: (name) => `Leave out ${name}`,
  added: (count) => (count === 1 ? "One file added." : `${count} files added.`),
  tooMany: (most) => `${most} files are the most one message can carry.`,
  someoneElse: "Somebody else changed this meanwhile. Here is how it stands now; please look once more.",
  removeRef: (name) => `Remove ${name}`,
  revoke: (name) => `Revoke ${name}`,
  noTokens: "None yet.",
  badUrl: "A reference is an address that begins with https://",
  drawHint: "Draw a box around what you mean",
  tooSmall: "That was only a point: drag to draw a box",
  // As the agents read places, the one that runs offline too: thousandths of the picture.
  here: ({ left, top, right, bottom }) => `from ${left},${top} to ${right},${bottom}`,
  position: (at, count) => `${at} of ${count}`,
};
