// What this page is depends on the service: three forests to play with, or a store in use.

import { call } from "./api.js";
import { openPlay } from "./play.js";
import { openStore } from "./store.js";

async function open() {
  try {
    const stats = await call("/v1/stats");
    document.getElementById("version").textContent = `opforest ${stats.version}`;
    await (stats.play ? openPlay() : openStore(stats));
  } catch {
    setTimeout(open, 1000);
  }
}

open();
