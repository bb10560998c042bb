/** How the documentation looks: one column on a phone, a list of routes beside it, and examples beside those. */
import { type Html, html } from './html.ts'

/** Of routes and schemas, without the page around them: the static site has a frame of its own. */
export const ROUTE_STYLE: Html = html`:root {
  --get: light-dark(#0a5a86, #8fcbf2); --get-ground: light-dark(#deeef8, #14324a);
  --post: light-dark(#1a6338, #8edba8); --post-ground: light-dark(#ddf2e3, #15381f);
  --patch: light-dark(#7a4b00, #f0c47c); --patch-ground: light-dark(#fbecd0, #40300f);
  --delete: light-dark(#a3222c, #f5a3a6); --delete-ground: light-dark(#fbe3e3, #481b20);
}
.label { font-size: .75rem; font-weight: 650; letter-spacing: .06em; text-transform: uppercase; color: var(--quiet) }
.quiet { color: var(--quiet) }
.route, .schema { margin-top: 1.25rem; padding-top: 1.5rem; border-top: 1px solid var(--line) }
h2 + .route, h2 + .schema { margin-top: 1rem }
.route > div + div, .start > div + div { margin-top: 1.25rem }
.address { display: flex; align-items: baseline; gap: .6rem; margin: .6rem 0 }
.address code { overflow-wrap: anywhere; font-size: .95em }
.address b { font-weight: 600; color: var(--accent) }
.who { font-size: .95rem }
.who .label { margin-right: .5rem }
.method { flex: none; display: inline-block; min-width: 4.8em; padding: .1rem .4rem; border-radius: .3rem; text-align: center;
  font: 650 .72rem/1.5 var(--mono); color: var(--get); background: var(--get-ground) }
.post { color: var(--post); background: var(--post-ground) }
.patch, .put { color: var(--patch); background: var(--patch-ground) }
.delete { color: var(--delete); background: var(--delete-ground) }
.status { font: 600 .8rem/1.5 var(--mono); padding: .05rem .4rem; border: 1px solid var(--line); border-radius: .3rem; color: var(--quiet) }
.need { font-size: .8rem; font-weight: 400; color: var(--accent) }
.need.optional { font-style: italic; color: var(--quiet) }
.name { font-weight: 600; overflow-wrap: break-word }
.type { font-size: .9rem; color: var(--quiet) }
.detail > * + :is(.part, details) { margin-top: 1.25rem }
.part .label { display: inline; margin-right: .5rem }
@media (min-width: 40.01rem) {
  .parameters { table-layout: fixed }
  .parameters th:nth-child(1) { width: 7rem }
  .parameters th:nth-child(2) { width: 3.7rem }
  .parameters th:nth-child(3) { width: 27% }
}
th .need { display: block }
.errors th:first-child { width: 4rem }
.fields { list-style: none; margin-top: .35rem; padding: 0; font-size: .95rem }
.fields > li { padding: .45rem 0; border-bottom: 1px solid var(--line) }
.fields .fields { margin: .35rem 0 0; padding-left: 1rem; border-left: 2px solid var(--line) }
:is(.schema, .fields, details) > .fields > li:last-child { border-bottom: 0 }
details > .fields, details > table { margin-top: .5rem }
summary { cursor: pointer; width: fit-content }
summary h4, summary span { display: inline }
.detail > details > summary { width: auto; padding: .45rem .75rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--raised) }
.detail > details > summary .label { margin: 0 .5rem 0 .15rem }
.detail > details > summary:hover { border-color: var(--quiet) }
.detail > details > :not(summary) { margin-left: .75rem; width: calc(100% - .75rem) }
.detail > details > p { margin-top: .6rem }
.fields summary, .pattern summary { font-size: .85rem; color: var(--accent) }
.pattern { display: inline }
.pattern summary { display: inline; margin-left: .5rem; text-decoration: underline dotted; text-underline-offset: .2em }
.pattern code { display: block; overflow-wrap: anywhere }

@media (max-width: 40rem) {
  .parameters :is(tbody, tr, th, td) { display: block }
  .parameters thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  .parameters tr { padding: .6rem 0; border-bottom: 1px solid var(--line) }
  .parameters :is(th, td) { padding: 0; border: 0 }
  .parameters :is(th, .place, .need) { display: inline-block; margin-right: .5rem }
  .place { font-size: .9rem; color: var(--quiet) }
  .place::before { content: 'in ' }
}`

