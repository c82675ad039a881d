/* Colours as the system, light or dark; folded parts opened by a link, by print, or all at once. */
"use strict";
(() => {
  const modes = ["auto", "light", "dark"],
    theme = document.getElementById("theme");
  let mode = 0;
  function colours(to) {
    mode = to;
    if (mode) document.documentElement.dataset.theme = modes[mode];
    else delete document.documentElement.dataset.theme;
    theme.textContent = ["Auto", "Light", "Dark"][mode];
    theme.setAttribute("aria-label", "Colours: " + (mode ? modes[mode] : "as the system"));
  }
  theme.hidden = false;
  theme.onclick = () => colours((mode + 1) % modes.length);
  const folded = [...document.querySelectorAll("details")];
  for (const all of document.querySelectorAll(".open-all")) {
    const own = [...all.closest(".block").querySelectorAll("details")];
    all.hidden = own.length < 2;
    all.onclick = () => {
      const open = own.some((one) => !one.open);
      own.forEach((one) => {
        one.open = open;
      });
      all.textContent = open ? "Close all" : "Open all";
    };
  }
  function follow() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target && target.closest("details")) {
      target.closest("details").open = true;
      target.scrollIntoView();
    }
  }
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () =>
    folded.forEach((one) => {
      one.open = true;
    }),
  );
  follow();
})();
