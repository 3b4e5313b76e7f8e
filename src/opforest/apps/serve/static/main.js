// Opens the view of a store as soon as the service answers.

import { call } from "./api.js";
import { openStore } from "./store.js";

async function open() {
  const stats = await call("/v1/stats").catch(() => null);
  if (!stats) { setTimeout(open, 1000); return; }
  document.getElementById("version").textContent = `opforest ${stats.version}`;
  openStore(stats);
}

open();
