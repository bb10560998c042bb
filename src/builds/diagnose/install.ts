/** The messages of package managers that cannot install: npm, pnpm, Yarn 1, Yarn 2 and later, bun. */
import { hostOf } from './hosts.ts'
import { provingIndex, quote, sentence } from './lines.ts'
import { unreachableIn } from './network.ts'
import { type Evidence, type FailedPhase, type Finding, type Hit, managerOf, type Rule, search, span } from './rule.ts'

const INSTALLING: readonly FailedPhase[] = ['INSTALLING']

const LOCKFILE = [
  /`npm ci` can only install packages when your package\.json and /,
  /`npm ci` command can only install with an existing package-lock\.json/,
  /ERR_PNPM_(?:OUTDATED_LOCKFILE|NO_LOCKFILE|BROKEN_LOCKFILE|LOCKFILE_\w{1,40}|FROZEN_LOCKFILE_\w{1,60})/,
  /Your lockfile needs to be updated/,
  /The lockfile would have been (?:modified|created) by this install/,
  /lockfile had changes, but lockfile is frozen/,
]
/** The difference, where the manager reports it. */
const DIFFERS = [
  /npm (?:error|ERR!) (Missing: .{1,200} from lock file)/,
  /npm (?:error|ERR!) (Invalid: lock file's .{1,200})/,
  /^note: (dependencies in package\.json changed .{1,200})/,
  /^\* (\d{1,6} dependencies (?:were|are) .{1,200})/,
]
const WRITTEN_BY_ANOTHER = /ERR_PNPM_LOCKFILE_BREAKING_CHANGE/
const UNREADABLE = /existing package-lock|NO_LOCKFILE|BROKEN_LOCKFILE/

export const lockfileMismatch: Rule = {
  phases: INSTALLING,
  find(evidence) {
    const { lines } = evidence
    const hits = search(lines, ...LOCKFILE)
    const [first] = hits
    if (!first) return undefined
    const { install } = managerOf(evidence)
    const lockfile = evidence.lockfile ?? managerOf(evidence).lockfile
    const [difference] = search(lines, ...DIFFERS)
    const detail = difference ? ` (${quote(difference.match[1] ?? '').replace(/:$/, '')})` : ''
    const what = WRITTEN_BY_ANOTHER.test(first.match[0])
      ? `${lockfile} was written by another version of the package manager: name yours in \`packageManager\` of package.json, or`
      : UNREADABLE.test(first.match[0])
        ? `${lockfile} is missing or cannot be read:`
        : `${lockfile} does not fit package.json${detail}:`
    const message = `${what} run \`${install}\` on your machine and upload the ${lockfile} it writes.`
    return { reason: 'LOCKFILE_MISMATCH', message, ...span(hits), metadata: { lockfile } }
  },
}

const CHECKSUM = [
  /npm (?:error|ERR!) code EINTEGRITY/,
  /ERR_PNPM_TARBALL_INTEGRITY\s{1,4}Got unexpected checksum for "([^"]{1,300})"/,
  /error (?:Incorrect integrity|Integrity check failed) .{0,80}?"([^"]{1,120})"/,
  /YN0018: [│ ]{0,4}([^ ]{1,200}): The remote archive doesn't match the expected checksum/,
  /Integrity check failed(?: for tarball)?: ([^ ]{1,120})/,
]

export const checksumMismatch: Rule = {
  phases: INSTALLING,
  find(evidence) {
    const hits = search(evidence.lines, ...CHECKSUM)
    const [first] = hits
    if (!first) return undefined
    const { lockfile } = evidence
    const name = quote(first.match[1] ?? 'A package')
    const message =
      lockfile === null
        ? `${name} is not what the registry says of it: the checksums differ. Try again later; if it goes on, do not trust the package.`
        : `${name} is not what ${lockfile} says: the checksums differ. If the registry really changed it, delete ${lockfile}, run \`${managerOf(evidence).install}\` and upload the new one; if not, do not trust the package.`
    return { reason: 'CHECKSUM_MISMATCH', message, ...span(hits), ...about(first.match[1]) }
  },
}

