/** How the documentation looks: as the portal does. The colours are those of portal/src/look/tokens.css; a test compares them. */

export const STYLE = `:root {
  color-scheme: light dark;
  --ground: light-dark(#f8f9f9, #0e1113);
  --panel: light-dark(#ffffff, #15191c);
  --sunken: light-dark(#f1f3f4, #0a0d0e);
  --hover: light-dark(#f1f4f5, #1c2226);
  --line: light-dark(#e1e5e7, #272e33);
  --line-strong: light-dark(#838e95, #6b777f);
  --text: light-dark(#15191c, #e7eaec);
  --text-quiet: light-dark(#535d64, #a2acb3);
  --accent: light-dark(#0b6178, #6ec6de);
  --accent-hover: light-dark(#084b5e, #93d6e8);
  --on-accent: light-dark(#ffffff, #04222b);
  --accent-ground: light-dark(#e5f1f4, #11272e);
  --focus: light-dark(#0b6178, #8fd7ea);
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
}
*, ::before, ::after { box-sizing: border-box }
html { scroll-padding-top: 72px; background: var(--ground); color: var(--text); font: 400 1rem/1.6 var(--sans); text-size-adjust: 100%; overflow-y: scroll }
body { margin: 0; min-width: 320px }
a { color: var(--accent); text-underline-offset: 3px; text-decoration-thickness: 1px }
a:hover { color: var(--accent-hover) }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px }
#content:focus { outline: none }
.skip { position: absolute; left: -100vw; z-index: 3; padding: 8px 16px; background: var(--panel) }
.skip:focus { left: 16px; top: 8px }

.bar { position: sticky; top: 0; z-index: 2; background: var(--panel); border-bottom: 1px solid var(--line) }
.inside { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 12px; max-width: 1440px; min-height: 56px; margin: 0 auto; padding: 8px 24px; font-size: .875rem }
.brand { display: flex; align-items: center; gap: 8px; color: var(--text); font-weight: 600; text-decoration: none }
.brand:hover { color: var(--text) }
.brand svg { display: block }
.sea { fill: var(--accent) }
.land { fill: var(--on-accent) }
.what { padding-left: 12px; border-left: 1px solid var(--line); color: var(--text-quiet) }
.search { display: flex; gap: 8px; margin-left: auto }
.search input, .search button { height: 36px; padding: 0 12px; border: 1px solid var(--line-strong); border-radius: 6px; background: var(--ground); color: inherit; font: inherit }
.search input { width: 220px }
.search button { background: var(--panel); cursor: pointer }
.search button:hover { background: var(--hover) }
::placeholder { color: var(--text-quiet); opacity: 1 }
.places { display: flex; gap: 16px }
.places a { text-decoration: none }
.places a:hover { text-decoration: underline }
.to-pages { display: none }

.columns { display: grid; grid-template: "pages main toc" / 248px minmax(0, 1fr) 208px; gap: 0 40px; max-width: 1440px; margin: 0 auto; padding: 0 24px }
main { grid-area: main; min-width: 0; padding: 32px 0 96px; overflow-wrap: break-word }
main > :is(h1, h2, h3, h4, p, ul, ol, blockquote, pre) { max-width: 800px }
.columns.two { grid-template: "pages main" / 248px minmax(0, 1fr) }
.pages { grid-area: pages; position: sticky; top: 56px; align-self: start; max-height: calc(100vh - 56px); overflow-y: auto; padding: 28px 8px 48px 0; font-size: .875rem; scrollbar-width: thin }
.toc { grid-area: toc; position: sticky; top: 56px; align-self: start; max-height: calc(100vh - 56px); overflow-y: auto; padding: 40px 0 48px; font-size: .8125rem; scrollbar-width: thin }
.pages ul, .toc ul { margin: 0; padding: 0; list-style: none }
.pages h2, .toc h2, .pages summary { margin: 0; padding: 4px 8px; font-size: .8125rem; font-weight: 600; line-height: 1.5 }
.pages summary { cursor: pointer }
.pages section, .pages details { margin-bottom: 20px }
.pages h2 a { color: inherit }
.pages a, .toc a { display: block; color: var(--text-quiet); text-decoration: none }
.pages li a, .toc li a { padding: 4px 8px; border-radius: 6px; line-height: 1.4 }
.pages a:hover, .toc a:hover { color: var(--text); text-decoration: underline }
.pages a[aria-current] { color: var(--accent); background: var(--accent-ground); font-weight: 600; border-radius: 6px }
.pages h2 a[aria-current] { margin: -4px -8px; padding: 4px 8px }
.toc h2 { padding-left: 8px; color: var(--text) }

h1, h2, h3, h4 { line-height: 1.3; text-wrap: balance }
main h1 { margin: 0 0 16px; font-size: 1.75rem; font-weight: 650; letter-spacing: -.01em }
main h2 { margin: 40px 0 12px; font-size: 1.25rem; font-weight: 600 }
main h3 { margin: 28px 0 8px; font-size: 1.0625rem; font-weight: 600 }
main h4 { margin: 24px 0 8px; font-size: 1rem }
main :is(h2, h3, h4) a { color: inherit; text-decoration: none }
main :is(h2, h3, h4) a:hover { text-decoration: underline }
main :is(p, ul, ol) { margin: 0 0 16px }
main :is(ul, ol) { padding-left: 24px }
main li { margin: 4px 0 }
main li > :is(ul, ol) { margin: 4px 0 }
code { font: .875em/1.5 var(--mono); overflow-wrap: anywhere }
:is(p, li, td, th) > code, :is(a, strong, em) > code { padding: .1em .35em; border-radius: 4px; background: var(--sunken); border: 1px solid var(--line); -webkit-box-decoration-break: clone; box-decoration-break: clone }
pre { margin: 0 0 16px; padding: 14px 16px; overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; background: var(--sunken) }
pre code { font-size: .8125rem; line-height: 1.6; overflow-wrap: normal }
blockquote { margin: 0 0 16px; padding: 4px 0 4px 16px; border-left: 3px solid var(--line); color: var(--text-quiet) }
hr { margin: 32px 0; border: 0; border-top: 1px solid var(--line) }
img { display: block; max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 6px }
.table { margin: 0 0 20px; overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; background: var(--panel) }
table { width: 100%; border-collapse: collapse; font-size: .875rem }
th, td { padding: 8px 12px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); overflow-wrap: break-word }
td code { overflow-wrap: break-word }
tbody tr:last-child td { border-bottom: 0 }
th { font-weight: 600; background: var(--sunken) }
tr { scroll-margin-top: 72px }
tr:target td { background: var(--accent-ground) }

.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(320px, 1fr)); gap: 16px }
.cards section { padding: 16px 20px; border: 1px solid var(--line); border-radius: 10px; background: var(--panel) }
.cards h2 { margin: 0 0 4px; font-size: 1rem }
.cards p { margin: 0 0 8px; font-size: .875rem; color: var(--text-quiet) }
.cards ul { margin: 0; padding: 0; list-style: none; font-size: .875rem }
.hits { padding: 0 !important; list-style: none }
.hits li { padding: 12px 0; border-bottom: 1px solid var(--line) }
.hits a { font-weight: 600 }
.hits .of { margin-left: 8px; color: var(--text-quiet); font-size: .875rem }
.hits p { margin: 4px 0 0; font-size: .875rem; color: var(--text-quiet) }

@media (max-width: 1180px) {
  .columns, .columns.two { grid-template: "pages main" / 232px minmax(0, 1fr); gap: 0 32px }
  .toc { display: none }
}
@media (max-width: 800px) {
  html { scroll-padding-top: 16px }
  .bar { position: static }
  .inside { padding: 8px 16px }
  .search { order: 1; width: 100%; margin: 0 }
  .search input { flex: 1; width: 0 }
  .places { margin-left: auto }
  .to-pages { display: inline }
  .columns, .columns.two { display: block; padding: 0 16px }
  main { padding: 24px 0 32px }
  .pages { position: static; max-height: none; padding: 24px 0 48px; border-top: 1px solid var(--line); font-size: 1rem }
  .pages li a { padding: 8px }
  .cards { grid-template-columns: 1fr }
}
@media (max-width: 640px) {
  .wide :is(table, tbody, tr, td) { display: block }
  .wide thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  .wide tr { padding: 12px; border-bottom: 1px solid var(--line) }
  .wide tbody tr:last-child { border-bottom: 0 }
  .wide tr:target { background: var(--accent-ground) }
  .wide td { padding: 2px 0; border: 0 }
  .wide td:not(:first-child)::before { content: attr(data-label) ": "; color: var(--text-quiet) }
}
@media (max-width: 480px) { .what { display: none } }
@media print { .bar, .pages, .toc { display: none } .columns { display: block } }
`
