// Browsers run no workers for pages that are opened from a folder, and the search is one. There, a hidden frame stands in for it.
if (location.protocol === "file:" && typeof URL !== "undefined") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const page = this.frame.contentWindow;
      this.loaded = new Promise((done) => (this.ready = done));
      page.document.open();
      page.document.write("<!doctype html><body></body>");
      page.document.close();
      page.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      page.importScripts = (...urls) =>
        urls.reduce((earlier, next) => earlier.then(() => new Promise((done) => this.add(next, url, done))), Promise.resolve());
      this.add(url, location.href, () => this.ready(page));
    }
    add(url, base, done) {
      const script = this.frame.contentDocument.createElement("script");
      script.src = new URL(url, new URL(base, location.href)).href;
      script.onload = script.onerror = done;
      this.frame.contentDocument.body.appendChild(script);
    }
    postMessage(data) {
      this.loaded.then((page) => page.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
