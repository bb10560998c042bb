/**
 * Native packages exist once per platform, as optional dependencies: a missing one is skipped silently, and the program that
 * needs it fails later with a misleading message.
 */
import { quote } from './lines.ts'
import { EVERY_PHASE, type Evidence, type Finding, type Hit, type Line, managerOf, type Rule, search } from './rule.ts'

const PLATFORM =
  /(?:linux|linuxmusl|darwin|win32|freebsd|android)[-_/.](?:arm64|aarch64|x64|x86_64|arm|ia32|riscv64|ppc64)/

/** Messages that name the package, or a file of it. */
const NAMES_IT = [
  /The package "([^"]{1,120})" could not be found, and is needed by/,
  /needs the "([^"]{1,120})" package instead/,
  /No prebuild or local build of [^ ]{1,120} found\. Tried ([@\w./-]{1,120})/,
  /make sure the optional dependency ([@\w./-]{1,120})/,
  /Attempted to load ([@\w./-]{1,120}), but it was not installed/,
  /Cannot find (?:module|package) ['"]?([@\w./-]{1,160})/,
]
const NATIVE_FAILS =
  /Cannot find native binding|Failed to load native binding|No prebuild or local build of|needs the "[^"]{1,120}" package instead|could not be found, and is needed by/
const SHARP = /Could not load the "sharp" module using the ([\w-]{1,40}) runtime/
const SWC = /Failed to load SWC binary for (\w{1,20})\/(\w{1,20})/
/** Node prints the source line that throws above the error itself. */
const SOURCE_LINE = /new Error\(/
/** Next.js then fetches the package itself, and its last message is the failure of that download. */
const SWC_DOWNLOAD = /Downloading swc package ([@\w./-]{1,120})/
const UNREACHABLE = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|fetch failed/
const SWC_DOWNLOAD_LINES = 12
const BINDINGS = [
  /Could not locate the bindings file/,
  /was compiled against a different Node\.js version/,
  /invalid ELF header/,
  /wrong ELF class/,
]

export const nativePackageMissing: Rule = {
  phases: EVERY_PHASE,
  find: (evidence) => absent(evidence) ?? unusable(evidence),
}

function absent(evidence: Evidence): Finding | undefined {
  const { lines } = evidence
  const failed = search(lines, NATIVE_FAILS, SHARP, SWC).filter(({ match }) => !SOURCE_LINE.test(match.input))
  const named = search(lines, ...NAMES_IT).filter(({ match }) => PLATFORM.test(match[1] ?? ''))
  const downloads = search(lines, SWC_DOWNLOAD).filter(({ index }) => isFollowedBy(lines, index, UNREACHABLE))
  const hits = [...failed, ...named, ...downloads]
  const [first] = hits
  if (!first) return undefined
  const name = packageOf(hits)
  const platform = PLATFORM.exec(name)?.[0].replace(/[/_.]/, '-')
  const what = name ? `The native package ${name} is not installed.` : 'A native package is not installed.'
  return {
    reason: 'NATIVE_PACKAGE_MISSING',
    message: `${what} ${whyAndWhatToDo(evidence, name, platform)}`,
    at: first.index,
    lastAt: first.index,
    metadata: { ...(name && { package: name }), ...(platform && { platform }) },
  }
}

/**
 * A lockfile that lacks the package was made on another platform. Without a lockfile, or where the lockfile has it, the registry
 * does not have it in the version that is required.
 */
function whyAndWhatToDo(evidence: Evidence, name: string, platform = 'this platform'): string {
  const { lockfile } = evidence
  const known = evidence.missing.find((missing) => missing.name === name)
  const asking = known?.parent?.name ?? WELL_KNOWN.find(([native]) => name.startsWith(native))?.[1]
  const { install, addOptional, override } = managerOf(evidence)
  if (lockfile !== null && !known?.isLocked) {
    const todo = `delete it and node_modules, run \`${install}\` and upload the new one${name ? `, or run \`${addOptional} ${name}\`` : ''}.`
    return `Most likely ${lockfile} was made on another platform than ${platform}: ${todo}`
  }
  const version = known?.parent ? ` (${known.parent.version})` : ''
  const why =
    lockfile === null
      ? `The app has no lockfile, so the newest ${asking ?? 'version of what asks for it'} that package.json allows was taken${version}`
      : `${lockfile} has it for ${asking ?? 'the version of what asks for it'}${version}`
  const todo = `Try the version before${asking ? ` of ${asking}` : ''}: name it in package.json, under ${override} if another package brings it, and upload the lockfile that \`${install}\` writes.`
  return `${why}, and most likely the registry has no binary of that one for ${platform}. ${todo}`
}

/** The packages that require native packages of these names, where the install does not show it. */
const WELL_KNOWN: readonly [native: string, asking: string][] = [
  ['@esbuild/', 'esbuild'],
  ['@img/sharp-', 'sharp'],
  ['@next/swc-', 'next'],
  ['@parcel/watcher-', '@parcel/watcher'],
  ['@rolldown/binding-', 'rolldown'],
  ['@rollup/rollup-', 'rollup'],
  ['@swc/core-', '@swc/core'],
  ['@tailwindcss/oxide-', '@tailwindcss/oxide'],
  ['lightningcss-', 'lightningcss'],
]

/** The package is installed, but not for this machine, or its install script was not allowed to run. */
function unusable({ lines }: Evidence): Finding | undefined {
  const hits = search(lines, ...BINDINGS)
  const [first] = hits
  if (!first) return undefined
  return {
    reason: 'NATIVE_PACKAGE_MISSING',
    message: `A native package does not work here (${quote(first.match[0])}). Run a Clean Rebuild; where the package manager asks for it, allow the package's install script (pnpm: onlyBuiltDependencies, bun: trustedDependencies, Yarn: enableScripts).`,
    at: first.index,
    lastAt: hits.at(-1)?.index ?? first.index,
  }
}

/** A package before a file of it, and the one for Linux before those for other systems. */
function packageOf(hits: readonly Hit[]): string {
  const names: string[] = []
  for (const { match } of hits) {
    if (match[0].startsWith('Could not load the "sharp"')) return `@img/sharp-${match[1]}`
    if (match[0].startsWith('Failed to load SWC')) return `@next/swc-${match[1]}-${match[2]}-gnu`
    if (match[1]) names.push(match[1].replace(/\.{1,9}$/, ''))
  }
  const packages = names.filter((name) => !name.endsWith('.node') && !name.startsWith('.') && !name.startsWith('/'))
  return packages.find((name) => name.includes('linux')) ?? packages[0] ?? packageOfFile(names[0] ?? '')
}

/** `../lightningcss.linux-arm64-gnu.node` belongs to `lightningcss-linux-arm64-gnu`. */
function packageOfFile(file: string): string {
  const name = file.slice(file.lastIndexOf('/') + 1).replace(/\.node$/, '')
  return name.replace('.', '-')
}

const isFollowedBy = (lines: readonly Line[], index: number, what: RegExp): boolean =>
  lines.slice(index + 1, index + 1 + SWC_DOWNLOAD_LINES).some(({ text }) => what.test(text))
