// Runs before the first paint, so that the dark theme never flashes light and no text changes its size. A file of its own because the
// page forbids inline scripts.
(function () {
  var root = document.documentElement.dataset;
  function chosen(name) {
    try {
      return localStorage.getItem("stepwell." + name);
    } catch (error) {
      // Storage may be forbidden; the system's choice is then the right one.
      return null;
    }
  }
  var theme = chosen("theme");
  var dark = theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  root.theme = dark ? "dark" : "light";
  ["text", "width", "motion"].forEach(function (name) {
    var value = chosen(name);
    if (value) root[name] = value;
  });
})();
