/**
 * The walls of the house, as pure functions: sources in, complaints out. `test/architecture.test.ts` runs them over the
 * real tree, and over small made-up ones that break each rule.
 */
import { dirname, join } from 'node:path/posix'

/** `path` is relative to the top of the repository: `src/apps/apps.ts`. */
export type Source = { path: string; text: string }

/** The floor of each room: `apps/` → 2, `main.ts` → 6. */
export type Floors = ReadonlyMap<string, number>

/** What stands behind an interface, chosen in one place. */
export const ADAPTERS: readonly string[] = [
  'src/storage/sql/sqlite.ts',
  'src/storage/blobs/blobs-disk.ts',
  'src/engines/sandbox/sandbox.ts',
  'src/engines/plain.ts',
]
const CHOOSERS = ['src/main.ts', 'src/machine.ts']
const READER_OF_ENVIRONMENT = 'src/config.ts'

/** Reads the table `| floor | rooms | they know about |`: a room is what stands in code marks in the second column. */
export function readFloors(markdown: string): Floors {
  const lines = markdown.split('\n')
  const heading = lines.findIndex((line) => /^\| *floor *\| *rooms *\|/.test(line))
  if (heading < 0) throw new Error('there is no table of floors')
  const floors = new Map<string, number>()
  for (const line of lines.slice(heading + 2)) {
    const [, floor, modules] = /^\| *(\d+) *\|([^|]*)\|/.exec(line) ?? []
    if (floor === undefined || modules === undefined) break
    for (const [, room = ''] of modules.matchAll(/`([^`]+)`/g)) {
      if (floors.has(room)) throw new Error(`${room} stands in the table twice`)
      floors.set(room, Number(floor))
    }
  }
  return floors
}

/** Rooms that are in `src/` and not in the table, and the other way round. */
export function strayRooms(sources: readonly Source[], floors: Floors): string[] {
  const modules = new Set(ofHouse(sources).map(({ path }) => roomOf(path)))
  return [
    ...[...modules].filter((room) => !floors.has(room)).map((room) => `src/${room} is not in the table of floors`),
    ...[...floors.keys()].filter((room) => !modules.has(room)).map((room) => `the table has ${room}, src/ has not`),
  ]
}

/** Imports that go up, sideways, past an index.ts, to an adapter, out of the house, or nobody can tell where. */
export function crossings(sources: readonly Source[], floors: Floors): string[] {
  return ofHouse(sources).flatMap(({ path, text }) => {
    const complaints = importsOf(text)
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => [specifier, faultOf(path, join(dirname(path), specifier), floors)] as const)
      .filter(([, fault]) => fault !== undefined)
      .map(([specifier, fault]) => `${path} imports '${specifier}': ${fault}`)
    if (hasComputedImport(text)) complaints.push(`${path} imports a computed name: nobody can tell where that leads`)
    return complaints
  })
}

function faultOf(from: string, to: string, floors: Floors): string | undefined {
  if (!to.startsWith('src/')) return to.endsWith('.ts') ? 'that is outside of src/' : undefined
  if (ADAPTERS.includes(to))
    return CHOOSERS.includes(from) ? undefined : 'that is an adapter, and only main.ts and machine.ts choose those'
  const [ours, theirs] = [roomOf(from), roomOf(to)]
  const [ourFloor = Number.NaN, theirFloor = Number.NaN] = [floors.get(ours), floors.get(theirs)]
  if (ours === theirs || (isLooseFile(ours) && isLooseFile(theirs) && ourFloor === theirFloor)) return undefined
  if (theirFloor > ourFloor) return `upward, from ${ours} on floor ${ourFloor} to ${theirs} on floor ${theirFloor}`
  if (theirFloor === ourFloor) return `sideways, from ${ours} to ${theirs}, both on floor ${ourFloor}`
  if (!isLooseFile(theirs) && to !== `src/${theirs}index.ts`) return `past the index.ts of ${theirs}`
  return undefined
}

/** Files that look into the environment although they are not the one that may. */
export function environmentReaders(sources: readonly Source[]): string[] {
  return ofHouse(sources)
    .filter(({ path }) => path !== READER_OF_ENVIRONMENT)
    .flatMap(({ path, text }) => {
      const words = toWords(text)
      const found = [
        /\bprocess (?:\? )?\. env\b/,
        /\bprocess (?:\? \. )?\[ "env"/,
        /\{[^{}]*\benv\b[^{}]*\} = process\b/,
      ]
      if (found.some((pattern) => pattern.test(words))) return [`${path} reads process.env`]
      return importsOf(text).some((name) => /^(node:)?process$/.test(name)) ? [`${path} imports node:process`] : []
    })
}

/** Everything that would hand a string to a shell. */
export function shells(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) => {
    const words = toWords(text)
    const complaints: string[] = []
    const imports = [...words.matchAll(/(?:\{ ([^{}]*) \} (?:from|= await import \() )?"(?:node:)?child_process"/g)]
    for (const [, names] of imports) {
      if (names === undefined) complaints.push(`${path} takes child_process as a whole; import what is needed by name`)
      const taken = (names ?? '').split(',').map((name) => name.replace(/^ *(type )?/, '').split(' ')[0])
      for (const name of ['exec', 'execSync']) {
        if (taken.includes(name)) complaints.push(`${path} imports ${name}, which starts a shell`)
      }
    }
    if (/(?:\bshell|"shell") : (?:true\b|"|`)/.test(words)) complaints.push(`${path} asks for a shell: true`)
    return complaints
  })
}

