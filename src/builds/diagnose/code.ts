/** Failures of the app's own code and scripts, as the tools report them that build or run it. */
import { quote } from './lines.ts'
import { EVERY_PHASE, type Evidence, type Hit, managerOf, RUNNING_CODE, type Rule, search, span } from './rule.ts'

const COMMAND = [
  /\b(?:ba|da|z)?sh: \d{1,4}: ([\w@./-]{1,80}): not found/,
  /\b(?:ba|da|z)?sh: (?:line \d{1,4}: )?([\w@./-]{1,80}): command not found/,
  /^command not found: ([\w@./-]{1,80})/,
  /^error Command "([^"]{1,80})" not found/,
  /\bERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL.{0,40}Command "([^"]{1,80})" not found/,
  /\bspawn ([\w@./-]{1,80}) ENOENT/,
]

/** Commands whose package has another name than the command. */
const PACKAGES: Record<string, string> = {
  tsc: 'typescript',
  ng: '@angular/cli',
  eleventy: '@11ty/eleventy',
  docusaurus: '@docusaurus/core',
  'svelte-kit': '@sveltejs/kit',
  'react-router': '@react-router/dev',
  'react-router-serve': '@react-router/serve',
  remix: '@remix-run/dev',
  'remix-serve': '@remix-run/serve',
  'vue-cli-service': '@vue/cli-service',
  nuxi: 'nuxt',
  webpack: 'webpack-cli',
  tailwindcss: '@tailwindcss/cli',
  'graphql-codegen': '@graphql-codegen/cli',
  sass: 'sass',
  'run-s': 'npm-run-all',
  'run-p': 'npm-run-all',
}
/** Programs that no npm package contains. */
const PROGRAMS = new Set([
  'git',
  'python',
  'python3',
  'make',
  'gcc',
  'g++',
  'php',
  'ruby',
  'go',
  'hugo',
  'curl',
  'wget',
  'zip',
])

export const commandNotFound: Rule = {
  phases: EVERY_PHASE,
  find(evidence) {
    const hits = search(evidence.lines, ...COMMAND)
    const last = hits.at(-1)
    if (!last) return undefined
    const command = last.match[1] ?? ''
    const package_ = PACKAGES[command] ?? command
    const todo = PROGRAMS.has(command)
      ? 'No package contains it: do without it, or ask the operator to install it.'
      : `Add its package to the app: \`${managerOf(evidence).addDev} ${package_}\`. If package.json has it under devDependencies, look for \`omit=dev\` in .npmrc, which leaves those out.`
    const message = `The command ${command} was not found. ${todo}`
    return { reason: 'COMMAND_NOT_FOUND', message, at: last.index, lastAt: last.index, metadata: { command } }
  },
}

