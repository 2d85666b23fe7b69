"""What is asked of a page, in JavaScript. It runs in a world of its own: the page's script can neither see nor replace
it, and it changes nothing in the document. The exception is WATCH, which stands in the page's world before its script.
What an element's name could stand in place of (`document.fonts`, where an image is so named) is asked for by `of`.
"""

STILL = "*,*::before,*::after{transition:none!important}"
# What paints a text, and nothing else of its element.
HIDE_TEXT = (
    "{-webkit-text-fill-color:transparent!important;text-shadow:none!important;"
    "-webkit-text-stroke-color:transparent!important;text-decoration-color:transparent!important;"
    "text-emphasis-color:transparent!important}"
)
HIDE_DRAWN_TEXT = "{fill:transparent!important;stroke:transparent!important}"
HIDE_CLIPPED = "{background-image:none!important;background-color:transparent!important}"
HIDE_ELEMENT = "{opacity:0!important}"

# What leaves no trace in the browser's log where there is no network.
WATCH = """(() => {
  const tell = globalThis.__channel, { construct, apply } = Reflect;
  delete globalThis.__channel;
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "SharedWorker"]) {
    const real = globalThis[name];
    if (!real) continue;
    const watched = new Proxy(real, { construct(f, given, as) { tell(name); return construct(f, given, as); } });
    real.prototype.constructor = watched;
    Object.defineProperty(globalThis, name, { value: watched, writable: true, configurable: true });
  }
  const workers = globalThis.ServiceWorkerContainer?.prototype;
  if (!workers) return;
  const register = workers.register;
  workers.register = function (...given) { tell("a service worker"); return apply(register, this, given); };
})()"""

# Hints to the browser that it may not heed here. Runs beside the page's script from the start, unseen by it.
WATCH_LINKS = r"""(() => {
  const hint = /preconnect|prefetch|prerender/i;
  const look = (e) => {
    if (e instanceof HTMLLinkElement && hint.test(e.rel) && e.href) globalThis.__hint(`${e.rel} ${e.href}`);
  };
  new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) {
      look(target);
      for (const node of addedNodes) {
        look(node);
        if (node instanceof Element) node.querySelectorAll("link").forEach(look);
      }
    }
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["rel", "href"] });
})()"""