const NOT_FOUND = [
  /npm (?:error|ERR!) 404 {1,4}(?:The requested resource )?'([^']{1,200})'/,
  /ERR_PNPM_FETCH_404\s{1,4}GET ([^ ]{1,300}):/,
  /^error Couldn't find package "([^"]{1,200})"/,
  /^error .{0,300}Request failed "404/,
  /YN0035: [│ ]{0,4}([^ ]{1,200}): Package not found/,
  /^error: GET ([^ ]{1,300}) - 404/,
  /npm (?:error|ERR!) code E404/,
]
const NO_VERSION = [
  /No matching version found for ([@\w./^~<>=*|-]{1,200})/,
  /ERR_PNPM_NO_VERSIONS\s{1,4}No versions available for ([^ ]{1,200})/,
  /^error Couldn't find any versions for "([^"]{1,120})" that matches "([^"]{1,120})"/,
  /YN0082: [│ ]{0,4}([^ ]{1,200}): No candidates found/,
  /No version matching "([^"]{1,120})" found for specifier "([^"]{1,120})"/,
]

export const dependencyNotFound: Rule = {
  phases: INSTALLING,
  find(evidence) {
    const absent = search(evidence.lines, ...NOT_FOUND)
    const named = absent.find(({ match }) => match[1]) ?? absent[0]
    if (named) {
      const name = packageIn(named.match[1] ?? '')
      const message = `The registry has no package ${name || 'of that name'}. Check its name in package.json; if it is private, put its registry and token into .npmrc.`
      return { reason: 'DEPENDENCY_NOT_FOUND', message, ...placeOf(named, absent), ...about(name) }
    }
    const versions = search(evidence.lines, ...NO_VERSION)
    const [first] = versions
    if (!first) return undefined
    const name = packageIn(versionIn(first.match))
    const message = `The registry has no version ${name}. Choose one that exists, in package.json or in the package that asks for it.`
    return { reason: 'DEPENDENCY_NOT_FOUND', message, ...span(versions), ...about(name) }
  },
}

/** bun writes the version first. */
function versionIn(match: RegExpExecArray): string {
  const [all, one = '', two] = match
  if (two === undefined) return one.replace(/\.$/, '')
  return all.startsWith('No version') ? `${two}@${one}` : `${one}@${two}`
}

const CONFLICT = [/npm (?:error|ERR!) code ERESOLVE/, /ERR_PNPM_PEER_DEP_ISSUES/]
const CONFLICT_FOUND = /npm (?:error|ERR!) Found: ([^ ]{1,200})/
const CONFLICT_WANTED = /npm (?:error|ERR!) (?:peer|peerOptional) ([^ ]{1,200}) from ([^ ]{1,200})/

export const dependencyConflict: Rule = {
  phases: INSTALLING,
  find(evidence) {
    const hits = search(evidence.lines, ...CONFLICT)
    if (hits.length === 0) return undefined
    const [found] = search(evidence.lines, CONFLICT_FOUND)
    const [wanted] = search(evidence.lines, CONFLICT_WANTED)
    const what = wanted
      ? `${wanted.match[2]} wants ${wanted.match[1]?.replaceAll('"', '')}${found ? `, but ${found.match[1]} is asked for` : ''}.`
      : 'Two packages want different versions of a third.'
    const message = `${what} Choose versions that fit each other, or put \`legacy-peer-deps=true\` into .npmrc.`
    const place = wanted ? placeOf(wanted, hits) : span(hits)
    return { reason: 'DEPENDENCY_CONFLICT', message, ...place, ...about(wanted?.match[2]) }
  },
}

const REFUSED = [
  /npm (?:error|ERR!) code E40[13]/,
  /npm (?:error|ERR!) code ENEEDAUTH/,
  /ERR_PNPM_FETCH_40[13]\s{1,4}GET ([^ ]{1,300}):/,
  /YN0041: [│ ]{0,4}([^ ]{1,200}): Invalid authentication/,
  /YN0035: [│ ]{0,6}Response Code: 40[13] /,
  /^error: GET ([^ ]{1,300}) - 40[13]/,
  /^error .{0,300}Request failed "40[13]/,
  /^error .{0,60}https?:\/\/[^ ]{1,300}: .{0,100}(?:[Uu]nauthorized|[Ff]orbidden|[Aa]uthenticat)/,
]
const REFUSED_ADDRESS = [
  /npm (?:error|ERR!) 40[13] .{0,60}- GET ([^ ]{1,300})/,
  /YN0035: [│ ]{0,6}Request URL: ([^ ]{1,300})/,
  /ERR_PNPM_FETCH_40[13]\s{1,4}GET ([^ ]{1,300}):/,
  /^error: GET ([^ ]{1,300}) - 40[13]/,
]

export const registryRefused: Rule = {
  phases: INSTALLING,
  find(evidence) {
    const hits = search(evidence.lines, ...REFUSED)
    if (hits.length === 0) return undefined
    const [asked] = search(evidence.lines, ...REFUSED_ADDRESS)
    const address = asked?.match[1] ?? ''
    const host = hostOf(address)
    const name = packageIn(address || (hits.find(({ match }) => match[1])?.match[1] ?? ''))
    const message = `The registry${host ? ` ${host}` : ''} refused ${name || 'a package'}. Put a token that may read it into a shell variable and name it in .npmrc, as in \`//${host || 'registry.example.com'}/:_authToken=\${NPM_TOKEN}\`.`
    const place = asked ? placeOf(asked, hits) : span(hits)
    return { reason: 'REGISTRY_REFUSED', message, ...place, metadata: { ...nameOf(name), ...(host && { host }) } }
  },
}

/** Each names the package, or the folder where its script ran. */
const SCRIPT = [
  /npm (?:error|ERR!) command sh -c (.{1,300})/,
  /^([^ ]{1,300}) (?:preinstall|install|postinstall|prepare): Failed/,
  /^error ([^ ]{1,400}): Command failed\./,
  /YN0009: [│ ]{0,4}([^ ]{1,300}) couldn't be built successfully/,
  /^error: \w{1,20} script from "([^"]{1,200})" exited with/,
]
const SCRIPT_PATH = /npm (?:error|ERR!) path ([^ ]{1,400})/
const COMPILES = /\bnode-gyp\b|gyp ERR!|gyp: |\bnode-pre-gyp\b/