const ofHouse = (sources: readonly Source[]): Source[] =>
  sources.filter(({ path }) => path.startsWith('src/') && !path.endsWith('.test.ts'))

const isLooseFile = (room: string): boolean => !room.endsWith('/')

/** `src/apps/apps.ts` is in `apps/`; `src/main.ts` is in no folder and stands for itself. */
function roomOf(path: string): string {
  const [, first = '', ...rest] = path.split('/')
  return rest.length > 0 ? `${first}/` : first
}

const IMPORTS = [
  /\bfrom "([^"]*)"/g,
  /\bimport "([^"]*)"/g,
  /\b(?:import|require) \( "([^"]*)"/g,
  /\bimport \. meta \. resolve \( "([^"]*)"/g,
  /\bnew URL \( "([^"]*)" , import \. meta \. url/g,
]

export function importsOf(text: string): string[] {
  const words = toWords(text)
  return IMPORTS.flatMap((pattern) => [...words.matchAll(pattern)].map(([, specifier = '']) => specifier))
}

const hasComputedImport = (text: string): boolean =>
  /\bimport \( (?!")|\bnew URL \( (?!")[^()]* , import \. meta \. url/.test(toWords(text))

const WORD = /[\p{ID_Continue}$#]+/uy
const BLANK = /\s+|\/\/.*|\/\*[\s\S]*?\*\/|^#!.*/y
const STRING = /'((?:[^'\\]|\\[\s\S])*)'|"((?:[^"\\]|\\[\s\S])*)"/y
const REGULAR_EXPRESSION = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y
/** Part of a template: up to its end, or up to the next `${`. */
const TEMPLATE = /((?:[^`\\$]|\\[\s\S]|\$(?!\{))*)(`|\$\{)/y
/** After one of these a slash begins a regular expression; after anything else it divides. */
const BEFORE_EXPRESSION = /(?:^|[^\w$)\]}"`]|\b(?:return|typeof|case|in|of|await|yield))$/

/**
 * A source as its words and marks, with one space between them: comments and regular expressions are left out, and each
 * string is one word in double quotes. So a rule can be a plain pattern, and what only stands in a string breaks none.
 */
function toWords(text: string): string {
  const words: string[] = []
  /** For each template that we are inside of, how many braces were open when its `${` came. */
  const templates: number[] = []
  let braces = 0
  let at = 0

  function take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match) at = pattern.lastIndex
    return match
  }

  function takeTemplate() {
    const [, content = '', end] = take(TEMPLATE) ?? []
    if (end === undefined) throw new Error(`a template does not end: ${text.slice(at, at + 40)}`)
    words.push(`\`${bare(content)}\``)
    if (end === '${') templates.push(braces)
  }

  while (at < text.length) {
    if (take(BLANK)) continue
    if (BEFORE_EXPRESSION.test(words.at(-1) ?? '') && take(REGULAR_EXPRESSION)) {
      words.push('"regular-expression"')
      continue
    }
    const string = take(STRING)
    const word = string ? `"${bare(string[1] ?? string[2] ?? '')}"` : take(WORD)?.[0]
    if (word !== undefined) {
      words.push(word)
      continue
    }
    const mark = text[at++] ?? ''
    if (mark === '`') {
      takeTemplate()
    } else if (mark === '}' && templates.at(-1) === braces) {
      templates.pop()
      takeTemplate()
    } else {
      if (mark === '{') braces++
      if (mark === '}') braces--
      words.push(mark)
    }
  }
  return words.join(' ')
}

/** What a string holds, without what could be taken for its end or for a space between words. */
const bare = (content: string): string => content.replaceAll(/[\s"`]/g, '_')
