/** The cards of questions, which most visits to the page do not need. */
export const fetchCards = () => import("./cards");
