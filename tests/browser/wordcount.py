"""How many words a person sees: text that is drawn inside the window, not what is folded, scrolled away or said to screen readers only."""

from __future__ import annotations

from playwright.sync_api import Page

VISIBLE = """(without) => {
  const found = [];
  const seen = (element, box) => {
    if (without && element.closest(without)) return false;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
    let { left, top, right, bottom } = box;
    const clip = (by) => {
      [left, top] = [Math.max(left, by.left), Math.max(top, by.top)];
      [right, bottom] = [Math.min(right, by.right), Math.min(bottom, by.bottom)];
    };
    clip({ left: 0, top: 0, right: innerWidth, bottom: innerHeight });
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.overflow !== "visible" || style.clipPath !== "none") clip(at.getBoundingClientRect());
    }
    return right - left > 2 && bottom - top > 2;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    for (const word of node.textContent.matchAll(/\\S+/g)) {
      if (!/[\\p{L}\\p{N}]/u.test(word[0])) continue;
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (seen(node.parentElement, range.getBoundingClientRect())) found.push(word[0]);
    }
  }
  for (const field of document.querySelectorAll("input:not([type=radio], [type=checkbox]), textarea"))
    if (seen(field, field.getBoundingClientRect())) found.push(...(field.value || field.placeholder).match(/\\S+/g) ?? []);
  return found;
}"""


def words_on_screen(page: Page, without: str = "") -> list[str]:
    """`without` names what does not count, as a selector."""
    return page.evaluate(VISIBLE, without)
