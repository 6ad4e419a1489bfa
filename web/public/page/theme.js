// Runs before the first paint, so that the dark theme never flashes light. A file of its own because the page forbids inline scripts.
(function () {
  var chosen = null;
  try {
    chosen = localStorage.getItem("stepwell.theme");
  } catch (error) {
    // Storage may be forbidden; the system's theme is then the right one.
    chosen = null;
  }
  var dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