TOOLS = r"""(() => {
  const MOST = 3000;  // characters and elements of one reading
  const TYPED = new Set(["checkbox", "radio", "range", "color", "file", "hidden", "image"]);
  const of = (thing, name) => {
    for (let p = Object.getPrototypeOf(thing); p; p = Object.getPrototypeOf(p)) {
      const found = Object.getOwnPropertyDescriptor(p, name);
      if (found) return found.get ? found.get.call(thing) : found.value.bind(thing);
    }
  };
  const root = of(document, "documentElement"), find = of(document, "querySelector");
  const page = () => of(document, "body");
  const hitAt = of(document, "elementFromPoint"), newRange = of(document, "createRange");
  const path = (e) => {
    const names = [];
    for (let p; (p = of(e, "parentElement")); e = p) {
      names.unshift(`:nth-child(${1 + Array.prototype.indexOf.call(of(p, "children"), e)})`);
    }
    return ["html", ...names].join(">");
  };
  const spot = (r) => [r.left + scrollX, r.top + scrollY, r.width, r.height];
  const screen = () => [scrollX, scrollY, innerWidth, innerHeight];
  const field = (e) => {
    if (e instanceof HTMLSelectElement) return [...e.selectedOptions].map((option) => option.label).join(", ");
    if (e instanceof HTMLTextAreaElement) return e.value;
    if (e instanceof HTMLInputElement) return TYPED.has(e.type) ? "" : e.value;
    return null;
  };
  const added = (e) => ["::before", "::after"].map((which) => {
    const s = getComputedStyle(e, which);
    if (s.display === "none" || s.visibility !== "visible" || s.opacity < 0.1) return "";
    if (s.position === "absolute" || s.position === "fixed") return "";
    const said = (s.content.replace(/\/\s*"(?:[^"\\]|\\.)*"\s*$/, "").match(/"(?:[^"\\]|\\.)*"/g) || []).join("");
    return /[\p{L}\p{N}]/u.test(said) ? said.slice(0, 100) : "";
  }).join("");
  const ranges = (e) => {
    const found = [], texts = of(document, "createTreeWalker")(e, NodeFilter.SHOW_TEXT);
    const parts = new Intl.Segmenter("en", { granularity: "grapheme" });
    for (let run = 0, node; (node = texts.nextNode()) && found.length < MOST; run++) {
      if (!/\S/.test(node.data) || getComputedStyle(node.parentElement).visibility !== "visible") continue;
      const whole = newRange();
      whole.selectNodeContents(node);
      if (!whole.getClientRects().length) continue;
      for (const { segment, index } of parts.segment(node.data)) {
        if (!/\S/.test(segment)) continue;
        const range = newRange();
        range.setStart(node, index);
        range.setEnd(node, index + segment.length);
        found.push([segment, range, run]);
      }
    }
    return found;
  };
  const box = (range) => {
    const rects = [...range.getClientRects()];
    return rects.find((r) => r.width && r.height) || rects[0] || new DOMRect();
  };
  const scrolls = (e, axis) => ["auto", "scroll"].includes(getComputedStyle(e)["overflow" + axis]);
  const bring = (e, rect) => {
    for (let p = e; p && p !== page() && p !== root; p = of(p, "parentElement")) {
      const r = rect(), b = p.getBoundingClientRect();
      const across = r.left < b.left || r.right > b.right, down = r.top < b.top || r.bottom > b.bottom;
      if (down && scrolls(p, "Y")) p.scrollTop += (r.top + r.bottom - b.top - b.bottom) / 2;
      if (across && scrolls(p, "X")) p.scrollLeft += (r.left + r.right - b.left - b.right) / 2;
    }
    const whole = getComputedStyle(root).overflowY;
    const fixed = whole === "visible" ? getComputedStyle(page()).overflowY : whole;
    const r = rect();
    if (fixed !== "hidden" && fixed !== "clip" && (r.top < 0 || r.bottom > innerHeight)) {
      scrollBy(0, (r.top + r.bottom - innerHeight) / 2);
    }
  };
  const bounds = () => {
    let left = 0, right = Math.max(root.scrollWidth, page().scrollWidth), n = 0;
    for (const e of page().querySelectorAll("*")) {
      if (n++ > MOST) break;
      const own = [...of(e, "childNodes")].some((node) => node.nodeType === 3 && /\S/.test(node.data));
      if (!own && field(e) === null && !(e instanceof HTMLImageElement)) continue;
      const r = e.getBoundingClientRect();
      if (!r.width || !r.height || r.right <= 0 || r.left >= innerWidth || (r.left >= 0 && r.right <= right)) continue;
      let p = of(e, "parentElement");
      while (p !== page() && getComputedStyle(p).overflowX === "visible") p = of(p, "parentElement");
      if (p !== page() || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      left = Math.min(left, r.left);
      right = Math.max(right, r.right);
    }
    return [Math.floor(left), Math.floor(right)];
  };
  return {
    bounds,
    survey(at) {
      const e = find(at);
      if (!e) return null;
      const value = field(e), where = path(e);
      const view = screen();
      if (value !== null) {
        const r = e.getBoundingClientRect();
        const size = (parseFloat(getComputedStyle(e).fontSize) * r.height) / e.offsetHeight;
        const glyphs = value.trim() ? [["x", ...spot(r).slice(0, 3), size < 6 ? 0 : r.height, 0]] : [];
        return { text: value, field: true, path: where, clipped: [], view, glyphs };
      }
      const parts = [e, ...of(e, "querySelectorAll")("*")].slice(0, MOST);
      const clipped = parts.filter((part) => getComputedStyle(part).webkitBackgroundClip.includes("text")).map(path);
      const own = [...of(document, "fonts")].some((font) => font.status === "loaded");
      const glyphs = own ? [] : ranges(e).map(([text, range, run]) => [text, ...spot(box(range)), run]);
      const text = parts.map(added).join("") + String(of(e, "innerText") ?? of(e, "textContent")).trim();
      return { text, field: false, path: where, clipped, view, glyphs };
    },
    bring(at, index) {
      const e = find(at), found = index === null || field(e) !== null ? null : ranges(e)[index];
      if (found) bring(found[1].startContainer.parentElement, () => box(found[1]));
      else bring(e, () => e.getBoundingClientRect());
    },
    place(at) {
      const e = find(at);
      if (!e) return null;
      bring(e, () => e.getBoundingClientRect());
      for (const r of [...e.getClientRects()].slice(0, 20)) {
        for (const [across, down] of [[2, 2], [1, 2], [3, 2], [2, 1], [2, 3], [1, 1], [3, 3], [1, 3], [3, 1]]) {
          const x = r.left + (r.width * across) / 4, y = r.top + (r.height * down) / 4;
          const hit = hitAt(x, y);
          if (!hit || !of(e, "contains")(hit)) continue;
          return { at: [x, y], path: path(e), box: spot(e.getBoundingClientRect()), view: screen() };
        }
      }
      return null;
    },
    toEnd(at) {
      const e = find(at);
      try { e.setSelectionRange(e.value.length, e.value.length); } catch { /* a field without a caret to set */ }
    },
    frame: () => new Promise((done) => requestAnimationFrame(() => setTimeout(done))),
  };
})()"""
