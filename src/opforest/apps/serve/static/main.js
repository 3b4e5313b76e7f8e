// Opens the view that the service has: three forests to play with, or a store.

import { call } from "./api.js";
import { openPlay } from "./play.js";
import { openStore } from "./store.js";

async function open() {
  const stats = await call("/v1/stats").catch(() => null);
  if (!stats) { setTimeout(open, 1000); return; }
  document.getElementById("version").textContent = `opforest ${stats.version}`;
  (stats.play ? openPlay : openStore)(stats);
}

open();
