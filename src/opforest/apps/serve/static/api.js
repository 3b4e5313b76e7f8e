// Calls of the service: JSON, a token if required, and events that resume after a lost connection.

let token = sessionStorage.getItem("opforest-token") || "";
const offline = document.getElementById("offline");

function headers(more = {}) {
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

async function askForToken() {
  const dialog = document.getElementById("token");
  if (token) dialog.querySelector("h2").textContent = "This token is unknown";
  document.getElementById("token-text").value = "";
  if (!dialog.open) dialog.showModal();
  await new Promise((done) => dialog.addEventListener("close", done, { once: true }));
  token = document.getElementById("token-text").value.trim();
  sessionStorage.setItem("opforest-token", token);
}

export async function call(path, body) {
  const options = body === undefined
    ? { headers: headers() }
    : { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    offline.hidden = false;
    throw error;
  }
  offline.hidden = true;
  if (response.status === 401) {
    await askForToken();
    return call(path, body);
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail || answer.title);
  return answer;
}

// Makes one call at a time: while an answer is awaited, only the newest call waits.
export function latest(ask) {
  let isAsking = false, next = null;
  return async (...question) => {
    next = question;
    if (isAsking) return;
    isAsking = true;
    for (let now = next; now; now = next) { next = null; await ask(...now).catch(() => {}); }
    isAsking = false;
  };
}

// Calls `onEvent` for each event, and `refresh` whenever some may have been missed: every second, if
// the service has too many listeners.
export async function follow(onEvent, refresh) {
  for (;;) {
    try {
      const response = await fetch("/v1/events", { headers: headers() });
      await refresh();
      if (!response.ok) throw new Error(response.statusText);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        for (const part of parts) {
          const data = part.split("\n").find((line) => line.startsWith("data: "));
          if (data) onEvent(JSON.parse(data.slice(6)));
        }
      }
    } catch (error) {
      if (error instanceof TypeError) offline.hidden = false; // fetch throws it for a lost connection
    }
    await new Promise((done) => setTimeout(done, 1000));
  }
}
