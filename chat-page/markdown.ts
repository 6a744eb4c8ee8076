import DOMPurify from "dompurify";
import { marked } from "marked";

/** Models write what they like: no pictures, which would be fetched from anywhere, no forms, no styles, no ids. */
const ALLOWED = {
  ALLOWED_TAGS:
    "a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i li ol p pre s strong sub sup table tbody td th thead tr ul".split(
      " ",
    ),
  ALLOWED_ATTR: ["href", "start", "align"],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
};

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A") return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer nofollow");
});

/** Renders Markdown that may still be growing into an element, leaving paragraphs that did not change untouched. */
export function renderMarkdown(into: HTMLElement, text: string): void {
  const html = marked.parse(closed(text), { async: false, gfm: true, breaks: true });
  const fresh = DOMPurify.sanitize(html, { ...ALLOWED, RETURN_DOM_FRAGMENT: true });
  const blocks = [...fresh.childNodes];
  for (const [i, block] of blocks.entries()) {
    const shown = into.childNodes[i];
    if (!shown) into.append(block);
    else if (!shown.isEqualNode(block)) shown.replaceWith(block);
  }
  while (into.childNodes.length > blocks.length) into.lastChild!.remove();
}

/** A code block that is still being written shows as one. */
function closed(text: string): string {
  const fences = text.match(/^ {0,3}```/gm)?.length ?? 0;
  return fences % 2 === 1 ? `${text}\n\`\`\`` : text;
}