export const installScriptFailed: Rule = {
  phases: INSTALLING,
  find(evidence) {
    const { lines } = evidence
    const [first] = search(lines, ...SCRIPT)
    if (!first) return undefined
    const isNpm = first.match[0].startsWith('npm ')
    const folder = isNpm ? (search(lines, SCRIPT_PATH)[0]?.match[1] ?? '') : (first.match[1] ?? '')
    const name =
      isNpm || folder.includes('node_modules/') ? inNodeModules(folder) : packageIn(folder).replace(/^\.$/, '')
    const whose = name ? `The install script of ${name}` : "The app's own install script"
    const proof = proofOf(evidence, first)
    const place = { at: proof, lastAt: first.index }

    const download = unreachableIn(evidence).findLast(({ kind }) => kind !== 'telemetry')
    if (download) {
      const from = download.host ? ` from ${download.host}` : ''
      return {
        reason: 'DOWNLOAD_FAILED',
        message: `${whose} could not download what it needs${from}. Try again later; if this machine may not reach that address, use a version of the package that comes whole from the registry.`,
        ...place,
        at: download.index,
        metadata: { ...nameOf(name), ...(download.host && { host: download.host }) },
      }
    }
    const isCompiling = lines.some(({ text }) => COMPILES.test(text))
    const todo = isCompiling
      ? 'It compiles C or C++ code, which needs Python, make and a compiler on the build machine: use a version that has ready-made binaries, or ask the operator to install them.'
      : name
        ? 'Use a version of the package whose script works here, or leave the package out.'
        : 'Fix the script in package.json.'
    const quoted = proof === first.index ? '' : quote(withoutPrefix(lines[proof]?.text ?? ''))
    const message = `${sentence(`${whose} failed`, quoted)} ${todo}`
    return { reason: 'INSTALL_SCRIPT_FAILED', message, ...place, ...about(name) }
  },
}

const NPM_BOILERPLATE = /^npm (?:error|ERR!) (?:A complete log of this run|command |code |path )/

/**
 * The output of the script is after the header of npm and Yarn 1, and before that of the others. npm does not buffer the output
 * of the app's own scripts: then only its usual last lines are after the header.
 */
function proofOf({ lines }: Evidence, { index, match }: Hit): number {
  const hasOutput = lines.slice(index + 1).some(({ text }) => !NPM_BOILERPLATE.test(text))
  const isAfter = hasOutput && /^npm |: Command failed\.$/.test(match[0])
  const from = isAfter ? index + 1 : 0
  const npmBegins = lines.findIndex(({ text }) => /^npm (?:error|ERR!)/.test(text))
  const end = npmBegins > 0 ? Math.min(npmBegins, index) : index
  const part = isAfter ? lines.slice(from) : lines.slice(from, end)
  const proof = provingIndex(part.map(({ number, text }) => ({ number, text: withoutPrefix(text) })))
  return proof < 0 ? index : from + proof
}

/** pnpm and Yarn prefix each line with the package whose script wrote it. */
const withoutPrefix = (text: string): string =>
  text
    .replace(/^[^ ]{1,300} (?:preinstall|install|postinstall|prepare): /, '')
    .replace(/^➤ YN0000: [│ ]{0,4}[^ ]{1,300} STD(?:OUT|ERR) /, '')
    .replace(/^npm (?:error|ERR!) ?/, '')

const nameOf = (name: string | undefined): Record<string, string> => (name ? { package: name } : {})
const about = (name: string | undefined): Pick<Finding, 'metadata'> => ({ metadata: nameOf(name) })

const placeOf = ({ index }: Hit, all: readonly Hit[]) => ({ at: index, lastAt: all.at(-1)?.index ?? index })

/** The package of a folder: what follows the last `node_modules/`. */
function inNodeModules(path: string): string {
  const start = path.lastIndexOf('node_modules/')
  if (start < 0) return ''
  const [first = '', second] = path.slice(start + 'node_modules/'.length).split('/')
  return first.startsWith('@') && second ? `${first}/${second}` : first
}

/** A package name from a URL of the registry, or from the name that a manager uses. */
function packageIn(text: string): string {
  const path = text.startsWith('http') ? text.slice(text.indexOf('/', 'https://'.length) + 1) : text
  const name = path.replaceAll(/%2f/gi, '/').split('/-/')[0] ?? ''
  const short = name.replace('@npm:', '@').replace(/@(?:file|patch|virtual|workspace|https?):.{0,300}$/, '')
  return text.startsWith('http')
    ? short
        .split('/')
        .slice(short.includes('@') ? -2 : -1)
        .join('/')
    : short
}
