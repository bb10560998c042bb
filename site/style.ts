/** How the site looks: as the documentation that the service serves, with what a page can do in addition. */
import { STYLE as MANUAL_STYLE } from '../src/api/docs/manual/style.ts'
import { ROUTE_STYLE } from '../src/api/docs/style.ts'

/** Nothing from other hosts, and no script within a page. Hosts that read `_headers` say so to browsers. */
export const HEADERS = `/*
  Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'
  X-Content-Type-Options: nosniff
  Referrer-Policy: no-referrer
`

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect fill="#0b6178" width="32" height="32" rx="7"/><path fill="#fff" d="M5 22.5 13.5 9l5 7.5 3-3.5L27 22.5z"/></svg>
`

const SITE_STYLE = `
:root {
  --raised: var(--sunken); --ink: var(--text); --quiet: var(--text-quiet); --code-ground: var(--sunken); --code-ink: var(--text);
  --comment: light-dark(#5a6570, #939fa7); --string: light-dark(#176339, #8fd3a8); --key: light-dark(#0b6178, #7fcbe0);
  --shadow: 0 8px 30px light-dark(rgb(10 20 25 / 14%), rgb(0 0 0 / 50%));
}
:root[data-scheme="light"] { color-scheme: light }
:root[data-scheme="dark"] { color-scheme: dark }
[hidden] { display: none !important }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }

.bar { background: color-mix(in srgb, var(--panel) 92%, transparent); backdrop-filter: blur(8px) }
.inside { flex-wrap: nowrap }
.brand { font-size: 1rem }
.find { display: flex; align-items: center; justify-content: space-between; gap: 12px; width: 240px; margin-left: auto }
.find, .scheme { height: 36px; padding: 0 12px; border: 1px solid var(--line-strong); border-radius: 6px; background: var(--ground); color: var(--text-quiet); font: inherit; cursor: pointer }
.find svg { display: none }
.find:hover, .scheme:hover { background: var(--hover); color: var(--text) }
.scheme { display: grid; place-items: center; width: 36px; padding: 0 }
kbd { padding: 0 6px; border: 1px solid var(--line); border-radius: 4px; background: var(--panel); font: .75rem/1.5 var(--mono) }
.versions { position: relative }
.versions summary { display: flex; align-items: center; gap: 6px; height: 28px; padding: 0 10px; border: 1px solid var(--line); border-radius: 14px; color: var(--text-quiet); font-size: .8125rem; list-style: none }
.versions summary::-webkit-details-marker { display: none }
.versions summary::after { content: ""; width: 5px; height: 5px; border: solid currentColor; border-width: 0 1.5px 1.5px 0; transform: translateY(-1px) rotate(45deg) }
.versions summary:hover { background: var(--hover) }
.versions ul { position: absolute; left: 0; top: 34px; min-width: 120px; margin: 0; padding: 4px; border: 1px solid var(--line); border-radius: 6px; background: var(--panel); box-shadow: var(--shadow); list-style: none }
.versions a { display: block; padding: 6px 10px; border-radius: 4px; color: var(--text); text-decoration: none }
.versions a:hover { background: var(--hover) }

.pages details > ul, .pages section > ul { margin-top: 2px }
.pages summary { width: auto; border-radius: 6px }
.pages summary:hover { background: var(--hover) }
.toc a { border-left: 2px solid var(--line); border-radius: 0 !important }
.toc h2 { margin-bottom: 6px; padding-left: 0 }
.toc .current { border-left-color: var(--accent); color: var(--text) }

pre { font: .8125rem/1.6 var(--mono) }
.code { position: relative; max-width: 800px }
.code button { position: absolute; top: 8px; right: 8px; padding: 2px 10px; border: 1px solid var(--line); border-radius: 4px; background: var(--panel); color: var(--text-quiet); font: .75rem/1.7 var(--sans); cursor: pointer; opacity: 0 }
.code:hover button, .code button:focus-visible { opacity: 1 }
.code button:hover { color: var(--text); border-color: var(--line-strong) }
pre .comment, pre .printed { color: var(--comment) }
pre .string { color: var(--string) }
pre .key { color: var(--key) }
pre .prompt { color: var(--comment); -webkit-user-select: none; user-select: none }

.around { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; max-width: 800px; margin-top: 56px; padding-top: 24px; border-top: 1px solid var(--line) }
.around a { padding: 12px 16px; border: 1px solid var(--line); border-radius: 8px; font-weight: 600; text-decoration: none }
.around a:hover { border-color: var(--accent) }
.around .after { grid-column: 2; text-align: right }
.around span { display: block; color: var(--text-quiet); font-size: .8125rem; font-weight: 400 }

