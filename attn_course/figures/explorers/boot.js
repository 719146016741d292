// Brings the explorers of a page to life, where no Jupyter does. It may run several times on one
// page (outputs that each carry their code), and then mounts what is still at rest.
(() => {
  // A Blob, because a page opened from a folder (file://) may not import a file beside it.
  // Once for each module: the figures of a kind share it.
  const modules = (window.attnExplorerModules ??= new Map());

  function load(name) {
    if (!modules.has(name)) {
      const text = document.querySelector(`script[data-explorer-module="${name}"]`).textContent;
      const blob = new Blob([JSON.parse(text)], { type: "text/javascript" });
      modules.set(name, import(URL.createObjectURL(blob)));
    }
    return modules.get(name);
  }

  // What a module may use of Jupyter's model: get, set, on, off, save_changes.
  function makeModel(state) {
    const listeners = new Map();
    const of = event => listeners.get(event) ?? listeners.set(event, new Set()).get(event);
    return {
      get: name => state[name],
      set(name, value) {
        if (Object.is(state[name], value)) return;
        state[name] = value;
        for (const listener of [...of(`change:${name}`), ...of("change")]) listener();
      },
      on: (event, listener) => of(event).add(listener),
      off: (event, listener) => of(event).delete(listener),
      save_changes() {},
    };
  }

  // The first of its kind on the page has the kind's name, the others a number.
  function nameInLinks(host) {
    const kind = host.dataset.explorer;
    const place = [...document.querySelectorAll(`[data-explorer="${kind}"]`)].indexOf(host);
    return place > 0 ? `${kind}-${place + 1}` : kind;
  }

  async function mount(host) {
    host.dataset.explorerState = "waking";
    const state = JSON.parse(host.querySelector("script[data-explorer-values]").textContent);
    try {
      const { default: explorer } = await load(host.dataset.explorer);
      await explorer.render({ model: makeModel(state), el: host, link: nameInLinks(host) });
      host.dataset.explorerState = "live";
    } catch (error) {
      host.dataset.explorerState = "still"; // what was drawn when the page was built stays
      console.error(error);
    }
  }

  document.querySelectorAll("[data-explorer]:not([data-explorer-state])").forEach(mount);
})();
