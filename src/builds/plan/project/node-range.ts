/**
 * The version of Node that an app is built and run with, as a semver range: from `engines.node` of package.json and a version
 * file, or else the default. The plan has a range and no exact version, so that a rebuild gets the newest fixes.
 */
import semver from 'semver'
import { DEFAULT_LINE, LINES } from '../../toolchain/node-lines.ts'
import type { Project } from './project.ts'

const DEFAULT = String(DEFAULT_LINE)
export const VERSION_FILES = ['.nvmrc', '.node-version']

/** The names of lines with long-term support. */
const LTS_NAMES: Readonly<Record<string, string>> = {
  argon: '4',
  boron: '6',
  carbon: '8',
  dubnium: '10',
  erbium: '12',
  fermium: '14',
  gallium: '16',
  hydrogen: '18',
  iron: '20',
  jod: '22',
  krypton: '24',
}
const ANY = ['node', 'stable', 'current', 'latest', 'lts', 'lts/*', '*']

export type NodeChoice = {
  range: string
  /** What to change for another version, such as `.nvmrc`; absent where the app sets none. */
  setBy?: string
  because: string[]
}

export const DEFAULT_NODE: NodeChoice = { range: DEFAULT, because: [] }

/** A range of the app, as alternatives; each alternative is a list of conditions. */
type Wish = { who: string; written: string; alternatives: readonly string[] }

export function chooseNode(project: Project): NodeChoice {
  const because: string[] = []
  const [engines, file] = [enginesOf(project), versionFileOf(project)].map((requested) => {
    const wish = requested && wishOf(requested)
    if (requested && !wish)
      because.push(`${requested.who} says ${shown(requested.written)}, which is no version of Node`)
    return wish
  })
  const [first, second] = engines === undefined ? [file, undefined] : [engines, file]
  if (first === undefined) return { ...DEFAULT_NODE, because }
  const both = second && rangeFor(bothOf(first, second))
  if (second !== undefined && both === undefined) {
    const why = rangeFor(second.alternatives) === undefined ? 'is not known here' : `${first.who} does not allow`
    because.push(`${second.who} says ${shown(second.written)}, which ${why}`)
  }
  // The registry may have a line that is newer than this code.
  const range = both ?? rangeFor(first.alternatives) ?? first.alternatives.join(' || ')
  const wishes = second === undefined || both === undefined ? [first] : [first, second]
  const requested = wishes.map(({ who, written }) => `${who} says ${shown(written)}`).join(' and ')
  return { range, setBy: setBy(wishes), because: [...because, `${requested}, so Node ${range} is used`] }
}

/** The settings that exclude the default, each of which must be changed; all settings where none excludes it. */
function setBy(wishes: readonly Wish[]): string {
  const narrow = wishes.filter(({ alternatives }) => !alternatives.some((range) => semver.intersects(range, DEFAULT)))
  return (narrow.length > 0 ? narrow : wishes).map(({ who }) => who).join(' and ')
}

type Requested = { who: string; written: string }

/** The app's own setting takes precedence over that of the folder where its packages are installed. */
function enginesOf({ packageJson, home }: Project): Requested | undefined {
  const written = packageJson?.node ?? home.packageJson?.node
  return written === undefined ? undefined : { who: 'engines.node of package.json', written: written.trim() }
}

const FILE_LENGTH = 2_000

function versionFileOf({ texts, home }: Project): Requested | undefined {
  for (const [place, found] of [texts, home.texts].entries())
    for (const name of VERSION_FILES) {
      const lines = (found[name] ?? '').slice(0, FILE_LENGTH).split('\n')
      const written = lines.map((line) => line.replace(/#.*$/, '').trim()).find((line) => line !== '')
      if (written !== undefined) return { who: place === 0 ? name : `${name} above the app`, written }
    }
  return undefined
}

const MAX_WRITTEN_LENGTH = 200

function wishOf({ who, written }: Requested): Wish | undefined {
  if (written.length > MAX_WRITTEN_LENGTH) return undefined
  const plain = written.toLowerCase()
  if (ANY.includes(plain)) return { who, written, alternatives: ['*'] }
  const range = LTS_NAMES[plain.replace(/^lts\//, '')] ?? plain
  if (semver.validRange(range) === null) return undefined
  const alternatives = new semver.Range(range).set.map((all) => all.map(({ value }) => value).join(' ') || '*')
  return { who, written, alternatives }
}

const bothOf = (one: Wish, other: Wish): string[] =>
  one.alternatives.flatMap((a) =>
    other.alternatives.filter((b) => semver.intersects(a, b)).map((b) => `${a} ${b}`.replaceAll(/\* | \*/g, '')),
  )

/** The simplest range for the preferred major version that the alternatives allow; undefined if they allow none. */
function rangeFor(alternatives: readonly string[]): string | undefined {
  for (const major of LINES) {
    const line = `${major}.x`
    if (alternatives.some((range) => semver.subset(line, range))) return String(major)
    const range = alternatives.find((range) => semver.intersects(range, line))
    if (range !== undefined) return simplest(range, major)
  }
  return undefined
}

/** Without conditions that every version of the line meets, and with bounds that keep it in the line. */
function simplest(range: string, major: number): string {
  const conditions = [...new Set(range.split(' '))].filter((condition) => !semver.subset(`${major}.x`, condition))
  const exact = conditions.find((condition) => semver.valid(condition) !== null)
  if (exact !== undefined) return exact
  const isBounded = (mark: RegExp): boolean => conditions.some((condition) => mark.test(condition))
  return [
    ...(isBounded(/^>/) ? [] : [`>=${major}`]),
    ...conditions.map((condition) => condition.replace(/-0$/, '')),
    ...(isBounded(/^</) ? [] : [`<${major + 1}`]),
  ].join(' ')
}

const SHOWN_LENGTH = 60
const shown = (written: string): string =>
  written.length > SHOWN_LENGTH ? `${written.slice(0, SHOWN_LENGTH)}…` : written