export const STYLE = html`<style>
:root {
  color-scheme: light dark;
  --ground: light-dark(#fcfcfa, #0f1619); --raised: light-dark(#f3f4f1, #182226); --line: light-dark(#dde1de, #2b383d);
  --ink: light-dark(#1a2428, #dce6e9); --quiet: light-dark(#56646a, #9aabb2); --accent: light-dark(#0a6468, #69cfca);
  --code-ground: light-dark(#14242a, #182226); --code-ink: light-dark(#e3eef0, #d8e7ea);
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
*, ::before, ::after { box-sizing: border-box }
html { scroll-padding-top: 4.5rem; overflow-x: clip; -webkit-text-size-adjust: 100% }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", sans-serif }
a { color: var(--accent); text-underline-offset: .2em; text-decoration-thickness: 1px }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; border-radius: 3px }
h1, h2, h3, h4, p, ul, pre { margin: 0 }
h1, h2, h3 { line-height: 1.25; text-wrap: balance; letter-spacing: -.01em }
h1 { font-size: clamp(1.9rem, 1.4rem + 1.6vw, 2.6rem) }
h2 { font-size: 1.6rem }
h3 { font-size: 1.2rem }
h3 a { color: inherit; text-decoration: none }
h3 a:hover { text-decoration: underline }
code { font: .875em/1.5 var(--mono) }
p code, td code { overflow-wrap: anywhere }
.skip { position: absolute; left: -100vw; z-index: 3; padding: .5rem 1rem; background: var(--ground) }
.skip:focus { left: 1rem; top: .5rem }

.top { position: sticky; top: 0; z-index: 2; display: flex; justify-content: space-between; gap: 1rem; padding: .75rem clamp(1rem, 4vw, 2rem);
  background: var(--ground); border-bottom: 1px solid var(--line) }
.top a { text-decoration: none }
.top p:first-child a { color: inherit }
.version { margin-left: .25rem; padding: .1rem .45rem; border: 1px solid var(--line); border-radius: 1rem; font-size: .8rem; color: var(--quiet) }
nav { padding: 1rem clamp(1rem, 4vw, 2rem) 0 }
nav ul { list-style: none; padding: 0 }
nav > ul { display: flex; flex-wrap: wrap; gap: .5rem }
nav ul ul { display: none }
nav a { text-decoration: none }
.tag { display: block; padding: .2rem .75rem; border: 1px solid var(--line); border-radius: 1rem; font-size: .9rem }
main { padding: 1.5rem clamp(1rem, 4vw, 2rem) 4rem; min-width: 0 }
main > section { margin-top: 3rem }
main > .start { margin-top: 0 }
.lead { margin: .75rem 0; font-size: 1.15rem; line-height: 1.5 }
.start p { max-width: 44rem }

pre { margin-top: .5rem; padding: .9rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; border-radius: .5rem; background: var(--code-ground); color: var(--code-ink);
  border: 1px solid var(--line); font: .8rem/1.65 var(--mono) }
pre code { font: inherit; -webkit-user-select: all; user-select: all }

table { width: 100%; margin-top: .35rem; border-collapse: collapse; font-size: .95rem }
th, td { padding: .5rem .9rem .5rem 0; text-align: left; vertical-align: baseline; font-weight: 400; border-bottom: 1px solid var(--line) }
thead th { font-size: .82rem; color: var(--quiet) }
${ROUTE_STYLE}
@media (min-width: 62rem) {
  body { display: grid; grid-template-columns: minmax(17rem, 20rem) minmax(0, 1fr); grid-template-rows: auto 1fr; max-width: 112rem; margin: 0 auto }
  .top { grid-column: 1 / -1 }
  nav { position: sticky; top: 3.2rem; align-self: start; height: calc(100vh - 3.2rem); overflow-y: auto; padding: 1.5rem 1rem 2rem 2rem;
    border-right: 1px solid var(--line); scrollbar-width: thin }
  nav > ul { display: block }
  nav ul ul { display: block; margin: .25rem 0 1.1rem }
  nav li li a { display: flex; align-items: baseline; gap: .6rem; padding: .22rem .4rem; margin-left: -.4rem; border-radius: .35rem; font-size: .88rem; line-height: 1.4; color: var(--ink) }
  nav li li a:hover { background: var(--raised) }
  nav .method { font-size: .62rem; width: 5em; padding-inline: 0 }
  .tag { padding: 0; border: 0; font-weight: 650 }
  main { padding: 2.5rem clamp(2rem, 3vw, 4rem) 6rem }
}
@media (min-width: 84rem) {
  .route, .start { display: grid; grid-template-columns: minmax(0, 1.3fr) minmax(0, 1fr); grid-template-rows: auto 1fr; column-gap: clamp(2rem, 3vw, 3.5rem) }
  .beside { grid-column: 2; grid-row: 1 / 3; margin-top: 0 !important; position: sticky; top: 4.5rem; align-self: start }
  .detail, .about { grid-column: 1 }
  .schema { max-width: 60rem }
}
@media (min-width: 112rem) {
  .top::after { content: ''; position: absolute; inset: auto calc((112rem - 100vw) / 2) -1px; border-bottom: 1px solid var(--line) }
}
@media print { nav, .top { display: none } }
</style>`
