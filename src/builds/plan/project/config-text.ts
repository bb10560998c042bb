/**
 * Reads settings from a configuration file that is a program, without running it: literal values are read, and computed
 * values are unknown. The text is untrusted, so every pattern takes linear time and only the beginning of a long text is
 * read.
 */

/** The text after `name:` or `name =`, by the path of names that leads there: `build.outDir`. */
export type Settings = ReadonlyMap<string, string>

/** A string, a template or a comment; one without an end goes to the end of the line or of the text. */
const STRING = /'(?:[^'\\\n]|\\[\s\S])*'?|"(?:[^"\\\n]|\\[\s\S])*"?|`(?:[^`\\]|\\[\s\S])*`?/
const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/
const STRING_OR_COMMENT = new RegExp(`${STRING.source}|${COMMENT.source}`, 'g')
const TOKEN = new RegExp(`${STRING.source}|[\\w$]+|\\.\\.\\.|\\S`, 'g')
const SETS = /\s*(?::|=(?![=>]))\s*/y
const TEXT_LENGTH = 100_000
const EXPRESSION_LENGTH = 200
/** Deeper names are left out of paths, which would otherwise grow with every bracket. */
const DEEPEST = 10

/** One open bracket: the path of names that leads into it, and the name whose value is being written. */
type Level = { path: string; isObject: boolean; key: string }

/** The text without its comments, cut to the maximum length. */
export const codeIn = (text: string): string =>
  text.slice(0, TEXT_LENGTH).replaceAll(STRING_OR_COMMENT, (found) => (/^\/[/*]/.test(found) ? ' ' : found))

/** The first of several settings with the same path counts. */
export function settingsIn(text: string): Settings {
  const code = codeIn(text)
  const settings = new Map<string, string>()
  const levels: Level[] = []
  let level: Level = { path: '', isObject: false, key: '' }
  let beginsEntry = false

  for (const { 0: token, index } of code.matchAll(TOKEN)) {
    const wasBeginning: boolean = beginsEntry
    beginsEntry = false
    if (token === '{' || token === '(' || token === '[') {
      levels.push(level)
      const path = levels.length > DEEPEST ? level.path : join(level.path, level.key)
      level = { path, isObject: token === '{', key: '' }
      beginsEntry = level.isObject
    } else if (token === '}' || token === ')' || token === ']') {
      level = levels.pop() ?? level
    } else if (token === ',' || token === ';' || token === 'return') {
      level.key = ''
      beginsEntry = level.isObject && token === ','
    } else if (token === 'async') {
      beginsEntry = wasBeginning
    } else {
      const name = token.replaceAll(/^['"]|['"]$/g, '')
      const follows = settingAt(code, index + token.length)
      if (follows !== undefined && !settings.has(join(level.path, name)))
        settings.set(join(level.path, name), code.slice(follows.from, follows.from + EXPRESSION_LENGTH).trim())
      // A name at the beginning of an entry is part of the path of its object, list, function or method. A spread is too,
      // since it is conditional more often than not.
      if (wasBeginning && (token === '...' || follows?.mark === ':' || code[index + token.length] === '('))
        level.key = name
    }
  }
  return settings
}

/** The value of a setting that is a string literal, or that is one in production. */
export function stringIn(settings: Settings, path: string): string | undefined {
  const expression = settings.get(path) ?? ''
  const chosen = expression.replace(IF_PRODUCTION, '')
  const found = (chosen === expression ? PLAIN_STRING : CHOSEN_STRING).exec(chosen)
  return found?.[1] ?? found?.[2] ?? found?.[3]
}

const IF_PRODUCTION = /^process\.env\.NODE_ENV\s*===?\s*['"]production['"]\s*\?\s*/
const QUOTED = `(?:'([^'\\\\]*)'|"([^"\\\\]*)"|\`([^\`\\\\$]*)\`)`
const PLAIN_STRING = new RegExp(`^${QUOTED}\\s*(?:as const\\s*)?(?:$|[\\n,;}\\])])`)
const CHOSEN_STRING = new RegExp(`^${QUOTED}\\s*:`)

/** The value of a setting that is the literal `true` or `false`. */
export function booleanIn(settings: Settings, path: string): boolean | undefined {
  const [, value] = /^(true|false)\s*(?:$|[\n,;}\])])/.exec(settings.get(path) ?? '') ?? []
  return value === undefined ? undefined : value === 'true'
}

/** The module of each name that is imported by default. */
export function importsIn(text: string): ReadonlyMap<string, string> {
  const imports = new Map<string, string>()
  for (const [, byImport, byRequire, from] of codeIn(text).matchAll(IMPORT))
    imports.set(byImport ?? byRequire ?? '', from ?? '')
  return imports
}

const IMPORT =
  /\b(?:import\s{1,9}([\w$]{1,99})\s{1,9}from\s{0,9}|(?:const|let|var)\s{1,9}([\w$]{1,99})\s{0,9}=\s{0,9}require\s?\(\s?)['"]([^'"\n]{1,199})['"]/g

const join = (path: string, name: string): string => (path === '' || name === '' ? path + name : `${path}.${name}`)

function settingAt(code: string, at: number): { mark: string; from: number } | undefined {
  SETS.lastIndex = at
  const [found] = SETS.exec(code) ?? []
  return found === undefined ? undefined : { mark: found.trim(), from: at + found.length }
}
