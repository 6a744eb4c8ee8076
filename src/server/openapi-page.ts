import type { OpenApi, Operation } from "./openapi.ts";

/** A page for people of what /openapi.json says; without scripts, and nothing in it comes from elsewhere. */
export function openApiPage({ info, paths }: OpenApi): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const tags = [...new Set(operations.flatMap(({ operation }) => operation.tags))];
  const sections = tags.map((tag) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(tag));
    return `<h2>${escaped(tag)}</h2>${own.map(({ path, method, operation }) => section(path, method, operation)).join("")}`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(info.title)} API</title><style>${STYLE}</style></head>
<body><main><h1>${escaped(info.title)} ${escaped(info.version)}</h1><p>${escaped(info.description)}
<a href="openapi.json">openapi.json</a> has this page's content for programs.</p>${sections.join("")}</main></body></html>`;
}

function section(path: string, method: string, { summary, requestBody, responses }: Operation): string {
  const part = (title: string, schema: object | undefined): string =>
    schema ? `<h3>${title}</h3><pre>${escaped(JSON.stringify(schema, undefined, 2))}</pre>` : "";
  const statuses = Object.entries(responses).map(
    ([status, { description }]) => `<li>${status}: ${escaped(description)}</li>`,
  );
  return `<details><summary><code>${method.toUpperCase()} ${escaped(path)}</code> ${escaped(summary)}</summary>
${part("Request", requestBody?.content["application/json"]?.schema)}
${part("Response", responses["200"]?.content?.["application/json"]?.schema)}<h3>Statuses</h3><ul>${statuses.join("")}</ul></details>`;
}

const STYLE = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}main{max-width:52rem;margin:auto;padding:1rem}
summary{cursor:pointer;padding:.4rem 0}code,pre{font-family:ui-monospace,monospace}summary code{font-weight:600}
pre{overflow:auto;max-height:28rem;padding:.75rem;border:1px solid #8886;border-radius:.4rem;font-size:.85rem}h3{margin:.5rem 0 0;font-size:1rem}`;

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