.hero { max-width: 800px; padding: 24px 0 40px }
.hero h1 { font-size: clamp(1.9rem, 1.3rem + 2vw, 2.75rem); letter-spacing: -.025em; line-height: 1.12 }
.hero p { margin: 0 0 20px }
.hero .lead { margin: 0 0 24px; color: var(--text-quiet); font-size: 1.1875rem; line-height: 1.5 }
.actions { display: flex; flex-wrap: wrap; gap: 12px }
.actions a { padding: 8px 16px; border: 1px solid var(--line-strong); border-radius: 6px; color: var(--text); font-weight: 600; text-decoration: none }
.actions a:hover { background: var(--hover) }
.actions .main { border-color: var(--accent); background: var(--accent); color: var(--on-accent) }
.actions .main:hover { border-color: var(--accent-hover); background: var(--accent-hover) }
.cards { grid-template-columns: repeat(auto-fill, minmax(270px, 1fr)) }
.cards li { margin: 2px 0 }
.to-route { display: flex; align-items: baseline; gap: 8px; padding: 2px 0; color: var(--text); text-decoration: none }
.to-route:hover span:last-child { text-decoration: underline }

.reference :is(.route, .schema) h3 { margin: 0 0 4px; font-size: 1.125rem; scroll-margin-top: 72px }
.reference .route:first-of-type { margin-top: 8px; padding-top: 0; border-top: 0 }
.reference :is(h2, h4).label { margin: 0 0 4px; font-size: .75rem }
.reference h2.label { margin-top: 8px }
.reference table { margin: 4px 0 16px }
.reference :is(th, td) { padding-left: 0; background: none; overflow-wrap: anywhere }
.reference tbody tr:last-child th { border-bottom: 0 }
.reference p { margin: 0 0 8px }
.reference p.address { margin: 8px 0 }
.reference .part { margin-bottom: 8px }
.reference .lead { font-size: 1.125rem }
.reference .route, .reference .schema { scroll-margin-top: 72px; margin-top: 40px; padding-top: 32px }
.reference pre { white-space: pre-wrap; overflow-wrap: anywhere }
.reference .code, .reference pre { margin-bottom: 8px }
.reference .fields { margin-bottom: 12px }
.reference .fields li { margin: 0 }

.search-box { width: min(680px, calc(100vw - 32px)); max-height: min(640px, 80vh); margin-top: 10vh; padding: 0; border: 1px solid var(--line); border-radius: 12px; background: var(--panel); color: var(--text); box-shadow: var(--shadow) }
.search-box[open] { display: flex; flex-direction: column }
.search-box::backdrop { background: rgb(10 20 25 / 45%) }
.search-box form { display: flex; gap: 12px; align-items: center; padding: 12px 16px; border-bottom: 1px solid var(--line) }
.search-box input { flex: 1; min-width: 0; height: 36px; border: 0; background: none; color: inherit; font: 1.0625rem var(--sans); outline: none }
.search-box form:focus-within { box-shadow: inset 0 -2px var(--focus) }
.search-box form button { padding: 2px 8px; border: 1px solid var(--line); border-radius: 4px; background: var(--sunken); color: var(--text-quiet); font: .75rem/1.6 var(--mono); cursor: pointer }
.search-box > p { margin: 0; padding: 10px 20px 4px; color: var(--text-quiet); font-size: .8125rem }
.search-box .hits { margin: 0; padding: 0 8px 12px !important; overflow-y: auto }
.search-box .hits li { position: relative; margin: 0; padding: 10px 12px; border: 0; border-radius: 8px }
.search-box .hits li:is(:hover, :focus-within) { background: var(--accent-ground) }
.search-box .hits a { text-decoration: none }
.search-box .hits a::after { content: ""; position: absolute; inset: 0 }
.search-box .hits p { overflow-wrap: anywhere }

@media (max-width: 800px) {
  .find { width: 36px; padding: 0; justify-content: center }
  .find kbd { display: none }
  .find svg { display: block }
  .find span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  .inside { gap: 8px }
  .places { margin: 0; gap: 10px }
  .hero { padding-top: 8px }
  .code button { display: none }
  .around { grid-template-columns: 1fr }
  .around .after { grid-column: 1 }
}
@media (max-width: 480px) { .brand span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) } .actions a { flex: 1 0 auto; text-align: center } }
@media print { .code button, .around { display: none } }
`

export const STYLE = `${MANUAL_STYLE}${ROUTE_STYLE.text}${SITE_STYLE}`
