/* Search ranks guides and reference above decisions, the changelog and records of the project. Takes the place of Sphinx's own Scorer. */
var Scorer = {
  score: (result) => {
    const [docname, , , , score] = result;
    if (docname.startsWith("adr/") || docname.startsWith("project/") || docname === "mission" || docname === "benchmarks")
      return score - 20;
    if (docname.startsWith("how-to/") || docname.startsWith("tutorial/")) return score + 4;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