const MODULE = [
  /Module not found: (?:Error: )?Can't resolve '([^']{1,300})'/,
  /Roll(?:up|down) failed to resolve import "([^"]{1,300})" from "([^"]{1,300})"/,
  /Failed to resolve import "([^"]{1,300})" from "([^"]{1,300})"/,
  /Could not resolve ["']([^"']{1,300})["'](?: (?:from|in) "?([^"\s]{1,300})"?)?/,
  /Cannot find (?:module|package) '([^']{1,300})'(?: imported from ['"]?([^\s'"]{1,300}))?/,
  /Preprocessor dependency "([^"]{1,120})" not found/,
  /Could not load ([^ ]{1,300}) \(imported by ([^)]{1,300})\): ENOENT/,
]
const IS_OWN_FILE = /^(?:\.{0,2}\/|@\/|~\/|#|\$lib\/|src\/)/

/** A font that was not fetched: see fonts.ts. */
const FONT_OF_GOOGLE = /^@vercel\/turbopack-next\/internal\/font\/google\//
/** Turbopack appends the options to the name of a local font. */
const LOCAL_FONT = /^@vercel\/turbopack-next\/internal\/font\/local\/([^%"?]{1,300}).{0,300}/

const nameIn = ({ match }: Hit): string => (match[1] ?? '').replace(LOCAL_FONT, './$1')

export const moduleNotFound: Rule = {
  phases: RUNNING_CODE,
  find(evidence) {
    const hits = search(evidence.lines, ...MODULE).filter(({ match }) => !FONT_OF_GOOGLE.test(match[1] ?? ''))
    const [first] = hits
    if (!first) return undefined
    const name = nameIn(first)
    const [, , from] = first.match
    const message = `${quote(name)} was not found${from ? `, which ${quote(from)} imports` : ''}. ${adviceOn(name, evidence)}`
    return { reason: 'MODULE_NOT_FOUND', message, ...span(hits), metadata: { module: quote(name) } }
  },
}

/** Names that are no packages: a tool, a runtime or a framework provides them. */
const PROVIDED: readonly { pattern: RegExp; advice: string }[] = [
  {
    pattern: /^node:/,
    advice: 'This Node.js does not have it: name a newer one in `engines.node` of package.json.',
  },
  {
    pattern: /^(?:bun|cloudflare|deno):/,
    advice: 'Only another runtime has it, and apps run on Node.js here: use a package that works on Node.js.',
  },
  {
    pattern: /^[a-z][a-z0-9+.-]{1,30}:|^\0/,
    advice:
      'It is not a package: a plugin or the framework provides it. Check that the plugin is in the configuration and that its version fits the framework.',
  },
  {
    pattern: /^(?:@vercel\/turbopack-|private-next-|private-dot-next|next\/dist\/)/,
    advice:
      'It is a part of Next.js itself: look at the lines above it in the log, and check that only one version of next is installed.',
  },
]

function adviceOn(name: string, evidence: Evidence): string {
  if (IS_OWN_FILE.test(name)) {
    return 'Check that the file is in the archive and is spelt exactly so: here Header and header are two names, unlike on macOS and Windows.'
  }
  const provided = PROVIDED.find(({ pattern }) => pattern.test(name))
  if (provided) return provided.advice
  const bare = name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
  const { add } = managerOf(evidence)
  return evidence.phase === 'STARTING'
    ? `Add the package to the dependencies of package.json, not to devDependencies: \`${add} ${quote(bare)}\`.`
    : `Add the package to package.json: \`${add} ${quote(bare)}\`. If it is under devDependencies, look for \`omit=dev\` in .npmrc, which leaves those out.`
}

const TYPES = [
  /\berror TS\d{1,6}: /,
  /^\s{0,4}(?:Type error|\.\/[^ ]{1,300} - error): /,
  /^Failed to type check/,
  /\bTS\d{4,5} ?\[ERROR\]|\[ERROR\] TS\d{4,5}: /,
  /^[^ ]{1,300}:\d{1,6}:\d{1,6} - error ts\(\d{1,6}\)/,
]

export const typeError: Rule = {
  phases: ['BUILDING'],
  find({ lines }) {
    const hits = search(lines, ...TYPES)
    const [first] = hits
    if (!first) return undefined
    const place = placeBefore(lines[first.index - 1]?.text ?? '', first)
    const message = `The TypeScript compiler found an error: ${place}${quote(first.match.input).replace(/\.$/, '')}. Run \`npx tsc --noEmit\` on your machine and fix what it shows.`
    return { reason: 'TYPE_ERROR', message, ...span(hits) }
  },
}

/** Next.js writes the file in the line before. */
const placeBefore = (before: string, { match }: Hit): string =>
  /^\s{0,4}Type error/.test(match.input) && /^\.\/[^ ]{1,300}$/.test(before.trim()) ? `${quote(before)} ` : ''

const LINT = [
  /^\d{1,6}:\d{1,6} {1,4}Error: .{1,400} {2}[@\w/-]{3,80}$/,
  /^\s{1,4}\d{1,6}:\d{1,6} {1,4}error {1,4}.{1,400} {2,40}[@\w/-]{3,80}$/,
  /^✖ \d{1,7} problems? \([1-9]\d{0,6} errors?/,
]

export const lintError: Rule = {
  phases: ['BUILDING'],
  find({ lines }) {
    const hits = search(lines, ...LINT)
    const [first] = hits
    if (!first) return undefined
    const message = `The linter found an error and ended the build: ${quote(first.match.input)}. Fix it, or take the linter out of the build script.`
    return { reason: 'LINT_ERROR', message, ...span(hits) }
  },
}
